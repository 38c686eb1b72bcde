"""Circulant hashing: the slots of a bank are shifts of one random order of the columns.

Up to 65,536 columns have positions of their own in a table per bank. More columns are mixed, and
share one small table; each falls into a bin first. Projections are rotations.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.arguments import Array
from .._core.memory import aligned_zeros
from .._core.validation import read_only
from .._loops.hashing.bins import POSITIONS, STRATUM, BinnedBanks, BinScratch, bin_scratch
from .._loops.hashing.minwise import GROUP, Banks
from .._loops.hashing.rotation import (
    BUCKETS,
    DRAWN,
    PLACES,
    SIGN_VECTORS,
    Rotations,
    RotationScratch,
)
from .._loops.hashing.sieve import STEP, SieveScratch
from .._loops.simd.bit_sets import SLOTS, WORD
from ..theory.aliasing import Aliasing, aliasing_with_ties
from ..theory.dependence import binning_change, circulant_change, two_ended_change
from .base import Sketch, SketchTables, TableSketch, aligned, round_up
from .randomness import Key, Purpose, mix_key, permutation, stream

if TYPE_CHECKING:
    from ..recipe import Recipe

# parts of the hash contract
NARROW_COLUMNS = 1 << 16  # up to here columns have positions of their own
_BINNED_LOCATIONS = 1 << 16
_BINNED_WIDTH = 512  # bins, which are the slots of a bank, at most
_BANK_STEP = 64  # what the width of a bank is a multiple of, where that fits

_NEVER = int(np.iinfo(np.int64).max)


def make_sketch(recipe: "Recipe") -> Sketch:
    """The sketch of a recipe, by its number of columns."""
    return (WideCirculant if recipe.n_columns > NARROW_COLUMNS else Circulant)(recipe)


class Circulant(TableSketch):
    """Columns have positions of their own, in a circular table per bank."""

    @property
    def n_locations(self) -> int:
        return self.recipe.n_columns

    @property
    def bank_slots(self) -> int:
        return self.recipe.n_columns

    def variance_change(self, union: Any) -> Any:
        per_bank = slots_per_bank(self.recipe.n_hashes, self.bank_slots)
        return circulant_change(union, self.recipe.n_columns, per_bank)

    def make_tables(self) -> SketchTables:
        rotations = make_rotations(self.recipe) if self.recipe.entry.projects else None
        return SketchTables(self._banks(), rotations, None, self.cosine_phases())

    def _banks(self) -> Banks | BinnedBanks:
        """Banks of slots, each of them a shift of its bank's circular table of locations."""
        seed, n_positions = self.recipe.seed, self.recipe.n_columns
        n_banks, width = share_slots(self.recipe.n_hashes, self.bank_slots)
        places, starts = (  # of locations, and of columns
            np.array([permutation(seed, use, bank, n_positions) for bank in range(n_banks)])
            for use in (Purpose.LOCATION, Purpose.POSITION)
        )
        locations = np.empty(places.shape, np.uint16)
        np.put_along_axis(locations, places, np.arange(n_positions, dtype=np.uint16)[None], axis=1)
        sieve_places, sieve_length = np.empty((n_banks, 0), np.int64), _NEVER
        if n_positions >= WORD:  # below, the sieve would not pay
            sieve_places = n_positions - 1 - places
            sieve_places = np.pad(sieve_places, ((0, 0), (0, -n_positions % STEP)), "edge")
            sieve_length = _sieve_length(n_positions, width, self.has_values)
        return Banks(
            width=width,
            n_banks=n_banks,
            n_positions=n_positions,
            tables=_wrapped(locations, width),
            start_of_column=read_only(starts, np.int32),
            sieve_places=read_only(sieve_places),
            sieve_length=sieve_length,
        )

    def projection_scratch(self) -> tuple[int, Any]:
        sums = aligned_zeros((BUCKETS,), np.float32)
        return BUCKETS, RotationScratch(sums, np.empty(DRAWN, np.uint16))


