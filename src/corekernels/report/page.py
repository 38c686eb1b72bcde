"""A report as one HTML file: no script, nothing fetched, light and dark, phone and print.

Files, those of its Markdown twin too, are written whole or not at all.
"""

import base64
from itertools import accumulate
from pathlib import Path

from .._core.extras import require_extra
from .._core.types import PathLike
from ..io import atomic_write
from .drawing import draw
from .layout import Figure, Report, Table
from .markdown import markdown_page
from .palette import SURFACES, assign_looks
from .wording import cell_text, column_kinds, duration, printable, sign, spans


def require_page() -> None:
    """Raise unless pages can be made: for use before long work.

    Examples
    --------
    >>> from corekernels import report
    >>> report.require_page()  # nothing happens: the extra is installed
    """
    for package in ("jinja2", "matplotlib"):
        require_extra(package, "report", "pages")


def html_page(report: Report) -> str:
    """A report as the text of an HTML page; the same report gives the same text.

    Examples
    --------
    >>> from corekernels import report
    >>> page = report.Report("One result", ["More hashes help."], sections=[])
    >>> "<h1>One result</h1>" in report.html_page(page)
    True
    """
    require_page()
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters |= {
        "cell_text": cell_text, "duration": duration, "group_starts": _group_starts,
        "kinds": column_kinds, "sign": sign, "spans": spans,
    }  # fmt: skip
    looks = assign_looks(report.figures(), report.series)

    def image(figure: Figure, dark: bool) -> str:
        text = draw(figure, looks, dark=dark)
        return "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode()

    times = [section.seconds for section in report.sections if section.seconds is not None]
    page = environment.get_template("page.html").render(
        report=report, surfaces=SURFACES, image=image, times=times
    )
    return printable(page)


def write_report(report: Report, folder: PathLike) -> list[Path]:
    """Write `report.html`, `report.md` and `figures/*.svg` into a folder. Returns the files.

    Examples
    --------
    >>> from corekernels import report
    >>> page = report.Report("One result", ["More hashes help."], sections=[])
    >>> [path.name for path in report.write_report(page, ".")]
    ['report.html', 'report.md']
    """
    page = write_page(report, Path(folder) / "report.html")
    return [page, *write_markdown(report, Path(folder) / "report.md")]


def write_page(report: Report, path: PathLike) -> Path:
    """Write a report as an HTML page.

    Examples
    --------
    >>> from corekernels import report
    >>> page = report.Report("One result", ["More hashes help."], sections=[])
    >>> report.write_page(page, "page.html").name
    'page.html'
    """
    return _write(Path(path), html_page(report))


def write_markdown(report: Report, path: PathLike, figures: str = "figures") -> list[Path]:
    """Write a report as Markdown, and before it its figures as SVG files in a folder beside it.

    Examples
    --------
    >>> from corekernels import report
    >>> page = report.Report("One result", ["More hashes help."], sections=[])
    >>> [path.name for path in report.write_markdown(page, "page.md")]
    ['page.md']
    """
    looks = assign_looks(report.figures(), report.series)
    drawn = {figure.name: draw(figure, looks) for figure in report.figures()}
    folder = Path(path).parent / figures
    written = [_write(folder / f"{name}.svg", text) for name, text in drawn.items()]
    return [*written, _write(Path(path), markdown_page(report, figures))]


def _group_starts(table: Table) -> list[int]:
    """The columns at which a group of columns begins, but the first."""
    return list(accumulate(width for _, width in table.groups))


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(text.encode())
    return path
