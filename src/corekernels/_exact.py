"""Gram blocks from clean rows: panels, blocks, threads.

Y is taken in panels of rows small enough that a panel's dense columns, bit sets and inverted
index stay in the caches; the rows of X pass by each panel in blocks, one block per task. With
Y = X only blocks on and above the diagonal are computed.
"""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from threadpoolctl import ThreadpoolController

from ._core.arguments import Array
from ._core.forks import ForkLock
from ._core.threads import row_blocks, run_blocks
from ._core.validation import Rows, check_pair, read_only
from ._loops import gram as loops
from ._loops.gram import BlockRows, PanelRows
from ._loops.kernels import LoopKernel
from .kernel_table import MINIMA, Kernel, PairSums


class _Limit:
    """The BLAS libraries of this process, held to one thread while any product is under way.

    Calls may overlap, in other threads: the first one in sets the limit and the last one out
    lifts it.
    """

    def __init__(self) -> None:
        self._lock = ForkLock()
        self._inside = 0
        self._limit: Any = None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
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
                    self.lift()

    def lift(self) -> None:
        """Give the libraries their threads back; in a child of `fork` no product is under way."""
        self._inside = 0
        if self._limit is not None:
            _let_any_thread_set()  # the one that set the limit may not be the last
            self._limit.restore_original_limits()
            _let_any_thread_set()
            self._limit = None


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def _let_any_thread_set() -> None:
    """Take from the thread that set OpenBLAS's threads last the sole right to it.

    That is what threadpoolctl gives it, from version 3.8 on; what others set is ignored.
    """
    for library in _libraries().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


_limit = _Limit()
single_threaded_blas = _limit.held
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_limit.lift)


# Time of one inverted-index update over the time BLAS and the bit sets need for one
# column of one pair, by value size: `benchmarks/exact.py --sweep` measures it.
UPDATES_PER_PRODUCT = {4: 60.0, 8: 30.0}
_TABLE_COLUMNS = 1 << 20  # with more, only the columns in use are numbered
_COUNTED_TOGETHER = 1 << 18  # column numbers


@dataclass(frozen=True)
class ColumnPlan:
    """Where each column goes: `slot >= 0` is a dense column, `~slot` an inverted list."""

    slot: npt.NDArray[np.int32]
    n_dense: int


def compact_columns(X: Rows, Y: Rows | None) -> tuple[Rows, Rows | None]:
    """The same rows over the columns in use, where most columns are not."""
    if X.n_columns <= _TABLE_COLUMNS:
        return X, Y
    columns = np.unique(np.concatenate([Z.compact().indices for Z in (X, Y) if Z is not None]))

    def compacted(rows: Rows) -> Rows:
        rows = rows.compact()
        numbers = read_only(np.searchsorted(columns, rows.indices), np.int32)
        return replace(rows, indices=numbers, n_columns=max(1, len(columns)))

    return compacted(X), None if Y is None else compacted(Y)


def plan_columns(X: Rows, Y: Rows | None, updates_per_product: float | None = None) -> ColumnPlan:
    """Give each column its cheaper way, by the number of rows it is nonzero in."""
    if updates_per_product is None:
        updates_per_product = UPDATES_PER_PRODUCT[X.data.itemsize]
    in_x = _column_lengths(X)
    in_y = in_x if Y is None else _column_lengths(Y)
    updates = in_x.astype(float) * in_y * updates_per_product
    dense = updates > float(len(X)) * len(X if Y is None else Y)
    n_dense = int(dense.sum())
    slot = np.empty(X.n_columns, np.int32)
    slot[dense] = np.arange(n_dense)
    slot[~dense] = ~np.arange(X.n_columns - n_dense)
    return ColumnPlan(read_only(slot), n_dense)


def _column_lengths(rows: Rows) -> npt.NDArray[np.int64]:
    """Number of nonzeros of each column; in parts, because NumPy copies what it counts."""
    lengths = np.zeros(rows.n_columns, np.int64)
    indices = rows.compact().indices
    size = max(_COUNTED_TOGETHER, rows.n_columns)
    for start in range(0, len(indices), size):
        lengths += np.bincount(indices[start : start + size], minlength=rows.n_columns)
    return lengths


PANEL_ROWS = 1024
_PANEL_BYTES = 16 << 20
_MANY_ROWS = 8192  # of X, from which blocks are half a panel high: fewer waits for the lock


