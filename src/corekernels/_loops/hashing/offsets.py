"""Minima of rows of many columns: one small table, with an offset per column.

In so small a table many columns start at the same place. An offset per column, added to all
numbers of its slice, makes their values independent again.

Before any slice is looked at, each column falls into one slot of a bank, as in one-permutation
hashing, and the first by rank of a row's columns that fall into a slot decides it. Different
columns decide different slots, which makes estimates more accurate than those of independent
slots; and where a row is so long that no slot of a group is left, its slices are skipped. The
slots that are left have the minima of slices: copies of other slots in their place, as in
one-permutation hashing, would cost accuracy where rows are short.

One position serves two slots: in one the column of least location is first, in the other that of
greatest location. The loop is bound by loads and vector operations, so one load then serves two
slots: 8.8 to 6.6 ns per nonzero and 512 slots. CoRE 2's values travel below the locations, in
words of 32 bits; in vectors of their own they took 10 ns against 7, found after the minima 15.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import inner_loop, loop
from ..mixing import mix
from ..simd.integers import LINE
from .slices import slice_ends, two_line_ends

# parts of the hash contract
POSITIONS = 1 << 14  # in the table, before it wraps around
STRATUM = 4  # values per stratum; each stratum has one position
START_STEP = 16  # slices start at multiples of it, and so in few cache lines

NONE = np.uint64(0xFFFFFFFFFFFFFFFF)  # in a slot that no nonzero has fallen into
WRAP = POSITIONS - 1
_HALF = np.uint64(32)
_RANK = np.uint64(0xFFFFFFFF)
_VALUE = np.uint64(0xFFFF)
_START_BITS = (POSITIONS // START_STEP - 1).bit_length()
_OFFSET_BITS = WRAP.bit_length()
_LONG = 4  # nonzeros per slot, from which it is worth asking whether groups are decided
_SHORT = 4  # slots per nonzero, from which nonzeros fall one by one once all slots are written


class BinnedBanks(NamedTuple):
    """Slots are shared out in runs of `width`, one bank each, over one circular table."""

    width: int
    n_banks: int
    keys: np.ndarray  # one per bank, under which columns are mixed
    table: np.ndarray  # locations; of 32 bits, with room for a value below, where values travel


class Offsets(NamedTuple):
    """Working memory for one row, beside `MinimaScratch.starts`."""

    offsets: np.ndarray  # one per nonzero; of 32 bits, if its value is to travel below it
    ranks: np.ndarray  # one per nonzero
    firsts: np.ndarray  # per slot: rank, then value, of its first nonzero; all ones between rows


def new_offsets(longest, banks):
    """Working memory for rows of up to `longest` nonzeros."""
    offsets = np.empty(longest, banks.table.dtype)
    return Offsets(offsets, np.empty(longest, np.uint32), np.full(banks.width, NONE))


@inner_loop
def ends_with_offsets(
    columns, values, offsets, banks, bank, n_slots, mask, scratch, at, out, out_values
):
    """Codes of the slots of a bank for one row, from `at` on, and the value behind each."""
    starts = scratch.starts[: columns.shape[0]]
    find_starts_and_offsets(columns, banks.keys[bank], starts, offsets)
    decided = fall_first(offsets, values, columns.shape[0])
    if values is not None:
        _put_below(values, offsets.offsets)
    _ends_of_slices(
        starts, offsets.offsets, banks, decided, n_slots, mask, scratch, at, out, out_values
    )
    set_fallen(offsets, values, columns.shape[0], n_slots, mask, at, out, out_values)


@inner_loop
def _put_below(values, offsets):
    """Make each offset the upper half of a word whose lower half is the value."""
    for p in range(values.shape[0]):
        offsets[p] = offsets[p] << np.uint32(16) | np.uint32(values[p])


@inner_loop
def _ends_of_slices(starts, offsets, banks, decided, n_slots, mask, scratch, at, out, out_values):
    """Codes, and values, of what slices say of the slots; some that are decided are left.

    Slots from the half of a bank on count locations from the top.
    """
    zero, table, n_low = np.int64(0), banks.table, banks.width // 2
    two = 2 * LINE // table.itemsize
    four = 2 * two
    spare = out_values
    if out_values is not None:
        spare = scratch.values
    n_whole = max(min(n_low, n_slots - n_low), 0) // four * four
    step = four if decided.shape[0] else max(n_whole, four)
    for slot in range(zero, n_whole, step):
        top = n_low + slot
        if not (are_decided(decided, slot, four) and are_decided(decided, top, four)):
            slice_ends(
                starts, offsets, table, slot, min(step, n_whole), mask, at + slot, at + top, out,
                out_values,
            )  # fmt: skip
    for first in range(n_whole, min(n_low, n_slots), two):
        n_places = min(two, n_low - first)
        top = n_low + first
        if are_decided(decided, first, n_places) and are_decided(decided, top, n_places):
            continue
        if n_places == two and top + two <= n_slots:
            two_line_ends(
                starts, offsets, table, first, mask, at + first, at + top, out, out_values
            )
            continue
        two_line_ends(starts, offsets, table, first, mask, zero, zero + two, scratch.codes, spare)
        for slot, found in ((first, zero), (top, zero + two)):
            for place in range(min(n_places, n_slots - slot)):
                out[at + slot + place] = scratch.codes[found + place]
                if out_values is not None:
                    out_values[at + slot + place] = scratch.values[found + place]


@inner_loop
def are_decided(firsts, start, count):
    """Whether a nonzero has fallen into each of these slots; False if there are none."""
    some, is_open = firsts[start : start + count], firsts.shape[0] == 0
    for slot in range(some.shape[0]):
        is_open |= some[slot] == NONE
    return not is_open


@inner_loop
def find_starts_and_offsets(columns, key, starts, offsets):
    """Split the mix of each column: 10 bits of start, 14 of offset; the last 32 are its rank."""
    for p in range(columns.shape[0]):
        mixed = mix(np.uint64(columns[p]) ^ key)
        offset = (mixed >> np.uint64(64 - _START_BITS - _OFFSET_BITS)) & np.uint64(WRAP)
        starts[p] = (mixed >> np.uint64(64 - _START_BITS)) * np.uint64(START_STEP)
        offsets.offsets[p] = offset * np.uint64(STRATUM)
        offsets.ranks[p] = mixed & _RANK


@loop(inline="always")
def _slot_of(rank, firsts):
    """The slot of a bank that a nonzero of this rank falls into."""
    return (np.uint64(rank) * np.uint64(firsts.shape[0])) >> _HALF


@loop(inline="always")
def fall_first(offsets, values, length):
    """Unless the row is short, find the first nonzero, by rank, that falls into each slot.

    Gives what tells which slots are decided by that, where it is worth asking; else nothing.
    """
    firsts = offsets.firsts
    if length * _SHORT <= firsts.shape[0]:
        return firsts[:0]
    _fall(offsets.ranks[:length], values, firsts)
    return firsts if length >= _LONG * firsts.shape[0] else firsts[:0]


@inner_loop
def _fall(ranks, values, firsts):
    """Note, for each slot of a bank, the first by rank of the nonzeros that fall into it."""
    for p in range(ranks.shape[0]):
        slot, first = _slot_of(ranks[p], firsts), np.uint64(ranks[p]) << _HALF
        if values is not None:
            first |= np.uint64(values[p])
        firsts[slot] = min(firsts[slot], first)


@inner_loop
def set_fallen(offsets, values, length, n_slots, mask, at, out, out_values):
    """Give slots into which nonzeros fall the code, and the value, of the first of them."""
    ranks, firsts = offsets.ranks[:length], offsets.firsts
    codes, cut = out[at : at + n_slots], np.uint64(mask)
    if length * _SHORT <= firsts.shape[0]:  # few slots are touched, and nothing has fallen yet
        begin, end = np.uint64(at), np.uint64(n_slots)
        for p in range(length):
            slot, first = _slot_of(ranks[p], firsts), np.uint64(ranks[p]) << _HALF
            if values is not None:
                first |= np.uint64(values[p])
            if slot < end and first < firsts[slot]:  # nearly always
                firsts[slot] = first
                codes[slot] = (first >> _HALF) & cut
                if values is not None:
                    out_values[begin + slot] = values[p]
        for p in range(length):
            firsts[_slot_of(ranks[p], firsts)] = NONE
        return
    for slot in range(n_slots):  # without branches, so that it vectorises
        first, found = firsts[slot], np.uint64(codes[slot])
        codes[slot] = found if first == NONE else (first >> _HALF) & cut
    if values is not None:
        held = out_values[at : at + n_slots]
        for slot in range(n_slots):
            first, found = firsts[slot], np.uint64(held[slot])
            held[slot] = found if first == NONE else first & _VALUE
    firsts[:] = NONE
