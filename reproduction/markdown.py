"""A report as Markdown, for a folder of documents: the page's twin, its figures in files."""

import re
from pathlib import Path

from corekernels.io import atomic_write
from corekernels.report import svg_figures
from corekernels.report.layout import Report, Section, Table


def write_markdown(report: Report, folder: Path) -> None:
    """Write `report.md`, and before it its figures into `figures/`."""
    texts = {f"figures/{name}.svg": text for name, text in svg_figures(report).items()}
    (folder / "figures").mkdir(parents=True, exist_ok=True)
    for name, text in {**texts, "report.md": markdown_page(report)}.items():
        with atomic_write(folder / name) as file:
            file.write(text.encode())


def markdown_page(report: Report) -> str:
    """A report as Markdown text."""
    contents = [f"- [{_plain(section.title)}](#{section.name})" for section in report.sections]
    parts = [f"# {_plain(report.title)}", *map(_inline, report.lead), "\n".join(contents)]
    for section in report.sections:
        parts += _section(section)
    facts = Table("", ["", ""], list(report.facts.items()))
    return "\n\n".join([*parts, "## How this was made", grid(facts)]) + "\n"


def grid(table: Table) -> str:
    """A table as Markdown, without its caption."""
    lines = [
        [_inline(heading) for heading in _headings(table)],
        ["---:" if _holds_numbers(table, place) else "---" for place in range(len(table.columns))],
        *([_inline(cell or "–") for cell in row] for row in table.rows),
    ]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _headings(table: Table) -> list[str]:
    """One heading per column, after that of its group."""
    groups = [heading for heading, width in table.groups for _ in range(width)]
    pairs = zip(groups or [""] * len(table.columns), table.columns, strict=True)
    return [f"{group}: {name}" if group else name for group, name in pairs]


def _holds_numbers(table: Table, place: int) -> bool:
    return place > 0 and all(re.match(r"[+−\d]", row[place] or "0") for row in table.rows)


def _section(section: Section) -> list[str]:
    parts = [f'<a id="{section.name}"></a>', f"## {_plain(section.title)}"]
    parts += map(_inline, section.text)
    for table in section.tables:
        parts += [_inline(table.caption), grid(table)]
    for figure in section.figures:
        image = f"![{_plain(figure.alt)}](figures/{figure.name}.svg)"
        parts += [_inline(figure.caption), image]
    if section.notes:
        parts.append("\n".join(["> **Notes**\n>", *(f"> - {_inline(n)}" for n in section.notes)]))
    return [*parts, f"{section.command_label}:", f"```sh\n{section.command}\n```"]


def _inline(text: str) -> str:
    """Text whose code stays code and whose other signs mean nothing to Markdown."""
    pieces = re.split("(`[^`]*`)", text)
    return "".join(p.replace("|", "\\|") if p[:1] == "`" else _plain(p) for p in pieces)


def _plain(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|~$])", r"\\\1", text)