class WideCirculant(Circulant):
    """Columns are mixed, share one small table, and each of them falls into a bin first."""

    @property
    def n_locations(self) -> int:
        return _BINNED_LOCATIONS

    @property
    def bank_slots(self) -> int:
        return _BINNED_WIDTH

    def full_banks_between(self, low: int, high: int) -> range:
        step = high // _BINNED_WIDTH * _BANK_STEP  # as many banks, each wider
        return range(low // step * step + step, high, step)

    def aliasing(self, f1: Any, f2: Any) -> Aliasing:
        _, n_bins = share_slots(self.recipe.n_hashes, _BINNED_WIDTH)
        return aliasing_with_ties(f1, f2, self.recipe.n_bits, 1 / n_bins)

    def variance_change(self, union: Any) -> Any:
        k = self.recipe.n_hashes
        _, n_bins = share_slots(k, _BINNED_WIDTH)
        of_slices = two_ended_change(union, *positions_per_bank(k, _BINNED_WIDTH))
        return binning_change(union, n_bins, slots_per_bank(k, _BINNED_WIDTH), of_slices)

    def _banks(self) -> BinnedBanks:
        """Banks of bins, over one circular table."""
        seed = self.recipe.seed
        n_banks, width = share_slots(self.recipe.n_hashes, _BINNED_WIDTH)
        strata = np.argsort(permutation(seed, Purpose.LOCATION, 0, POSITIONS))
        within = stream(seed, Purpose.LOCATION, 1, POSITIONS) >> np.uint64(62)
        locations = strata * STRATUM + within.astype(np.int64)
        table = locations.astype(np.uint16)
        if self.has_values:
            table = locations.astype(np.uint32) << np.uint32(16)  # values stand in the lower halves
        keys = np.array([mix_key(seed, Key.POSITION, bank) for bank in range(n_banks)])
        return BinnedBanks(width, n_banks, keys, _wrapped(table, width))

    def minima_scratch(self, longest: int) -> tuple[SieveScratch | None, BinScratch | None]:
        return None, bin_scratch(longest, self.tables.banks)


def share_slots(n_slots: int, most: int) -> tuple[int, int]:
    """Number of banks among which the slots are shared, at most `most` each, and their width.

    Banks are equally wide but for the last, and a multiple of 64 slots where that fits.

    >>> share_slots(1024, 512), share_slots(600, 512), share_slots(100, 30)
    ((2, 512), (2, 320), (4, 30))
    """
    width = -(-n_slots // -(-n_slots // most))
    width = min(most, round_up(width, _BANK_STEP))
    return -(-n_slots // width), width


def slots_per_bank(n_slots: int, most: int) -> float:
    """Slots in the bank of a slot, itself included, on average over the slots.

    >>> slots_per_bank(1024, 512)
    512.0
    """
    n_banks, width = share_slots(n_slots, most)
    n_full = (n_banks - 1) * width  # slots in all banks but the last
    return (n_full * width + (n_slots - n_full) ** 2) / n_slots


def positions_per_bank(n_slots: int, most: int) -> tuple[float, float]:
    """Positions in the bank of a slot, on average, and the share of slots that share a position.

    Each position serves a slot in the first half of the width and one in the second.

    >>> positions_per_bank(512, 512), positions_per_bank(200, 512)
    ((256.0, 1.0), (128.0, 0.72))
    """
    n_banks, width = share_slots(n_slots, most)
    n_full, half = (n_banks - 1) * width, width // 2
    n_last = n_slots - n_full
    positions = (n_full * half + n_last * min(n_last, half)) / n_slots
    return positions, (n_full + 2 * max(n_last - half, 0)) / n_slots


def make_rotations(recipe: "Recipe") -> Rotations:
    """Keys, signs and slices of the rotations that project rows."""
    banks = range(-(-recipe.n_hashes // BUCKETS))
    is_minus = [
        stream(recipe.seed, Purpose.NUMBER, bank, BUCKETS) >> np.uint64(63) for bank in banks
    ]
    signs = np.where(np.array(is_minus), -1, 1)
    slots, places = np.arange(BUCKETS), np.arange(PLACES)
    vectors = 1 - 2 * (np.array(SIGN_VECTORS)[:, None] >> places & 1)
    patterns = _hadamard(PLACES)[:, None] * vectors
    # for each bank and vector, the numbers of bucket 0; those of the others are in another order.
    # Sums of integers, divided last: where a sum is 0, fractions would leave a sign or a remainder
    # that depends on the processor.
    sums = (signs[:, None] * np.tile(vectors, BUCKETS // PLACES)) @ _hadamard(BUCKETS)
    numbers = sums / math.sqrt(BUCKETS)
    keys = np.array([mix_key(recipe.seed, Key.DIRECTION, bank) for bank in banks])
    tables = (
        signs / math.sqrt(BUCKETS), np.stack([patterns, -patterns], axis=2),
        numbers[:, :, slots ^ places[:, None]].swapaxes(1, 2),
    )  # fmt: skip
    return Rotations(read_only(keys), *(aligned(table.astype(np.float32)) for table in tables))


def _hadamard(n: int) -> Array:
    """The Hadamard matrix: -1 where i AND j has an odd number of ones, else 1."""
    i = np.arange(n)
    return 1 - 2 * (np.bitwise_count(i[:, None] & i) & 1).astype(np.int64)


def _wrapped(table: Array, width: int) -> Array:
    """Circular tables, on the last axis, repeated as far as slices of `width` slots are read."""
    padding = [(0, 0)] * (table.ndim - 1) + [(0, round_up(width, GROUP))]
    return aligned(np.pad(table, padding, "wrap"))


def _sieve_length(n_positions: int, width: int, with_values: bool) -> int:
    """Nonzeros from which a row goes through the sieve.

    The sieve takes a number of steps in proportion to M / f for f nonzeros in M positions,
    where there are f slices. The constants are nanoseconds per row and bank, measured on one
    machine; they decide the speed, not the result.
    """
    f = np.arange(1, n_positions + 1)
    groups, tiles = -(-width // GROUP), -(-width // SLOTS)
    if with_values:
        slices = 87 + 2.7 * f * groups
        sieve = 0.033 * n_positions + 1.0 * f + (200 + 10.0 * n_positions / f) * tiles
    else:
        slices = 53 + 2.3 * f * groups
        sieve = 39 + 0.029 * n_positions + 0.6 * f + (60 + 8.5 * n_positions / f) * tiles
    return 1 + int(np.count_nonzero(slices <= sieve))
