"""Packed rows against planes: scores, and adding a row to the planes.

A plane is a weight for each (code, slot) pair. A *lane* is one of eight numbers that a vector
operation works on at once; planes of eight classes lie side by side, one per lane. So planes come
in two layouts, told apart by their number of dimensions:

- `planes[code, slot, lane]` (float32, eight lanes): eight classes at once, each slot one load
  and one multiply-add.
- `planes[code, slot]` (float32): one class.

Codes come first although a row is a list of slots. Minima are small, so most rows have codes 0
to 10 in all their slots. Ordered by code, the planes of these codes are a few contiguous stripes
that fit the L2 cache; ordered by slot, they would lie at multiples of the stride and compete for
the same few cache sets (three times slower).

Slots and codes are unsigned where they are indices: Numba tests the sign of the others. Four
slots are summed at a time, each into a sum of its own, so that no addition waits for the one
before.
"""

import numpy as np

from ..compilation import allocating_loop, inlined_loop, inner_loop
from ..simd.halves import code_of, read_weights
from ..simd.vectors import LANES, add, load, multiply_add, splat, store
from .coefficients import PREFETCH_SLOTS, prefetch_slots

_U = np.uint64
_1, _2, _3, _WIDTH = _U(1), _U(2), _U(3), _U(LANES)
_ROWS_TOGETHER = 64  # rows scored together


@inner_loop
def place(codes, slot, n_hashes, width):
    """Where the lanes of one slot of a row begin, in planes of `width` lanes."""
    return np.intp((slot + n_hashes * _U(code_of(codes[slot]))) * width)


@inner_loop
def score_row(codes, weights, row, buffer, planes, out):
    """Inner products of one row, not scaled, with each lane's plane.

    `buffer` then holds the row's weights in single precision.
    """
    out[:] = 0
    if weights is not None:
        read_weights(weights, row, 0, codes.shape[1], buffer)
    if planes.ndim == 3:
        score_lanes(codes, buffer, row, 0, codes.shape[1], planes, None, 0, out)
    else:
        score_one(codes, buffer, row, 0, codes.shape[1], planes, 0, out)


@inner_loop
def score_lanes(codes, weights, row, first, last, planes, others, at, out):
    """Add the share of slots first to last of a row in its inner products to `out[at:]`.

    `weights` are those of these slots alone, in single precision. `others`, if any, is a second
    block of planes. Its lanes follow those of the first block in `out`, and in memory, where
    both blocks' lanes of a slot share a cache line.
    """
    codes_of = codes[row]
    k, width, origin = _U(codes.shape[1]), _U(planes.shape[2]), _U(first)
    whole = first + (last - first) // 4 * 4
    zero = splat(np.float32(0))
    a, b, c, d = load(out, at), zero, zero, zero  # sums of the first block
    if others is not None:
        e, f, g, h = load(out, at + LANES), zero, zero, zero  # sums of the second
    for slot in range(first, whole, 4):
        j = _U(slot)
        p, q = place(codes_of, j, k, width), place(codes_of, j + _1, k, width)
        r, s = place(codes_of, j + _2, k, width), place(codes_of, j + _3, k, width)
        if weights is None:
            a, b = add(a, load(planes, p)), add(b, load(planes, q))
            c, d = add(c, load(planes, r)), add(d, load(planes, s))
            if others is not None:
                e, f = add(e, load(others, p)), add(f, load(others, q))
                g, h = add(g, load(others, r)), add(h, load(others, s))
        else:
            n = j - origin
            t, u = splat(weights[n]), splat(weights[n + _1])
            v, w = splat(weights[n + _2]), splat(weights[n + _3])
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
        t = splat(np.float32(1) if weights is None else weights[j - origin])
        a = multiply_add(t, load(planes, p), a)
        if others is not None:
            e = multiply_add(t, load(others, p), e)
    store(add(add(a, b), add(c, d)), at, out)
    if others is not None:
        store(add(add(e, f), add(g, h)), at + LANES, out)


