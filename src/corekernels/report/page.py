"""A report as one HTML file: no script, nothing fetched, light and dark, phone and print."""

import os
from collections.abc import Iterable, Mapping
from html import escape
from importlib.resources import files
from itertools import accumulate

from ..io import atomic_write
from .drawing import draw_panels
from .layout import Figure, Report, Section, Table
from .palette import THEMES, Look, looks
from .placing import n_columns
from .svg import FONTS, Key, legend, swatch
from .wording import (
    cell_text,
    difference_columns,
    duration,
    numeric_columns,
    require_names,
    require_shape,
    spans,
    typeset,
)

_WIDE = 9  # columns: more are set smaller on paper


def write_page(report: Report, path: str | os.PathLike[str]) -> None:
    """Write a report as an HTML page, whole or not at all."""
    text = html_page(report)
    with atomic_write(path) as file:
        file.write(text.encode())


def html_page(report: Report) -> str:
    """A report as the text of an HTML page; the same report gives the same text."""
    require_names(report)
    look = looks(figure for section in report.sections for figure in section.figures)
    lead = _paragraphs(report.lead)
    sections = "\n".join(_section(section, look) for section in report.sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(report.title)}</title>
<link rel="icon" href="data:,">
<style>
{_style()}</style>
</head>
<body>
<a class="skip" href="#results">Skip to the results</a>
<header>
<h1>{_inline(report.title)}</h1>
<div class="lead">
{lead}
</div>
</header>
{_contents(report)}
<main id="results">
{sections}
</main>
{_facts(report.facts)}
</body>
</html>
"""


def _style() -> str:
    """The style sheet, after the colours of both themes."""
    light, dark = (
        "".join(f"--{name}:{pair[i]};" for name, pair in THEMES.items()) for i in range(2)
    )
    sheet = (files(__package__) / "page.css").read_text(encoding="utf-8")
    return (
        f":root{{--sans:{FONTS};{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{sheet}"
    )


def _contents(report: Report) -> str:
    items = "\n".join(
        f'<li><a href="#{section.name}">{_inline(section.title)}</a>{_took(section.seconds)}</li>'
        for section in report.sections
    )
    times = [section.seconds for section in report.sections if section.seconds is not None]
    total = f'<p class="total">{duration(sum(times))} in all</p>\n' if len(times) > 1 else ""
    return (
        '<nav aria-labelledby="contents">\n<h2 id="contents">Contents</h2>\n'
        f"<ol>\n{items}\n</ol>\n{total}</nav>"
    )


def _took(seconds: float | None) -> str:
    return "" if seconds is None else f' <span class="took">{duration(seconds)}</span>'


def _section(section: Section, look: Mapping[str, Look]) -> str:
    parts = [f'<h2 id="{section.name}-title">{_inline(section.title)}</h2>']
    if section.text:
        parts.append(f'<div class="text">\n{_paragraphs(section.text)}\n</div>')
    parts += [
        _table(table, f"{section.name}-table-{i + 1}") for i, table in enumerate(section.tables)
    ]
    parts += [_figure(figure, look) for figure in section.figures]
    if section.notes:
        notes = "\n".join(f"<li>{_inline(note)}</li>" for note in section.notes)
        parts.append(
            '<div class="notes" role="note">\n<p class="label">Notes</p>\n'
            f"<ul>\n{notes}\n</ul>\n</div>"
        )
    parts.append(_repeat(section))
    inside = "\n".join(part for part in parts if part)
    name = section.name
    return f'<section id="{name}" aria-labelledby="{name}-title">\n{inside}\n</section>'


def _repeat(section: Section) -> str:
    parts = []
    if section.command is not None:
        parts.append(f'<span class="label">Repeat</span> <code>{escape(section.command)}</code>')
    if section.seconds is not None:
        parts.append(f'<span class="took">took {duration(section.seconds)}</span>')
    return f'<p class="repeat">{" ".join(parts)}</p>' if parts else ""


def _table(table: Table, name: str) -> str:
    require_shape(table)
    numeric, differs = numeric_columns(table), difference_columns(table)
    starts = set(accumulate((width for _, width in table.groups), initial=0)) - {0}
    kinds = [
        " ".join(word for word, holds in (("number", numeric[i]), ("start", i in starts)) if holds)
        for i in range(len(table.columns))
    ]
    heads = "".join(
        f'<th scope="col"{_class(kind)}>{_inline(column)}</th>'
        for kind, column in zip(kinds, table.columns, strict=True)
    )
    rows = "\n".join(
        f'<tr><th scope="row">{_inline(cell_text(row[0]))}</th>'
        + "".join(
            f"<td{_class(kinds[i])}>{_cell(row[i], differs[i])}</td>" for i in range(1, len(row))
        )
        + "</tr>"
        for row in table.rows
    )
    wide = ' class="wide"' if len(table.columns) > _WIDE else ""
    return f"""<div class="scroll" role="region" aria-labelledby="{name}" tabindex="0">
<table{wide}>
<caption id="{name}"><span>{_inline(table.caption)}</span></caption>
<thead>
{_groups(table)}<tr>{heads}</tr>
</thead>
<tbody>
{rows}
</tbody>
</table>
</div>"""


def _class(kind: str) -> str:
    return f' class="{kind}"' if kind else ""


def _groups(table: Table) -> str:
    """A first row of headings, each over its run of columns."""
    cells = []
    for i, (heading, width) in enumerate(table.groups):
        start = ' class="start"' if i > 0 else ""
        cells.append(
            f'<th scope="colgroup" colspan="{width}"{start}>{_inline(heading)}</th>'
            if heading
            else f'<td colspan="{width}"{start}></td>'
        )
    return f'<tr class="groups">{"".join(cells)}</tr>\n' if cells else ""


def _cell(cell: str | None, differs: bool) -> str:
    text = cell_text(cell)
    if differs and text[0] in "+−" and any(digit in text for digit in "123456789"):
        return f'<span class="{"more" if text[0] == "+" else "less"}">{_inline(text)}</span>'
    return _inline(text)


def _figure(figure: Figure, look: Mapping[str, Look]) -> str:
    panels = "\n".join(draw_panels(figure, look))
    keys = "\n".join(_key(key) for key in legend(figure, look))
    group = "" if len(figure.panels) == 1 else f' role="group" aria-label="{escape(figure.alt)}"'
    return f"""<figure id="figure-{figure.name}">
<figcaption>{_inline(figure.caption)}</figcaption>
<ul class="legend" aria-label="Legend">
{keys}
</ul>
<div class="panels of{n_columns(figure)}"{group}>
{panels}
</div>
</figure>"""


def _key(key: Key) -> str:
    return (
        f'<li><svg aria-hidden="true" viewBox="0 0 30 12" width="30" height="12">{swatch(key)}'
        f"</svg>{escape(key.name)}</li>"
    )


def _facts(facts: Mapping[str, str]) -> str:
    if not facts:
        return ""
    items = "\n".join(
        f"<div><dt>{escape(name)}</dt><dd>{_inline(value)}</dd></div>"
        for name, value in facts.items()
    )
    return f'<footer>\n<h2 id="facts">How this was made</h2>\n<dl>\n{items}\n</dl>\n</footer>'


def _paragraphs(texts: Iterable[str]) -> str:
    return "\n".join(f"<p>{_inline(text)}</p>" for text in texts)


def _inline(text: str) -> str:
    return "".join(
        f"<code>{escape(piece)}</code>" if is_code else escape(typeset(piece))
        for is_code, piece in spans(text)
    )
