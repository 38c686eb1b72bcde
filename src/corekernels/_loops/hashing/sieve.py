"""Minima of long rows, 512 slots at once, without a look at each slot of each nonzero.

Each location stands at one place of the circular table. The slots in which a row has that
location among its own are the row's starts, counted back from that place: for 512 slots they
are 512 consecutive bits of one bitmap of the row. Going up from location 0, each slot keeps
the first location whose bit is set. A row that fills a share d of the positions has any one
location in a share d of the slots, so about log(512) / d locations are enough, however many
nonzeros that share stands for.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import inlined_loop, inner_loop, loop
from ..simd.bit_sets import SLOTS, WORD, add_where_bit, any_bit, bits_from, pack_marks, splat_word
from ..simd.vectors import load_line, pick, splat_line, store

STEP = 8  # locations per step
_WORDS = SLOTS // WORD
_LOW_PLANES = 3  # bits that number the locations of one step


class SieveScratch(NamedTuple):
    """Scratch for one row."""

    marks: np.ndarray  # 1, or the value, at the bit of each nonzero
    bitmap: np.ndarray  # in 64-bit words
    bit_planes: np.ndarray  # bit b of the locations of 512 slots in row b
    locations: np.ndarray  # of 512 slots
    words: np.ndarray  # the same memory, four locations in 64 bits


@loop(inline="always")
def mark_starts(columns, start_of_column, n_positions, values, marks, bitmap):
    """Starts of a row as bits, the last position first, repeated to the bitmap's end.

    Each bit has a mark, kept for `values_behind`: 1 or, unless `values` is None, the value, which
    must not be 0.
    """
    marks[:n_positions] = 0
    last = np.uint64(n_positions - 1)
    for p in range(columns.shape[0]):
        start = np.uint64(start_of_column[np.uint64(columns[p])])
        marks[last - start] = 1 if values is None else values[p]
    for place in range(n_positions, marks.shape[0]):
        marks[np.uint64(place)] = marks[np.uint64(place - n_positions)]
    for word in range(bitmap.shape[0]):
        bitmap[word] = pack_marks(marks, word * WORD)


@inlined_loop
def sieve_minima(bitmap, places, shift, planes, out):
    """Locations of the 512 slots from `shift` on, of the row in the bitmap.

    `places[location]` is where the slots of a location begin in the bitmap. Plane b holds bit b
    of the slots' locations. Eight locations are taken per step; the first three planes, which
    number the locations within a step, are kept in registers. Until its end a step does not look at
    slots that are decided: it would have to wait for the step before.
    """
    none = splat_line(np.uint64(0))
    for plane in range(planes.shape[0]):
        store(none, plane * _WORDS, planes)
    zero, one, two, undecided = none, none, none, ~none
    location = 0
    while any_bit(undecided):
        seen, low, middle, high = none, none, none, none
        for number in range(STEP):  # the compiler unrolls it
            bits = bits_from(bitmap, places[location + number] + shift)
            first = bits & ~seen
            seen = seen | bits
            if number & 1:
                low = low | first
            if number & 2:
                middle = middle | first
            if number & 4:
                high = high | first
        decided = seen & undecided
        undecided = undecided & ~seen
        zero, one, two = zero | (low & decided), one | (middle & decided), two | (high & decided)
        plane, step = _LOW_PLANES, location // STEP
        while step:
            if step & 1:
                store(load_line(planes, plane * _WORDS) | decided, plane * _WORDS, planes)
            plane, step = plane + 1, step >> 1
        location += STEP
    store(zero, 0, planes)
    store(one, _WORDS, planes)
    store(two, 2 * _WORDS, planes)
    n_planes = _LOW_PLANES
    while (location - 1) >> n_planes:
        n_planes += 1
    if n_planes <= 8:
        _join(planes, n_planes, np.uint8, out)
    else:
        _join(planes, n_planes, np.uint16, out)


@inner_loop
def _join(planes, n_planes, kind, out):
    """Locations of the slots, integers of one kind, from the planes of their bits."""
    for word in range(_WORDS):
        locations = splat_word(kind(0))
        for plane in range(n_planes):
            locations = add_where_bit(planes[plane, word], kind(1 << plane), locations)
        store(locations, word * WORD, out)


@inlined_loop
def values_behind(words, places, shift, marks, out):
    """Values behind the minima of the slots from `shift` on: `marks` where their locations lie.

    The loop is bound by its loads and stores: four locations are read at a time, in one of `words`,
    and eight values written. Value by value, hashing images with CoRE 2 takes a tenth longer.
    """
    n_whole = out.shape[0] // 8 * 8
    for first in range(0, n_whole, 8):
        low, high, slot = words[first // 4], words[first // 4 + 1], shift + first
        values = pick(
            marks,
            _mark_of(low, 0, places, slot), _mark_of(low, 1, places, slot),
            _mark_of(low, 2, places, slot), _mark_of(low, 3, places, slot),
            _mark_of(high, 0, places, slot + 4), _mark_of(high, 1, places, slot + 4),
            _mark_of(high, 2, places, slot + 4), _mark_of(high, 3, places, slot + 4),
        )  # fmt: skip
        store(values, first, out)
    for j in range(n_whole, out.shape[0]):
        out[j] = marks[_mark_of(words[j // 4], j % 4, places, shift + j // 4 * 4)]


@loop(inline="always")
def _mark_of(word, lane, places, slot):
    """Place of the mark of a slot: of that `lane` after `slot`, whose locations are in `word`."""
    location = (word >> np.uint64(16 * lane)) & np.uint64(0xFFFF)
    return np.uint64(places[location]) + np.uint64(slot + lane)
