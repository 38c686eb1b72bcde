"""Minima of rows of many columns: one small table, with an offset per column.

In so small a table many columns start at the same place. An offset per column, added to all
numbers of its slice, makes their values independent again.

Before any slice is read, each column falls into one bin of a bank, as in one-permutation hashing,
and the column of lowest rank in a bin decides the bin's slot. Different columns decide different
slots, which makes estimates more accurate than those of independent slots; and where a row is so
long that all bins of a group are full, its slices are skipped. The slots of empty bins have the
minima of slices: copies of other slots in their place, as in one-permutation hashing, would cost
accuracy where rows are short.

One position serves two slots: in one the column of least location is first, in the other that of
greatest location. The loop is bound by loads and vector operations, so one load then serves two
slots: 8.8 to 6.6 ns per nonzero and 512 slots. CoRE 2's values travel below the locations, in
words of 32 bits: 7 ns, against 10 in vectors of their own and 15 in a pass after the minima.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import inner_loop, loop
from ..mixing import mix
from ..simd.integers import LINE
from .slices import slice_extremes, two_line_extremes

# parts of the hash contract
POSITIONS = 1 << 14  # in the table, before it wraps around
STRATUM = 4  # values per stratum; each stratum has one position
START_STEP = 16  # slices start at multiples of it, and so in few cache lines

EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)  # a bin without nonzeros
WRAP = POSITIONS - 1
_HALF = np.uint64(32)
_RANK = np.uint64(0xFFFFFFFF)
_VALUE = np.uint64(0xFFFF)
_START_BITS = (POSITIONS // START_STEP - 1).bit_length()
_OFFSET_BITS = WRAP.bit_length()
_LONG = 4  # nonzeros per bin, from which whole groups of bins are likely to be full
_SHORT = 4  # bins per nonzero, from which bins are filled one by one after the slices


class BinnedBanks(NamedTuple):
    """Slots are shared out in runs of `width`, one bank each, over one circular table."""

    width: int
    n_banks: int
    keys: np.ndarray  # one per bank, under which columns are mixed
    tables: np.ndarray  # one table, of locations, with room for values below where these travel


class BinScratch(NamedTuple):
    """Scratch for one row, beside `RowScratch.starts`."""

    offsets: np.ndarray  # one per nonzero; of 32 bits, if its value is to travel below it
    ranks: np.ndarray  # one per nonzero
    bins: np.ndarray  # rank, then value, of the first nonzero in each bin; EMPTY between rows


def bin_scratch(longest, banks):
    """Scratch for rows of up to `longest` nonzeros."""
    offsets = np.empty(longest, banks.tables.dtype)
    return BinScratch(offsets, np.empty(longest, np.uint32), np.full(banks.width, EMPTY))


@inner_loop
def wide_row_minima(
    columns, values, scratch, banks, bank, n_slots, mask, row_scratch, at, out, out_values
):
    """Codes of the slots of a bank for one row, from `at` on, and the value of each."""
    length, bins = columns.shape[0], scratch.bins
    starts, ranks = row_scratch.starts[:length], scratch.ranks[:length]
    find_starts_and_offsets(columns, banks.keys[bank], starts, scratch.offsets, ranks)
    is_short = length * _SHORT <= bins.shape[0]
    if not is_short:
        fill_bins(ranks, values, bins)
    if values is not None:
        _put_below(values, scratch.offsets)
    likely_full = bins if length >= _LONG * bins.shape[0] else bins[:0]
    _extremes_of_slices(
        starts, scratch.offsets, banks, likely_full, n_slots, mask, row_scratch, at, out, out_values
    )
    if is_short:
        _write_few_bins(ranks, values, bins, n_slots, mask, at, out, out_values)
    else:
        write_bins(values, bins, n_slots, mask, at, out, out_values)


@inner_loop
def find_starts_and_offsets(columns, key, starts, offsets, ranks):
    """Split the mix of each column: 10 bits of start, 14 of offset; the last 32 are its rank."""
    for p in range(columns.shape[0]):
        mixed = mix(np.uint64(columns[p]) ^ key)
        offset = (mixed >> np.uint64(64 - _START_BITS - _OFFSET_BITS)) & np.uint64(WRAP)
        starts[p] = (mixed >> np.uint64(64 - _START_BITS)) * np.uint64(START_STEP)
        offsets[p] = offset * np.uint64(STRATUM)
        ranks[p] = mixed & _RANK


@inner_loop
def _put_below(values, offsets):
    """Make each offset the upper half of a word whose lower half is the value."""
    for p in range(values.shape[0]):
        offsets[p] = offsets[p] << np.uint32(16) | np.uint32(values[p])


@inner_loop
def _extremes_of_slices(
    starts, offsets, banks, bins, n_slots, mask, row_scratch, at, out, out_values
):
    """Codes and values of the slots from slices; groups of slots whose bins are full are skipped.

    The first half of a bank's slots take the least location, the second half the greatest.
    """
    table, n_low = banks.tables, banks.width // 2
    two = 2 * LINE // table.itemsize
    four = 2 * two
    n_whole = max(min(n_low, n_slots - n_low), 0) // four * four
    step = four if bins.shape[0] else max(n_whole, four)
    for slot in range(0, n_whole, step):
        if not bins_are_full(bins, slot, n_low + slot, four):
            slice_extremes(
                starts, offsets, table, slot, min(step, n_whole), mask, at + slot,
                at + n_low + slot, out, out_values,
            )  # fmt: skip
    for first in range(n_whole, min(n_low, n_slots), two):
        n_places, top = min(two, n_low - first), n_low + first
        if bins_are_full(bins, first, top, n_places):
            continue
        is_whole = n_places == two and top + two <= n_slots
        target, low_at, high_at, target_values = out, at + first, at + top, out_values
        if not is_whole:
            target, low_at, high_at = row_scratch.codes, np.int64(0), np.int64(two)
            if out_values is not None:
                target_values = row_scratch.values
        two_line_extremes(
            starts, offsets, table, first, mask, low_at, high_at, target, target_values
        )
        if not is_whole:
            for slot, source in ((first, 0), (top, two)):
                for place in range(min(n_places, n_slots - slot)):
                    out[at + slot + place] = row_scratch.codes[source + place]
                    if out_values is not None:
                        out_values[at + slot + place] = row_scratch.values[source + place]


@loop(inline="always")
def bins_are_full(bins, low, high, count):
    """Whether a nonzero has fallen into each of two runs of bins; False if there are no bins."""
    has_empty = bins.shape[0] == 0
    if not has_empty:
        for place in range(count):
            has_empty |= (bins[low + place] == EMPTY) | (bins[high + place] == EMPTY)
    return not has_empty


@loop(inline="always")
def _bin_of(rank, bins):
    """The bin of a bank that a nonzero of this rank falls into."""
    return (np.uint64(rank) * np.uint64(bins.shape[0])) >> _HALF


@inner_loop
def fill_bins(ranks, values, bins):
    """Put nonzeros into their bins; each bin keeps the one of the lowest rank."""
    for p in range(ranks.shape[0]):
        place, first = _bin_of(ranks[p], bins), np.uint64(ranks[p]) << _HALF
        if values is not None:
            first |= np.uint64(values[p])
        bins[place] = min(bins[place], first)


@inner_loop
def write_bins(values, bins, n_slots, mask, at, out, out_values):
    """Write the code, and the value, of each full bin to its slot; empty the bins."""
    codes, cut = out[at : at + n_slots], np.uint64(mask)
    for slot in range(n_slots):  # without branches, so that it vectorises
        first, code = bins[slot], np.uint64(codes[slot])
        codes[slot] = code if first == EMPTY else (first >> _HALF) & cut
    if values is not None:
        slot_values = out_values[at : at + n_slots]
        for slot in range(n_slots):
            first, value = bins[slot], np.uint64(slot_values[slot])
            slot_values[slot] = value if first == EMPTY else first & _VALUE
    bins[:] = EMPTY


@inner_loop
def _write_few_bins(ranks, values, bins, n_slots, mask, at, out, out_values):
    """`fill_bins` and `write_bins` of a short row, which touches few bins."""
    codes, cut = out[at : at + n_slots], np.uint64(mask)
    begin, end = np.uint64(at), np.uint64(n_slots)
    for p in range(ranks.shape[0]):
        slot, first = _bin_of(ranks[p], bins), np.uint64(ranks[p]) << _HALF
        if values is not None:
            first |= np.uint64(values[p])
        if slot < end and first < bins[slot]:  # nearly always
            bins[slot] = first
            codes[slot] = (first >> _HALF) & cut
            if values is not None:
                out_values[begin + slot] = values[p]
    for p in range(ranks.shape[0]):
        bins[_bin_of(ranks[p], bins)] = EMPTY
