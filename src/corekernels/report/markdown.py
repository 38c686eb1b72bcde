"""A report as Markdown, for a folder of documents: the page's twin, its figures in files."""

import re
from collections.abc import Sequence

from .layout import Report, Section
from .wording import cell_text, column_kinds, duration, printable, spans


def markdown_page(report: Report, figures: str = "figures") -> str:
    """A report as Markdown text that shows the figures in the folder of this name.

    Examples
    --------
    >>> from corekernels import report
    >>> page = report.Report("One result", ["More hashes help."], sections=[])
    >>> print(report.markdown_page(page).splitlines()[0])
    # One result
    """
    parts = [f"# {_plain(report.title)}", *map(_inline, report.lead)]
    parts.append("\n".join(f"- [{_plain(s.title)}](#{s.name}){_took(s)}" for s in report.sections))
    for section in report.sections:
        parts += _section(section, figures)
    if report.facts:
        rows = list(report.facts.items())
        parts += ["## How this was made", _grid(("", ""), rows, ("text", "text"))]
    return printable("\n\n".join(part for part in parts if part) + "\n")


def _took(section: Section, form: str = " ({})") -> str:
    return "" if section.seconds is None else form.format(duration(section.seconds))


def _section(section: Section, folder: str) -> list[str]:
    parts = [f'<a id="{section.name}"></a>', f"## {_plain(section.title)}"]
    parts += map(_inline, section.text)
    for table in section.tables:
        parts += [
            _inline(table.caption),
            _grid(table.headings(": "), table.rows, column_kinds(table)),
        ]
    for figure in section.figures:
        parts += [_inline(figure.caption), f"![{_plain(figure.alt)}]({folder}/{figure.name}.svg)"]
    if section.notes:
        notes = "\n".join(f"> - {_inline(note)}" for note in section.notes)
        parts.append(f"> **Notes**\n>\n{notes}")
    took = _took(section, "Took {}.")
    if section.command is None:
        return [*parts, took]
    return [*parts, f"{took} {section.command_label}:".strip(), f"```sh\n{section.command}\n```"]


def _grid(
    columns: Sequence[str], rows: Sequence[Sequence[str | None]], kinds: Sequence[str]
) -> str:
    lines = [[_inline(column) for column in columns]]
    lines.append(["---" if kind == "text" else "---:" for kind in kinds])
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
