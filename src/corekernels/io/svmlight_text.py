"""Blocks of svmlight text to arrays, in threads."""

import math
import re
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._core.arguments import Array
from .._core.threads import run_blocks
from .._core.validation import Rows, check_rows, is_number, read_only
from .._loops.text import svmlight as loops
from ..errors import DataError
from .streams import line_end, segments

MAX_COLUMN = 2**63 - 1
MAX_LABEL = 2**53  # labels are read as floats, which hold integers below this exactly

_SHOWN = 40
_SEVERAL = re.compile(rb"[-+.\deE]+(,[-+.\deE]+)+")
_WHOLE = re.compile(rb"[-+]?\d+")
_COLUMN = re.compile(rb"\+?(\d{1,19}):(.*)")


def content(line: bytes) -> bytes:
    """A line without its comment."""
    return line.partition(b"#")[0]


def tokens_of(line: bytes) -> tuple[bytes, list[bytes]]:
    """The label of a line and what should be its columns and values."""
    label, *columns = content(line).split() or [b""]
    return label, columns[1:] if columns and columns[0].startswith(b"qid:") else columns


def is_finite_number(text: bytes) -> bool:
    """Whether the text is a finite number without Python's digit separators."""
    return is_number(text) and b"_" not in text and math.isfinite(float(text))


def is_label(text: bytes, kind: str) -> bool:
    """Whether the text is a label; `kind` is "numbers", "words", or "ignored" for any."""
    if b":" in text or kind == "ignored":
        return b":" not in text
    if kind == "words":
        return _SEVERAL.fullmatch(text) is None
    is_exact = _WHOLE.fullmatch(text) is None or abs(float(text)) < MAX_LABEL
    return is_finite_number(text) and is_exact


def complaint(line: bytes, base: int, n_columns: int, labels: str) -> str:
    """The first token of a line that cannot be read, and what should stand there.

    `labels` are of a kind as for `is_label`; columns count from `base`.
    """
    label, columns = tokens_of(line)
    if not is_label(label, labels):
        return (
            f"has {shown(label)} where a label should stand; give one per row, all of them words "
            "or all finite numbers (integers below 2^53), 0 where it is not known"
        )
    previous, token = base - 1, b""
    for token in columns:
        match = _COLUMN.fullmatch(token)
        column = int(match[1]) if match else -1
        if column == 0 and base:
            return "has a column 0, but columns count from 1 in this file; pass one_based=False"
        if match is None or not previous < column < base + n_columns:
            break
        if not is_finite_number(match[2]):
            break
        previous = column
    return (
        f"has {shown(token)} where column:value should stand, columns ascending from {base} to "
        f"{base + n_columns - 1} and values finite; correct the line, or pass a larger n_columns"
    )


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


