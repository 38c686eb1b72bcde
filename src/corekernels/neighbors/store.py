"""Rows as the search keeps them: compact, lossless, ready for exact kernel values.

Columns are 16-bit where there are few enough; beyond 65,536 they are renumbered over the
columns in use. Values keep their own precision: bytes where they are small whole numbers,
float32 where that loses nothing, else float64, scaled by a power of two per row if the kernel sees
directions alone.
"""

from dataclasses import dataclass, fields
from numbers import Real
from typing import Any

import numpy as np

from .._core.arguments import Array
from .._core.forks import computed_once
from .._core.memory import common_size, working_memory
from .._core.team import Team
from .._core.threads import row_blocks, run_blocks
from .._core.validation import Rows, read_only
from .._loops.search.pairs import Queries, StoredRows, pairs_at_least
from .._loops.search.preparation import (
    LEAST,
    lay_out_rows,
    prepare_queries,
    summarise_rows,
)
from .._loops.simd.integers import LINE
from ..errors import DataError, ParameterError
from ..kernel_table import Kernel

_NUMBERED_TOGETHER = 1 << 17  # columns


def number_columns(columns: Array, n_jobs: int | None) -> tuple[Array, Array]:
    """The different columns, ascending, and for each column its place among them.

    As `np.unique` gives them, in threads and in less time: parts fit in a cache.

    >>> number_columns(np.array([70, 20, 70, 30]), None)
    (array([20, 30, 70]), array([2, 0, 2, 1]))
    """
    blocks = row_blocks(0, len(columns), _NUMBERED_TOGETHER)

    def number(block: tuple[int, int]) -> tuple[Array, Array]:
        return np.unique(columns[slice(*block)], return_inverse=True)

    parts = run_blocks(number, blocks, n_jobs)
    words = np.sort(np.concatenate([columns[:0], *(own for own, _ in parts)]))
    words = np.delete(words, np.flatnonzero(words[1:] == words[:-1]))
    numbers = np.empty(len(columns), np.int64)

    def renumber(place: int) -> None:
        own, places = parts[place]
        numbers[slice(*blocks[place])] = np.searchsorted(words, own)[places]

    run_blocks(renumber, range(len(parts)), n_jobs)
    return words, numbers


def require_number(name: str, value: Any, most: float = np.inf) -> float:
    """A finite number of at most `most`."""
    if not isinstance(value, Real) or isinstance(value, bool) or not np.isfinite(float(value)):
        raise ParameterError(f"{name}: got {value!r}; give a finite number.")
    if float(value) > most:
        raise ParameterError(f"{name}: got {value!r}; no kernel value exceeds {most:g}.")
    return float(value)


