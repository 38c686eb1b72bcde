"""Banks of tables of locations, as the loops take them: wrapped around, and aligned."""

import numpy as np

from .._core.arguments import Array
from .._core.memory import aligned_zeros
from .._core.validation import read_only
from .._loops.hashing.banks import GROUP, Banks
from .._loops.hashing.sieve import STEP
from .._loops.simd.bit_sets import SLOTS, WORD

_NEVER = int(np.iinfo(np.int64).max)


def round_up(n: int, unit: int) -> int:
    """The least multiple of `unit` from n on."""
    return -(-n // unit) * unit


def circular(table: Array, width: int) -> Array:
    """Circular tables, on the last axis, repeated as far as slices of `width` slots are read."""
    more = [(0, 0)] * (table.ndim - 1) + [(0, round_up(width, GROUP))]
    return aligned(np.pad(table, more, "wrap"))


def aligned(table: Array) -> Array:
    """A table that begins at a cache line."""
    out = aligned_zeros(table.shape, table.dtype)
    out[:] = table
    return read_only(out)


def circular_banks(
    width: int, locations: Array, inverse: Array, starts: Array, with_values: bool
) -> Banks:
    """Banks of `width` slots, each of them a shift of its bank's circular table of locations.

    `inverse` has the position of each location. Without a word of positions, where the sieve would
    not pay, no row takes it.
    """
    n_banks, n_positions = locations.shape
    sieve_places, sieve_length = np.empty((n_banks, 0), np.int64), _NEVER
    if n_positions >= WORD:
        sieve_places = n_positions - 1 - inverse
        sieve_places = np.pad(sieve_places, ((0, 0), (0, -n_positions % STEP)), "edge")
        sieve_length = _sieve_length(n_positions, width, with_values)
    return Banks(
        width=width,
        n_banks=n_banks,
        n_positions=n_positions,
        tables=circular(locations, width),
        start_of_column=read_only(starts, np.int32),
        sieve_places=read_only(sieve_places),
        sieve_length=sieve_length,
    )


def one_bank(locations: Array, n_slots: int) -> Banks:
    """One bank, in which each column's slice is a row of its own."""
    n_columns, width = locations.shape
    return Banks(
        width=n_slots,
        n_banks=1,
        n_positions=locations.size,
        tables=aligned(locations.reshape(1, -1)),
        start_of_column=read_only(np.arange(n_columns)[None] * width, np.int32),
        sieve_places=read_only(np.empty((1, 0), np.int64)),
        sieve_length=_NEVER,
    )


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
