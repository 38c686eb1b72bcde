"""Gram blocks from clean rows: the plan of the columns, the panels, the threads.

Y is taken in panels of rows small enough that a panel's dense columns, bit sets
and inverted index stay in the caches; the rows of X pass by each panel in blocks,
one block a task. With Y = X only blocks on and above the diagonal are computed.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import ThreadpoolController

from .._core.threads import row_blocks, run_blocks
from .._core.validation import Rows, read_only
from .._loops.gram import blocks as loops
from .._loops.rows import unit_values

Array = npt.NDArray[Any]

KERNELS = {
    "correlation": loops.CORRELATION,
    "resemblance": loops.RESEMBLANCE,
    "core1": loops.CORE1,
    "core2": loops.CORE2,
}

# Time of one inverted-index update over the time BLAS and the bit sets need for one
# column of one pair, by value size: `benchmarks/exact.py --sweep` measures it.
_UPDATES_PER_PRODUCT = {4: 60.0, 8: 30.0}
_TABLE_COLUMNS = 1 << 20  # with more, the columns in use are numbered anew
_COUNTED_TOGETHER = 1 << 18  # column numbers
_PANEL_ROWS = 1024
_PANEL_BYTES = 16 << 20
_BLOCKS_PER_PANEL = 4


@dataclass(frozen=True)
class Columns:
    """Which road each column takes: `slot >= 0` through BLAS, `~slot` to an inverted list."""

    slot: npt.NDArray[np.int32]
    n_full: int

    @property
    def n_thin(self) -> int:
        """Number of columns with an inverted list."""
        return len(self.slot) - self.n_full


@dataclass(frozen=True)
class Spread:
    """A run of unit rows, its full columns laid out densely."""

    rows: Rows
    values: Array
    dense: Array
    bits: npt.NDArray[np.uint32]


def compact_columns(X: Rows, Y: Rows | None) -> tuple[Rows, Rows | None]:
    """The same rows over the columns in use, where most columns are not."""
    matrices = [X] if Y is None else [X, Y]
    if X.n_columns <= _TABLE_COLUMNS:
        return X, Y
    columns = np.unique(np.concatenate([_indices(rows) for rows in matrices]))

    def renumber(rows: Rows) -> Rows:
        indices = read_only(np.searchsorted(columns, _indices(rows)), np.int32)
        data = rows.data[rows.indptr[0] : rows.indptr[-1]]
        indptr = read_only(rows.indptr - rows.indptr[0])
        return Rows(indptr, indices, data, max(1, len(columns)))

    return renumber(X), None if Y is None else renumber(Y)


def plan_columns(X: Rows, Y: Rows | None) -> Columns:
    """Send each column down its cheaper road, by the number of rows it is nonzero in."""
    in_x = _column_lengths(X)
    in_y = in_x if Y is None else _column_lengths(Y)
    updates = in_x.astype(float) * in_y * _UPDATES_PER_PRODUCT[X.data.itemsize]
    full = updates > float(len(X)) * len(X if Y is None else Y)
    n_full = int(full.sum())
    slot = np.empty(X.n_columns, np.int32)
    slot[full] = np.arange(n_full)
    slot[~full] = ~np.arange(X.n_columns - n_full)
    return Columns(read_only(slot), n_full)


def _column_lengths(rows: Rows) -> npt.NDArray[np.int64]:
    """Number of nonzeros of each column; NumPy copies what it counts, so it counts in parts."""
    lengths = np.zeros(rows.n_columns, np.int64)
    indices = _indices(rows)
    size = max(_COUNTED_TOGETHER, rows.n_columns)
    for start in range(0, len(indices), size):
        lengths += np.bincount(indices[start : start + size], minlength=rows.n_columns)
    return lengths


def fill_gram(
    X: Rows, Y: Rows | None, columns: Columns, kernel: str, exponent: float,
    n_jobs: int | None, out: Array,
) -> None:  # fmt: skip
    """Write the kernel values of X against Y, or against itself, into `out`."""
    others = X if Y is None else Y
    panel_rows = _panel_rows(columns.n_full * out.itemsize)
    block_rows = max(1, panel_rows // _BLOCKS_PER_PANEL)
    few = Y is not None and len(X) <= panel_rows  # then threads share out the panels
    within, across = (1, n_jobs) if few else (n_jobs, 1)

    def one_panel(span: tuple[int, int]) -> None:
        start, stop = span
        panel = others.block(start, stop)
        work = _panel_work(X, panel, start, columns, kernel, exponent, Y is None, out)
        run_blocks(work, row_blocks(0, stop if Y is None else len(X), block_rows), within)
        if Y is None:
            square = out[start:stop, start:stop]
            loops.mirror_within(square)
            np.fill_diagonal(square, panel.lengths > 0)

    with _BLAS.single_thread():
        run_blocks(one_panel, row_blocks(0, len(others), panel_rows), across)


def _panel_work(
    X: Rows, panel: Rows, column: int, columns: Columns, kernel: str, exponent: float,
    symmetric: bool, out: Array,
) -> Callable[[tuple[int, int]], None]:  # fmt: skip
    """The task of one block of rows of X against a panel whose first row is `column` of `out`."""
    code = KERNELS[kernel]
    y = _spread(panel, columns)
    bits_of_y = read_only(y.bits.T)
    index = _invert(y, columns)
    lengths = read_only(panel.lengths, np.int32)
    stop = column + len(panel)

    def work(block: tuple[int, int]) -> None:
        x = _spread(X.block(*block), columns)
        target = out[block[0] : block[1], column:stop]
        if columns.n_full and kernel != "resemblance":
            np.matmul(x.dense, y.dense.T, out=target)
        else:
            target[...] = 0
        loops.finish_block(
            code, exponent,
            x.rows.indptr, x.rows.indices, x.values, x.bits, columns.slot,
            bits_of_y, *index, lengths, np.empty(len(panel), np.int32), target,
        )  # fmt: skip
        if symmetric and block[1] <= column:
            loops.mirror(target, out[column:stop, block[0] : block[1]])

    return work


def _spread(rows: Rows, columns: Columns) -> Spread:
    dtype = rows.data.dtype
    values = np.empty(rows.nnz, dtype)
    unit_values(rows.indptr, rows.data, values)
    dense = np.zeros((len(rows), columns.n_full), dtype)
    bits = np.zeros((len(rows), -(-columns.n_full // 32)), np.uint32)
    loops.spread_full(rows.indptr, rows.indices, values, columns.slot, dense, bits)
    return Spread(rows, read_only(values), read_only(dense), read_only(bits))


def _invert(panel: Spread, columns: Columns) -> tuple[Array, Array, Array]:
    heads = np.empty(columns.n_thin + 1, np.int64)
    rows = np.empty(len(panel.values), np.int32)
    values = np.empty_like(panel.values)
    loops.invert_thin(
        panel.rows.indptr, panel.rows.indices, panel.values, columns.slot, heads, rows, values
    )
    return read_only(heads), read_only(rows), read_only(values)


def _panel_rows(bytes_per_row: int) -> int:
    """Rows of a panel: a power of two, fewer where its dense columns would take too much."""
    rows = _PANEL_ROWS
    while rows > 4 and rows * bytes_per_row > _PANEL_BYTES:
        rows //= 2
    return rows


def _indices(rows: Rows) -> Array:
    return rows.indices[rows.indptr[0] : rows.indptr[-1]]


class _Blas:
    """The BLAS libraries of this process, held to one thread while any product is under way.

    Each task is one thread, so each product must be. Calls may overlap (in other threads):
    the first one in sets the limit and the last one out lifts it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limit: Any = None

    @contextlib.contextmanager
    def single_thread(self) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                self._limit = _libraries().limit(limits=1, user_api="blas")
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._limit.restore_original_limits()


_BLAS = _Blas()


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()