def require_recall(value: Any) -> float:
    """A share above 0, up to 1."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) <= 1:
        raise ParameterError(f"recall: got {value!r}; give a number above 0, up to 1.")
    return float(value)


def check_ids(ids: Any, n_rows: int, known: Array | None = None) -> Array:
    """Ids of new rows, all integers or all strings, none of which is `known`.

    Those given, or the numbers after the highest known one. The first rows of an index decide
    whether its ids are integers or strings; strings are kept as objects.
    """
    with_strings = known is not None and known.dtype == object
    if ids is None:
        if with_strings:
            raise DataError("ids: those of the index are strings; give one for each new row.")
        return _next_numbers(n_rows, known)
    checked = as_ids(ids)
    if len(checked) != n_rows:
        raise DataError(f"ids: {len(checked)} were given for {n_rows} rows; give one per row.")
    if known is not None and len(checked) and (checked.dtype == object) != with_strings:
        kind = "strings" if with_strings else "integers"
        raise DataError(f"ids: those of the index are {kind}; give {kind}.")
    values, counts = np.unique(checked, return_counts=True)
    if (counts > 1).any():
        raise DataError(f"ids: {values[counts > 1][0]} is given twice; ids must be unique.")
    taken = np.empty(0) if known is None else np.intersect1d(checked, known)
    if len(taken):
        raise DataError(f"ids: {taken[0]} is in the index already; remove it first.")
    return checked if len(checked) or known is None else known[:0]


def as_ids(ids: Any) -> Array:
    """Ids as an array of 64-bit integers, or of strings as objects."""
    mixed = isinstance(ids, list | tuple) and any(isinstance(one, str) for one in ids)
    array = np.array(ids, object) if mixed else np.asarray(ids)  # NumPy would make strings of all
    if array.size == 0:
        return np.empty(0, np.int64)
    if array.dtype.kind in "OTU" and array.ndim == 1:
        array = array.astype(object)
        strings = all(isinstance(one, str) for one in array)
        if strings:
            return array
    if array.dtype.kind not in "iu" or array.ndim != 1:
        raise DataError(
            f"ids: got {array.ndim}-dimensional {array.dtype}; give integers, or strings only."
        )
    if array.dtype.kind == "u" and array.max() > np.iinfo(np.int64).max:
        raise DataError(f"ids: {array.max()} is too large; ids are 64-bit signed integers.")
    return array.astype(np.int64)


def _next_numbers(n_rows: int, known: Array | None) -> Array:
    first = int(known.max()) + 1 if known is not None and len(known) else 0
    if first + n_rows > 2**63:
        raise DataError(f"ids: none are left above {first - 1}; give ids of your own.")
    return np.arange(first, first + n_rows, dtype=np.int64)


NARROW = 1 << 16
BIT_COLUMNS = 4096  # up to here supports are kept as bit sets
ARRAYS = ("vocabulary", "indptr", "columns", "values", "squares", "bits")
_SMALLEST, _LARGEST = 1e-70, 1e70  # of rows as they are: products of their squares fit a double
_DENSE_SHARE = 8  # rows with a nonzero in so many columns: all columns take no more than these
_BLOCK_ROWS = 256  # that a thread summarises at a time
_PART_VALUES = 1 << 18  # looked at by a thread at a time
_BLOCK_QUERIES = 16  # that a thread compares at a time
_SAMPLED_ROWS = 256


@dataclass(frozen=True)
class Store:
    """Rows of one kernel's index; arrays may be memory-mapped."""

    kernel: Kernel
    n_columns: int
    vocabulary: Array  # the columns in use, ascending; empty where columns keep their numbers
    indptr: Array
    columns: Array
    values: Array
    squares: Array  # sum of squares of each row
    bits: Array  # supports, whole cache lines of 64-bit words; no words where columns are many

    def __len__(self) -> int:
        return len(self.squares)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}  # no caches

    @computed_once
    def stored_rows(self) -> StoredRows:
        """The rows as the loops take them."""
        arrays = self.indptr, self.columns, self.values, self.squares, self.bits, self.byte_rows
        return StoredRows(*map(read_only, arrays))  # a copied store has arrays to write into

    @computed_once
    def byte_rows(self) -> Array:
        """All columns of the rows, in whole cache lines, if they are dense and of bytes."""
        dense = _DENSE_SHARE * len(self.columns) >= len(self) * self.width
        fits = dense and self.values.dtype == np.uint8 and self.bits.shape[1]
        out = np.zeros((len(self), -(-self.width // LINE) * LINE if fits else 0), np.uint8)
        if fits:
            arguments = self.indptr, self.columns, self.values, out
            Team(None).run(lay_out_rows, arguments, len(self), _BLOCK_ROWS)
        return read_only(out)

    @property
    def lengths(self) -> Array:
        """Number of nonzeros of each row."""
        return np.diff(self.indptr)

    @computed_once
    def width(self) -> int:
        """Number of columns after renumbering."""
        return max(1, len(self.vocabulary)) if self.n_columns > NARROW else self.n_columns

    def arrays(self) -> dict[str, Array]:
        """What a file has to hold."""
        return {name: getattr(self, name) for name in ARRAYS}

    @property
    def nbytes(self) -> int:
        """Bytes of the rows, without the bit sets."""
        return sum(array.nbytes for array in self.arrays().values()) - self.bits.nbytes

    def rows(self, n_jobs: int | None = 1) -> Rows:
        """The rows as clean CSR; values of float64 rows only up to a power of two per row."""
        index_type = np.int32 if self.n_columns <= np.iinfo(np.int32).max else np.int64
        value_type = np.float64 if self.values.dtype == np.float64 else np.float32
        columns, values = np.empty(len(self.columns), index_type), self.values
        words = self.vocabulary.astype(index_type) if self.n_columns > NARROW else None
        if values.dtype != value_type:
            values = np.empty(len(values), value_type)

        def work(part: tuple[int, int]) -> None:
            some = slice(*part)
            columns[some] = self.columns[some] if words is None else words[self.columns[some]]
            if values is not self.values:
                values[some] = self.values[some]

        run_blocks(work, row_blocks(0, len(columns), _PART_VALUES), n_jobs)
        return Rows(self.indptr, read_only(columns), read_only(values), self.n_columns)

    @computed_once
    def frequencies(self) -> Array:
        """In how many rows each column is."""
        return np.bincount(self.columns, minlength=self.width)

    @computed_once
    def some_queries(self) -> Queries:
        """Queries that are like the rows: some of these."""
        rows = np.arange(0, len(self), max(1, len(self) // _SAMPLED_ROWS))
        return make_queries(self.take(rows).rows(), self, Team(1))

    def take(self, rows: Array) -> "Store":
        """Some of the rows, in the order given."""
        lengths = self.lengths[rows]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.indptr[rows] - indptr[:-1], lengths) + np.arange(indptr[-1])
        arrays = self.columns[places], self.values[places], self.squares[rows], self.bits[rows]
        indptr = read_only(indptr, np.int64)
        return Store(self.kernel, self.n_columns, self.vocabulary, indptr, *map(read_only, arrays))

    def kernel_values(
        self, team: Team, queries: Queries, ends: Array, candidates: Array, threshold: float
    ) -> Array:
        """Kernel values of query q and rows candidates[ends[q]:ends[q + 1]].

        -inf where a value is below the threshold.
        """
        out = np.empty(len(candidates))
        both = self.kernel.for_loops, queries, self.stored_rows
        with working_memory(np.zeros, common_size(self.width)) as rooms:
            team.run(
                pairs_at_least, lambda: (threshold, *both, ends, candidates, next(rooms), out),
                len(queries.lengths), _BLOCK_QUERIES,
            )  # fmt: skip
        return out


def make_store(rows: Rows, kernel: Kernel, n_jobs: int | None = 1) -> Store:
    """A store of clean rows."""
    rows = rows.compact()
    require_magnitudes(rows, kernel)
    values = _narrow(rows.indptr, rows.data, kernel.unit_rows, n_jobs)
    vocabulary, columns = np.empty(0), rows.indices
    if rows.n_columns > NARROW:
        vocabulary, columns = number_columns(columns, n_jobs)
    return _finish(kernel, rows.n_columns, vocabulary, rows.indptr, columns, values, n_jobs)


def join(first: Store, second: Store, n_jobs: int | None = 1) -> Store:
    """The rows of both stores, one after the other."""
    vocabulary = np.union1d(first.vocabulary, second.vocabulary)
    columns = [first.columns, second.columns]
    if first.n_columns > NARROW:
        both = (first, second)
        columns = [np.searchsorted(vocabulary, s.vocabulary)[s.columns] for s in both]
    indptr = np.concatenate([first.indptr, second.indptr[1:] + first.indptr[-1]])
    values = np.concatenate([first.values, second.values])
    return _finish(
        first.kernel, first.n_columns, vocabulary, indptr, np.concatenate(columns), values, n_jobs
    )


def restore(kernel: Kernel, n_columns: int, arrays: dict[str, Array]) -> Store:
    """A store from the arrays of a file."""
    return Store(kernel, n_columns, **{name: read_only(arrays[name]) for name in ARRAYS})


def make_queries(rows: Rows, store: Store, team: Team) -> Queries:
    """Queries for a store from clean rows of the same columns."""
    require_magnitudes(rows, store.kernel)
    n, nnz = len(rows), rows.nnz
    starts, ends, lengths, byte_widths = np.empty((4, n), np.int64)
    out = Queries(
        starts, ends, np.empty(nnz, np.int32), np.empty(nnz), np.empty(n),
        np.zeros((n, n_words(store.width)), np.uint64), lengths,
        np.zeros((n, store.byte_rows.shape[1]), np.uint8), byte_widths,
    )  # fmt: skip
    vocabulary = read_only(store.vocabulary) if rows.n_columns > NARROW else None
    arguments = rows.indptr, rows.indices, rows.data, vocabulary, out
    team.run(prepare_queries, arguments, n, _BLOCK_ROWS)
    for array in out:
        array.setflags(write=False)
    return out


def _finish(
    kernel: Kernel, n_columns: int, vocabulary: Array, indptr: Array, columns: Array, values: Array,
    n_jobs: int | None,
) -> Store:  # fmt: skip
    width = max(1, len(vocabulary)) if n_columns > NARROW else n_columns
    indptr = read_only(indptr, np.int64)
    columns = read_only(columns, np.uint16 if width <= NARROW else np.int32)
    values = read_only(values)
    squares = np.empty(len(indptr) - 1)
    bits = np.zeros((len(squares), n_words(width)), np.uint64)
    arguments = indptr, columns, values, squares, bits
    team = Team(n_jobs)
    team.run(summarise_rows, arguments, len(squares), _BLOCK_ROWS)
    return Store(
        kernel, n_columns, read_only(vocabulary, np.int64), indptr, columns, values,
        read_only(squares), read_only(bits),
    )  # fmt: skip


def require_magnitudes(rows: Rows, kernel: Kernel) -> None:
    """Raise a DataError where sums of products, of rows as they are, would overflow or vanish."""
    if kernel.unit_rows or rows.data.dtype == np.float32:
        return
    sizes = np.abs(rows.data)
    places = np.flatnonzero((sizes < _SMALLEST) | (sizes > _LARGEST))
    places = places[(places >= rows.indptr[0]) & (places < rows.indptr[-1])]
    if len(places):
        row = np.searchsorted(rows.indptr, places[0], "right") - 1
        raise DataError(
            f"row {row} holds {rows.data[places[0]]:g}; {kernel.name} takes values from "
            f"{_SMALLEST:g} to {_LARGEST:g}, of either sign: multiply all rows by one number."
        )


def _narrow(indptr: Array, values: Array, scaled: bool, n_jobs: int | None) -> Array:
    """The values in the smallest type that holds them all without loss; float64 may be `scaled`."""
    parts = row_blocks(0, len(values), _PART_VALUES)
    kinds = run_blocks(lambda part: _smallest_type(values[slice(*part)]), parts, n_jobs)
    kind = max(kinds, key=lambda kind: np.dtype(kind).itemsize, default=np.uint8)
    if kind is not np.float64:
        out = np.empty(len(values), kind)

        def work(part: tuple[int, int]) -> None:
            out[slice(*part)] = values[slice(*part)]

        run_blocks(work, parts, n_jobs)
        return out
    if not scaled:
        return values
    largest = np.maximum.reduceat(np.append(np.abs(values), 0), indptr[:-1])
    _, exponents = np.frexp(np.where(np.diff(indptr) > 0, largest, 1))
    brought_down: Array = np.ldexp(values, -np.repeat(exponents, np.diff(indptr)))
    return np.where(brought_down != 0, brought_down, LEAST)


def _smallest_type(values: Array) -> type[Any]:
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    if not (single == values).all():
        return np.float64
    small = np.clip(single, 0, 255).astype(np.uint8)
    return np.uint8 if (small == single).all() else np.float32


def n_words(width: int) -> int:
    """64-bit words of a row's bit set: whole cache lines, none where columns are many."""
    return 8 * -(-width // 512) if width <= BIT_COLUMNS else 0
