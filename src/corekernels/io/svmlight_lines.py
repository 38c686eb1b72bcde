"""What is wrong with a line of svmlight text, in words: the loops only say which line it is."""

import math
import re

from .._core.types import Array
from ..errors import DataError

MAX_COLUMN = 2**63 - 1
MAX_LABEL = 2**53  # labels are read as floats, which hold integers below this exactly

_SHOWN = 40
_SEVERAL = re.compile(rb"[-+.\deE]+(,[-+.\deE]+)+")
_TOKEN = re.compile(rb"[^\s#]*")
WHOLE = re.compile(rb"[-+]?\d+")


def token_at(text: Array, start: int) -> bytes:
    """The token that begins at a place of the text."""
    size = 64
    while True:
        found = _TOKEN.match(text[start : start + size].tobytes())
        if found is not None and found.end() < size:
            return found[0]
        size *= 4


def content(line: bytes) -> bytes:
    """A line without its comment."""
    return line.partition(b"#")[0]


def is_number(text: bytes) -> bool:
    """Whether Python reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def complaint(line: bytes, one_based: bool, n_columns: int, labels: str) -> str:
    """What the first fault of a line is and what to do about it.

    `labels` are "numbers", "words" or "ignored".
    """
    tokens = content(line).split()
    if not tokens:
        return "cannot be read; look for stray characters"
    columns = tokens[1:]
    fault = word_fault(tokens[0], labels != "ignored")
    if labels == "numbers":
        fault = fault or _number_fault(tokens[0])
    if columns and columns[0].startswith(b"qid"):
        if b":" not in columns[0]:
            return f"has the query id {shown(columns[0])}; write it as qid:NUMBER"
        columns = columns[1:]
    previous = -1
    for token in columns:
        if fault:
            return fault
        fault = _column_fault(token, previous, one_based, n_columns)
        previous = previous if fault else int(token.partition(b":")[0])
    return fault or "cannot be read; look for stray characters"


def word_fault(label: bytes, wanted: bool) -> str | None:
    """What is wrong with a label of any kind, if anything is."""
    if b":" in label:
        return f"has no label before {shown(label)}; put one there, 0 where it is not known"
    if wanted and _SEVERAL.fullmatch(label):
        return f"has several labels, {shown(label)}; keep one per row"
    return None


def _number_fault(label: bytes) -> str | None:
    if not is_plain_number(label):
        return (
            f"has the label {shown(label)}, which is not a number as the first row's is; "
            "write all labels as numbers or all as words"
        )
    if not math.isfinite(float(label)):
        return f"has the label {shown(label)}; give a finite number"
    if WHOLE.fullmatch(label) and abs(float(label)) >= MAX_LABEL:
        return f"has the label {shown(label)}, too large to be kept exactly; use smaller numbers"
    return None


def _column_fault(token: bytes, previous: int, one_based: bool, n_columns: int) -> str | None:
    index, colon, value = token.partition(b":")
    if not colon:
        return f"has {shown(token)} where column:value should stand"
    if not WHOLE.fullmatch(index):
        return f"has the column {shown(index)}, which is not a whole number"
    if len(index) > 19 or int(index) > MAX_COLUMN:
        return (
            f"has the column {shown(index)}, beyond {MAX_COLUMN}, the largest that can be read; "
            "number the columns anew"
        )
    column = int(index)
    if column < 0:
        return f"has the column {column}; columns count from {int(one_based)}"
    if column == 0 and one_based:
        return "has a column 0, but columns count from 1 in this file; pass one_based=False"
    if column - one_based >= n_columns:
        return (
            f"has the column {column}, but there are to be {n_columns} columns counted from "
            f"{int(one_based)}; pass a larger n_columns"
        )
    if column <= previous:
        return (
            f"has column {column} after column {previous}; sort the columns and let none come twice"
        )
    if not is_plain_number(value):
        return f"has {shown(value)} as the value of column {column}; give a number"
    if not math.isfinite(float(value)):
        return f"has {shown(value)} as the value of column {column}; fill or drop such values first"
    return None


def is_plain_number(text: bytes) -> bool:
    """Whether the text is a number without Python's digit separators."""
    return is_number(text) and b"_" not in text


def shown(text: bytes) -> str:
    """A piece of a file, fit for a message."""
    words = text[:_SHOWN].decode("utf-8", "backslashreplace")
    return repr(words + ("…" if len(text) > _SHOWN else ""))


def require_text(name: str, text: Array, first_line: int) -> None:
    """Refuse bytes that are not UTF-8 text, naming the line and the byte in it."""
    if not len(text) or (text.max() < 128 and text.min() > 0):
        return
    block = text.tobytes()
    try:
        block.decode("utf-8")
        place = block.find(b"\0")
        if place < 0:
            return
        what = "a zero byte"
    except UnicodeDecodeError as error:
        place, what = error.start, f"the byte 0x{block[error.start]:02x}, which is not UTF-8"
    line = first_line + block.count(b"\n", 0, place)
    column = place - block.rfind(b"\n", 0, place)
    raise DataError(
        f"{name}: line {line} holds {what} (byte {column} of the line); "
        "save it as UTF-8 text, or name its format if it is none."
    )
