"""Banks of hash tables, as the loops take them: slots shared out, tables wrapped and aligned."""

from collections.abc import Sequence

import numpy as np

from .._core.memory import aligned_zeros
from .._core.types import Array
from .._core.validation import read_only
from .._loops.hashing.banks import GROUP, Banks
from .._loops.hashing.sieve import STEP
from .._loops.simd.bit_sets import SLOTS, WORD

_NEVER = int(np.iinfo(np.int64).max)


def round_up(n: int, unit: int) -> int:
    """The least multiple of `unit` from n on."""
    return -(-n // unit) * unit


def wrapped(tables: Array, length: int) -> Array:
    """Circular tables, one per row, repeated from their start until they have the length."""
    return np.pad(tables, ((0, 0), (0, length - tables.shape[1])), "wrap")


def make_banks(
    n_banks: int,
    width: int,
    n_positions: int,
    tables: Array,
    *,
    start_of_column: Array | None = None,
    mix_keys: Sequence[np.uint64] = (),
    inverse: Array | None = None,
    with_values: bool = False,
) -> Banks:
    """Banks of `width` slots over these tables, one each or one for all.

    Slices start where `start_of_column` says or, without it, at the mix of the column under
    `mix_keys`. `inverse` gives the position of each location; without it no row takes the
    sieve, nor with less than a word of positions, where that would not pay.
    """
    sieve_places, sieve_length = np.empty((n_banks, 0), np.int64), _NEVER
    if start_of_column is None:
        start_of_column = np.empty((n_banks, 0), np.int32)
    if inverse is not None and n_positions >= WORD:
        sieve_places = n_positions - 1 - inverse
        sieve_places = np.pad(sieve_places, ((0, 0), (0, -n_positions % STEP)), "edge")
        sieve_length = _sieve_length(n_positions, width, with_values)
    aligned = aligned_zeros(tables.shape, tables.dtype)
    aligned[:] = tables
    return Banks(
        width=width,
        n_banks=n_banks,
        n_positions=n_positions,
        tables=read_only(aligned),
        start_of_column=read_only(start_of_column, np.int32),
        mix_keys=read_only(np.array(mix_keys, np.uint64)),
        mix_shift=np.uint64(65 - n_positions.bit_length()),
        sieve_places=read_only(sieve_places),
        sieve_length=sieve_length,
    )


def own_rows(table: Array, n_slots: int) -> Banks:
    """One bank, in which each column's slice is a row of its own."""
    n_columns, width = table.shape
    starts = np.arange(n_columns)[None] * width
    return make_banks(1, n_slots, table.size, table.reshape(1, -1), start_of_column=starts)


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
