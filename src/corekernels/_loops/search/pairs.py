"""Exact kernel values of a query and stored rows.

A *store* holds rows as CSR columns and values, the sum of squares of each row, and its support
as a bit set where columns are few (no words otherwise). A query is scattered into a dense
array first.
"""

import numpy as np
from numba import njit

from ..kernels import kernel_value, support_bound, uses_values
from ..simd.popcount import popcount
from ..simd.vectors import prefetch
from .heaps import offer

SLACK = 1.0 - 1e-12  # rounding must not prune a row that the exact value would keep
AHEAD = 3  # candidates whose memory is on its way


@njit(nogil=True, cache=True)
def scatter(columns, values, dense):
    """Lay a query out densely; `dense` is zero on entry."""
    for p in range(columns.shape[0]):
        dense[columns[p]] = values[p]


@njit(nogil=True, cache=True)
def erase(columns, dense):
    """Make `dense` zero again."""
    for p in range(columns.shape[0]):
        dense[columns[p]] = 0.0


@njit(nogil=True, cache=True)
def product(columns, values, dense):
    """Inner product of a stored row with a scattered query, in four running sums."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = columns.shape[0] & ~3
    for p in range(0, whole, 4):
        a += values[p] * dense[columns[p]]
        b += values[p + 1] * dense[columns[p + 1]]
        c += values[p + 2] * dense[columns[p + 2]]
        d += values[p + 3] * dense[columns[p + 3]]
    for p in range(whole, columns.shape[0]):
        a += values[p] * dense[columns[p]]
    return (a + b) + (c + d)


@njit(nogil=True, cache=True)
def shared_product(columns, values, dense):
    """Number of columns a stored row shares with a scattered query, and their `product`."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    count = 0
    whole = columns.shape[0] & ~3
    for p in range(0, whole, 4):
        t, u = dense[columns[p]], dense[columns[p + 1]]
        v, w = dense[columns[p + 2]], dense[columns[p + 3]]
        a += values[p] * t
        b += values[p + 1] * u
        c += values[p + 2] * v
        d += values[p + 3] * w
        count += (t != 0.0) + (u != 0.0) + (v != 0.0) + (w != 0.0)
    for p in range(whole, columns.shape[0]):
        a += values[p] * dense[columns[p]]
        count += dense[columns[p]] != 0.0
    return count, (a + b) + (c + d)


@njit(nogil=True, cache=True)
def shared_bits(bits, bits_of_row):
    """Number of ones that two bit sets share."""
    count = np.uint64(0)
    for w in range(bits.shape[0]):
        count += popcount(bits[w] & bits_of_row[w])
    return np.int64(count)


@njit(nogil=True, cache=True)
def spread_bits(indptr, columns, out):
    """Supports of rows as bit sets, zero on entry."""
    for row in range(indptr.shape[0] - 1):
        for p in range(indptr[row], indptr[row + 1]):
            c = np.int64(columns[p])
            out[row, c >> 6] |= np.uint64(1) << np.uint64(c & 63)


@njit(nogil=True, cache=True)
def sum_squares(indptr, columns, values, dense, out):
    """Sum of squares of each row, added up as `product` does: a row with itself gives 1."""
    for row in range(indptr.shape[0] - 1):
        mine = columns[indptr[row] : indptr[row + 1]]
        scatter(mine, values[indptr[row] : indptr[row + 1]], dense)
        out[row] = product(mine, values[indptr[row] : indptr[row + 1]], dense)
        erase(mine, dense)


@njit(nogil=True, cache=True)
def kernel_at_least(
    least, kernel, dense, bits, f1, squares, row, indptr, columns, values, squares_of, bits_of
):
    """The kernel of a scattered query and a stored row, or -2 where it is below `least`."""
    start, stop = indptr[row], indptr[row + 1]
    f2 = stop - start
    if bits.shape[0] == 0:
        a, dot = shared_product(columns[start:stop], values[start:stop], dense)
        return kernel_value(kernel, dot, squares * squares_of[row], f1, f2, a)
    a = shared_bits(bits, bits_of[row])
    if support_bound(kernel, f1, f2, a) < least * SLACK:
        return -2.0
    dot = product(columns[start:stop], values[start:stop], dense) if uses_values(kernel) else 0.0
    return kernel_value(kernel, dot, squares * squares_of[row], f1, f2, a)


@njit(nogil=True, cache=True)
def fetch(row, indptr, columns, values):
    """Ask for all cache lines of a stored row."""
    start, stop = indptr[row], indptr[row + 1]
    for p in range(start, stop, 64 // columns.itemsize):
        prefetch(columns, p)
    for p in range(start, stop, 64 // values.itemsize):
        prefetch(values, p)


@njit(nogil=True, cache=True)
def rerank(
    kernel,
    q_indptr, q_columns, q_values, q_lengths, q_squares, q_bits,
    indptr, columns, values, squares, bits,
    alive, first_row, candidates, dense, sizes, keys, rows,
):  # fmt: skip
    """Offer each query's candidates (-1: none) by their exact kernel values, in their order."""
    for q in range(q_lengths.shape[0]):
        mine = q_columns[q_indptr[q] : q_indptr[q + 1]]
        scatter(mine, q_values[q_indptr[q] : q_indptr[q + 1]], dense)
        for c in range(candidates.shape[1]):
            row = candidates[q, c]
            if row < 0:
                break
            if c + AHEAD < candidates.shape[1] and candidates[q, c + AHEAD] >= 0:
                ahead = candidates[q, c + AHEAD]
                fetch(ahead, indptr, columns, values)
                for w in range(0, bits.shape[1], 8):
                    prefetch(bits, ahead * bits.shape[1] + w)
            if not alive[first_row + row]:
                continue
            least = keys[q, 0] if sizes[q] == keys.shape[1] else -1.0
            key = kernel_at_least(
                least, kernel, dense, q_bits[q], q_lengths[q], q_squares[q],
                row, indptr, columns, values, squares, bits,
            )  # fmt: skip
            if key >= least:
                sizes[q] = offer(key, first_row + row, sizes[q], keys[q], rows[q])
        erase(mine, dense)


@njit(nogil=True, cache=True)
def pairs_at_least(
    least, kernel,
    q_indptr, q_columns, q_values, q_lengths, q_squares, q_bits,
    indptr, columns, values, squares, bits,
    ends, candidates, dense, out,
):  # fmt: skip
    """Kernel values of query i and the rows candidates[ends[i]:ends[i + 1]]; -2 below `least`."""
    for q in range(q_lengths.shape[0]):
        mine = q_columns[q_indptr[q] : q_indptr[q + 1]]
        scatter(mine, q_values[q_indptr[q] : q_indptr[q + 1]], dense)
        for c in range(ends[q], ends[q + 1]):
            out[c] = kernel_at_least(
                least, kernel, dense, q_bits[q], q_lengths[q], q_squares[q],
                candidates[c], indptr, columns, values, squares, bits,
            )  # fmt: skip
        erase(mine, dense)
