"""A report into a folder: the page, its Markdown twin, the figures."""

import os
from pathlib import Path

from .layout import Report
from .markdown import write_markdown
from .page import write_page


def write_report(report: Report, folder: str | os.PathLike[str]) -> list[Path]:
    """Write `report.html`, `report.md` and `figures/*.svg` into a folder, made if need be.

    Each file is written whole or not at all. Returns the files, the page first.
    """
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    page = target / "report.html"
    write_page(report, page)
    return [page, *write_markdown(report, target / "report.md")]
