"""A report as one HTML file: no script, nothing fetched, light and dark, phone and print."""

import base64
from itertools import accumulate

from .._core.extras import require_extra
from .drawing import draw
from .layout import Figure, Report, Table
from .palette import SURFACES, assign_looks
from .wording import cell_text, column_kinds, duration, sign, spans, typeset


def require_page() -> None:
    """Raise unless pages can be made: for use before long work."""
    for package in ("jinja2", "matplotlib"):
        require_extra(package, "report", "pages")


def html_page(report: Report) -> str:
    """A report as the text of an HTML page; the same report gives the same text."""
    require_page()
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.PackageLoader(__package__), autoescape=True, trim_blocks=True,
        lstrip_blocks=True, undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    environment.filters |= {
        "cell_text": cell_text, "duration": duration, "group_starts": _group_starts,
        "kinds": column_kinds, "sign": sign, "spans": spans, "typeset": typeset,
    }  # fmt: skip
    looks = assign_looks(report.figures(), report.series)

    def image(figure: Figure, dark: bool, narrow: bool) -> str:
        text = draw(figure, looks, dark=dark, narrow=narrow)
        return "data:image/svg+xml;base64," + base64.b64encode(text.encode()).decode()

    times = [section.seconds for section in report.sections if section.seconds is not None]
    return environment.get_template("page.html").render(
        report=report, surfaces=SURFACES, image=image, times=times
    )


def _group_starts(table: Table) -> list[int]:
    """The columns at which a group of columns begins, but the first."""
    return list(accumulate(width for _, width in table.groups))
