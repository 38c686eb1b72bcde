"""Small things that the page and its Markdown twin say alike."""

import re
import shlex
from collections.abc import Iterator

from .._core.escaping import visible
from .layout import Table

_NUMBER = re.compile(r"[<>≤≥≈~±+\-−]?\s*\.?\d")


def duration(seconds: float, *, fine: bool = False) -> str:
    """Seconds as a person says them; if `fine`, less than a tenth of one in milliseconds.

    >>> duration(0.42), duration(75), duration(7300), duration(0.0123, fine=True)
    ('0.4 s', '1 min 15 s', '2 h 2 min', '12 ms')
    """
    if fine and seconds < 0.095:
        return f"{1000 * seconds:.2g} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s".removesuffix(" 0 s")
    minutes = round(seconds / 60)
    return f"{minutes // 60} h {minutes % 60} min".removesuffix(" 0 min")


def named_file(source: str, options: str = "") -> str:
    """A file as a command names it, and the options by which it is read.

    >>> named_file("my rows.csv", "--text body")
    "'my rows.csv' --text body"
    """
    return f"{shlex.quote(source)} {options}".strip()


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


def printable(page: str) -> str:
    """A page in which control characters are seen, not done; newlines stay."""
    return "\n".join(map(visible, page.split("\n")))


def unbroken(text: str) -> str:
    """Text with no line broken before a short number, = or %.

    >>> unbroken("CoRE 1: 80 %")
    'CoRE\\xa01: 80\\xa0%'
    """
    return re.sub(r"(?<=\w) (?=\d\b|[=%])|(?<= =) ", "\u00a0", text)


def cell_text(cell: str | None) -> str:
    """What a cell shows: a dash for nothing, and a real minus before a number."""
    return re.sub(r"^-(?=[\d.])", "−", (cell or "").strip()) or "–"


def sign(cell: str | None) -> str:
    """What a difference says: " more", " less" or, where there is none, nothing."""
    text = cell_text(cell)
    return {"+": " more", "−": " less"}.get(text[0], "") if re.search("[1-9]", text) else ""


def column_kinds(table: Table) -> list[str]:
    """What each column holds: "text", "number" or "difference"; the first names the rows."""
    kinds = []
    for i, name in enumerate(table.columns):
        cells = [cell for row in table.rows if (cell := (row[i] or "").strip())]
        is_difference = name.lower().startswith("diff") or any(c.startswith("+") for c in cells)
        if i == 0 or not cells or not all(_NUMBER.match(cell) for cell in cells):
            kinds.append("text")
        else:
            kinds.append("difference" if is_difference else "number")
    return kinds
