"""The distinct columns of a document in ascending order, and how often each occurs."""

import numpy as np

from ..compilation import inlined_loop, inner_loop, loop
from ..simd.bit_sets import WORD, pack_marks
from ..simd.integers import trailing_zeros

FREE = np.uint64(0xFFFFFFFFFFFFFFFF)  # a place of the table that holds no column

_ONE = np.uint64(1)


@loop(inline="always")
def _table_bits(n):
    """Bits of the number of places that n columns are spread over: half of them stay free."""
    bits = 1
    while (1 << bits) < 2 * n:
        bits += 1
    return bits


@inlined_loop
def table_size(n):
    """Places that a table for n columns must have; columns at its end may need some more."""
    return (1 << _table_bits(n)) + n + WORD


@inlined_loop
def sort_distinct(columns, n, n_bits, keys, counts, start, out, out_counts):
    """Write each of n columns once, in ascending order, with its count; how many they are.

    Columns go to `out` from `start` on, counts to the beginning of `out_counts`.

    Columns are evenly spread hashes of `n_bits` bits. Each has its place in a table that goes
    by its upper bits, or soon after it; columns in the table are always in order. All places
    of the table have the key FREE and the count 0 before and after.
    """
    bits = _table_bits(n)
    shift = np.uint64(n_bits - bits)
    for i in range(np.uint64(n)):  # unsigned: no place is negative
        column = columns[i]
        place = column >> shift
        here = keys[place]
        if (here != column) & (here != FREE):  # one test: which of the two it is is a gamble
            _insert(column, place, keys, counts)
            continue
        keys[place] = column
        counts[place] += 1
    n_found, begin = np.uint64(0), np.uint64(start)
    for first in range(0, (1 << bits) + n, WORD):
        left = pack_marks(counts, first)
        if (left == 0) & (first >= 1 << bits):  # what had no room before the end ends here
            break
        while left != 0:
            place = np.uint64(first) + trailing_zeros(left)
            left &= left - _ONE
            out[begin + n_found], out_counts[n_found] = keys[place], counts[place]
            keys[place], counts[place] = FREE, 0
            n_found += _ONE
    return np.int64(n_found)


@inner_loop
def _insert(column, place, keys, counts):
    """Count a column whose own place is taken by another."""
    while keys[place] < column:
        place += _ONE
    if keys[place] == column:
        counts[place] += 1
        return
    count = np.int32(1)
    while keys[place] != FREE:  # move larger ones on
        column, keys[place] = keys[place], column
        count, counts[place] = counts[place], count
        place += _ONE
    keys[place], counts[place] = column, count
