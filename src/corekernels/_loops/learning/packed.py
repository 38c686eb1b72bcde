"""Rows of (code, weight) pairs against planes: scores, and adding a row to the planes.

Planes come in two layouts, told apart by their number of dimensions:

- `planes[code, slot, lane]` (float32, eight lanes): eight classes in one pass, each
  slot one load and one multiply-add.
- `planes[code, slot]` (float32): one class.

Codes come first although the learner thinks "slot, then code". Minima are small,
so most rows carry codes 0 to 10 in all their slots; code by code those planes are
a few contiguous stripes that fit the L2 cache, while slot by slot they lie at
multiples of the stride and fight for the same few cache sets (three times slower).

`weights` are halves, or None where every weight is 1 (resemblance); `numbers` is room for
those of one row in single precision, or None as well. Indices are unsigned because Numba
tests the sign of the others.
"""

import numpy as np
from numba import njit

from ..simd.halves import read_halves
from ..simd.llvm import LINE
from ..simd.vectors import LANES, add, load, multiply_add, prefetch, splat, store

_U = np.uint64
_1, _2, _3, _WIDTH = _U(1), _U(2), _U(3), _U(LANES)
_STRIDE = 64  # slots between two calls for the row to come
_TOGETHER = 64  # rows scored together
_RUN = 512
_MIX = _U(0x9E3779B97F4A7C15)


@njit(nogil=True, cache=True)
def row_scales(weights, lengths, n_hashes, out):
    """What makes each row's weights unit length; 0 for an empty row."""
    numbers = np.empty(_RUN, np.float32)
    partial = np.empty(LANES, np.float32)
    for i in range(out.shape[0]):
        squares = 0.0
        if weights is None:
            squares = float(n_hashes)
        else:
            for first in range(0, n_hashes, _RUN):  # short runs: single precision does not pile up
                n_slots = min(_RUN, n_hashes - first)
                read_halves(weights, i, first, first + n_slots, numbers)
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
def place(codes, slot, n_hashes, width):
    """Where the lanes of one slot of a row begin."""
    return np.intp((slot + n_hashes * _U(codes[slot])) * width)


@njit(nogil=True, cache=True)
def score_row(codes, weights, row, numbers, planes, out):
    """Inner products of one row, not scaled, with each lane's plane; its weights to `numbers`."""
    out[:] = 0
    if weights is not None:
        read_halves(weights, row, 0, codes.shape[1], numbers)
    score_part(codes, numbers, row, 0, codes.shape[1], planes, None, 0, out)


@njit(nogil=True, cache=True)
def score_part(codes, numbers, row, first, last, planes, others, at, out):
    """Add what slots first to last of a row make of its inner products to `out`, from `at` on.

    `numbers` are their weights. `others`, if any, is a second block of planes, whose lanes
    follow those of the first: in `out`, and in memory, where a slot's lanes of both then share
    a cache line.
    """
    codes_of = codes[row]
    k, origin = _U(codes.shape[1]), _U(first)
    whole = first + (last - first) // 4 * 4
    if planes.ndim == 3:
        zero = splat(np.float32(0))
        width = _U(planes.shape[2])
        a, b, c, d = load(out, at), zero, zero, zero
        if others is not None:
            e, f, g, h = load(out, at + LANES), zero, zero, zero
        for slot in range(first, whole, 4):
            j = _U(slot)
            p, q = place(codes_of, j, k, width), place(codes_of, j + _1, k, width)
            r, s = place(codes_of, j + _2, k, width), place(codes_of, j + _3, k, width)
            if numbers is None:
                a, b = add(a, load(planes, p)), add(b, load(planes, q))
                c, d = add(c, load(planes, r)), add(d, load(planes, s))
                if others is not None:
                    e, f = add(e, load(others, p)), add(f, load(others, q))
                    g, h = add(g, load(others, r)), add(h, load(others, s))
            else:
                n = j - origin
                t, u = splat(numbers[n]), splat(numbers[n + _1])
                v, w = splat(numbers[n + _2]), splat(numbers[n + _3])
                a = multiply_add(t, load(planes, p), a)
                b = multiply_add(u, load(planes, q), b)
                c = multiply_add(v, load(planes, r), c)
                d = multiply_add(w, load(planes, s), d)
                if others is not None:
                    e = multiply_add(t, load(others, p), e)
                    f = multiply_add(u, load(others, q), f)
                    g = multiply_add(v, load(others, r), g)
                    h = multiply_add(w, load(others, s), h)
        for slot in range(whole, last):
            j = _U(slot)
            p = place(codes_of, j, k, width)
            t = splat(np.float32(1) if numbers is None else numbers[j - origin])
            a = multiply_add(t, load(planes, p), a)
            if others is not None:
                e = multiply_add(t, load(others, p), e)
        store(add(add(a, b), add(c, d)), at, out)
        if others is not None:
            store(add(add(e, f), add(g, h)), at + LANES, out)
    else:
        w, x, y, z = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
        for slot in range(first, whole, 4):
            j = _U(slot)
            if numbers is None:
                w += planes[codes_of[j], j]
                x += planes[codes_of[j + _1], j + _1]
                y += planes[codes_of[j + _2], j + _2]
                z += planes[codes_of[j + _3], j + _3]
            else:
                n = j - origin
                w += numbers[n] * planes[codes_of[j], j]
                x += numbers[n + _1] * planes[codes_of[j + _1], j + _1]
                y += numbers[n + _2] * planes[codes_of[j + _2], j + _2]
                z += numbers[n + _3] * planes[codes_of[j + _3], j + _3]
        for slot in range(whole, last):
            j = _U(slot)
            t = np.float32(1) if numbers is None else numbers[j - origin]
            w += t * planes[codes_of[j], j]
        out[at] += (w + x) + (y + z)


