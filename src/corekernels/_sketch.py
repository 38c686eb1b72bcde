"""From clean rows to the arrays of their signatures, block by block, in threads."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from . import _tables
from ._loops import minwise, projection
from ._loops.rows import sum_and_lift, unit_values
from ._threads import run_blocks
from ._validation import Rows, clean_rows, read_only
from .recipe import Recipe
from .signatures import Signatures

Array = npt.NDArray[Any]

_BLOCK_NONZEROS = 1 << 18
_BLOCK_SLOTS = 1 << 20
_SCRATCH_SLOTS = 2048  # the loops' own tile


def sketch(matrix: Any, recipe: Recipe, n_jobs: int | None, name: str = "X") -> Signatures:
    """Signatures of all rows of what `as_matrix` gave; no block is ever held twice."""
    signatures = Signatures.empty(recipe, matrix.shape[0])
    _tables.minwise_slices(recipe)  # made here, once, not by each thread
    if recipe.kernel == "core1":
        _tables.projection_slices(recipe)

    def work(block: tuple[int, int]) -> None:
        rows = clean_rows(matrix, name, *block)
        _sketch_rows(rows, recipe, signatures[slice(*block)])

    run_blocks(work, _blocks(matrix, recipe.n_hashes), n_jobs)
    return signatures


def sketch_rows(rows: Rows, recipe: Recipe) -> Signatures:
    """Signatures of a block of rows that are clean already, in this thread."""
    signatures = Signatures.empty(recipe, len(rows))
    begin, end = rows.indptr[0], rows.indptr[-1]
    indptr = read_only(rows.indptr - begin)
    mine = Rows(indptr, rows.indices[begin:end], rows.data[begin:end], rows.n_columns)
    _sketch_rows(mine, recipe, signatures)
    return signatures


def require_finite(matrix: Any, n_jobs: int | None, name: str = "X") -> None:
    """Raise unless every value of what `as_matrix` gave can be hashed."""

    def work(block: tuple[int, int]) -> None:
        clean_rows(matrix, name, *block)

    run_blocks(work, _blocks(matrix, 1), n_jobs)


def _blocks(matrix: Any, n_hashes: int) -> list[tuple[int, int]]:
    """Runs of rows of bounded memory: few enough nonzeros and few enough slots."""
    n_rows = matrix.shape[0]
    most = max(1, _BLOCK_SLOTS // n_hashes)
    if not sparse.issparse(matrix):
        most = max(1, min(most, _BLOCK_NONZEROS // matrix.shape[1]))
        return [(start, min(start + most, n_rows)) for start in range(0, n_rows, most)]
    blocks, start = [], 0
    while start < n_rows:
        full = np.searchsorted(matrix.indptr, matrix.indptr[start] + _BLOCK_NONZEROS, "right") - 1
        stop = max(start + 1, min(int(full), start + most, n_rows))
        blocks.append((start, stop))
        start = stop
    return blocks


def _sketch_rows(rows: Rows, recipe: Recipe, out: Signatures) -> None:
    """Hash a block of rows into `out`, whose codes and weights are zero on entry."""
    out.lengths[:] = rows.lengths
    values = np.empty(rows.nnz, np.float32)
    if recipe.kernel != "resemblance":
        unit_values(rows.indptr, rows.data, values)
    if recipe.kernel == "core1" and out.weights is not None:
        _project(rows, values, recipe, out.weights)
        _minima(rows, values, recipe, out.codes, None)
    elif recipe.kernel == "core2" and out.sums is not None:
        sum_and_lift(rows.indptr, values, out.sums)
        _minima(rows, values, recipe, out.codes, out.weights)
    else:
        _minima(rows, values, recipe, out.codes, None)


def _minima(rows: Rows, values: Array, recipe: Recipe, codes: Array, weights: Array | None) -> None:
    """Codes of the minima and, where asked for, the values behind them."""
    values = read_only(values)
    banks = _tables.minwise_slices(recipe)
    for bank in banks:
        starts = bank.starts_of(rows.indices)
        mask = bank.table.dtype.type(recipe.code_mask & np.iinfo(bank.table.dtype).max)
        scratch = np.empty(_SCRATCH_SLOTS, np.uint8), np.empty(_SCRATCH_SLOTS, bank.table.dtype)
        span = (mask, bank.first, bank.last)
        tables = (bank.table, bank.low, bank.long)
        if weights is None:
            minwise.table_codes(rows.indptr, starts, *tables, *span, *scratch, codes)
        elif bank.inverse is None:
            minwise.searched_values(
                rows.indptr, starts, values, *tables, *span, *scratch, codes, weights
            )
        else:
            by_position = np.empty(2 * len(bank.inverse), np.float32)
            minwise.inverted_values(
                rows.indptr, starts, values, *tables, bank.inverse, *span,
                *scratch, by_position, codes, weights,
            )  # fmt: skip
    if not banks:
        if weights is None:
            weights = np.empty((0, recipe.n_hashes), np.float32)
        _hashed_minima(recipe)(rows, values, codes, weights)


def _hashed_minima(recipe: Recipe) -> Callable[[Rows, Array, Array, Array], None]:
    """The loop of a scheme that keeps no tables."""
    mask = np.uint64(recipe.code_mask)
    k = recipe.n_hashes

    def binned(rows: Rows, values: Array, codes: Array, weights: Array) -> None:
        bin_key = _tables.key(recipe, _tables.BIN_KEY)
        probe_key = _tables.key(recipe, _tables.PROBE_KEY)
        scratch = np.empty(_SCRATCH_SLOTS, np.uint64)
        bins, held = np.empty((2, k), np.uint64)
        filled = np.empty(k, np.int64)
        minwise.binned_values(
            rows.indptr, rows.indices, values, bin_key, probe_key, mask,
            scratch, bins, held, filled, codes, weights,
        )  # fmt: skip

    def slot_by_slot(rows: Rows, values: Array, codes: Array, weights: Array) -> None:
        mixed = _tables.mixed(rows.indices, _tables.key(recipe, _tables.SLOT_KEY))
        scratch = np.empty(k, np.uint64)
        minwise.mixed_values(rows.indptr, mixed, values, mask, scratch, codes, weights)

    return binned if recipe.scheme == "one-permutation" else slot_by_slot


def _project(rows: Rows, values: Array, recipe: Recipe, out: Array) -> None:
    """Projections of the unit rows onto the random directions."""
    banks = _tables.projection_slices(recipe)
    if recipe.scheme != "independent":
        values = _tables.signed(recipe, rows.indices, values)
    for bank in banks:
        starts = bank.starts_of(rows.indices)
        projection.table_projections(
            rows.indptr, starts, read_only(values), bank.table, bank.first, bank.last, out
        )
    if not banks:
        mixed = _tables.mixed(rows.indices, _tables.key(recipe, _tables.ENTRY_KEY))
        numbers = _tables.random_numbers(recipe.projection)
        projection.mixed_projections(rows.indptr, mixed, read_only(values), numbers, out)
