"""Small things that the page and its Markdown twin say alike."""

import re
from collections.abc import Iterator

from ..errors import ParameterError
from .layout import Report, Table

_NUMBER = re.compile(r"[<>≤≥≈~±+\-−]?\s*\.?\d")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


def require_names(report: Report) -> None:
    """Raise unless the names of sections and figures can be addresses and files, each once."""
    seen: set[str] = set()
    sections = [("section", section.name) for section in report.sections]
    figures = [("figure", f.name) for section in report.sections for f in section.figures]
    for kind, name in sections + figures:
        if not _NAME.fullmatch(name):
            raise ParameterError(
                f"{kind}: name {name!r}; use letters, digits, '-' and '_' alone, "
                "as it becomes a file and an address."
            )
        if f"{kind} {name}" in seen:
            raise ParameterError(f"{kind}: two are named {name!r}; give each a name of its own.")
        seen.add(f"{kind} {name}")


def duration(seconds: float) -> str:
    """Seconds as a person says them.

    >>> duration(0.42), duration(75), duration(7300)
    ('0.4 s', '1 min 15 s', '2 h 2 min')
    """
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s".removesuffix(" 0 s")
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min".removesuffix(" 0 min")


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


def typeset(text: str) -> str:
    """Prose with round apostrophes, and with the kernels' names kept on one line.

    >>> typeset("the paper's CoRE 1")
    'the paper’s CoRE\\xa01'
    """
    return re.sub(r"(?<=\bCoRE) (?=\d)", "\u00a0", re.sub(r"(?<=\w)'", "’", text))


def cell_text(cell: str | None) -> str:
    """What a cell shows: a dash for nothing, and a real minus before a number."""
    if cell is None or not cell.strip():
        return "–"
    return re.sub(r"^-(?=[\d.])", "−", cell.strip())


def numeric_columns(table: Table) -> list[bool]:
    """Which columns hold numbers alone; the first names the rows and never does."""
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.columns)
    return [
        i > 0
        and any(cell for cell in column)
        and all(_NUMBER.match(cell.strip()) for cell in column if cell)
        for i, column in enumerate(columns)
    ]


def difference_columns(table: Table) -> list[bool]:
    """Which columns hold differences: those named so, and numbers with a plus among them."""
    found = []
    for i, (name, numeric) in enumerate(zip(table.columns, numeric_columns(table), strict=True)):
        cells = [row[i] or "" for row in table.rows]
        named = re.match(r"diff|Δ", name.strip(), re.IGNORECASE) is not None
        found.append(numeric and (named or any(c.strip().startswith("+") for c in cells)))
    return found


def require_shape(table: Table) -> None:
    """Raise unless each row, and the groups together, are as wide as the columns."""
    n = len(table.columns)
    for i, row in enumerate(table.rows):
        if len(row) != n:
            raise ParameterError(
                f"table {table.caption!r}: row {i} has {len(row)} cells for {n} columns."
            )
    wide = sum(width for _, width in table.groups)
    if table.groups and wide != n:
        raise ParameterError(f"table {table.caption!r}: groups span {wide} of {n} columns.")
