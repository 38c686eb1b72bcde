"""Rows made ready for the search: values, sums of squares and supports as bit sets."""

import math

import numpy as np

from ..compilation import inner_loop, loop
from ..rows import taken
from .pairs import set_bits, sum_of_squares

SOUND, BAD_COLUMN, BAD_VALUE, BAD_BITS, BAD_SQUARES = range(5)

_ROUNDING = 1e-6  # far above what another order of additions changes


@loop
def inspect_rows(start, stop, width, indptr, columns, values, squares, bits, words):
    """What is wrong with the stored rows start to stop, of which SOUND is nothing.

    Row pointers are known to be sound; `words` is room for the bit set of a row.
    """
    for row in range(start, stop):
        words[:] = 0
        before, total = np.int64(-1), 0.0
        for p in range(indptr[row], indptr[row + 1]):
            c, value = np.int64(columns[p]), np.float64(values[p])
            if c <= before or c >= width:
                return BAD_COLUMN
            if not np.abs(value) < np.inf:
                return BAD_VALUE
            before = c
            total += value * value
            if words.shape[0] > 0:
                words[c >> 6] |= np.uint64(1) << np.uint64(c & 63)
        for w in range(words.shape[0]):
            if words[w] != bits[row, w]:
                return BAD_BITS
        if before >= 0 and not total > 0.0:
            return BAD_VALUE
        if not np.abs(total - squares[row]) <= _ROUNDING * total:
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


_SMALLEST, _LARGEST = 1e-100, 1e100  # products of squares of values between them fit a double
LEAST = np.finfo(np.float64).tiny  # in the place of values that vanish beside others of their row


@loop
def summarise_rows(blocks, n_blocks, indptr, columns, values, squares, bits):
    """Sums of squares and bit sets (zero on entry) of stored rows."""
    for start, stop in taken(blocks, n_blocks):
        for row in range(start, stop):
            begin, end = indptr[row], indptr[row + 1]
            squares[row] = sum_of_squares(values[begin:end])
            if bits.shape[1]:
                set_bits(columns[begin:end], bits[row])


@loop
def prepare_queries(blocks, n_blocks, indptr, indices, data, vocabulary, out):
    """Queries from clean rows.

    Columns are looked up in `vocabulary` and left out if it has none of them; None keeps
    their numbers. Row i starts at place indptr[i] - indptr[0] of what is written.
    """
    for start, stop in taken(blocks, n_blocks):
        for q in range(start, stop):
            begin, end = indptr[q], indptr[q + 1]
            first = begin - indptr[0]
            values = out.values[first : first + end - begin]
            columns = out.columns[first : first + end - begin]
            _scale(data[begin:end], values)
            out.squares[q] = sum_of_squares(values)
            n = end - begin
            if vocabulary is None:
                for i in range(n):
                    columns[i] = indices[begin + i]
            else:
                n = _renumber(indices[begin:end], vocabulary, columns, values)
                columns, values = columns[:n], values[:n]  # nothing was written behind them
            out.starts[q], out.ends[q], out.lengths[q] = first, first + n, end - begin
            if out.bits.shape[1]:
                set_bits(columns, out.bits[q])
            out.byte_widths[q] = 0
            if out.byte_rows.shape[1] and _are_bytes(values):
                out.byte_widths[q] = out.byte_rows.shape[1]
                _lay_out(columns, values, out.byte_rows[q])


@loop
def lay_out_rows(blocks, n_blocks, indptr, columns, values, out):
    """All columns of stored rows."""
    for start, stop in taken(blocks, n_blocks):
        for row in range(start, stop):
            begin, end = indptr[row], indptr[row + 1]
            _lay_out(columns[begin:end], values[begin:end], out[row])


@inner_loop
def _lay_out(columns, values, out):
    """A row with all its columns; `out` is zero on entry."""
    for p in range(columns.shape[0]):
        out[columns[p]] = values[p]


@inner_loop
def _are_bytes(values):
    """Whether values are whole numbers from 0 to 255."""
    for p in range(values.shape[0]):
        if not 0.0 <= values[p] <= 255.0 or values[p] != np.floor(values[p]):
            return False
    return True


@inner_loop
def _scale(data, out):
    """Values as they are or, where squares would overflow or vanish, times a power of two."""
    largest = 0.0
    for p in range(data.shape[0]):
        out[p] = data[p]
        largest = max(largest, abs(out[p]))
    if largest > 0.0 and not _SMALLEST < largest < _LARGEST:
        _, exponent = math.frexp(largest)
        for p in range(data.shape[0]):
            scaled = math.ldexp(out[p], -exponent)
            out[p] = scaled if scaled != 0.0 else LEAST


@inner_loop
def _renumber(indices, vocabulary, columns, values):
    """Numbers of the columns in the vocabulary, those it has first; how many they are.

    Both ascend, so each search begins where the last one ended.
    """
    n, low = 0, 0
    for i in range(indices.shape[0]):
        low += np.searchsorted(vocabulary[low:], indices[i])
        if low < vocabulary.shape[0] and vocabulary[low] == indices[i]:
            columns[n], values[n] = low, values[i]
            n += 1
    return n
