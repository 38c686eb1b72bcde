"""Inner products of the rows of a batch with each other.

With them, a change of one row's dual variable is carried over to the scores of the others
without a look at the planes.
"""

import numpy as np
from numba import njit

from ..simd.halves import from_half, read_halves
from ..simd.matches import SLOTS, add_products, count_equal, load_slots, total, zero_slots

RUN = 512  # slots whose weights are converted at a time: those of a batch stay in the L2 cache


@njit(nogil=True, cache=True)
def batch_gram(codes, weights, scales, rows, numbers, out):
    """Inner products of some rows with each other.

    `numbers` is room for RUN weights of each row.
    """
    n, n_hashes = rows.shape[0], codes.shape[1]
    whole = n_hashes // SLOTS * SLOTS
    out[:n, :n] = 0
    for first in range(0, whole, RUN):
        last = min(first + RUN, whole)
        if weights is not None:
            for i in range(n):
                read_halves(weights, rows[i], first, last, numbers[i])
        for i in range(0, n, 2):
            for j in range(0, i + 1, 2):
                _add_four(codes, weights, rows, i, j, first, last, numbers, out)
    _add_rest(codes, weights, rows, whole, n_hashes, out)
    for i in range(n):
        scale = scales[rows[i]]
        for j in range(i):
            out[i, j] *= scale * scales[rows[j]]
            out[j, i] = out[i, j]
        out[i, i] = 1 if scale > 0 else 0


@njit(nogil=True, cache=True)
def _add_four(codes, weights, rows, i, j, first, last, numbers, out):
    """Add the share of slots first to last in the products of rows i, i + 1 with rows j, j + 1.

    Two by two, because each number is then loaded once for two products. After the last row
    comes the last row again, whose products are not kept.
    """
    n, k = rows.shape[0], codes.shape[1]
    g, h = min(i + 1, n - 1), min(j + 1, n - 1)
    p, q = rows[i] * k + first, rows[g] * k + first
    r, t = rows[j] * k + first, rows[h] * k + first
    if weights is None:
        e, f, u, v = 0, 0, 0, 0
        for s in range(0, last - first, SLOTS):
            e += count_equal(codes, p + s, codes, r + s)
            f += count_equal(codes, p + s, codes, t + s)
            u += count_equal(codes, q + s, codes, r + s)
            v += count_equal(codes, q + s, codes, t + s)
        sums = np.float32(e), np.float32(f), np.float32(u), np.float32(v)
    else:
        width = numbers.shape[1]
        a, b, c, d = zero_slots(), zero_slots(), zero_slots(), zero_slots()
        for s in range(0, last - first, SLOTS):
            w, x = load_slots(codes, p + s), load_slots(codes, q + s)
            y, z = load_slots(codes, r + s), load_slots(codes, t + s)
            e, f = load_slots(numbers, i * width + s), load_slots(numbers, g * width + s)
            u, v = load_slots(numbers, j * width + s), load_slots(numbers, h * width + s)
            a, b = add_products(w, y, e, u, a), add_products(w, z, e, v, b)
            c, d = add_products(x, y, f, u, c), add_products(x, z, f, v, d)
        sums = total(a), total(b), total(c), total(d)
    out[i, j] += sums[0]
    if h > j:
        out[i, h] += sums[1]
    if g > i:
        out[g, j] += sums[2]
        if h > j:
            out[g, h] += sums[3]


@njit(nogil=True, cache=True)
def _add_rest(codes, weights, rows, first, last, out):
    """Add the share of the last few slots, one by one."""
    for i in range(rows.shape[0]):
        for j in range(i):
            p, q = rows[i], rows[j]
            for s in range(first, last):
                if codes[p, s] == codes[q, s]:
                    one = np.float32(1)
                    if weights is None:
                        out[i, j] += one
                    else:
                        out[i, j] += from_half(weights[p, s]) * from_half(weights[q, s])
