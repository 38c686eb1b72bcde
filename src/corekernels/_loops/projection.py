"""Random projections of CSR rows onto k directions; rows arrive as for `minwise`."""

import numpy as np
from numba import njit

from .mixing import step

_TILE = 1024


@njit(nogil=True, cache=True)
def table_projections(indptr, starts, weights, table, first, last, out):
    """Slots first to last of each row: its weighted sum of slices of a table of random numbers."""
    offset = indptr[0]
    for row in range(indptr.shape[0] - 1):
        begin, end = indptr[row] - offset, indptr[row + 1] - offset
        for slot in range(first, last, _TILE):
            width = min(_TILE, last - slot)
            sums = out[row, slot : slot + width]
            shift = slot - first
            p = begin
            while p + 4 <= end:  # four slices a pass: a quarter of the traffic of `sums`
                a = table[starts[p] + shift : starts[p] + shift + width]
                b = table[starts[p + 1] + shift : starts[p + 1] + shift + width]
                c = table[starts[p + 2] + shift : starts[p + 2] + shift + width]
                d = table[starts[p + 3] + shift : starts[p + 3] + shift + width]
                w0, w1, w2, w3 = weights[p], weights[p + 1], weights[p + 2], weights[p + 3]
                for j in range(width):
                    sums[j] += (w0 * a[j] + w1 * b[j]) + (w2 * c[j] + w3 * d[j])
                p += 4
            while p < end:
                a = table[starts[p] + shift : starts[p] + shift + width]
                w0 = weights[p]
                for j in range(width):
                    sums[j] += w0 * a[j]
                p += 1


@njit(nogil=True, cache=True)
def mixed_projections(indptr, mixed, weights, values, out):
    """All slots of each row, each random number one of the 2^16 `values`, hashed on the fly."""
    offset = indptr[0]
    for row in range(indptr.shape[0] - 1):
        sums = out[row]
        for p in range(indptr[row] - offset, indptr[row + 1] - offset):
            for j in range(sums.shape[0]):
                sums[j] += weights[p] * values[np.int64(step(mixed[p], j) >> np.uint64(48))]
