"""Loops over raw CSR rows: inspection, conversion and normalisation."""

import numpy as np
from numba import njit

NOT_FINITE = 1
ZERO = 2
DISORDER = 4
OUT_OF_RANGE = 8


@njit(nogil=True, cache=True)
def inspect_rows(indptr, indices, data, n_columns):
    """Union of the flags above over all rows, each test in a pass that vectorises."""
    found = 0
    largest = np.finfo(data.dtype).max
    for row in range(indptr.shape[0] - 1):
        start, stop = indptr[row], indptr[row + 1]
        unfit = 0
        for p in range(start, stop):
            unfit |= (abs(data[p]) <= largest) == False  # noqa: E712 (vectorises; `not` does not)
        zero = 0
        for p in range(start, stop):
            zero |= data[p] == 0
        outside = 0
        for p in range(start, stop):
            outside |= (indices[p] < 0) | (indices[p] >= n_columns)
        disorder = 0
        for p in range(start + 1, stop):
            disorder |= indices[p] <= indices[p - 1]
        found |= NOT_FINITE * unfit | ZERO * zero | DISORDER * disorder | OUT_OF_RANGE * outside
    return found


@njit(nogil=True, cache=True)
def first_not_finite(indptr, data):
    """The first row that holds a NaN or an infinity, or -1."""
    for row in range(indptr.shape[0] - 1):
        for p in range(indptr[row], indptr[row + 1]):
            if not np.isfinite(data[p]):
                return row
    return -1


@njit(nogil=True, cache=True)
def count_nonzeros(block, out):
    """Number of nonzeros of each dense row (a NaN counts: it is found later)."""
    for row in range(block.shape[0]):
        count = 0
        for column in range(block.shape[1]):
            count += block[row, column] != 0
        out[row] = count


@njit(nogil=True, cache=True)
def gather_nonzeros(block, position, out_indices, out_data):
    """Columns and values of the nonzeros of a dense block, row after row, from `position` on."""
    for row in range(block.shape[0]):
        for column in range(block.shape[1]):
            value = block[row, column]
            if value != 0:
                out_indices[position] = column
                out_data[position] = value
                position += 1


@njit(nogil=True, cache=True, error_model="numpy")
def unit_values(indptr, data, out):
    """Values of the rows scaled to length one, `out[0]` being the first value of the first row.

    Each row is divided by its largest magnitude first, so that no square
    overflows or vanishes, whatever the scale of the data.
    """
    offset = indptr[0]
    for row in range(indptr.shape[0] - 1):
        start, stop = indptr[row], indptr[row + 1]
        largest = 0.0
        for p in range(start, stop):
            largest = max(largest, abs(np.float64(data[p])))
        squares = 0.0
        for p in range(start, stop):
            scaled = np.float64(data[p]) / largest
            squares += scaled * scaled
        norm = np.sqrt(squares)
        for p in range(start, stop):
            out[p - offset] = np.float64(data[p]) / largest / norm
