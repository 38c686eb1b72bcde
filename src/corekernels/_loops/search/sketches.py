"""Bit sketches: eight 64-bit words per row, made of the bits of its signature."""

import numpy as np
from numba import njit

from ..blocks import next_block
from ..simd.halves import from_half
from ..simd.popcount import popcount


@njit(nogil=True, cache=True, inline="always")
def distance(x, y):
    """Number of bits that differ, eight words at a time."""
    count = np.uint64(0)
    for w in range(8):
        count += popcount(x[w] ^ y[w])
    return np.int64(count)


@njit(nogil=True, cache=True)
def pack_bits(blocks, n_blocks, codes, first, out):
    """Lowest bits of rows' codes as 64-bit words, from bit `first` on.

    Some blocks of rows are done; False if there are no more.
    """
    for _ in range(n_blocks):
        start, stop = next_block(blocks)
        if start == stop:
            return False
        for row in range(start, stop):
            for j in range(codes.shape[1]):
                bit = np.uint64(codes[row, j]) & np.uint64(1)
                out[row, (first + j) >> 6] |= bit << np.uint64((first + j) & 63)
    return True


@njit(nogil=True, cache=True)
def pack_signs(blocks, n_blocks, weights, first, out):
    """The same of the signs of rows' projections, which are halves."""
    for _ in range(n_blocks):
        start, stop = next_block(blocks)
        if start == stop:
            return False
        for row in range(start, stop):
            for j in range(weights.shape[1]):
                bit = np.uint64(from_half(weights[row, j]) > 0)
                out[row, (first + j) >> 6] |= bit << np.uint64((first + j) & 63)
    return True
