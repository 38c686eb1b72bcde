"""A report as one HTML file: no script, nothing fetched, light and dark, phone and print."""

import base64
import re
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path

from .._core.arguments import PathLike, require_extra
from ..io import atomic_write
from .drawing import SURFACES, svg
from .layout import Report, Table, duration, printable

_MANY_COLUMNS, _LONG_TEXT = 9, 48  # in a table; characters of a cell
_NUMBER = re.compile(r"[<>≤≥≈~±+\-−]?\s*\.?\d")


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
        "kinds": column_kinds, "look": look_of, "sign": sign, "spans": spans,
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
    >>> page = report.layout.Report("One result", ["More hashes help."], sections=[])
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
    >>> from corekernels.report.layout import Figure, Line, Panel, Report, Section
    >>> panel = Panel("M-Rotate", "hashes", "accuracy", [Line("a", [1, 2], [3, 4])])
    >>> section = Section("one", "One", figures=[Figure("curve", "", "", [panel])])
    >>> list(report.svg_figures(Report("One result", [], [section])))
    ['curve']
    """
    return {figure.name: svg(figure, report.series, dark=dark) for figure in report.figures()}


def _group_starts(table: Table) -> list[int]:
    """The columns at which a group of columns begins, but the first."""
    return list(accumulate(width for _, width in table.groups))


def spans(text: str) -> Iterator[tuple[bool, str]]:
    """The pieces of a text with whether each is code, which stands between backticks.

    >>> list(spans("run `make`"))
    [(False, 'run '), (True, 'make')]
    """
    pieces = text.split("`")
    if len(pieces) % 2 == 0:  # a backtick without its twin is only a backtick
        pieces[-2:] = ["`".join(pieces[-2:])]
    for i, piece in enumerate(pieces):
        if piece:
            yield i % 2 == 1, piece


def cell_text(cell: str | None) -> str:
    """What a cell shows: a dash for nothing, and a real minus before a number."""
    return re.sub(r"^-(?=[\d.])", "−", (cell or "").strip()) or "–"


def sign(cell: str | None) -> str:
    """What a difference says: " more", " less" or, where there is none, nothing."""
    text = cell_text(cell)
    return {"+": " more", "−": " less"}.get(text[0], "") if re.search("[1-9]", text) else ""


def look_of(table: Table) -> str:
    """How a table is set: "wide" if columns are many, "prose" if texts are to be broken."""
    longest = max((len(cell or "") for row in table.rows for cell in row), default=0)
    looks = {"wide": len(table.columns) > _MANY_COLUMNS, "prose": longest > _LONG_TEXT}
    return " ".join(look for look, is_so in looks.items() if is_so)


def column_kinds(table: Table) -> list[str]:
    """What each column holds: "text", "number" or "difference"; the first names the rows."""
    kinds = []
    for i, name in enumerate(table.columns):
        cells = [cell for row in table.rows if (cell := (row[i] or "").strip())]
        is_difference = name.lower().startswith("diff") or any(c.startswith("+") for c in cells)
        if i == 0 or not cells or not all(_NUMBER.match(cell) for cell in cells):
            kinds.append("text")
        else:
            kinds.append("difference" if is_difference else "number")
    return kinds
