"""Blocks of svmlight text to arrays, in threads."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .._core.threads import run_blocks
from .._core.types import Array
from .._loops.text import svmlight as loops
from .svmlight_lines import token_at
from .text_blocks import segments

_FIRST_ROOM = 1024  # values of too many digits per segment


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
    indptr: Array
    columns: Array
    values: Array
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
        facts = np.empty(loops.N_FACTS, np.int64)
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
    found = run_blocks(lambda part: loops.count_marks(text, *part), parts, n_threads)
    counts = np.array([(lines, colons) for lines, colons, _ in found])
    return Segments(parts, counts, all(is_ascii for *_, is_ascii in found))


def parse_block(
    text: Array, block: Segments, base: int, n_columns: int, n_threads: int
) -> ParsedBlock:
    """The rows of a block of whole lines, whose columns count from `base`."""
    parts, counts = block.parts, block.counts
    firsts = np.cumsum(counts, axis=0) - counts
    n_lines, n_values = counts.sum(axis=0).tolist()
    rows = _room(n_lines, n_values, n_columns)

    def work(number: int) -> tuple[Array, loops.ParsedRows]:
        results, mine = np.empty(loops.N_RESULTS, np.int64), rows
        n_long = _FIRST_ROOM
        while True:
            mine = mine._replace(
                long_places=np.empty(n_long, np.int64), long_starts=np.empty(n_long, np.int64)
            )
            first_row, first_value = firsts[number].tolist()
            loops.parse_rows(
                text, *parts[number], base, n_columns, mine, first_row, first_value, results
            )
            if results[loops.N_LONG] <= n_long:
                return results, mine
            n_long = int(results[loops.N_LONG])

    done = run_blocks(work, range(len(parts)), n_threads)
    results = np.array([some for some, _ in done])
    bad = results[:, loops.BAD_LINE]
    if (bad != loops.NO_LINE).any():
        raise BadLine(int(bad[bad != loops.NO_LINE][0]))
    for some, mine in done:
        for p in range(some[loops.N_LONG]):
            value = float(token_at(text, int(mine.long_starts[p])))
            if not np.isfinite(value):
                raise BadLine(int(mine.long_starts[p]))
            rows.values[mine.long_places[p]] = value
    return _without_gaps(rows, results, firsts, counts)


def _room(n_lines: int, n_values: int, n_columns: int) -> loops.ParsedRows:
    """Arrays for as many rows and values as the text can hold."""
    index_type = np.int32 if max(n_columns, n_values) <= np.iinfo(np.int32).max else np.int64
    return loops.ParsedRows(
        labels=np.empty(n_lines),
        label_starts=np.empty(n_lines, np.int64),
        label_ends=np.empty(n_lines, np.int64),
        indptr=np.zeros(n_lines + 1, index_type),
        columns=np.empty(n_values, index_type),
        values=np.empty(n_values),
        long_places=np.empty(0, np.int64),
        long_starts=np.empty(0, np.int64),
    )


def _without_gaps(
    rows: loops.ParsedRows, results: Array, firsts: Array, counts: Array
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
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(indptr.dtype)
        of_rows = [np.concatenate([array[span] for span in row_spans]) for array in of_rows]
        of_values = [np.concatenate([array[span] for span in value_spans]) for array in of_values]
    return ParsedBlock(
        of_rows[0], of_rows[1], of_rows[2], indptr, of_values[0], of_values[1],
        n_lines=int(counts[:, 0].sum()),
        n_fractions=int(results[:, loops.N_FRACTIONS].sum()),
        n_queries=int(results[:, loops.N_QUERIES].sum()),
    )  # fmt: skip
