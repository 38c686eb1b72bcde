"""Exact search by kernels of the supports alone: shared columns are counted for 512 rows at a time.

Rows stand in order of their lengths. A common column is a bit set of the rows that have it, a rare
one a list of them. Counts are kept bit by bit: plane p has bit p of each row's count, so that to
add a column is to add a number of one bit to 512 numbers at once.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import inner_loop, loop
from ..kernels import kernel_value, length_bound
from ..rows import taken
from ..simd.bit_sets import SLOTS, WORD, any_bit
from ..simd.integers import trailing_zeros
from ..simd.vectors import load_line, store
from .pairs import NO_KEY, SLACK, push, query_row, set_bits, worse

_PLANES = 32  # bits of a count


class CountedRows(NamedTuple):
    """Rows in order of their lengths, and for each column those that have it."""

    order: np.ndarray  # numbers of the rows
    places: np.ndarray  # of the rows in that order
    lengths: np.ndarray  # in that order
    heads: np.ndarray  # list c is heads[c] : heads[c + 1] of `listed`
    listed: np.ndarray  # places of rows
    sets: np.ndarray  # which bit set is that of a column, or -1
    bits: np.ndarray


class CountScratch(NamedTuple):
    """Working memory of one thread."""

    planes: np.ndarray
    chosen: np.ndarray  # one entry per column of a query
    likely: np.ndarray  # the words of a line

    @classmethod
    def new(cls, n_words: int, n_columns: int) -> "CountScratch":
        """For bit sets of so many words, and rows of so many columns."""
        planes, chosen = np.zeros((_PLANES, n_words), np.uint64), np.empty(n_columns, np.int64)
        return cls(planes, chosen, np.empty(SLOTS // WORD, np.uint64))


@loop
def fill_bits(blocks, n_blocks, columns, heads, listed, out):
    """The rows of each of some columns as a bit set, zero on entry."""
    for start, stop in taken(blocks, n_blocks):
        for i in range(start, stop):
            set_bits(listed[heads[columns[i]] : heads[columns[i] + 1]], out[i])


@loop
def push_by_counts(blocks, n_blocks, kernel, queries, stored, alive, first_row, counts, heaps):
    """Push every row that its count does not rule out, for each query."""
    for start, stop in taken(blocks, n_blocks):
        for q in range(start, stop):
            _push_by_counts(kernel, queries, q, stored, alive, first_row, counts, heaps)


@inner_loop
def _push_by_counts(kernel, queries, q, stored, alive, first_row, counts, heaps):
    """The same for one query.

    From the rows of the query's length on, first to longer ones, then to shorter ones, until
    lengths alone rule out the rest.
    """
    columns, _ = query_row(queries, q)
    planes = counts.planes[: _width(max(1, columns.shape[0]))]  # lines of the first one are read
    planes[:] = 0
    _count(columns, stored, counts)
    n, f1 = stored.lengths.shape[0], queries.lengths[q]
    keys, rows, size = heaps.keys[q], heaps.rows[q], heaps.sizes[q]
    middle, n_lines = np.searchsorted(stored.lengths, f1) // SLOTS, -(-n // SLOTS)
    for upward in (True, False):
        least, length, a = NO_KEY, np.int64(-1), np.int64(1)
        for i in range(n_lines - middle if upward else middle):
            first = SLOTS * (middle + i if upward else middle - 1 - i)
            top = keys[0] if size == keys.shape[0] else NO_KEY
            if top != least or stored.lengths[first] != length:
                least, length = top, stored.lengths[first]
                # the query's length may lie between those of the line's rows
                nearest = min(max(f1, length), stored.lengths[min(first + SLOTS, n) - 1])
                if length_bound(kernel, f1, nearest) < least * SLACK:
                    break
                a = _least_count(kernel, f1, length, least, columns.shape[0])
            likely = _at_least(a, planes, first // WORD)
            if not any_bit(likely):
                continue
            store(likely, 0, counts.likely)
            for w in range(SLOTS // WORD):
                mask = counts.likely[w]
                while mask:
                    place = first + w * WORD + np.int64(trailing_zeros(mask))
                    mask &= mask - np.uint64(1)
                    row = stored.order[place]
                    if alive[first_row + row]:
                        key = _value(kernel, f1, stored.lengths[place], _count_of(place, planes))
                        size = push(key, first_row + row, size, keys, rows)
    for row in range(n):
        if size == keys.shape[0] and worse(0.0, first_row + row, keys[0], rows[0]):
            break
        if alive[first_row + row] and _count_of(stored.places[row], planes) == 0:
            size = push(0.0, first_row + row, size, keys, rows)
    heaps.sizes[q] = size


@inner_loop
def _value(kernel, f1, f2, a):
    """The kernel value of rows that share so many columns."""
    return kernel_value(kernel, 0.0, 1.0, f1, f2, a)


@inner_loop
def _least_count(kernel, f1, f2, least, most):
    """How many columns rows of at least this length must share for a kernel value of `least`."""
    a = np.int64(1)
    while a <= most and _value(kernel, f1, f2, a) < least * SLACK:
        a += 1
    return a


@inner_loop
def _width(number):
    """How many bits a number has."""
    n = 0
    while number >> n:
        n += 1
    return n


@inner_loop
def _count(columns, stored, counts):
    """Count for all rows how many of the columns they have; planes are zero on entry."""
    planes, chosen, _ = counts
    n_chosen, n_words = 0, planes.shape[1]
    for i in range(columns.shape[0]):
        if stored.sets[columns[i]] >= 0:
            chosen[n_chosen] = stored.sets[columns[i]]
            n_chosen += 1
    for start in range(0, n_words, SLOTS // WORD):
        for i in range(n_chosen):
            carry = load_line(stored.bits, chosen[i] * n_words + start)
            for p in range(_width(i + 1)):
                before = load_line(planes, p * n_words + start)
                store(before ^ carry, p * n_words + start, planes)
                carry = before & carry
    for i in range(columns.shape[0]):
        if stored.sets[columns[i]] < 0:
            _count_listed(columns[i], stored, planes)


@inner_loop
def _count_listed(column, stored, planes):
    """Add 1 to the counts of the rows in a list."""
    for i in range(stored.heads[column], stored.heads[np.int64(column) + 1]):
        word = np.int64(stored.listed[i]) >> 6
        carry = np.uint64(1) << np.uint64(stored.listed[i] & 63)
        p = 0
        while carry:
            bits = planes[p, word]
            planes[p, word] = bits ^ carry
            carry &= bits
            p += 1


@inner_loop
def _at_least(count, planes, word):
    """The rows of a line whose counts are at least so high."""
    n_planes, n_words = planes.shape
    bits = load_line(planes, word)
    more = bits ^ bits
    equal = ~more
    for p in range(n_planes - 1, -1, -1):
        bits = load_line(planes, p * n_words + word)
        if (count >> p) & 1:
            equal = equal & bits
        else:
            more = more | (equal & bits)
            equal = equal & ~bits
    return more if count >> n_planes else more | equal


@inner_loop
def _count_of(place, planes):
    """The count of one row."""
    word, shift = np.int64(place) >> 6, np.uint64(place & 63)
    count = np.int64(0)
    for p in range(planes.shape[0]):
        count += np.int64((planes[p, word] >> shift) & np.uint64(1)) << p
    return count
