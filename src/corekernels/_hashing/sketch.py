"""From rows to the arrays of their signatures, block by block, in threads."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse

from .._core.memory import aligned_zeros
from .._core.threads import run_blocks, thread_count
from .._core.types import Array
from .._core.validation import Rows, clean_rows, read_only
from .._loops.hashing import minwise, projection
from .._loops.hashing.minwise import BinScratch, MinimaScratch
from .._loops.rows import sum_and_scale, unit_values
from .._loops.simd.bit_sets import SLOTS, WORD
from .._loops.simd.halves import write_halves
from ..kernel_table import SlotWeight, hashed_kernel
from ..recipe import Recipe
from .directions import random_numbers
from .streams import Key, mix_key, mixed, with_random_signs
from .tables import HashTables, hash_tables

Arrays = dict[str, Array]  # the arrays of signatures, as `Recipe.arrays` names them

BLOCK_NONZEROS = 1 << 17
_BLOCK_SLOTS = 1 << 22
_MIXED_TOGETHER = 2048  # columns, so that their mixes stay in the L1 cache
_HALF_SIZE = 0x7FFF  # the bits of a half but for its sign


def hash_matrix(
    matrix: Any,
    recipe: Recipe,
    n_jobs: int | None,
    name: str = "X",
    *,
    tables: HashTables | None = None,
    block_nonzeros: int = BLOCK_NONZEROS,
) -> Arrays:
    """Arrays of the signatures of all rows of what `as_matrix` gave; read block by block."""
    out = empty_arrays(recipe, matrix.shape[0])
    hasher = RowHasher(recipe, hash_tables(recipe) if tables is None else tables)

    def work(block: tuple[int, int]) -> None:
        rows = clean_rows(matrix, name, *block)
        hasher.hash(rows, {key: array[slice(*block)] for key, array in out.items()})

    run_blocks(work, _blocks(matrix, recipe.n_hashes, thread_count(n_jobs), block_nonzeros), n_jobs)
    return out


def hash_rows(rows: Rows, recipe: Recipe) -> Arrays:
    """Arrays of the signatures of rows that are clean already, in this thread."""
    out = empty_arrays(recipe, len(rows))
    RowHasher(recipe, hash_tables(recipe)).hash(rows.compact(), out)
    return out


def empty_arrays(recipe: Recipe, n_rows: int) -> Arrays:
    """Arrays for the signatures of n rows, not filled yet."""
    return {
        name: np.empty((n_rows, *shape), dtype) for name, (dtype, shape) in recipe.arrays.items()
    }


def require_finite(matrix: Any, n_jobs: int | None, name: str = "X") -> None:
    """Raise unless every value of what `as_matrix` gave can be hashed."""

    def work(block: tuple[int, int]) -> None:
        clean_rows(matrix, name, *block)

    run_blocks(work, _blocks(matrix, 1, thread_count(n_jobs), BLOCK_NONZEROS), n_jobs)


def _blocks(
    matrix: Any, n_hashes: int, n_threads: int, block_nonzeros: int
) -> Iterator[tuple[int, int]]:
    """Ranges of rows of bounded memory: few enough nonzeros and few enough slots.

    Towards the end they get shorter, so that no thread waits long for another's last. Each
    row is hashed by itself, so the result does not depend on where they are cut.
    """
    n_rows, start = matrix.shape[0], 0
    most = max(1, _BLOCK_SLOTS // n_hashes)
    if not sparse.issparse(matrix):
        most = max(1, min(most, block_nonzeros // matrix.shape[1]))
    while start < n_rows:
        share = min(most, (n_rows - start) // (2 * n_threads))
        stop = min(start + max(share, -(-most // 16)), n_rows)
        if sparse.issparse(matrix):
            end = int(matrix.indptr[start]) + block_nonzeros
            if matrix.indptr[stop] > end:
                fitting = int(np.searchsorted(matrix.indptr[start:stop], end, "right")) - 1
                stop = start + max(1, fitting)
        yield start, stop
        start = stop


class RowHasher:
    """Hashes blocks of clean rows by one recipe; any number of threads may use it."""

    def __init__(self, recipe: Recipe, tables: HashTables) -> None:
        self.recipe, self.tables = recipe, tables
        self._weight = hashed_kernel(recipe.kernel).slot_weight

    def hash(self, rows: Rows, out: Arrays) -> None:
        """Hash a block of rows, which starts at position 0 of its arrays, into `out`."""
        out["lengths"][:] = rows.lengths
        if self._weight is SlotWeight.NONE:
            self._minima(rows, None, out["codes"], None)
            return
        weights = out["weights"].view(np.uint16)
        values = np.empty(rows.nnz, np.float32)
        unit_values(rows.indptr, rows.data, values)
        if self._weight is SlotWeight.PROJECTION:
            self._project(rows, values, weights)
            self._minima(rows, None, out["codes"], None)
        else:
            sum_and_scale(rows.indptr, values, out["sums"])
            halves = np.empty(rows.nnz, np.uint16)
            write_halves(read_only(values), halves)
            halves |= (halves & _HALF_SIZE) == 0  # no value is 0: the least half, 1, stands for it
            self._minima(rows, read_only(halves), out["codes"], weights)

    def _minima(
        self, rows: Rows, values: Array | None, codes: Array, weights: Array | None
    ) -> None:
        """Codes of the minima and, where asked for, the values behind them."""
        banks, mask = self.tables.minima, self.recipe.code_mask
        if banks is not None:
            location_type = banks.tables.dtype
            cut = location_type.type(mask & np.iinfo(location_type).max)
            scratch = self._minima_scratch(rows, weights is not None)
            minwise.table_minima(
                rows.indptr, rows.indices, values, banks, cut, scratch, codes, weights
            )
            return
        if values is None or weights is None:
            values = read_only(np.empty(0, np.uint16))
            weights = np.empty((0, self.recipe.n_hashes), np.uint16)
        if self.recipe.scheme == "one-permutation":
            self._binned_minima(rows, values, np.uint64(mask), codes, weights)
        else:
            columns = mixed(rows.indices, mix_key(self.recipe.seed, Key.SLOT))
            minima = np.empty(self.recipe.n_hashes, np.uint64)
            minwise.mixed_minima(
                rows.indptr, columns, values, np.uint64(mask), minima, codes, weights
            )

    def _binned_minima(
        self, rows: Rows, values: Array, mask: np.uint64, codes: Array, weights: Array
    ) -> None:
        k, seed = self.recipe.n_hashes, self.recipe.seed
        bins, held = np.empty((2, k), np.uint64)
        columns, filled = np.empty(_MIXED_TOGETHER, np.uint64), np.empty(k, np.int64)
        scratch = BinScratch(columns, bins, held, filled)
        keys = mix_key(seed, Key.BIN), mix_key(seed, Key.PROBE)
        minwise.binned_minima(
            rows.indptr, rows.indices, values, *keys, mask, scratch, codes, weights
        )

    def _minima_scratch(self, rows: Rows, with_values: bool) -> MinimaScratch:
        banks = self.tables.minima
        assert banks is not None
        n_positions = banks.n_positions if banks.sieve_places.size else 0
        n_bits = n_positions + -(-banks.width // SLOTS) * SLOTS
        n_words = -(-n_bits // WORD) + 1 if n_positions else 0
        n_planes = max(3, (banks.n_positions - 1).bit_length())
        locations = aligned_zeros((SLOTS,), banks.tables.dtype)
        return MinimaScratch(
            starts=np.empty(rows.lengths.max(initial=0), np.int32),
            marks=aligned_zeros((n_words * WORD,), np.uint16 if with_values else np.uint8),
            bitmap=aligned_zeros((n_words,), np.uint64),
            bit_planes=aligned_zeros((n_planes, SLOTS // WORD), np.uint64),
            locations=locations,
            location_words=locations.view(np.uint64),
            values=aligned_zeros((minwise.GROUP,), np.uint16),
        )

    def _project(self, rows: Rows, values: Array, out: Array) -> None:
        """Projections of the unit rows onto the random directions, as halves."""
        recipe, banks = self.recipe, self.tables.directions
        if banks is None:
            columns = mixed(rows.indices, mix_key(recipe.seed, Key.ENTRY))
            numbers = random_numbers(recipe.projection)
            sums = np.empty(recipe.n_hashes, np.float32)
            values = read_only(values)
            projection.mixed_projections(rows.indptr, columns, values, numbers, sums, out)
            return
        if recipe.scheme != "independent":
            values = with_random_signs(recipe.seed, rows.indices, values)
        starts = np.empty(rows.lengths.max(initial=0), np.int32)
        tiles = aligned_zeros((projection.SUMS,), np.float32)
        projection.table_projections(
            rows.indptr, rows.indices, read_only(values), banks, starts, tiles, out
        )
