"""Reports into files, each written whole or not at all."""

import os
from pathlib import Path

from ..io import atomic_write
from .drawing import draw
from .layout import Report
from .markdown import markdown_page
from .page import html_page
from .palette import assign_looks


def write_report(report: Report, folder: str | os.PathLike[str]) -> list[Path]:
    """Write `report.html`, `report.md` and `figures/*.svg` into a folder. Returns the files."""
    page = write_page(report, Path(folder) / "report.html")
    return [page, *write_markdown(report, Path(folder) / "report.md")]


def write_page(report: Report, path: str | os.PathLike[str]) -> Path:
    """Write a report as an HTML page."""
    return _write(Path(path), html_page(report))


def write_markdown(
    report: Report, path: str | os.PathLike[str], figures: str = "figures"
) -> list[Path]:
    """Write a report as Markdown, and before it its figures as SVG files in a folder beside it."""
    looks = assign_looks(report.figures(), report.series)
    drawn = {figure.name: draw(figure, looks) for figure in report.figures()}
    folder = Path(path).parent / figures
    written = [_write(folder / f"{name}.svg", text) for name, text in drawn.items()]
    return [*written, _write(Path(path), markdown_page(report, figures))]


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(text.encode())
    return path
