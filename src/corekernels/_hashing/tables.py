"""From a recipe to its hash tables: the hash contract.

Everything random is a function of the recipe alone. `docs/contract.md` describes the whole
contract; golden vectors in the tests hold it still.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .._core.arguments import Array
from .._loops.hashing.banks import GROUP, Banks
from .._loops.hashing.cosines import Waves
from .._loops.hashing.offsets import POSITIONS, STRATUM, BinnedBanks
from .._loops.hashing.rotation import Rotations
from ..kernel_table import SlotWeight
from ..recipe import BINNED_WIDTH, Recipe
from ..theory.dependence import share_slots
from .banks import circular, circular_banks, one_bank, round_up
from .directions import make_directions, make_rotations, make_waves
from .streams import Key, Purpose, mix_key, permutation, stream


@dataclass(frozen=True)
class HashTables:
    """The tables of a recipe; None where columns are hashed on the fly, or where none is needed.

    Slices of `minima` hold the locations. Projections are `rotations` or, with the scheme
    "independent", sums of `directions`; `waves` turn them into cosines.
    """

    minima: Banks | BinnedBanks | None
    rotations: Rotations | None = None
    directions: Array | None = None
    waves: Waves | None = None


@lru_cache(maxsize=4)
def hash_tables(recipe: Recipe) -> HashTables:
    """The tables of a recipe; those of the last few recipes are kept."""
    kernel = recipe.entry
    waves = make_waves(recipe) if kernel.slot_weight is SlotWeight.COSINE else None
    if recipe.scheme == "circulant":
        minima = _binned_banks(recipe) if recipe.is_binned else _narrow_banks(recipe)
        return HashTables(minima, make_rotations(recipe) if kernel.projects else None, None, waves)
    if not recipe.has_own_tables:
        return HashTables(None, waves=waves)
    directions = make_directions(recipe) if kernel.projects else None
    return HashTables(_independent_bank(recipe), None, directions, waves)


def _narrow_banks(recipe: Recipe) -> Banks:
    """Columns that have positions of their own, in a circular table per bank."""
    n_positions = recipe.n_columns
    n_banks, width = share_slots(recipe.n_hashes, n_positions)
    inverse, starts = (
        np.array([permutation(recipe.seed, use, bank, n_positions) for bank in range(n_banks)])
        for use in (Purpose.LOCATION, Purpose.POSITION)
    )
    locations = np.empty(inverse.shape, np.uint16)
    np.put_along_axis(locations, inverse, np.arange(n_positions, dtype=np.uint16)[None], axis=1)
    with_values = recipe.entry.slot_weight is SlotWeight.VALUE
    return circular_banks(width, locations, inverse, starts, with_values)


def _binned_banks(recipe: Recipe) -> BinnedBanks:
    """Wide columns: one small circular table for all banks."""
    n_banks, width = share_slots(recipe.n_hashes, BINNED_WIDTH)
    strata = np.argsort(permutation(recipe.seed, Purpose.LOCATION, 0, POSITIONS))
    within = stream(recipe.seed, Purpose.LOCATION, 1, POSITIONS) >> np.uint64(62)
    locations = strata * STRATUM + within.astype(np.int64)
    table = locations.astype(np.uint16)
    if recipe.entry.slot_weight is SlotWeight.VALUE:
        table = locations.astype(np.uint32) << np.uint32(16)  # values travel in the lower halves
    keys = np.array([mix_key(recipe.seed, Key.POSITION, bank) for bank in range(n_banks)])
    return BinnedBanks(width, n_banks, keys, circular(table, width))


def _independent_bank(recipe: Recipe) -> Banks:
    """A permutation of the columns for each slot."""
    table = np.zeros((recipe.n_columns, round_up(recipe.n_hashes, GROUP)), np.uint16)
    for slot in range(recipe.n_hashes):
        table[:, slot] = permutation(recipe.seed, Purpose.PERMUTATION, slot, recipe.n_columns)
    return one_bank(table, recipe.n_hashes)
