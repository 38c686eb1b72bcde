"""Different columns, numbered in ascending order: sorted into ranges, then range by range.

Columns of one range are less than those of the next. `heads` says where each range begins in
arrays of all columns.
"""

import numpy as np

from ..blocks import taken
from ..compilation import loop

N_BOUNDS = 255  # between ranges, so that the number of a range is a byte
_DIGIT_BITS = 11  # by which a range is sorted at a time
_DIGITS = 1 << _DIGIT_BITS


def new_counts():
    """Room for the counts of one thread in `sort_ranges`."""
    return np.empty(_DIGITS + 1, np.int64)


@loop
def count_ranges(blocks, n_blocks, columns, bounds, ranges, counts):
    """The range of each column, and how many of each block are in each; counts are zero on entry.

    A column is in the range whose number is that of the bounds up to it: N_BOUNDS numbers that
    ascend.
    """
    for start, stop in taken(blocks, n_blocks):
        mine = counts[start // blocks.size]
        for p in range(start, stop):
            found, step = 0, (N_BOUNDS + 1) // 2
            while step > 0:  # without branches on the columns
                found += step * (bounds[found + step - 1] <= columns[p])
                step //= 2
            ranges[p] = found
            mine[found] += 1


@loop
def sort_into_ranges(blocks, n_blocks, columns, ranges, places, out_columns, out_from):
    """Write the columns range by range, and where each came from.

    `places` says where each block writes its first column of each range.
    """
    for start, stop in taken(blocks, n_blocks):
        mine = places[start // blocks.size]
        for p in range(start, stop):
            place = mine[ranges[p]]
            mine[ranges[p]] += 1
            out_columns[place], out_from[place] = columns[p], p


@loop
def sort_ranges(blocks, n_blocks, heads, columns, origins, counts, room, room_origins, n_different):
    """Sort each range, and count its different columns."""
    for start, stop in taken(blocks, n_blocks):
        for r in range(start, stop):
            begin, end = heads[r], heads[r + 1]
            mine, theirs = columns[begin:end], room[begin:end]
            origin, their_origin = origins[begin:end], room_origins[begin:end]
            if begin == end:
                n_different[r] = 0
                continue
            low, high = mine[0], mine[0]
            for i in range(mine.shape[0]):
                low, high = min(low, mine[i]), max(high, mine[i])
            shift = 0
            while shift < 63 and (high - low) >> shift > 0:  # twice, and all is back in its place
                _sort_by_digit(mine, origin, low, shift, counts, theirs, their_origin)
                shift += _DIGIT_BITS
                _sort_by_digit(theirs, their_origin, low, shift, counts, mine, origin)
                shift += _DIGIT_BITS
            different = 1
            for i in range(1, mine.shape[0]):
                different += mine[i] != mine[i - 1]
            n_different[r] = different


@loop(inline="always")
def _sort_by_digit(columns, origins, low, shift, counts, out, out_origins):
    """Sort columns by some of their bits, those of equal bits in the order they have."""
    counts[:] = 0
    for i in range(columns.shape[0]):
        counts[((columns[i] - low) >> shift & _DIGITS - 1) + 1] += 1
    for digit in range(_DIGITS):
        counts[digit + 1] += counts[digit]
    for i in range(columns.shape[0]):
        digit = (columns[i] - low) >> shift & _DIGITS - 1
        out[counts[digit]], out_origins[counts[digit]] = columns[i], origins[i]
        counts[digit] += 1


@loop
def number_ranges(blocks, n_blocks, heads, columns, origins, firsts, words, numbers):
    """Write the different columns of sorted ranges, from firsts[r] on, and the number of each."""
    for start, stop in taken(blocks, n_blocks):
        for r in range(start, stop):
            number = firsts[r] - 1
            for i in range(heads[r], heads[r + 1]):
                if i == heads[r] or columns[i] != columns[i - 1]:
                    number += 1
                    words[number] = columns[i]
                numbers[origins[i]] = number
