"""Slices with offsets: one table that stays in the first-level cache, for any number of columns.

In so small a table many columns start at the same place. An offset per column, added to all
numbers of its slice, makes their values independent again. Columns may then share a value. In
the lowest stratum of values, which long rows reach in every slot, they are told apart by a rank.

Unless values travel beside the minima, each position serves two slots: one has the values of its
columns, the other counts them from the top. First in one is who is least, in the other who is
greatest.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ..compilation import inner_loop, loop
from ..simd.llvm import LINE
from ..simd.vectors import (
    add,
    higher,
    load_line,
    lower,
    splat_line,
    store,
    subtract,
)
from .banks import GROUP
from .mixing import mix

# parts of the hash contract
POSITIONS = 1 << 14  # in the table, before it wraps around
STRATUM = 4  # values per stratum; each stratum has one position
START_STEP = 16  # slices start at multiples of it, and so in few cache lines

_NONE = np.uint64(0xFFFFFFFFFFFFFFFF)
_TOP = np.uint16(0xFFFF)  # the greatest value
_WRAP = POSITIONS - 1
_STRATUM_BITS = np.uint16(STRATUM.bit_length() - 1)
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


@loop
def slice_ends(starts, offsets, table, first, n_groups, mask, at, at_top, out):
    """Codes of groups of positions from `first` on: of minima and, counted from the top, maxima.

    Minima are written from `at` on, maxima from `at_top` on.
    """
    line = LINE // table.itemsize
    cut, top = splat_line(mask), splat_line(_TOP)
    for group in range(n_groups):
        slot, place = first + group * GROUP, group * GROUP
        a, b, c, d = _four_lines(starts, offsets, table, 0, slot, line)
        e, f, g, h = a, b, c, d
        for p in range(1, starts.shape[0]):
            w, x, y, z = _four_lines(starts, offsets, table, p, slot, line)
            a, b, c, d = lower(a, w), lower(b, x), lower(c, y), lower(d, z)
            e, f, g, h = higher(e, w), higher(f, x), higher(g, y), higher(h, z)
        e, f, g, h = subtract(top, e), subtract(top, f), subtract(top, g), subtract(top, h)
        _store_four(a & cut, b & cut, c & cut, d & cut, at + place, line, out)
        _store_four(e & cut, f & cut, g & cut, h & cut, at_top + place, line, out)


@njit(nogil=True, cache=True, inline="always")
def _four_lines(starts, offsets, table, p, first, line):
    """Values of nonzero p at GROUP positions."""
    start, more = np.intp(starts[p]) + first, splat_line(offsets[p])
    w, x = load_line(table, start), load_line(table, start + line)
    y, z = load_line(table, start + 2 * line), load_line(table, start + 3 * line)
    return add(w, more), add(x, more), add(y, more), add(z, more)


@njit(nogil=True, cache=True, inline="always")
def _store_four(a, b, c, d, at, line, out):
    store(a, at, out)
    store(b, at + line, out)
    store(c, at + 2 * line, out)
    store(d, at + 3 * line, out)


@inner_loop
def set_ranked(starts, offsets, values, positions, n_low, n_slots, mask, at, out, out_values):
    """Give slots with a value in the lowest stratum the code, and the value, of their first column.

    The first of its columns is that of lowest rank. The stratum has one position in the table,
    so that of each column it is quickly seen whether it lies in its slice, and where. Slots from
    `n_low` on, unless it is None, count from the top; their lowest stratum is the last one.
    """
    best, touched, ranks, shifts = offsets.best, offsets.touched, offsets.ranks, offsets.offsets
    wrap, n_touched, first_top = np.uint64(_WRAP), 0, n_slots
    if n_low is not None:
        first_top = min(n_low, n_slots)
    for i in range(starts.shape[0]):
        p = np.uint64(i)  # unsigned, as all that numbers an element: not to ask if it is below 0
        stratum = np.uint64(POSITIONS) - np.uint64(shifts[p] >> _STRATUM_BITS)
        start = np.uint64(starts[p])
        low = np.intp((np.uint64(positions[stratum & wrap]) - start) & wrap)
        top = n_slots
        if n_low is not None:
            top = n_low + np.intp((np.uint64(positions[stratum - np.uint64(1)]) - start) & wrap)
        if (low >= first_top) & (top >= n_slots):  # nearly always
            continue
        for slot, limit in ((low, first_top), (top, n_slots)):
            if slot >= limit or ranks[p] >= best[slot]:
                continue
            if best[slot] == _NONE:
                touched[n_touched] = slot
                n_touched += 1
            best[slot] = ranks[p]
            out[at + slot] = np.uint64(mask) & np.uint64(ranks[p])
            if values is not None:
                out_values[at + slot] = values[p]
    for t in range(n_touched):
        best[touched[t]] = _NONE
