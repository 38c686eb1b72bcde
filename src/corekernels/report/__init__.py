"""Reports: a page of text, tables and figures from plain data.

A report is a `Report` of `Section`s with `Table`s and `Figure`s; a figure has `Panel`s with
`Line`s and `Mark`s, or with `Interval`s. `advice_report`, `c_path_report`, `duplicates_report`
and `survey_report` make one of what was found. `write_page` makes of it one HTML file without
script that fetches nothing, fits phones and paper, and follows the reader's choice of light or
dark; `svg_figures` gives its figures alone. They need the extra `report`.

>>> from corekernels import report
>>> curve = report.Line("CoRE 1", x=[64, 256, 1024], y=[63.6, 75.5, 82.9])
>>> panel = report.Panel("M-Rotate", "hashes", "accuracy, %", [curve], log_x=True)
>>> figure = report.Figure("hashes", "More hashes help.", "A rising curve.", [panel])
>>> table = report.Table("Accuracy, %.", ["hashes", "accuracy"], [["64", "63.6"], ["256", "75.5"]])
>>> section = report.Section("hashing", "Hashing", ["Longer is better."], [table], [figure])
>>> page = report.Report("One result", ["Measured on rotated digits."], [section])
>>> path = report.write_page(page, "page.html")
>>> "<h1>One result</h1>" in path.read_text(encoding="utf-8")
True
"""

from .advice import advice_report
from .c_path import c_path_report
from .duplicates import duplicates_report
from .layout import Figure, Interval, Line, Mark, Panel, Report, Section, Table
from .page import svg_figures, write_page
from .survey import survey_report

__all__ = [
    "Figure", "Interval", "Line", "Mark", "Panel", "Report", "Section", "Table", "advice_report",
    "c_path_report", "duplicates_report", "survey_report", "svg_figures", "write_page",
]  # fmt: skip
