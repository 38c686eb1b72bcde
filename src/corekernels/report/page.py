"""A report as one HTML file: no script, nothing fetched, light and dark, phone and print."""

import base64
from itertools import accumulate
from pathlib import Path

from .._core.arguments import PathLike, require_extra
from ..io import atomic_write
from .drawing import SURFACES, assign_looks, draw
from .layout import (
    Report,
    Table,
    cell_text,
    column_kinds,
    duration,
    printable,
    sign,
    spans,
    unbroken,
)


def require_page_extra() -> None:
    """Raise unless pages can be made: for use before long work."""
    for package in ("jinja2", "matplotlib"):
        require_extra(package, "report", "pages")


def html_page(report: Report) -> str:
    """A report as the text of an HTML page; the same report gives the same text."""
    require_page_extra()
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters |= {
        "cell_text": cell_text, "duration": duration, "group_starts": _group_starts,
        "kinds": column_kinds, "sign": sign, "spans": spans, "unbroken": unbroken,
    }  # fmt: skip
    themes = {"light": svg_figures(report), "dark": svg_figures(report, dark=True)}
    images = {
        (theme, name): "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode()
        for theme, texts in themes.items()
        for name, text in texts.items()
    }
    times = [section.seconds for section in report.sections if section.seconds is not None]
    page = environment.get_template("page.html").render(
        report=report, surfaces=SURFACES, images=images, times=times
    )
    return printable(page)


def write_page(report: Report, path: PathLike) -> Path:
    """Write a report as an HTML page.

    Examples
    --------
    >>> from corekernels import report
    >>> page = report.Report("One result", ["More hashes help."], sections=[])
    >>> report.write_page(page, "page.html").name
    'page.html'
    """
    text = html_page(report)
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(text.encode())
    return Path(path)


def svg_figures(report: Report, *, dark: bool = False) -> dict[str, str]:
    """The figures of a report as texts of SVG images, by name, on light or dark paper.

    Examples
    --------
    >>> from corekernels import report
    >>> panel = report.Panel("M-Rotate", "hashes", "accuracy", [report.Line("a", [1, 2], [3, 4])])
    >>> section = report.Section("one", "One", figures=[report.Figure("curve", "", "", [panel])])
    >>> list(report.svg_figures(report.Report("One result", [], [section])))
    ['curve']
    """
    looks = assign_looks(report.figures(), report.series)
    return {figure.name: draw(figure, looks, dark=dark) for figure in report.figures()}


def _group_starts(table: Table) -> list[int]:
    """The columns at which a group of columns begins, but the first."""
    return list(accumulate(width for _, width in table.groups))
