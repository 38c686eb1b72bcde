"""Blocks of svmlight text to arrays, in threads."""

import math
import re
from collections.abc import Iterable
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
_SEVERAL = re.compile(rb"[-+.\deE]+(,[-+.\deE]+)+")  # labels of one row
_PAIR = re.compile(rb"(?<!\S)\+?(\d+):(\S+)")
_COLUMN_0 = re.compile(rb"\+?0+:")


def content(line: bytes) -> bytes:
    """A line without its comment."""
    return line.partition(b"#")[0]


def is_finite_number(text: bytes) -> bool:
    """Whether the text is a finite number without Python's digit separators."""
    return is_number(text) and b"_" not in text and math.isfinite(float(text))


def is_word_label(text: bytes) -> bool:
    """Whether the text is a label where labels are words: several numbers are none."""
    return _SEVERAL.fullmatch(text) is None


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


class BadToken(Exception):
    """A label, or a column with its value, cannot be read; `place` is where it begins."""

    def __init__(self, place: int) -> None:
        super().__init__(place)
        self.place = place

    def error(
        self, name: str, text: Array, first_line: int, base: int, n_columns: int
    ) -> DataError:
        """The error that names the line and what should stand there; columns count from `base`."""
        before = text[: self.place].tobytes()
        line = before.rpartition(b"\n")[2]
        token = content(text[self.place : line_end(text, self.place)].tobytes()).split()[0]
        if not line.strip():
            fault = (
                f"has {shown(token)} where a label should stand; give one per row, all of them "
                "words or all finite numbers (integers below 2^53), 0 where it is not known"
            )
        elif base and _COLUMN_0.match(token):
            fault = "has a column 0, but columns count from 1 in this file; pass one_based=False"
        else:
            fault = (
                f"has {shown(token)} where column:value should stand, columns ascending from "
                f"{base} to {base + n_columns - 1} and values finite; correct the line, or pass a "
                "larger n_columns"
            )
        return DataError(f"{name}: line {first_line + before.count(10)} {fault}.")


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
    room = loops.ParsedRows(
        labels=np.empty(n_lines),
        label_starts=np.empty(n_lines, np.int64),
        label_ends=np.empty(n_lines, np.int64),
        lengths=np.empty(n_lines, np.int64),
        columns=np.empty(n_values, np.int32 if n_columns < 2**31 else np.int64),
        values=np.empty(n_values),
    )

    def work(number: int) -> Array:
        results = np.empty(loops.N_RESULTS, np.int64)
        loops.parse_rows(
            text, *parts[number], base, n_columns, room, *firsts[number].tolist(), results
        )
        return results

    results = np.array(run_blocks(work, range(len(parts)), n_threads))
    bad = results[:, loops.BAD_TOKEN]
    if (bad != loops.NO_TOKEN).any():
        raise BadToken(int(bad[bad != loops.NO_TOKEN][0]))
    parsed = _without_gaps(room, results, firsts, counts, n_columns)
    if not results[:, loops.N_LONG].any():
        return parsed
    all_values = replace(parsed.rows, data=_all_values(text, parsed, base))
    return replace(parsed, rows=check_rows(all_values.matrix()))  # zeros may be among the new ones


def _all_values(text: Array, parsed: ParsedBlock, base: int) -> Array:
    """The values, of which those of too many digits for the loops, NaN so far, are read here."""
    rows, values = parsed.rows, parsed.rows.data.copy()
    too_long = np.flatnonzero(np.isnan(values))
    for row in np.unique(np.searchsorted(rows.indptr, too_long, "right") - 1).tolist():
        start, places = int(parsed.label_ends[row]), slice(*rows.indptr[row : row + 2])
        line = content(text[start : line_end(text, start)].tobytes())
        tokens = {int(token[1]) - base: token for token in _PAIR.finditer(line)}
        tokens_here = [tokens[column] for column in rows.indices[places].tolist()]
        for token in tokens_here:
            if not is_finite_number(token[2]):
                raise BadToken(start + token.start())
        values[places] = [float(token[2]) for token in tokens_here]
    return read_only(values)


def _without_gaps(
    room: loops.ParsedRows, results: Array, firsts: Array, counts: Array, n_columns: int
) -> ParsedBlock:
    """What segments wrote into their shares of the room; comments and query ids leave gaps."""
    used = results[:, [loops.N_ROWS, loops.N_VALUES]]

    def together(arrays: Iterable[Array], axis: int) -> list[Array]:
        if (used == counts).all():
            return list(arrays)
        spans = [
            slice(first, first + n) for first, n in zip(firsts[:, axis], used[:, axis], strict=True)
        ]
        return [np.concatenate([array[span] for span in spans]) for array in arrays]

    labels, label_starts, label_ends, lengths = together(room[:4], 0)
    columns, values = together(room[4:], 1)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    return ParsedBlock(
        labels, label_starts, label_ends,
        Rows(read_only(indptr), read_only(columns), read_only(values), n_columns),
        n_lines=int(counts[:, 0].sum()),
        n_fractions=int(results[:, loops.N_FRACTIONS].sum()),
        n_queries=int(results[:, loops.N_QUERIES].sum()),
    )  # fmt: skip
