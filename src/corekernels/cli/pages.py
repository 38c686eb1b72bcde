"""The option `--page`: a result as one HTML file."""

from pathlib import Path
from typing import Annotated

from typer import Option

from .. import report
from ..io.targets import require_target

Page = Annotated[
    Path | None,
    Option("--page", metavar="PAGE.html", help="Write a page about what was found."),
]


def require_page(page: Path | None, *others: str | Path | None) -> None:
    """Raise unless a page, if one is asked for, can be written there: for use before long work.

    `others` are the files that are read, or written as well.
    """
    if page is not None:
        require_target(page, *(other for other in others if other is not None))
        report.require_page()
