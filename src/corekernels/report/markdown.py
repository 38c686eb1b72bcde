"""A report as Markdown, for a folder of documents: the page's twin, its figures in files."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

from ..io import atomic_write
from .drawing import draw_file
from .layout import Figure, Report, Section, Table
from .palette import looks
from .wording import cell_text, duration, numeric_columns, require_names, require_shape, spans


def write_markdown(
    report: Report, path: str | os.PathLike[str], figures: str = "figures"
) -> list[Path]:
    """Write a report as Markdown, and its figures as SVG files into a folder beside it.

    Each file is written whole or not at all; the Markdown, which shows the others, comes last.
    Returns the files.
    """
    target = Path(path)
    text = markdown_page(report, figures)
    written = write_figures(report, target.parent / figures)
    with atomic_write(target) as file:
        file.write(text.encode())
    return [*written, target]


def write_figures(report: Report, folder: str | os.PathLike[str]) -> list[Path]:
    """Write the figures of a report as SVG files in light colours. Returns the files."""
    require_names(report)
    drawn = [figure for section in report.sections for figure in section.figures]
    look = looks(drawn)
    written = []
    for figure in drawn:
        target = Path(folder) / f"{figure.name}.svg"
        target.parent.mkdir(parents=True, exist_ok=True)
        text = draw_file(figure, look)
        with atomic_write(target) as file:
            file.write(text.encode())
        written.append(target)
    return written


def markdown_page(report: Report, figures: str = "figures") -> str:
    """A report as Markdown text that shows the figures in the folder of this name."""
    require_names(report)
    parts = [f"# {_plain(report.title)}", *map(_inline, report.lead), _contents(report.sections)]
    for section in report.sections:
        parts += _section(section, figures)
    if report.facts:
        rows = list(report.facts.items())
        parts += ["## How this was made", _grid(("", ""), rows, (False, False))]
    return "\n\n".join(part for part in parts if part) + "\n"


def _contents(sections: Sequence[Section]) -> str:
    lines = []
    for section in sections:
        took = f" ({duration(section.seconds)})" if section.seconds is not None else ""
        lines.append(f"- [{_plain(section.title)}](#{section.name}){took}")
    return "\n".join(lines)


def _section(section: Section, figures: str) -> list[str]:
    parts = [f'<a id="{section.name}"></a>', f"## {_plain(section.title)}"]
    parts += map(_inline, section.text)
    for table in section.tables:
        parts += [_inline(table.caption), _table(table)]
    for figure in section.figures:
        parts += [_inline(figure.caption), _image(figure, figures)]
    if section.notes:
        notes = "\n".join(f"> - {_inline(note)}" for note in section.notes)
        parts.append(f"> **Notes**\n>\n{notes}")
    took = f"Took {duration(section.seconds)}." if section.seconds is not None else ""
    if section.command is not None:
        parts.append(f"{took} Repeat with:".strip())
        parts.append(f"```sh\n{section.command}\n```")
    else:
        parts.append(took)
    return parts


def _image(figure: Figure, folder: str) -> str:
    return f"![{_plain(figure.alt)}]({folder}/{figure.name}.svg)"


def _table(table: Table) -> str:
    require_shape(table)
    over = table.groups_of_columns()
    columns = [f"{o}: {c}" if o else c for o, c in zip(over, table.columns, strict=True)]
    return _grid(columns, table.rows, numeric_columns(table))


def _grid(
    columns: Sequence[str], rows: Sequence[Sequence[str | None]], right: Sequence[bool]
) -> str:
    lines = [[_inline(column) for column in columns]]
    lines.append(["---:" if is_right else "---" for is_right in right])
    lines += [[_inline(cell_text(cell)) for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _inline(text: str) -> str:
    """Text whose code stays code and whose other signs mean nothing to Markdown."""
    pieces = [
        "`" + piece.replace("|", "\\|") + "`" if is_code else _plain(piece)
        for is_code, piece in spans(" ".join(text.split()))
    ]
    # at the start of a line, these would begin a heading or a list
    return re.sub(r"^(?=[#+-]\s|[#=-]{3})|^(\d+)(?=[.)]\s)", r"\1\\", "".join(pieces))


def _plain(text: str) -> str:
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text)
    return re.sub(r"([\\`*_\[\]<>|~$])", r"\\\1", text)
