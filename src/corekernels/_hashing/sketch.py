"""From clean rows to the arrays of their signatures, block by block, in threads."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._core.memory import aligned_zeros
from .._core.threads import run_blocks, thread_count
from .._core.validation import Rows, clean_rows, read_only
from .._loops.hashing import minwise, projection
from .._loops.hashing.banks import Banks
from .._loops.hashing.minwise import GROUP
from .._loops.rows import sum_and_lift, unit_values
from .._loops.simd.bit_sets import SLOTS, WORD
from .._loops.simd.halves import write_halves
from ..recipe import Recipe
from ..signatures import Signatures
from . import tables as _tables

Array = npt.NDArray[Any]

_BLOCK_NONZEROS = 1 << 17
_BLOCK_SLOTS = 1 << 22
_MIXED_TOGETHER = 2048  # columns, so that their mixes stay in the L1 cache


def sketch(matrix: Any, recipe: Recipe, n_jobs: int | None, name: str = "X") -> Signatures:
    """Signatures of all rows of what `as_matrix` gave; no block is ever held twice."""
    signatures = Signatures.empty(recipe, matrix.shape[0])
    _tables.minwise_banks(recipe)  # made here, once, not by each thread
    if recipe.kernel == "core1":
        _tables.projection_banks(recipe)

    def work(block: tuple[int, int]) -> None:
        rows = clean_rows(matrix, name, *block)
        _sketch_rows(rows, recipe, signatures[slice(*block)])

    run_blocks(work, _blocks(matrix, recipe.n_hashes, thread_count(n_jobs)), n_jobs)
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

    run_blocks(work, _blocks(matrix, 1, thread_count(n_jobs)), n_jobs)


def _blocks(matrix: Any, n_hashes: int, n_threads: int) -> list[tuple[int, int]]:
    """Runs of rows of bounded memory: few enough nonzeros and few enough slots.

    Towards the end they get shorter, so that no thread waits long for another's last. Each
    row is hashed by itself, so the result does not depend on where they are cut.
    """
    n_rows = matrix.shape[0]
    most = max(1, _BLOCK_SLOTS // n_hashes)
    if not sparse.issparse(matrix):
        most = max(1, min(most, _BLOCK_NONZEROS // matrix.shape[1]))
    blocks, start = [], 0
    while start < n_rows:
        share = min(most, (n_rows - start) // (2 * n_threads))
        stop = min(start + max(share, -(-most // 16)), n_rows)
        if sparse.issparse(matrix):
            end = int(matrix.indptr[start]) + _BLOCK_NONZEROS
            if matrix.indptr[stop] > end:
                full = int(np.searchsorted(matrix.indptr[start:stop], end, "right")) - 1
                stop = start + max(1, full)
        blocks.append((start, stop))
        start = stop
    return blocks


def _sketch_rows(rows: Rows, recipe: Recipe, out: Signatures) -> None:
    """Hash a block of rows into `out`."""
    out.lengths[:] = rows.lengths
    if out.weights is None:
        _minima(rows, None, recipe, out.codes, None)
        return
    weights = out.weights.view(np.uint16)
    values = np.empty(rows.nnz, np.float32)
    unit_values(rows.indptr, rows.data, values)
    if recipe.kernel == "core1":
        _project(rows, values, recipe, weights)
        _minima(rows, None, recipe, out.codes, None)
    else:
        sum_and_lift(rows.indptr, values, out.sums)
        halves = np.empty(rows.nnz, np.uint16)
        write_halves(read_only(values), halves)
        halves |= (halves & 0x7FFF) == 0  # no value of a row is 0: the least half stands for it
        _minima(rows, read_only(halves), recipe, out.codes, weights)


def _minima(
    rows: Rows, values: Array | None, recipe: Recipe, codes: Array, weights: Array | None
) -> None:
    """Codes of the minima and, where asked for, the values behind them."""
    banks = _tables.minwise_banks(recipe)
    if banks is None:
        if values is None or weights is None:
            values = read_only(np.empty(0, np.uint16))
            weights = np.empty((0, recipe.n_hashes), np.uint16)
        _hashed_minima(recipe)(rows, values, codes, weights)
        return
    mask = banks.tables.dtype.type(recipe.code_mask & np.iinfo(banks.tables.dtype).max)
    scratch = _scratch(rows, banks, weights is not None)
    minwise.table_values(rows.indptr, rows.indices, values, banks, mask, scratch, codes, weights)


def _scratch(rows: Rows, banks: Banks, weighted: bool) -> tuple[Array, ...]:
    """Room for one row: starts, marks, bitmap, planes, and locations and values of some slots."""
    n_positions = banks.n_positions if banks.places.size else 0
    n_bits = n_positions + -(-banks.width // SLOTS) * SLOTS
    n_words = -(-n_bits // WORD) + 1 if n_positions else 0
    n_planes = max(3, (banks.n_positions - 1).bit_length())
    locations = aligned_zeros((SLOTS,), banks.tables.dtype)
    return (
        np.empty(rows.lengths.max(initial=0), np.int32),
        aligned_zeros((n_words * WORD,), np.uint16 if weighted else np.uint8),
        aligned_zeros((n_words,), np.uint64),
        aligned_zeros((n_planes, SLOTS // WORD), np.uint64),
        locations,
        locations.view(np.uint64),
        aligned_zeros((GROUP,), np.uint16),
    )


def _hashed_minima(recipe: Recipe) -> Callable[[Rows, Array, Array, Array], None]:
    """The loop of a scheme that keeps no tables."""
    mask = np.uint64(recipe.code_mask)
    k = recipe.n_hashes

    def binned(rows: Rows, values: Array, codes: Array, weights: Array) -> None:
        bin_key = _tables.key(recipe, _tables.BIN_KEY)
        probe_key = _tables.key(recipe, _tables.PROBE_KEY)
        scratch = np.empty(_MIXED_TOGETHER, np.uint64)
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
    banks = _tables.projection_banks(recipe)
    if banks is None:
        mixed = _tables.mixed(rows.indices, _tables.key(recipe, _tables.ENTRY_KEY))
        numbers = _tables.random_numbers(recipe.projection)
        sums = np.empty(recipe.n_hashes, np.float32)
        projection.mixed_projections(rows.indptr, mixed, read_only(values), numbers, sums, out)
    else:
        if recipe.scheme != "independent":
            values = _tables.signed(recipe, rows.indices, values)
        starts = np.empty(rows.lengths.max(initial=0), np.int32)
        scratch = starts, aligned_zeros((projection.SUMS,), np.float32)
        projection.table_projections(
            rows.indptr, rows.indices, read_only(values), banks, scratch, out
        )
