"""Minima of long rows, 512 slots at once, without a look at each slot of each nonzero.

A location lies at one place of the circular table. The slots in which a row meets it are
the row's starts, counted back from that place: 512 of them are 512 consecutive bits of one
bitmap of the row. Going up from location 0, each slot keeps the first one it meets. A row
that fills a share d of the positions meets a location in a share d of the slots, so about
log(512) / d locations do, however many nonzeros that share stands for.
"""

import numpy as np
from numba import njit

from .bit_vectors import SLOTS, WORD, any_bit, bits_from, pack_marks, where_bit
from .vectors import load_line, splat_line, store

_1, _16, _63, _64 = np.uint64(1), np.uint64(16), np.uint64(63), np.uint64(64)
_LOCATION = np.uint64(0xFFFF)
STEP = 8  # locations taken at a time
_WORDS = SLOTS // WORD
_LOW_PLANES = 3  # that many bits tell the locations of one step apart


@njit(nogil=True, cache=True)
def mark_starts(columns, by_column, n_positions, weights, marks, bitmap):
    """The starts of a row as bits, the last position first; the circle goes on to the end.

    They are marked by 1 or, if weights are given, by the weight, which must not be 0; these
    marks stay for `values_behind`, twice over, so that the circle is never left.
    """
    n_whole = (n_positions + WORD - 1) // WORD
    n, last = np.uint64(n_positions), np.uint64(n_positions - 1)
    marks[: n_whole * WORD] = 0
    for p in range(columns.shape[0]):
        start = np.uint64(by_column[np.uint64(columns[p])])
        marks[last - start] = 1 if weights is None else weights[p]
    for word in range(n_whole):
        bitmap[word] = pack_marks(marks, word * WORD)
    if weights is not None:
        for p in range(n_positions):
            marks[n + np.uint64(p)] = marks[np.uint64(p)]
    beyond = np.uint64(n_positions % WORD)
    if beyond:  # the last of these words is not full
        bitmap[n_whole - 1] |= bitmap[0] << beyond
    shift = (_64 - beyond) & _63
    for word in range(bitmap.shape[0] - n_whole):
        low, high = bitmap[word] >> shift, bitmap[word + 1] << _1 << (_63 - shift)
        bitmap[n_whole + word] = low | high


@njit(nogil=True, cache=True)
def sieve_minima(bitmap, places, shift, planes, out):
    """Locations of the 512 slots from `shift` on, of the row in the bitmap.

    `places[location]` is where its slots begin in the bitmap. Plane b holds bit b of the
    slots' locations: the first three are kept in registers, the others tell the steps apart.
    """
    none = splat_line(np.uint64(0))
    for plane in range(planes.shape[0]):
        store(none, plane * _WORDS, planes)
    zero, one, two, left = none, none, none, ~none
    location = 0
    while any_bit(left):
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
        met = (abcd | ef | g | h) & left
        left = left & ~met
        first = (ab & ~a) | (~ab & ~c)
        second = (ef & ~e) | (~ef & ~g)
        zero = zero | (met & ((abcd & first) | (~abcd & second)))
        one = one | (met & ~((abcd & ab) | (~abcd & ef)))
        two = two | (met & ~abcd)
        plane, step = _LOW_PLANES, location // STEP
        while step:
            if step & 1:
                store(load_line(planes, plane * _WORDS) | met, plane * _WORDS, planes)
            plane, step = plane + 1, step >> 1
        location += STEP
    store(zero, 0, planes)
    store(one, _WORDS, planes)
    store(two, 2 * _WORDS, planes)
    n_planes = _LOW_PLANES
    while (location - 1) >> n_planes:
        n_planes += 1
    for word in range(_WORDS):
        numbers = where_bit(planes[0, word], out.dtype.type(1))
        for plane in range(1, n_planes):
            numbers = numbers | where_bit(planes[plane, word], out.dtype.type(1 << plane))
        store(numbers, word * WORD, out)


@njit(nogil=True, cache=True)
def values_behind(words, places, shift, marks, out):
    """The weights behind the locations of slots from `shift` on: the marks where their bits were.

    Locations come four to a word, the first in its lowest bits: the loop is bound by its
    loads, and of these it needs a quarter.
    """
    n_words = out.shape[0] // 4
    first = np.uint64(shift)
    for w in range(n_words):
        word, slot = words[w], np.uint64(4 * w)
        for _ in range(4):
            out[slot] = marks[np.uint64(places[word & _LOCATION]) + first + slot]
            word, slot = word >> _16, slot + _1
    for j in range(4 * n_words, out.shape[0]):
        location = (words[n_words] >> np.uint64(16 * (j % 4))) & _LOCATION
        out[j] = marks[np.uint64(places[location]) + first + np.uint64(j)]
