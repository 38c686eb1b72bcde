"""Reports: a page of text, tables and figures from plain data.

`advice_report`, `c_path_report`, `duplicates_report` and `survey_report` make a `Report` of a
result; its parts are the records of `corekernels.report.layout`. `write_page` writes one HTML file
without scripts and without anything to fetch, for phones and paper, in the reader's choice of
light or dark; `svg_figures` gives its figures alone. They need the extra `report`.

>>> from corekernels import report
>>> from corekernels.report.layout import Figure, Line, Panel, Report, Section, Table
>>> curve = Line("CoRE 1", x=[64, 256, 1024], y=[63.6, 75.5, 82.9])
>>> panel = Panel("M-Rotate", "hashes", "accuracy, %", [curve], log_x=True)
>>> figure = Figure("hashes", "More hashes help.", "A rising curve.", [panel])
>>> table = Table("Accuracy, %.", ["hashes", "accuracy"], [["64", "63.6"], ["256", "75.5"]])
>>> section = Section("hashing", "Hashing", ["Longer is better."], [table], [figure])
>>> page = Report("One result", ["Measured on rotated digits."], [section])
>>> path = report.write_page(page, "page.html")
>>> "<h1>One result</h1>" in path.read_text(encoding="utf-8")
True
"""

from .._core.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__)
