"""Rows of a search for near-duplicates: in memory as they were read, or in files of a job."""

import itertools
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ..._core.arguments import Array
from ..._core.validation import Rows, read_only
from ..._loops.search import duplicates as loops

NARROW = 1 << 16  # columns of which a row can be laid out to be compared
_SAFE = 1e150  # values up to here, and down to its inverse, have squares that are safe
_NO_VALUES = np.empty(0, np.float32)


class Parts(Protocol):
    """Consecutive rows by the number of their part; without values, each value is 1."""

    def __getitem__(self, number: int) -> Rows: ...


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
        return Rows(rows.indptr, rows.indices, _NO_VALUES.astype(rows.data.dtype), rows.n_columns)
    if rows.data.dtype == np.float64:
        sizes = np.abs(rows.data)
        if sizes.max() > _SAFE or sizes.min() < 1 / _SAFE:
            largest = np.maximum.reduceat(np.append(sizes, 0), rows.indptr[:-1])
            _, exponents = np.frexp(np.where(rows.lengths > 0, largest, 1))
            scaled = np.ldexp(rows.data, -np.repeat(exponents, rows.lengths))
            return Rows(rows.indptr, rows.indices, read_only(scaled), rows.n_columns)
    return rows


def joined_parts(parts: Sequence[Rows]) -> Rows:
    """The rows of several parts as one."""
    if not parts:
        return Rows(read_only(np.zeros(1, np.int64)), np.empty(0, np.int32), _NO_VALUES, 1)
    lengths = np.concatenate([np.zeros(1, np.int64), *(part.lengths for part in parts)])
    values = [part.data for part in parts]
    if any(map(len, values)):
        values = [
            part.data if len(part.data) else np.ones(part.nnz, part.data.dtype) for part in parts
        ]
    return Rows(
        read_only(np.cumsum(lengths)),
        read_only(np.concatenate([part.indices for part in parts])),
        read_only(np.concatenate(values)), parts[0].n_columns,
    )  # fmt: skip


def size_of(rows: Rows) -> int:
    """Bytes of a part."""
    return int(rows.indptr.nbytes + rows.indices.nbytes + rows.data.nbytes)


class RowStore:
    """Rows numbered through all parts; `firsts` are the numbers of the parts' first rows."""

    def __init__(self, parts: Parts, firsts: Array) -> None:
        self._parts, self._firsts = parts, firsts

    @classmethod
    def in_memory(cls, parts: Sequence[Rows]) -> "RowStore":
        """A store of parts that are in memory."""
        return cls(parts, np.cumsum([0, *map(len, parts)])[:-1])

    def lengths(self, rows: Array) -> Array:
        """Nonzeros of some rows, whose numbers ascend."""
        out = np.empty(len(rows), np.int64)
        for part, start, stop in self._ranges(rows):
            indptr = self._parts[part].indptr
            places = rows[start:stop] - self._firsts[part]
            out[start:stop] = indptr[places + 1] - indptr[places]
        return out

    def take(self, rows: Array) -> Rows:
        """Some rows, whose numbers ascend; without values where all of them are 1."""
        chosen = [
            (self._parts[part], start, read_only(rows[start:stop] - self._firsts[part], np.int64))
            for part, start, stop in self._ranges(rows)
        ]
        lengths = [np.diff(part.indptr)[places] for part, _, places in chosen]
        indptr = np.cumsum(np.concatenate([np.zeros(1, np.int64), *lengths]))
        has_values = any(len(part.data) for part, _, _ in chosen)
        kind = np.result_type(np.float32, *(part.data.dtype for part, _, _ in chosen))
        columns = np.int32 if not chosen else chosen[0][0].indices.dtype
        out = loops.SortedRows(
            read_only(indptr), np.empty(indptr[-1], columns),
            np.empty(indptr[-1] if has_values else 0, kind), np.empty(0),
        )  # fmt: skip
        for part, start, places in chosen:
            data = read_only(part.data)
            loops.gather_rows(
                read_only(part.indptr), read_only(part.indices), data, places, start, out
            )
        width = chosen[0][0].n_columns if chosen else 1
        return Rows(out.indptr, read_only(out.columns), read_only(out.values), width)

    def _ranges(self, rows: Array) -> list[tuple[int, int, int]]:
        """Parts, and which of the rows are in each: from a place, up to another."""
        parts = np.searchsorted(self._firsts, rows, "right") - 1
        starts = np.flatnonzero(np.diff(parts, prepend=-1)).tolist()
        ends = itertools.pairwise([*starts, len(rows)])
        return [(int(parts[start]), start, stop) for start, stop in ends]


def sorted_rows(rows: Rows, uses_values: bool) -> loops.SortedRows:
    """Rows as the loop that compares them takes them."""
    squares = rows.lengths.astype(np.float64)
    if uses_values and len(rows.data):
        squares = np.empty(len(rows))
        loops.sums_of_squares(rows.indptr, rows.data, rows.n_columns <= NARROW, squares)
    return loops.SortedRows(rows.indptr, rows.indices, rows.data, read_only(squares))