@inner_loop
def score_one(codes, weights, row, first, last, planes, at, out):
    """The same as `score_lanes` for a single plane."""
    codes_of = codes[row]
    origin = _U(first)
    whole = first + (last - first) // 4 * 4
    a, b, c, d = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    for slot in range(first, whole, 4):
        j = _U(slot)
        if weights is None:
            a += planes[code_of(codes_of[j]), j]
            b += planes[code_of(codes_of[j + _1]), j + _1]
            c += planes[code_of(codes_of[j + _2]), j + _2]
            d += planes[code_of(codes_of[j + _3]), j + _3]
        else:
            n = j - origin
            a += weights[n] * planes[code_of(codes_of[j]), j]
            b += weights[n + _1] * planes[code_of(codes_of[j + _1]), j + _1]
            c += weights[n + _2] * planes[code_of(codes_of[j + _2]), j + _2]
            d += weights[n + _3] * planes[code_of(codes_of[j + _3]), j + _3]
    for slot in range(whole, last):
        j = _U(slot)
        t = np.float32(1) if weights is None else weights[j - origin]
        a += t * planes[code_of(codes_of[j]), j]
    out[at] += (a + b) + (c + d)


@inlined_loop
def add_row(codes, weights, row, buffer, next_row, steps, planes):
    """Add one row, times each lane's step, to each lane's plane; prefetch the next row meanwhile.

    `buffer` holds the row's weights, as `score_row` left them.
    """
    codes_of = codes[row]
    n_hashes = codes.shape[1]
    for first in range(0, n_hashes, PREFETCH_SLOTS):
        prefetch_slots(codes, weights, next_row, first)
        last = min(first + PREFETCH_SLOTS, n_hashes)
        if planes.ndim == 3:
            k = _U(n_hashes)
            lanes = load(steps, 0)
            for slot in range(first, last):
                j = _U(slot)
                p = place(codes_of, j, k, _WIDTH)
                if buffer is None:
                    store(add(load(planes, p), lanes), p, planes)
                else:
                    store(multiply_add(splat(buffer[j]), lanes, load(planes, p)), p, planes)
        else:
            step = steps[0]
            for slot in range(first, last):
                j = _U(slot)
                planes[code_of(codes_of[j]), j] += step if buffer is None else step * buffer[j]


@allocating_loop
def score_rows(
    codes, weights, scales, buffer, chosen, planes, others, n_first, intercepts, out
):  # fmt: skip
    """Scores of the chosen rows for one block of planes, of which `n_first` count, or for two.

    `others` is the second block or None. Some slots of many rows are scored at a time, so that
    the planes of these slots stay in the caches.
    """
    n_rows, n_hashes = chosen.shape[0], codes.shape[1]
    sums = np.empty((_ROWS_TOGETHER, 2 * LANES), np.float32)
    flat = sums.reshape(-1)
    n_slots = PREFETCH_SLOTS if planes.ndim == 3 else n_hashes  # a single plane fits anyway
    for start in range(0, n_rows, _ROWS_TOGETHER):
        stop = min(start + _ROWS_TOGETHER, n_rows)
        sums[:] = 0
        for first in range(0, n_hashes, n_slots):
            last = min(first + n_slots, n_hashes)
            for t in range(start, stop):
                row, at = chosen[t], (t - start) * 2 * LANES
                if weights is not None:
                    read_weights(weights, row, first, last, buffer)
                if planes.ndim == 3:
                    ahead = chosen[min(t + _ROWS_TOGETHER, n_rows - 1)]
                    prefetch_slots(codes, weights, ahead, first)
                    score_lanes(codes, buffer, row, first, last, planes, others, at, flat)
                else:
                    score_one(codes, buffer, row, first, last, planes, at, flat)
        for t in range(start, stop):
            scale = np.float64(scales[chosen[t]])
            for c in range(out.shape[1]):
                lane = c if c < n_first else c - n_first + LANES
                out[t, c] = scale * sums[t - start, lane] + intercepts[c]
