"""Packed rows against weight vectors: scores, and adding a row to the weight vectors.

A packed row is k pairs of a code and a weight. Weights are halves, as the 16 bits they are stored
in, or None where every weight is 1. Where code and weight share an integer (`simd/halves.py`), that
array stands for both of them. Numba compiles a function twice then, without the branches on
`weights is None`; it does so for plain arguments only, not for the fields of a tuple, so that
functions with such a branch take `weights` by itself.

A weight vector has a coefficient for each (code, slot) pair. A *lane* is one of eight numbers that
a vector operation works on at once; weight vectors of eight classes lie side by side, one per lane.
So coefficients come in two layouts, told apart by their number of dimensions:

- `coef[code, slot, lane]` (float32, eight lanes): eight classes at once, each slot one load
  and one multiply-add.
- `coef[code, slot]` (float32): one class.

Codes come first although a row is a list of slots. Minima are small, so most rows have codes 0
to 10 in all their slots. Ordered by code, the coefficients of these codes are a few contiguous
stripes that fit the L2 cache; ordered by slot, they would lie at multiples of the stride and
compete for the same few cache sets (three times slower). Most codes of many bits never occur; their
coefficients are zero and are not written to: memory that was never touched takes no room.

Slots and codes are unsigned where they are indices: Numba tests the sign of the others. Four
slots are summed at a time, each into a sum of its own, so that no addition waits for the one
before.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import ANY_ORDER, allocating_loop, inlined_loop, inner_loop, loop
from ..mixing import step
from ..simd.halves import code_of, read_weights, weight_of
from ..simd.integers import LINE
from ..simd.vectors import LANES, add, load, multiply_add, prefetch, splat, store

_U = np.uint64
_1, _2, _3, _WIDTH = _U(1), _U(2), _U(3), _U(LANES)
_ROWS_TOGETHER = 64  # rows scored together
_SLOTS_TOGETHER = 64  # slots of a row that are prefetched, and scored, at a time


class PackedRows(NamedTuple):
    """Rows, and room for what a loop keeps of the row it is at."""

    codes: np.ndarray
    weights: np.ndarray | None
    scales: np.ndarray  # factor that makes a row's weights unit length; 0 for an empty row
    buffer: np.ndarray | None  # room for one row's weights in single precision


@loop(fastmath=ANY_ORDER)
def row_scales(weights, lengths, n_hashes, out):
    """The factor that makes each row's weights unit length; 0 for an empty row."""
    for i in range(out.shape[0]):
        squares = 0.0
        if weights is None:
            squares = float(n_hashes)
        else:
            for j in range(n_hashes):
                weight = np.float64(weight_of(weights[i, j]))
                squares += weight * weight
        if not squares < np.inf:
            out[i] = np.nan  # the caller says which row
        else:
            out[i] = 1 / np.sqrt(squares) if lengths[i] > 0 and squares > 0 else 0.0


@loop
def row_digests(codes, weights, scales, out):
    """A hash of each row's contents, the sum of those of its slots: equal rows have equal ones."""
    for i in range(out.shape[0]):
        digest = _U(0)
        for j in range(codes.shape[1]):
            word = _U(codes[i, j])
            if weights is not None:
                word |= _U(weights[i, j]) << _U(32)
            digest += step(word, j)
        out[i] = digest if scales[i] > 0 else ~digest


