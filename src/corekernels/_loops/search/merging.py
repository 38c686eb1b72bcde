"""Exact kernel values of pairs of rows whose sorted columns are merged.

For columns so many that no row could be scattered into an array of them.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import inner_loop, loop
from ..kernels import kernel_value, support_bound, uses_values
from .pairs import BELOW, SLACK

_STRIDE = 64  # steps between looks at whether the threshold can still be reached


class SortedRows(NamedTuple):
    """CSR rows of ascending columns, and the sum of squares of each."""

    indptr: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    squares: np.ndarray


@loop
def sorted_squares(indptr, values, out):
    """Sum of squares of each row, added up in the order of its columns."""
    for row in range(indptr.shape[0] - 1):
        total = 0.0
        for p in range(indptr[row], indptr[row + 1]):
            total += np.float64(values[p]) * np.float64(values[p])
        out[row] = total


@inner_loop
def _shared(least, kernel, columns, others):
    """Number of shared columns; -1 where the kernel is sure to be below `least`."""
    n, m = columns.shape[0], others.shape[0]
    i, j, a = 0, 0, 0
    while i < n and j < m:
        if support_bound(kernel, n, m, a + min(n - i, m - j)) < least * SLACK:
            return -1
        for _ in range(min(_STRIDE, n - i, m - j)):
            x, y = columns[i], others[j]
            a += x == y
            i += x <= y
            j += y <= x
    return a


@inner_loop
def _product(columns, values, others, other_values):
    """Inner product of two rows."""
    n, m = columns.shape[0], others.shape[0]
    i, j, total = 0, 0, 0.0
    while i < n and j < m:
        x, y = columns[i], others[j]
        if x == y:
            total += np.float64(values[i]) * np.float64(other_values[j])
        i += x <= y
        j += y <= x
    return total


@loop
def merged_pairs(least, kernel, x, y, left, right, out):
    """Kernel values of row left[p] of x and row right[p] of y; BELOW where below `least`."""
    for p in range(left.shape[0]):
        begin, end = x.indptr[left[p]], x.indptr[left[p] + 1]
        start, stop = y.indptr[right[p]], y.indptr[right[p] + 1]
        columns, others = x.columns[begin:end], y.columns[start:stop]
        a = _shared(least, kernel, columns, others)
        if a < 0:
            out[p] = BELOW
            continue
        dot, both = 0.0, 1.0
        if uses_values(kernel):
            dot = _product(columns, x.values[begin:end], others, y.values[start:stop])
            both = x.squares[left[p]] * y.squares[right[p]]
        value = kernel_value(kernel, dot, both, end - begin, stop - start, a)
        out[p] = value if value >= least else BELOW