@dataclass(frozen=True)
class Formula:
    """What is computed of each pair of rows: K or, with gamma, exp(-gamma (1 - K))."""

    kernel: Kernel
    gamma: float | None = None

    def for_loops(self, dtype: np.dtype[Any]) -> tuple[LoopKernel, float] | None:
        """The kernel and gamma as the loops take them; None of kernels that they do not know."""
        kernel, number = self.kernel.for_loops, dtype.type
        if kernel is None:
            return None
        kernel = kernel._replace(gamma=number(kernel.gamma), one=number(1))
        return kernel, loops.NO_EXPONENTIAL if self.gamma is None else self.gamma

    def values(self, pair: PairSums) -> Array:
        """The same in NumPy, of pairs given by their sums."""
        K = self.kernel.values(pair)
        if self.gamma is None:
            return K
        return np.exp(-self.gamma * (1 - K)) * (pair.f1 > 0) * (pair.f2 > 0)


def fill_gram(
    X: Rows, Y: Rows | None, columns: ColumnPlan, formula: Formula, n_jobs: int | None, out: Array,
    panel_rows: int = PANEL_ROWS,
) -> None:  # fmt: skip
    """Write the kernel values of X against Y, or against itself, into `out`."""
    others = X if Y is None else Y
    panel_rows = _fitting_rows(panel_rows, columns.n_dense * out.itemsize)
    block_rows = max(1, panel_rows // (2 if len(X) >= _MANY_ROWS else 4))

    def tasks() -> Iterator[tuple[_Panel, tuple[int, int]]]:
        # with Y = X the last panel has most blocks, and small jobs at the end even the load
        for span in reversed(row_blocks(0, len(others), panel_rows)):
            panel = _Panel(others, span, columns, formula.kernel)
            for block in row_blocks(0, span[1] if Y is None else len(X), block_rows):
                yield panel, block

    def work(task: tuple[_Panel, tuple[int, int]]) -> None:
        panel, block = task
        if Y is None and block[1] > panel.start:
            _fill_diagonal(X, panel, block, formula, out)
        else:
            target = out[block[0] : block[1], panel.start : panel.stop]
            mirrored = out[panel.start : panel.stop, block[0] : block[1]] if Y is None else out[:0]
            _fill_block(X, panel, block, formula, target, mirrored)

    with single_threaded_blas():
        run_blocks(work, tasks(), n_jobs)


class _Panel:
    """Some rows of Y, made ready by the first block that needs them, and freed by the last."""

    def __init__(
        self, rows: Rows, span: tuple[int, int], columns: ColumnPlan, kernel: Kernel
    ) -> None:
        self.start, self.stop = span
        self.rows, self.columns, self.kernel = rows.block(*span), columns, kernel
        self._parts: tuple[Array, PanelRows] | None = None
        self._lock = Lock()

    def parts(self) -> tuple[Array, PanelRows]:
        """Dense columns, and the rest as the loops take it."""
        with self._lock:
            if self._parts is None:
                self._parts = _panel_rows(self.rows, self.columns, self.kernel)
            return self._parts


def _fill_block(
    X: Rows, panel: _Panel, block: tuple[int, int], formula: Formula, target: Array, mirrored: Array
) -> None:
    """The kernel values of a block of rows of X and a panel, and their transpose, if it has rows.

    Three calls do the whole: each call of a loop or of BLAS ends by waiting for the interpreter's
    lock, the longer the more threads there are.
    """
    rows, columns, kernel = X.block(*block), panel.columns, formula.kernel
    dense_of_y, y = panel.parts()
    dense, bits, values = _spread(rows, columns, kernel)
    if columns.n_dense and kernel.uses_values:
        np.matmul(dense, dense_of_y.T, out=target)
    else:
        target[...] = 0
    x = BlockRows(rows.indptr, rows.indices, values, bits)
    for_loops = formula.for_loops(target.dtype)
    if for_loops is not None:
        counts = np.empty(len(panel.rows), np.int32)
        loops.finish_block(*for_loops, x, y, columns.slot, counts, target, mirrored)
        return
    counts = np.empty(target.shape, np.int32)
    loops.sum_block(kernel.term == MINIMA, x, y, columns.slot, counts, target)
    own1, own2 = (kernel.own_sums(side.indptr, side.data) for side in (rows, panel.rows))
    lengths = rows.lengths[:, np.newaxis], panel.rows.lengths
    target[...] = formula.values(PairSums(target, own1[:, np.newaxis], own2, *lengths, counts))
    if len(mirrored):
        loops.mirror(target, mirrored)


def _fill_diagonal(
    X: Rows, panel: _Panel, block: tuple[int, int], formula: Formula, out: Array
) -> None:
    """The same for rows of the panel itself: from the diagonal on, and the mirror image of it."""
    start, stop = block
    values = np.empty((stop - start, len(panel.rows)), out.dtype)
    _fill_block(X, panel, block, formula, values, out[:0])
    first = start - panel.start
    out[start:stop, start : panel.stop] = values[:, first:]
    loops.mirror(values[:, first + stop - start :], out[stop : panel.stop, start:stop])
    square = out[start:stop, start:stop]
    loops.mirror_within(square)
    if formula.kernel.unit_diagonal:
        np.fill_diagonal(square, X.lengths[start:stop] > 0)


def _panel_rows(panel: Rows, columns: ColumnPlan, kernel: Kernel) -> tuple[Array, PanelRows]:
    """The dense columns of a panel, and the rest of it as the loops take it."""
    dense, bits, values = _spread(panel, columns, kernel)
    heads = np.empty(len(columns.slot) - columns.n_dense + 1, np.int64)
    rows, listed = np.empty(len(values), np.int32), np.empty_like(values)
    loops.invert_listed(panel.indptr, panel.indices, values, columns.slot, heads, rows, listed)
    return dense, PanelRows(
        bits=read_only(bits.T),
        heads=read_only(heads),
        rows=read_only(rows),
        values=read_only(listed),
        lengths=read_only(panel.lengths, np.int32),
    )


def _spread(rows: Rows, columns: ColumnPlan, kernel: Kernel) -> tuple[Array, Array, Array]:
    """Dense columns of the rows as the kernel takes them, as bit sets too, and all values."""
    values = np.empty(rows.nnz, rows.data.dtype)
    dense = np.empty((len(rows), columns.n_dense), rows.data.dtype)
    bits = np.empty((len(rows), -(-columns.n_dense // 32)), np.uint32)
    unit = kernel.unit_rows
    loops.spread_rows(unit, rows.indptr, rows.indices, rows.data, columns.slot, values, dense, bits)
    return read_only(dense), read_only(bits), read_only(values)


def _fitting_rows(rows: int, bytes_per_row: int) -> int:
    """Rows of a panel: halved until its dense columns fit in a share of the cache."""
    while rows > 4 and rows * bytes_per_row > _PANEL_BYTES:
        rows //= 2
    return rows


class Gram:
    """A Gram matrix about to be computed: rows checked, columns planned."""

    def __init__(self, X: Any, Y: Any, formula: Formula, n_jobs: int | None) -> None:
        self.X, self.Y = compact_columns(*check_pair(X, Y, n_jobs))
        # BLAS knows products alone
        updates_per_product = 0.0 if formula.kernel.term == MINIMA else None
        self.columns = plan_columns(self.X, self.Y, updates_per_product)
        self.formula, self.n_jobs = formula, n_jobs
        self.dtype = self.X.data.dtype
        self.shape = (len(self.X), len(self.X if self.Y is None else self.Y))

    def whole(self) -> Array:
        """All values."""
        out = np.empty(self.shape, self.dtype)
        fill_gram(self.X, self.Y, self.columns, self.formula, self.n_jobs, out)
        return out

    def chunks(self, n_rows: int) -> Iterator[tuple[slice, Array]]:
        """Horizontal blocks of `n_rows` rows, and which rows they are."""
        others = self.X if self.Y is None else self.Y
        for start in range(0, self.shape[0], n_rows):
            block = self.X.block(start, min(start + n_rows, self.shape[0]))
            out = np.empty((len(block), self.shape[1]), self.dtype)
            fill_gram(block, others, self.columns, self.formula, self.n_jobs, out)
            if self.Y is None and self.formula.kernel.unit_diagonal:
                np.fill_diagonal(out[:, start:], block.lengths > 0)
            yield slice(start, start + len(block)), out
            del out  # not to be held beside the next one


def value_of_vectors(x: Any, y: Any, formula: Formula) -> float:
    """The value of two vectors, fast: scikit-learn's pairwise functions ask for one per pair."""
    if sparse.issparse(x) or sparse.issparse(y):
        x, y = (one if sparse.issparse(one) else np.asarray(one) for one in (x, y))
        return float(Gram(x.reshape(1, -1), y.reshape(1, -1), formula, 1).whole()[0, 0])
    u, v, out = np.asarray(x), np.asarray(y), np.empty(1)
    for_loops = formula.for_loops(out.dtype) if formula.kernel.unit_rows else None
    numeric = u.dtype.kind in "biuf" and v.dtype.kind in "biuf" and u.shape == v.shape
    if for_loops is not None and numeric:
        u, v = read_only(u, np.float64), read_only(v, np.float64)
        if loops.vector_pair(*for_loops, u, v, out):
            return float(out[0])
    return float(Gram(u[np.newaxis], v[np.newaxis], formula, 1).whole()[0, 0])
