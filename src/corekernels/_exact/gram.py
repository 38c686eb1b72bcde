"""Gram blocks from clean rows: panels, blocks, threads.

Y is taken in panels of rows small enough that a panel's dense columns, bit sets and inverted
index stay in the caches; the rows of X pass by each panel in blocks, one block per task. With
Y = X only blocks on and above the diagonal are computed.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._core.threads import row_blocks, run_blocks
from .._core.types import Array
from .._core.validation import Rows, check_pair, read_only
from .._loops.gram import blocks as loops
from .._loops.gram.blocks import BlockRows, PanelRows
from .._loops.rows import unit_values
from ..kernel_table import Kernel
from .blas import single_threaded_blas
from .columns import Columns, compact_columns, plan_columns

PANEL_ROWS = 1024
_PANEL_BYTES = 16 << 20
_BLOCKS_PER_PANEL = 4


@dataclass(frozen=True)
class Formula:
    """What is computed of each pair of rows: K or, with gamma, exp(-gamma (1 - K))."""

    kernel: Kernel
    gamma: float | None = None

    @property
    def exponent(self) -> float:
        """Gamma as the loops take it."""
        return loops.NO_EXPONENTIAL if self.gamma is None else self.gamma


def fill_gram(
    X: Rows, Y: Rows | None, columns: Columns, formula: Formula, n_jobs: int | None, out: Array,
    panel_rows: int = PANEL_ROWS,
) -> None:  # fmt: skip
    """Write the kernel values of X against Y, or against itself, into `out`."""
    others = X if Y is None else Y
    panel_rows = _fitting_rows(panel_rows, columns.n_dense * out.itemsize)
    block_rows = max(1, panel_rows // _BLOCKS_PER_PANEL)
    one_panel_of_x = Y is not None and len(X) <= panel_rows  # then threads share out the panels
    within, across = (1, n_jobs) if one_panel_of_x else (n_jobs, 1)

    def work(span: tuple[int, int]) -> None:
        start, stop = span
        panel = others.block(start, stop)
        task = _panel_task(X, panel, start, columns, formula, Y is None, out)
        run_blocks(task, row_blocks(0, stop if Y is None else len(X), block_rows), within)
        if Y is None:
            square = out[start:stop, start:stop]
            loops.mirror_within(square)
            np.fill_diagonal(square, panel.lengths > 0)

    with single_threaded_blas():
        run_blocks(work, row_blocks(0, len(others), panel_rows), across)


def _panel_task(
    X: Rows, panel: Rows, column: int, columns: Columns, formula: Formula, symmetric: bool,
    out: Array,
) -> Callable[[tuple[int, int]], None]:  # fmt: skip
    """The task of one block of rows of X against a panel whose first row is `column` of `out`."""
    dense_of_y, y = _panel_rows(panel, columns)
    stop = column + len(panel)

    def work(block: tuple[int, int]) -> None:
        rows = X.block(*block)
        dense, bits, values = _spread(rows, columns)
        target = out[block[0] : block[1], column:stop]
        if columns.n_dense and formula.kernel.uses_values:
            np.matmul(dense, dense_of_y.T, out=target)
        else:
            target[...] = 0
        x = BlockRows(rows.indptr, rows.indices, values, bits)
        counts = np.empty(len(panel), np.int32)
        loops.finish_block(
            formula.kernel.number, formula.exponent, x, y, columns.slot, counts, target
        )
        if symmetric and block[1] <= column:
            loops.mirror(target, out[column:stop, block[0] : block[1]])

    return work


def _panel_rows(panel: Rows, columns: Columns) -> tuple[Array, PanelRows]:
    """The dense columns of a panel, and the rest of it as the loops take it."""
    dense, bits, values = _spread(panel, columns)
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


def _spread(rows: Rows, columns: Columns) -> tuple[Array, Array, Array]:
    """Dense columns of the unit rows, their supports as bit sets, and all values."""
    dtype = rows.data.dtype
    values = np.empty(rows.nnz, dtype)
    unit_values(rows.indptr, rows.data, values)
    dense = np.zeros((len(rows), columns.n_dense), dtype)
    bits = np.zeros((len(rows), -(-columns.n_dense // 32)), np.uint32)
    loops.spread_dense(rows.indptr, rows.indices, values, columns.slot, dense, bits)
    return read_only(dense), read_only(bits), read_only(values)


def _fitting_rows(rows: int, bytes_per_row: int) -> int:
    """Rows of a panel: halved until its dense columns fit in a share of the cache."""
    while rows > 4 and rows * bytes_per_row > _PANEL_BYTES:
        rows //= 2
    return rows


class Gram:
    """A Gram matrix about to be computed: rows checked, columns planned."""

    def __init__(self, X: Any, Y: Any, formula: Formula, n_jobs: int | None) -> None:
        self.X, self.Y = compact_columns(*check_pair(X, Y))
        self.columns = plan_columns(self.X, self.Y)
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
            if self.Y is None:
                np.fill_diagonal(out[:, start:], block.lengths > 0)
            yield slice(start, start + len(block)), out
            del out  # not to be held beside the next one


def value_of_vectors(x: Any, y: Any, formula: Formula) -> float:
    """The value of two vectors: scikit-learn's pairwise functions ask for it a million times."""
    u, v, out = np.asarray(x), np.asarray(y), np.empty(1)
    if u.dtype.kind in "biuf" and v.dtype.kind in "biuf" and u.shape == v.shape:
        u, v = read_only(u, np.float64), read_only(v, np.float64)
        if loops.vector_pair(formula.kernel.number, formula.exponent, u, v, out):
            return float(out[0])
    return float(Gram(u[np.newaxis], v[np.newaxis], formula, 1).whole()[0, 0])
