"""Rows as they were read, in memory or in files of a job, and the kernel values of their pairs."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..._core.arguments import Array
from ..._core.threads import row_blocks, run_blocks
from ..._core.validation import Rows, read_only
from ..._loops.search import duplicates as loops
from ...kernel_table import Kernel

NARROW = 1 << 16  # columns of which a row can be laid out to be compared
_SAFE = 1e150  # values up to here, and down to its inverse, have squares that are safe
_BLOCK_PAIRS = 4096
_BYTES_PER_VALUE = 32  # of rows that are compared: column and value, mapped and gathered


def row_digests(rows: Rows) -> Array:
    """128 bits of each row (n_rows, 2), equal for equal rows."""
    out = np.empty((len(rows), 2), np.uint64)
    rows = rows.compact()
    bits = rows.data.view(np.uint32 if rows.data.itemsize == 4 else np.uint64)
    loops.row_digests(rows.indptr, read_only(rows.indices), read_only(bits), out)
    return out


def rows_to_keep(rows: Rows, uses_values: bool) -> Rows:
    """The rows as a part: without values where these are all 1, or do not count."""
    rows = rows.compact()
    if not uses_values or bool((rows.data == 1).all()):
        return Rows(rows.indptr, rows.indices, np.empty(0, rows.data.dtype), rows.n_columns)
    if rows.data.dtype == np.float64:
        sizes = np.abs(rows.data)
        if sizes.max() > _SAFE or sizes.min() < 1 / _SAFE:
            largest = np.maximum.reduceat(np.append(sizes, 0), rows.indptr[:-1])
            _, exponents = np.frexp(np.where(rows.lengths > 0, largest, 1))
            scaled = np.ldexp(rows.data, -np.repeat(exponents, rows.lengths))
            return Rows(rows.indptr, rows.indices, read_only(scaled), rows.n_columns)
    return rows


def size_of(rows: Rows) -> int:
    """Bytes of a part."""
    return int(rows.indptr.nbytes + rows.indices.nbytes + rows.data.nbytes)


class RowStore:
    """Rows numbered through all parts, which `part` gives by their numbers.

    `firsts` are the numbers of the parts' first rows. Without values, each value is 1.
    """

    def __init__(self, part: Callable[[int], Rows], firsts: Array, n_rows: int) -> None:
        self._part, self._firsts, self.n_rows = part, firsts, n_rows

    @classmethod
    def in_memory(cls, parts: Sequence[Rows]) -> "RowStore":
        """A store of parts that are in memory."""
        ends = np.cumsum([0, *map(len, parts)])
        return cls(parts.__getitem__, ends[:-1], int(ends[-1]))

    def lengths(self, rows: Array) -> Array:
        """Nonzeros of some rows, whose numbers ascend."""
        pieces = [part.lengths[places] for part, places in self._pieces(rows)]
        return np.concatenate([np.empty(0, np.int64), *pieces])

    def take(self, rows: Array) -> Rows:
        """Some rows, whose numbers ascend; without values where all of them are 1."""
        pieces = self._pieces(rows)
        lengths = [part.lengths[places] for part, places in pieces]
        indptr = np.cumsum(np.concatenate([np.zeros(1, np.int64), *lengths]))
        has_values = any(len(part.data) for part, _ in pieces)
        kind = np.result_type(np.float32, *(part.data.dtype for part, _ in pieces))
        columns, width = np.dtype(np.int32), 1
        if pieces:
            columns, width = pieces[0][0].indices.dtype, pieces[0][0].n_columns
        out = loops.SortedRows(
            read_only(indptr), np.empty(indptr[-1], columns),
            np.empty(indptr[-1] if has_values else 0, kind), np.empty(0),
        )  # fmt: skip
        first = 0
        for part, places in pieces:
            arrays = map(read_only, (part.indptr, part.indices, part.data))
            loops.gather_rows(*arrays, read_only(places, np.int64), first, out)
            first += len(places)
        return Rows(out.indptr, read_only(out.columns), read_only(out.values), width)

    def _pieces(self, rows: Array) -> list[tuple[Rows, Array]]:
        """The parts that have some of the rows, and the places of these."""
        parts = np.searchsorted(self._firsts, rows, "right") - 1
        starts = np.flatnonzero(np.diff(parts, prepend=-1))
        return [
            (self._part(int(some[0])), places - self._firsts[some[0]])
            for some, places in zip(
                np.split(parts, starts[1:]), np.split(rows, starts[1:]), strict=True
            )
            if len(some)
        ]


def sorted_rows(rows: Rows, uses_values: bool) -> loops.SortedRows:
    """Rows as the loop that compares them takes them."""
    squares = rows.lengths.astype(np.float64)
    if uses_values and len(rows.data):
        squares = np.empty(len(rows))
        loops.sums_of_squares(rows.indptr, rows.data, rows.n_columns <= NARROW, squares)
    return loops.SortedRows(rows.indptr, rows.indices, rows.data, read_only(squares))


class Pairs(NamedTuple):
    """Pairs of rows, as the numbers (first row) n_rows + (second row), and their kernel values."""

    numbers: Array
    values: Array

    @classmethod
    def joined(cls, parts: "Sequence[Pairs]") -> "Pairs":
        """The pairs of several parts, one after the other."""
        nothing = cls(np.empty(0, np.int64), np.empty(0))
        return cls(*(np.concatenate(columns) for columns in zip(nothing, *parts, strict=True)))


def similar_pairs(
    store: RowStore, pairs: Array, kernel: Kernel, threshold: float, n_bytes: float,
    n_jobs: int | None,
) -> Pairs:  # fmt: skip
    """Those of the pairs, which ascend, that reach the threshold.

    Rows are gathered for as many pairs at a time as `n_bytes` allow.
    """
    left, right = np.divmod(pairs, max(1, store.n_rows))
    is_new = np.diff(left, prepend=-1) > 0  # as np.unique, but of fewer
    rows = np.unique(np.concatenate([left[is_new], right]))
    if len(pairs) > 1 and store.lengths(rows).sum() * _BYTES_PER_VALUE > n_bytes:
        halves = np.array_split(pairs, 2)
        how = kernel, threshold, n_bytes, n_jobs
        return Pairs.joined([similar_pairs(store, half, *how) for half in halves])
    taken = store.take(rows)
    gathered = sorted_rows(taken, kernel.uses_values)
    is_narrow = taken.n_columns <= NARROW and len(taken.data) > 0
    i = read_only(np.searchsorted(rows, left), np.int64)
    j = read_only(np.searchsorted(rows, right), np.int64)
    values = np.empty(len(pairs))

    def work(block: tuple[int, int]) -> None:
        span = slice(*block)
        arguments = threshold, kernel.for_loops, gathered, i[span], j[span]
        if is_narrow:
            loops.compare_narrow_pairs(*arguments, np.zeros(taken.n_columns), values[span])
        else:
            loops.compare_pairs(*arguments, values[span])

    run_blocks(work, row_blocks(0, len(pairs), _BLOCK_PAIRS), n_jobs)
    is_similar = values >= threshold
    return Pairs(pairs[is_similar], values[is_similar])
