"""Packed rows, k pairs of a code and a weight each; and arithmetic of whole blocks of planes.

Weights are halves, as the 16 bits they are stored in, or None where every weight is 1. Where code
and weight share an integer (`simd/halves.py`), that array stands for both of them. Numba
compiles a function twice then, without the branches on `weights is None`; it does so for plain
arguments only, not for the fields of a tuple, so that functions with such a branch take
`weights` by itself.

Planes are in the layouts of `scoring`. Most codes of many bits never occur; their planes are zero
and are not written to: memory that was never touched takes no room.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import allocating_loop, inner_loop, loop
from ..rows import taken
from ..simd.halves import read_weights
from ..simd.integers import LINE
from ..simd.vectors import LANES, load, multiply_add, prefetch, splat, store

PREFETCH_SLOTS = 64  # slots of a row that are prefetched at a time

_U = np.uint64
_LONG_RUN = 512  # slots summed in single precision, over which rounding errors do not build up
_MULTIPLIER = _U(0x9E3779B97F4A7C15)


class PackedRows(NamedTuple):
    """Rows, and room for what a loop keeps of the row it is at."""

    codes: np.ndarray
    weights: np.ndarray | None
    scales: np.ndarray  # factor that makes a row's weights unit length; 0 for an empty row
    buffer: np.ndarray | None  # room for one row's weights in single precision


@allocating_loop
def row_scales(weights, lengths, n_hashes, out):
    """The factor that makes each row's weights unit length; 0 for an empty row."""
    numbers = np.empty(_LONG_RUN, np.float32)
    partial = np.empty(LANES, np.float32)
    for i in range(out.shape[0]):
        squares = 0.0
        if weights is None:
            squares = float(n_hashes)
        else:
            for first in range(0, n_hashes, _LONG_RUN):
                n_slots = min(_LONG_RUN, n_hashes - first)
                read_weights(weights, i, first, first + n_slots, numbers)
                whole = n_slots // LANES * LANES
                lanes = splat(np.float32(0))
                for j in range(0, whole, LANES):
                    x = load(numbers, j)
                    lanes = multiply_add(x, x, lanes)
                store(lanes, 0, partial)
                for lane in range(LANES):
                    squares += partial[lane]
                for j in range(whole, n_slots):
                    squares += np.float64(numbers[j]) * np.float64(numbers[j])
        if not squares < np.inf:
            out[i] = np.nan  # the caller says which row
        else:
            out[i] = 1 / np.sqrt(squares) if lengths[i] > 0 and squares > 0 else 0.0


@loop
def row_digests(codes, weights, lengths, out):
    """A hash of each row's contents: equal rows have equal ones."""
    for i in range(out.shape[0]):
        digest = _U(1)
        for j in range(codes.shape[1]):
            word = _U(codes[i, j])
            if weights is not None:
                word |= _U(weights[i, j]) << _U(32)
            digest = (digest ^ word) * _MULTIPLIER
            digest ^= digest >> _U(29)
        out[i] = digest if lengths[i] > 0 else ~digest


@inner_loop
def prefetch_slots(codes, weights, row, first):
    """Prefetch `PREFETCH_SLOTS` slots of a row, from `first` on.

    Rows are visited in random order, which the processor cannot predict.
    """
    p = row * codes.shape[1] + first
    for j in range(0, PREFETCH_SLOTS, LINE // codes.itemsize):
        prefetch(codes, p + j)
    if weights is not None:
        for j in range(0, PREFETCH_SLOTS, LINE // weights.itemsize):
            prefetch(weights, p + j)


_RUN = 64  # slots summed in single precision, over which rounding errors do not build up


@allocating_loop
def plane_products(planes, others, out):
    """Inner products of two blocks of planes, lane by lane: <p, p>, <p, o> and <o, o>."""
    n_codes, n_hashes = planes.shape[:2]
    partial = np.empty((3, LANES), np.float32)
    zero = splat(np.float32(0))
    out[:] = 0
    for code in range(n_codes):
        if planes.ndim == 3:
            for first in range(0, n_hashes, _RUN):
                a, b, c = zero, zero, zero
                last = min(first + _RUN, n_hashes)
                for slot in range(code * n_hashes + first, code * n_hashes + last):
                    x, y = load(planes, slot * LANES), load(others, slot * LANES)
                    a, b, c = multiply_add(x, x, a), multiply_add(x, y, b), multiply_add(y, y, c)
                store(a, 0, partial)
                store(b, LANES, partial)
                store(c, 2 * LANES, partial)
                for lane in range(out.shape[1]):
                    for which in range(3):
                        out[which, lane] += partial[which, lane]
        else:
            for slot in range(n_hashes):
                u, v = np.float64(planes[code, slot]), np.float64(others[code, slot])
                out[0, 0] += u * u
                out[1, 0] += u * v
                out[2, 0] += v * v


@allocating_loop
def combine_blocks(blocks, n_blocks, x, factors, y, others, z, products):
    """z = x + factors * y, and the inner products of z with itself and with `others`.

    All are flat, in blocks of a multiple of eight numbers; number p belongs to lane p % 8, a
    single plane to all eight. z may be x or y. `products[block]`, (2, 8), is the block's share.
    """
    zero, f = splat(np.float32(0)), load(factors, 0)
    partial = np.empty((2, LANES), np.float32)
    for start, stop in taken(blocks, n_blocks):
        total = products[start // blocks.size]
        total[:] = 0
        for first in range(start, stop, _RUN * LANES):
            last = min(first + _RUN * LANES, stop)
            a, b = zero, zero
            for p in range(first, last // LANES * LANES, LANES):
                found = multiply_add(f, load(y, p), load(x, p))
                store(found, p, z)
                a = multiply_add(found, found, a)
                b = multiply_add(found, load(others, p), b)
            store(a, 0, partial)
            store(b, LANES, partial)
            total += partial
        for p in range(stop // LANES * LANES, stop):  # the end of a single plane
            z[p] = x[p] + factors[0] * y[p]
            total[0, 0] += z[p] * z[p]
            total[1, 0] += z[p] * others[p]
