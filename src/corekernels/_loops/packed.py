"""Rows of (code, weight) pairs against planes: scores, and adding a row to the planes.

Planes come in two layouts, told apart by their number of dimensions:

- `planes[code, slot, lane]` (float32, eight lanes): eight classes in one pass, each
  slot one load and one multiply-add.
- `planes[code, slot]` (float32): one class.

Codes come first although the learner thinks "slot, then code". Minima are small,
so most rows carry codes 0 to 10 in all their slots; code by code those planes are
a few contiguous stripes that fit the L2 cache, while slot by slot they lie at
multiples of the stride and fight for the same few cache sets (three times slower).

`weights` is None where every weight is 1 (resemblance). Indices are unsigned
because Numba tests the sign of the others.
"""

import numpy as np
from numba import njit

from .lanes import LANES, add, load, multiply_add, prefetch, splat, store

_U = np.uint64
_1, _2, _3, _WIDTH = _U(1), _U(2), _U(3), _U(LANES)
_LINE = 64
_RUN = 512
_MIX = _U(0x9E3779B97F4A7C15)


@njit(nogil=True, cache=True)
def row_scales(weights, lengths, n_hashes, out):
    """What makes each row's weights unit length; 0 for an empty row."""
    partial = np.empty(LANES, np.float32)
    for i in range(out.shape[0]):
        squares = 0.0
        if weights is None:
            squares = float(n_hashes)
        else:
            whole = n_hashes // LANES * LANES
            for first in range(0, whole, _RUN):  # short runs: single precision does not pile up
                lanes = splat(np.float32(0))
                for j in range(first, min(first + _RUN, whole), LANES):
                    x = load(weights, i * n_hashes + j)
                    lanes = multiply_add(x, x, lanes)
                store(lanes, 0, partial)
                for lane in range(LANES):
                    squares += partial[lane]
            for j in range(whole, n_hashes):
                squares += np.float64(weights[i, j]) * np.float64(weights[i, j])
        out[i] = 1 / np.sqrt(squares) if lengths[i] > 0 and squares > 0 else 0.0


@njit(nogil=True, cache=True)
def row_digests(codes, words, lengths, out):
    """A number for each row that equal rows share; `words` are the bits of the weights."""
    for i in range(out.shape[0]):
        digest = _U(lengths[i] > 0)
        for j in range(codes.shape[1]):
            word = _U(codes[i, j])
            if words is not None:
                word |= _U(words[i, j]) << _U(32)
            digest = (digest ^ word) * _MIX
            digest ^= digest >> _U(29)
        out[i] = digest


@njit(nogil=True, cache=True)
def place(codes, slot, n_hashes):
    """Where the lanes of one slot of a row begin."""
    return np.intp((slot + n_hashes * _U(codes[slot])) * _WIDTH)


@njit(nogil=True, cache=True)
def score_row(codes, weights, row, planes, out):
    """Inner products of one row, not scaled, with each lane's plane."""
    codes_of = codes[row]
    i = _U(row)
    k = _U(codes.shape[1])
    whole = codes.shape[1] // 4 * 4
    if planes.ndim == 3:
        zero = splat(np.float32(0))
        a, b, c, d = zero, zero, zero, zero
        for first in range(0, whole, 4):
            j = _U(first)
            u = load(planes, place(codes_of, j, k))
            v = load(planes, place(codes_of, j + _1, k))
            x = load(planes, place(codes_of, j + _2, k))
            y = load(planes, place(codes_of, j + _3, k))
            if weights is None:
                a, b, c, d = add(a, u), add(b, v), add(c, x), add(d, y)
            else:
                a = multiply_add(splat(weights[i, j]), u, a)
                b = multiply_add(splat(weights[i, j + _1]), v, b)
                c = multiply_add(splat(weights[i, j + _2]), x, c)
                d = multiply_add(splat(weights[i, j + _3]), y, d)
        for last in range(whole, codes.shape[1]):
            j = _U(last)
            u = load(planes, place(codes_of, j, k))
            a = add(a, u) if weights is None else multiply_add(splat(weights[i, j]), u, a)
        store(add(add(a, b), add(c, d)), 0, out)
    else:
        e, f, g, h = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
        for first in range(0, whole, 4):
            j = _U(first)
            if weights is None:
                e += planes[codes_of[j], j]
                f += planes[codes_of[j + _1], j + _1]
                g += planes[codes_of[j + _2], j + _2]
                h += planes[codes_of[j + _3], j + _3]
            else:
                e += weights[i, j] * planes[codes_of[j], j]
                f += weights[i, j + _1] * planes[codes_of[j + _1], j + _1]
                g += weights[i, j + _2] * planes[codes_of[j + _2], j + _2]
                h += weights[i, j + _3] * planes[codes_of[j + _3], j + _3]
        for last in range(whole, codes.shape[1]):
            j = _U(last)
            weight = np.float32(1) if weights is None else weights[i, j]
            e += weight * planes[codes_of[j], j]
        out[0] = (e + f) + (g + h)


@njit(nogil=True, cache=True)
def add_row(codes, weights, row, steps, planes):
    """Add one row, times each lane's step, to each lane's plane."""
    codes_of = codes[row]
    i = _U(row)
    if planes.ndim == 3:
        k = _U(codes.shape[1])
        lanes = load(steps, 0)
        for slot in range(codes.shape[1]):
            j = _U(slot)
            p = place(codes_of, j, k)
            if weights is None:
                store(add(load(planes, p), lanes), p, planes)
            else:
                store(multiply_add(splat(weights[i, j]), lanes, load(planes, p)), p, planes)
    else:
        step = steps[0]
        for slot in range(codes.shape[1]):
            j = _U(slot)
            planes[codes_of[j], j] += step if weights is None else step * weights[i, j]


@njit(nogil=True, cache=True)
def fetch_row(codes, weights, row):
    """Call one row towards the caches: rows are visited in random order, no machine guesses it."""
    n_hashes = codes.shape[1]
    for j in range(0, n_hashes, _LINE // codes.itemsize):
        prefetch(codes, row * n_hashes + j)
    if weights is not None:
        for j in range(0, n_hashes, _LINE // 4):
            prefetch(weights, row * n_hashes + j)


@njit(nogil=True, cache=True)
def score_rows(codes, weights, scales, rows, planes, intercepts, out):
    """Scores of some rows for the classes of one block of planes."""
    lanes = np.empty(LANES, np.float32)
    for t in range(rows.shape[0]):
        i = rows[t]
        score_row(codes, weights, i, planes, lanes)
        for c in range(out.shape[1]):
            out[t, c] = np.float64(scales[i]) * lanes[c] + intercepts[c]


@njit(nogil=True, cache=True)
def move_towards(goal, share, out):
    """Move planes a share of the way to others; codes that never occurred are left alone."""
    for code in range(goal.shape[0]):
        there, here = goal[code].reshape(-1), out[code].reshape(-1)
        used = False
        for p in range(there.shape[0]):
            used = used or there[p] != 0 or here[p] != 0
        if used:
            for p in range(there.shape[0]):
                here[p] += share * (there[p] - here[p])
