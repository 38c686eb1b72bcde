"""From a recipe to its hash tables: the hash contract.

Everything random is a function of the recipe alone. `docs/contract.md` describes the whole
contract; golden vectors in the tests hold it still.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .._core.types import Array
from .._core.validation import read_only
from .._loops.hashing.banks import GROUP, Banks
from .._loops.hashing.cosines import Waves
from .._loops.hashing.offsets import POSITIONS, STRATUM
from .._loops.hashing.rotation import Rotations
from ..kernel_table import SlotWeight
from ..recipe import NARROW_COLUMNS, OFFSET_WIDTH, Recipe
from ..theory.banks import share_slots
from .banks import make_banks, own_rows, round_up, wrapped
from .directions import direction_banks, make_rotations, make_waves
from .streams import Key, Purpose, mix_key, permutation, stream

WIDE_POSITIONS = 1 << 22


@dataclass(frozen=True)
class HashTables:
    """The tables of a recipe; None where the scheme hashes on the fly, or needs none.

    Slices of `minima` hold the locations, slices of `directions` the random directions of
    projections, `rotations` take their place; `waves` turn projections into cosines. `strata` are
    the positions of the strata of locations, of versions 4 to 6.
    """

    minima: Banks | None
    directions: Banks | None = None
    rotations: Rotations | None = None
    waves: Waves | None = None
    strata: Array | None = None


@lru_cache(maxsize=4)
def hash_tables(recipe: Recipe) -> HashTables:
    """The tables of a recipe; those of the last few recipes are kept."""
    return make_tables(recipe)


def make_tables(recipe: Recipe, wide_positions: int = WIDE_POSITIONS) -> HashTables:
    """The tables of a recipe, made anew; tests make smaller ones than the contract says."""
    kernel = recipe.entry
    return HashTables(
        _minima_banks(recipe, wide_positions),
        direction_banks(recipe) if kernel.projections and not recipe.has_rotations else None,
        make_rotations(recipe) if recipe.has_rotations else None,
        make_waves(recipe) if kernel.slot_weight is SlotWeight.COSINE else None,
        read_only(_strata(recipe), np.uint16) if recipe.has_strata else None,
    )


def _minima_banks(recipe: Recipe, wide_positions: int) -> Banks | None:
    if recipe.scheme == "circulant":
        if recipe.has_offsets:
            return _offset_circulant(recipe)
        wide = recipe.n_columns > NARROW_COLUMNS
        return _mixed_circulant(recipe, wide_positions) if wide else _narrow_circulant(recipe)
    if recipe.scheme == "independent" and recipe.has_own_tables:
        return _independent(recipe)
    return None


def _narrow_circulant(recipe: Recipe) -> Banks:
    n_positions = recipe.n_columns
    n_banks, width = share_slots(recipe.n_hashes, n_positions)
    inverse, starts = (
        np.array([permutation(recipe.seed, use, bank, n_positions) for bank in range(n_banks)])
        for use in (Purpose.LOCATION, Purpose.POSITION)
    )
    locations = np.empty(inverse.shape, np.uint16)
    np.put_along_axis(locations, inverse, np.arange(n_positions, dtype=np.uint16)[None], axis=1)
    return make_banks(
        n_banks,
        width,
        n_positions,
        wrapped(locations, n_positions + round_up(width, GROUP)),
        start_of_column=starts,
        inverse=inverse,
        with_values=recipe.entry.slot_weight is SlotWeight.VALUE,
    )


def _mixed_circulant(recipe: Recipe, n_positions: int) -> Banks:
    """Wide columns in version 3 of the contract."""
    n_banks, width = share_slots(recipe.n_hashes, n_positions)
    keys = [mix_key(recipe.seed, Key.POSITION, bank) for bank in range(n_banks)]
    words = [
        stream(recipe.seed, Purpose.LOCATION, bank, n_positions // 2) for bank in range(n_banks)
    ]
    locations = np.array(words).astype("<u8").view("<u4").astype(np.uint32)
    tables = wrapped(locations, n_positions + round_up(width, GROUP))
    return make_banks(n_banks, width, n_positions, tables, mix_keys=keys)


def _offset_circulant(recipe: Recipe) -> Banks:
    """Wide columns: one small table for all banks."""
    n_banks, width = share_slots(recipe.n_hashes, OFFSET_WIDTH)
    within = stream(recipe.seed, Purpose.LOCATION, 1, POSITIONS) >> np.uint64(62)
    locations = np.argsort(_strata(recipe)) * STRATUM + within.astype(np.int64)
    table = locations.astype(np.uint16)
    if recipe.is_two_ended and recipe.entry.slot_weight is SlotWeight.VALUE:
        table = locations.astype(np.uint32) << np.uint32(16)  # values travel in the lower halves
    return make_banks(
        n_banks,
        width,
        POSITIONS,
        wrapped(table[None], POSITIONS + round_up(width, GROUP)),
        mix_keys=[mix_key(recipe.seed, Key.POSITION, bank) for bank in range(n_banks)],
    )


def _strata(recipe: Recipe) -> Array:
    """The position of each stratum of locations in the table for wide columns."""
    return permutation(recipe.seed, Purpose.LOCATION, 0, POSITIONS)


def _independent(recipe: Recipe) -> Banks:
    table = np.zeros((recipe.n_columns, round_up(recipe.n_hashes, GROUP)), np.uint16)
    for slot in range(recipe.n_hashes):
        table[:, slot] = permutation(recipe.seed, Purpose.PERMUTATION, slot, recipe.n_columns)
    return own_rows(table, recipe.n_hashes)
