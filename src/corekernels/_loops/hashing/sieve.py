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
from ..simd.vectors import load_line, splat_line, store

STEP = 8  # locations per step
_WORDS = SLOTS // WORD
_LOW_PLANES = 3  # bits that number the locations of one step


class SieveScratch(NamedTuple):
    """Scratch for one row."""

    marks: np.ndarray  # 1, or the value, at the bit of each nonzero
    bitmap: np.ndarray  # in 64-bit words
    bit_planes: np.ndarray  # bit b of the locations of 512 slots in row b
    locations: np.ndarray  # of 512 slots


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
    for again in range(n_positions, marks.shape[0], n_positions):
        for p in range(min(n_positions, marks.shape[0] - again)):
            marks[np.uint64(again) + np.uint64(p)] = marks[np.uint64(p)]
    for word in range(bitmap.shape[0]):
        bitmap[word] = pack_marks(marks, word * WORD)


@inlined_loop
def sieve_minima(bitmap, places, shift, planes, out):
    """Locations of the 512 slots from `shift` on, of the row in the bitmap.

    `places[location]` is where the slots of a location begin in the bitmap. Plane b holds bit b
    of the slots' locations. Eight locations are taken per step; the first three planes, which
    number the locations within a step, are kept in registers.
    """
    none = splat_line(np.uint64(0))
    for plane in range(planes.shape[0]):
        store(none, plane * _WORDS, planes)
    zero, one, two, undecided = none, none, none, ~none
    location = 0
    while any_bit(undecided):
        a = bits_from(bitmap, places[location] + shift)
        b = bits_from(bitmap, places[location + 1] + shift)
        c = bits_from(bitmap, places[location + 2] + shift)
        d = bits_from(bitmap, places[location + 3] + shift)
        e = bits_from(bitmap, places[location + 4] + shift)
        f = bits_from(bitmap, places[location + 5] + shift)
        g = bits_from(bitmap, places[location + 6] + shift)
        h = bits_from(bitmap, places[location + 7] + shift)
        ab, cd, ef = a | b, c | d, e | f
        abcd = ab | cd
        decided = (abcd | ef | g | h) & undecided
        undecided = undecided & ~decided
        first = (ab & ~a) | (~ab & ~c)
        second = (ef & ~e) | (~ef & ~g)
        zero = zero | (decided & ((abcd & first) | (~abcd & second)))
        one = one | (decided & ~((abcd & ab) | (~abcd & ef)))
        two = two | (decided & ~abcd)
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
def values_behind(locations, places, shift, marks, out):
    """Values behind the minima of the slots from `shift` on: `marks` where their locations lie."""
    for j in range(out.shape[0]):
        place = np.uint64(places[np.uint64(locations[j])]) + np.uint64(shift + j)
        out[j] = marks[place]