@inner_loop
def _prefetch_slots(codes, weights, row, first):
    """Prefetch some slots of a row, from `first` on.

    Rows are visited in random order, which the processor cannot predict.
    """
    p = row * codes.shape[1] + first
    for j in range(0, _SLOTS_TOGETHER, LINE // codes.itemsize):
        prefetch(codes, p + j)
    if weights is not None:
        for j in range(0, _SLOTS_TOGETHER, LINE // weights.itemsize):
            prefetch(weights, p + j)


@inner_loop
def place(codes, slot, n_hashes, width):
    """Where the lanes of one slot of a row begin, in coefficients of `width` lanes."""
    return np.intp((slot + n_hashes * _U(code_of(codes[slot]))) * width)


@inner_loop
def score_row(codes, weights, row, buffer, coef, out):
    """Inner products of one row, not scaled, with each lane's weight vector.

    `buffer` then holds the row's weights in single precision.
    """
    out[:] = 0
    if weights is not None:
        read_weights(weights, row, 0, codes.shape[1], buffer)
    if coef.ndim == 3:
        _score_lanes(codes, buffer, row, 0, codes.shape[1], coef, None, 0, out)
    else:
        _score_one(codes, buffer, row, 0, codes.shape[1], coef, 0, out)


@inner_loop
def _score_lanes(codes, weights, row, first, last, coef, others, at, out):
    """Add the share of slots first to last of a row in its inner products to `out[at:]`.

    `weights` are those of these slots alone, in single precision. `others`, if any, is a second
    block of weight vectors. Its lanes follow those of the first block in `out`, and in memory,
    where both blocks' lanes of a slot share a cache line.
    """
    codes_of = codes[row]
    k, width, origin = _U(codes.shape[1]), _U(coef.shape[2]), _U(first)
    whole = first + (last - first) // 4 * 4
    zero, one = splat(np.float32(0)), splat(np.float32(1))
    a, b, c, d = load(out, at), zero, zero, zero  # sums of the first block
    if others is not None:
        e, f, g, h = load(out, at + LANES), zero, zero, zero  # sums of the second
    for slot in range(first, whole, 4):
        j = _U(slot)
        p, q = place(codes_of, j, k, width), place(codes_of, j + _1, k, width)
        r, s = place(codes_of, j + _2, k, width), place(codes_of, j + _3, k, width)
        t, u, v, w = one, one, one, one
        if weights is not None:
            n = j - origin
            t, u = splat(weights[n]), splat(weights[n + _1])
            v, w = splat(weights[n + _2]), splat(weights[n + _3])
        a = multiply_add(t, load(coef, p), a)
        b = multiply_add(u, load(coef, q), b)
        c = multiply_add(v, load(coef, r), c)
        d = multiply_add(w, load(coef, s), d)
        if others is not None:
            e = multiply_add(t, load(others, p), e)
            f = multiply_add(u, load(others, q), f)
            g = multiply_add(v, load(others, r), g)
            h = multiply_add(w, load(others, s), h)
    for slot in range(whole, last):
        j = _U(slot)
        p = place(codes_of, j, k, width)
        t = one if weights is None else splat(weights[j - origin])
        a = multiply_add(t, load(coef, p), a)
        if others is not None:
            e = multiply_add(t, load(others, p), e)
    store(add(add(a, b), add(c, d)), at, out)
    if others is not None:
        store(add(add(e, f), add(g, h)), at + LANES, out)


@inner_loop(fastmath=ANY_ORDER)
def _score_one(codes, weights, row, first, last, coef, at, out):
    """The same as `_score_lanes` for a single weight vector."""
    codes_of = codes[row]
    origin = _U(first)
    total = np.float32(0)
    for slot in range(first, last):
        j = _U(slot)
        weight = np.float32(1) if weights is None else weights[j - origin]
        total += weight * coef[code_of(codes_of[j]), j]
    out[at] += total


@inlined_loop
def add_row(codes, weights, row, buffer, next_row, steps, coef):
    """Add one row, times each lane's step, to each lane's weight vector; prefetch the next row.

    `buffer` holds the row's weights, as `score_row` left them.
    """
    codes_of = codes[row]
    n_hashes = codes.shape[1]
    for first in range(0, n_hashes, _SLOTS_TOGETHER):
        _prefetch_slots(codes, weights, next_row, first)
        last = min(first + _SLOTS_TOGETHER, n_hashes)
        if coef.ndim == 3:
            k = _U(n_hashes)
            lanes = load(steps, 0)
            for slot in range(first, last):
                j = _U(slot)
                p = place(codes_of, j, k, _WIDTH)
                weight = splat(np.float32(1) if buffer is None else buffer[j])
                store(multiply_add(weight, lanes, load(coef, p)), p, coef)
        else:
            step = steps[0]
            for slot in range(first, last):
                j = _U(slot)
                coef[code_of(codes_of[j]), j] += step if buffer is None else step * buffer[j]


@allocating_loop
def score_rows(
    codes, weights, scales, buffer, chosen, coef, others, n_first, intercepts, out
):  # fmt: skip
    """Scores of the chosen rows for one or two blocks of weight vectors.

    `n_first` vectors of the first block count; `others` is the second block or None. Some slots of
    many rows are scored at a time, so that their coefficients stay in the caches.
    """
    n_rows, n_hashes = chosen.shape[0], codes.shape[1]
    sums = np.empty((_ROWS_TOGETHER, 2 * LANES), np.float32)
    flat = sums.reshape(-1)
    n_slots = _SLOTS_TOGETHER if coef.ndim == 3 else n_hashes  # a single weight vector fits anyway
    for start in range(0, n_rows, _ROWS_TOGETHER):
        stop = min(start + _ROWS_TOGETHER, n_rows)
        sums[:] = 0
        for first in range(0, n_hashes, n_slots):
            last = min(first + n_slots, n_hashes)
            for t in range(start, stop):
                row, at = chosen[t], (t - start) * 2 * LANES
                if weights is not None:
                    read_weights(weights, row, first, last, buffer)
                if coef.ndim == 3:
                    ahead = chosen[min(t + _ROWS_TOGETHER, n_rows - 1)]
                    _prefetch_slots(codes, weights, ahead, first)
                    _score_lanes(codes, buffer, row, first, last, coef, others, at, flat)
                else:
                    _score_one(codes, buffer, row, first, last, coef, at, flat)
        for t in range(start, stop):
            scale = np.float64(scales[chosen[t]])
            for c in range(out.shape[1]):
                lane = c if c < n_first else c - n_first + LANES
                out[t, c] = scale * sums[t - start, lane] + intercepts[c]