@njit(nogil=True, cache=True)
def add_row(codes, weights, row, numbers, following, steps, planes):
    """Add one row, times each lane's step, to each lane's plane; call the following row meanwhile.

    `numbers` are the row's weights, as `score_row` left them.
    Rows are visited in random order, which no machine guesses.
    """
    codes_of = codes[row]
    n_hashes = codes.shape[1]
    for first in range(0, n_hashes, _STRIDE):
        fetch_part(codes, weights, following, first)
        last = min(first + _STRIDE, n_hashes)
        if planes.ndim == 3:
            k = _U(n_hashes)
            lanes = load(steps, 0)
            for slot in range(first, last):
                j = _U(slot)
                p = place(codes_of, j, k, _WIDTH)
                if numbers is None:
                    store(add(load(planes, p), lanes), p, planes)
                else:
                    store(multiply_add(splat(numbers[j]), lanes, load(planes, p)), p, planes)
        else:
            step = steps[0]
            for slot in range(first, last):
                j = _U(slot)
                planes[codes_of[j], j] += step if numbers is None else step * numbers[j]


@njit(nogil=True, cache=True)
def fetch_part(codes, weights, row, first):
    """Call _STRIDE slots of one row towards the caches."""
    p = row * codes.shape[1] + first
    for j in range(0, _STRIDE, LINE // codes.itemsize):
        prefetch(codes, p + j)
    if weights is not None:
        for j in range(0, _STRIDE, LINE // weights.itemsize):
            prefetch(weights, p + j)


@njit(nogil=True, cache=True)
def score_rows(codes, weights, scales, rows, numbers, planes, others, n_first, intercepts, out):
    """Scores of some rows for one block of planes, of which `n_first` count, or for two.

    `others` is the second block or None. Some slots of some rows are scored at a time, so
    that the planes of these slots stay close.
    """
    n_rows, n_hashes = rows.shape[0], codes.shape[1]
    sums = np.empty((_TOGETHER, 2 * LANES), np.float32)
    flat = sums.reshape(-1)
    stride = _STRIDE if planes.ndim == 3 else n_hashes  # a single plane is close anyway
    for start in range(0, n_rows, _TOGETHER):
        stop = min(start + _TOGETHER, n_rows)
        sums[:] = 0
        for first in range(0, n_hashes, stride):
            last = min(first + stride, n_hashes)
            for t in range(start, stop):
                if planes.ndim == 3:
                    fetch_part(codes, weights, rows[min(t + _TOGETHER, n_rows - 1)], first)
                if weights is not None:
                    read_halves(weights, rows[t], first, last, numbers)
                at = (t - start) * 2 * LANES
                score_part(codes, numbers, rows[t], first, last, planes, others, at, flat)
        for t in range(start, stop):
            scale = np.float64(scales[rows[t]])
            for c in range(out.shape[1]):
                out[t, c] = (
                    scale * sums[t - start, c if c < n_first else c - n_first + LANES]
                    + intercepts[c]
                )
