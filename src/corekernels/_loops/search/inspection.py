"""Looks at every item that the loops of search would use as a position: a file may be damaged."""

import numpy as np

from ..compilation import loop

SOUND, BAD_COLUMN, BAD_VALUE, BAD_BITS, BAD_SQUARES = range(5)

_ROUNDING = 1e-6  # far above what another order of additions changes


@loop
def inspect_rows(start, stop, width, stored, words):
    """What is wrong with the stored rows start to stop, of which SOUND is nothing.

    Row pointers are known to be sound; `words` is room for the bit set of a row.
    """
    for row in range(start, stop):
        words[:] = 0
        before, squares = np.int64(-1), 0.0
        for p in range(stored.indptr[row], stored.indptr[row + 1]):
            c, value = np.int64(stored.columns[p]), np.float64(stored.values[p])
            if c <= before or c >= width:
                return BAD_COLUMN
            if not np.abs(value) < np.inf:
                return BAD_VALUE
            before = c
            squares += value * value
            if words.shape[0] > 0:
                words[c >> 6] |= np.uint64(1) << np.uint64(c & 63)
        for w in range(words.shape[0]):
            if words[w] != stored.bits[row, w]:
                return BAD_BITS
        if before >= 0 and not squares > 0.0:
            return BAD_VALUE
        if not np.abs(squares - stored.squares[row]) <= _ROUNDING * squares:
            return BAD_SQUARES
    return SOUND


@loop
def is_permutation(numbers, seen):
    """Whether each of 0 to n - 1 occurs once among n numbers; `seen` is zero on entry."""
    for i in range(numbers.shape[0]):
        number = np.int64(numbers[i])
        if number < 0 or number >= numbers.shape[0] or seen[number]:
            return False
        seen[number] = True
    return True


@loop
def ascend_in_buckets(heads, rows):
    """Whether the rows of each bucket ascend; heads are known to be sound."""
    for b in range(heads.shape[0] - 1):
        for p in range(heads[b] + 1, heads[b + 1]):
            if rows[p] <= rows[p - 1]:
                return False
    return True