class BadLine(Exception):
    """A line cannot be read; `place` is somewhere in it."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place


@dataclass(frozen=True)
class ParsedBlock:
    """The rows of a block of text; labels that are no numbers are NaN."""

    labels: Array
    label_starts: Array  # where each label stands in the text
    label_ends: Array
    rows: Rows
    n_lines: int
    n_fractions: int  # labels that are numbers, but not written as integers
    n_queries: int

    def label_words(self, text: Array) -> Array:
        """The labels as the words they are, in an array of bytes."""
        width = int((self.label_ends - self.label_starts).max(initial=1))
        table = np.zeros((len(self.labels), width), np.uint8)
        loops.gather_labels(text, self.label_starts, self.label_ends, table)
        return table.view(f"S{width}")[:, 0]


def scan_block(text: Array, n_threads: int) -> list[Array]:
    """Facts about the lines of a block, segment by segment; see `loops.scan_lines`."""

    def work(part: tuple[int, int]) -> Array:
        facts = loops.NO_FACTS.copy()
        loops.scan_lines(text, *part, facts)
        return facts

    return run_blocks(work, segments(text, n_threads), n_threads)


class Segments(NamedTuple):
    """A block of whole lines, cut into one part per thread."""

    parts: list[tuple[int, int]]  # where each begins and ends in the text
    counts: Array  # lines and colons of each part
    is_ascii: bool


def count_block(text: Array, n_threads: int) -> Segments:
    """The segments of a block, and how much room their rows need."""
    parts = segments(text, n_threads)
    marks = run_blocks(lambda part: loops.count_marks(text, *part), parts, n_threads)
    counts = np.array([(lines, colons) for lines, colons, _ in marks])
    return Segments(parts, counts, all(is_ascii for *_, is_ascii in marks))


def parse_block(
    text: Array, block: Segments, base: int, n_columns: int, n_threads: int
) -> ParsedBlock:
    """The rows of a block of whole lines, whose columns count from `base`."""
    parts, counts = block.parts, block.counts
    firsts = np.cumsum(counts, axis=0) - counts
    n_lines, n_values = counts.sum(axis=0).tolist()
    rows = _room(n_lines, n_values, n_columns)

    def work(number: int) -> Array:
        results = np.empty(loops.N_RESULTS, np.int64)
        loops.parse_rows(
            text, *parts[number], base, n_columns, rows, *firsts[number].tolist(), results
        )
        return results

    results = np.array(run_blocks(work, range(len(parts)), n_threads))
    bad = results[:, loops.BAD_LINE]
    if (bad != loops.NO_LINE).any():
        raise BadLine(int(bad[bad != loops.NO_LINE][0]))
    parsed = _without_gaps(rows, results, firsts, counts, n_columns)
    n_zeros, n_long = results[:, [loops.N_ZEROS, loops.N_LONG]].sum(axis=0).tolist()
    if n_long:
        parsed = replace(parsed, rows=replace(parsed.rows, data=_all_values(text, parsed)))
    return replace(parsed, rows=check_rows(parsed.rows.matrix())) if n_zeros + n_long else parsed


def _all_values(text: Array, parsed: ParsedBlock) -> Array:
    """The values, of which those of too many digits for the loops, NaN so far, are read here."""
    indptr, values = parsed.rows.indptr, parsed.rows.data.copy()
    too_long = np.flatnonzero(np.isnan(values))
    for row in np.unique(np.searchsorted(indptr, too_long, "right") - 1).tolist():
        start = int(parsed.label_starts[row])
        _, tokens = tokens_of(text[start : line_end(text, start)].tobytes())
        values[indptr[row] : indptr[row + 1]] = [float(t.partition(b":")[2]) for t in tokens]
        if not np.isfinite(values[indptr[row] : indptr[row + 1]]).all():
            raise BadLine(start)
    return read_only(values)


def _room(n_lines: int, n_values: int, n_columns: int) -> loops.ParsedRows:
    """Arrays for as many rows and values as the text can hold."""
    index_type = np.int32 if n_columns <= np.iinfo(np.int32).max else np.int64
    return loops.ParsedRows(
        labels=np.empty(n_lines),
        label_starts=np.empty(n_lines, np.int64),
        label_ends=np.empty(n_lines, np.int64),
        indptr=np.zeros(n_lines + 1, np.int64),
        columns=np.empty(n_values, index_type),
        values=np.empty(n_values),
    )


def _without_gaps(
    rows: loops.ParsedRows, results: Array, firsts: Array, counts: Array, n_columns: int
) -> ParsedBlock:
    """What segments wrote into their shares of the room; comments and query ids leave gaps."""
    used = results[:, [loops.N_ROWS, loops.N_VALUES]]
    of_rows, indptr = [rows.labels, rows.label_starts, rows.label_ends], rows.indptr
    of_values = [rows.columns, rows.values]
    if (used != counts).any():
        row_spans, value_spans = (
            [slice(first, first + n) for first, n in zip(firsts[:, i], used[:, i], strict=True)]
            for i in range(2)
        )
        lengths = [
            np.diff(indptr[1:][span], prepend=first)
            for span, first in zip(row_spans, firsts[:, 1], strict=True)
        ]
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))])
        of_rows = [np.concatenate([array[span] for span in row_spans]) for array in of_rows]
        of_values = [np.concatenate([array[span] for span in value_spans]) for array in of_values]
    return ParsedBlock(
        of_rows[0], of_rows[1], of_rows[2],
        Rows(read_only(indptr), read_only(of_values[0]), read_only(of_values[1]), n_columns),
        n_lines=int(counts[:, 0].sum()),
        n_fractions=int(results[:, loops.N_FRACTIONS].sum()),
        n_queries=int(results[:, loops.N_QUERIES].sum()),
    )  # fmt: skip
