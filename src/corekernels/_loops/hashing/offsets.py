"""Slices with offsets: one table that stays in the first-level cache, for any number of columns.

In so small a table many columns start at the same place. An offset per column, added to all
numbers of its slice, makes their values independent again. Columns may then share a value. In
the lowest stratum of values, which long rows reach in every slot, they are told apart by a rank.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import inner_loop
from .mixing import mix

# parts of the hash contract
POSITIONS = 1 << 14  # in the table, before it wraps around
STRATUM = 4  # values per stratum; each stratum has one position
START_STEP = 16  # slices start at multiples of it, and so in few cache lines

_NONE = np.uint64(0xFFFFFFFFFFFFFFFF)
_WRAP = POSITIONS - 1
_START_BITS = (POSITIONS // START_STEP - 1).bit_length()
_OFFSET_BITS = _WRAP.bit_length()


class Offsets(NamedTuple):
    """Working memory for one row, beside `MinimaScratch.starts`."""

    offsets: np.ndarray  # one per nonzero
    ranks: np.ndarray  # one per nonzero
    best: np.ndarray  # per slot: lowest rank so far; beyond all ranks between rows
    touched: np.ndarray  # slots whose `best` was set


def new_offsets(longest, width):
    """Working memory for rows of up to `longest` nonzeros and banks of `width` slots."""
    return Offsets(
        np.empty(longest, np.uint16),
        np.empty(longest, np.uint32),
        np.full(width, _NONE),
        np.empty(width, np.int32),
    )


@inner_loop
def find_starts_and_offsets(columns, key, starts, offsets):
    """Split the mix of each column: 10 bits of start, 14 of offset; the last 32 are its rank."""
    for p in range(columns.shape[0]):
        mixed = mix(np.uint64(columns[p]) ^ key)
        offset = (mixed >> np.uint64(64 - _START_BITS - _OFFSET_BITS)) & np.uint64(_WRAP)
        starts[p] = (mixed >> np.uint64(64 - _START_BITS)) * np.uint64(START_STEP)
        offsets.offsets[p] = offset * np.uint64(STRATUM)
        offsets.ranks[p] = mixed & np.uint64(0xFFFFFFFF)


@inner_loop
def set_ranked(starts, offsets, values, positions, n_slots, mask, at, out, out_values):
    """Give slots with a value in the lowest stratum the code, and the value, of their first column.

    The first of its columns is that of lowest rank. The stratum has one position in the table,
    so that of each column it is quickly seen whether it lies in its slice, and where.
    """
    best, touched = offsets.best, offsets.touched
    n_touched = 0
    for p in range(starts.shape[0]):
        stratum = (POSITIONS - np.intp(offsets.offsets[p]) // STRATUM) & _WRAP
        slot = (np.intp(positions[stratum]) - np.intp(starts[p])) & _WRAP
        if slot >= n_slots or offsets.ranks[p] >= best[slot]:
            continue
        if best[slot] == _NONE:
            touched[n_touched] = slot
            n_touched += 1
        best[slot] = offsets.ranks[p]
        out[at + slot] = np.uint64(mask) & np.uint64(offsets.ranks[p])
        if values is not None:
            out_values[at + slot] = values[p]
    for t in range(n_touched):
        best[touched[t]] = _NONE
