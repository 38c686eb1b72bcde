"""From a recipe to its hash tables: the hash contract.

Everything random is a function of the recipe alone. `docs/contract.md` describes the whole
contract; golden vectors in the tests hold it still.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .._loops.hashing.banks import GROUP, Banks
from .._loops.hashing.cosines import Waves
from .._loops.hashing.offsets import POSITIONS, STRATUM
from .._loops.hashing.rotation import Rotations
from ..kernel_table import SlotWeight
from ..recipe import BINNED_WIDTH, Recipe
from ..theory.banks import share_slots
from .banks import make_banks, own_rows, round_up, wrapped
from .directions import direction_banks, make_rotations, make_waves
from .streams import Key, Purpose, mix_key, permutation, stream


@dataclass(frozen=True)
class HashTables:
    """The tables of a recipe; None where the scheme hashes on the fly, or needs none.

    Slices of `minima` hold the locations, slices of `directions` the random directions of
    projections, `rotations` take their place; `waves` turn projections into cosines.
    """

    minima: Banks | None
    directions: Banks | None = None
    rotations: Rotations | None = None
    waves: Waves | None = None


@lru_cache(maxsize=4)
def hash_tables(recipe: Recipe) -> HashTables:
    """The tables of a recipe; those of the last few recipes are kept."""
    kernel = recipe.entry
    return HashTables(
        _minima_banks(recipe),
        direction_banks(recipe) if kernel.projections and not recipe.has_rotations else None,
        make_rotations(recipe) if recipe.has_rotations else None,
        make_waves(recipe) if kernel.slot_weight is SlotWeight.COSINE else None,
    )


def _minima_banks(recipe: Recipe) -> Banks | None:
    if recipe.scheme == "circulant":
        return _binned_circulant(recipe) if recipe.is_binned else _narrow_circulant(recipe)
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


def _binned_circulant(recipe: Recipe) -> Banks:
    """Wide columns: one small table for all banks."""
    n_banks, width = share_slots(recipe.n_hashes, BINNED_WIDTH)
    strata = np.argsort(permutation(recipe.seed, Purpose.LOCATION, 0, POSITIONS))
    within = stream(recipe.seed, Purpose.LOCATION, 1, POSITIONS) >> np.uint64(62)
    locations = strata * STRATUM + within.astype(np.int64)
    table = locations.astype(np.uint16)
    if recipe.entry.slot_weight is SlotWeight.VALUE:
        table = locations.astype(np.uint32) << np.uint32(16)  # values travel in the lower halves
    return make_banks(
        n_banks,
        width,
        POSITIONS,
        wrapped(table[None], POSITIONS + round_up(width, GROUP)),
        mix_keys=[mix_key(recipe.seed, Key.POSITION, bank) for bank in range(n_banks)],
    )


def _independent(recipe: Recipe) -> Banks:
    table = np.zeros((recipe.n_columns, round_up(recipe.n_hashes, GROUP)), np.uint16)
    for slot in range(recipe.n_hashes):
        table[:, slot] = permutation(recipe.seed, Purpose.PERMUTATION, slot, recipe.n_columns)
    return own_rows(table, recipe.n_hashes)
