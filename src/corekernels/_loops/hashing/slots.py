"""Slots of signatures: sums over pairs of rows, for the estimators, and rows as sparse rows."""

from typing import NamedTuple

import numpy as np

from ..compilation import ANY_ORDER, inner_loop, loop
from ..rows import taken
from ..simd.halves import code_of, read_weights

# `max` may assume no NaN: estimates with NaN are refused later
_NUMBERS = ANY_ORDER | {"nnan"}


class SlotSums(NamedTuple):
    """Sums over the slots of pairs of rows, one number per pair each.

    u and v are the weights, p = u v, and e is 1 where the codes are equal, else 0.
    """

    e: np.ndarray
    p: np.ndarray
    p2: np.ndarray
    ep: np.ndarray
    ep2: np.ndarray
    eu: np.ndarray
    ev: np.ndarray
    eu2: np.ndarray
    ev2: np.ndarray
    epu: np.ndarray
    epv: np.ndarray
    u2: np.ndarray
    u4: np.ndarray
    v2: np.ndarray
    v4: np.ndarray
    largest_ep2: np.ndarray  # instead of a sum
    largest_eu2: np.ndarray
    largest_ev2: np.ndarray
    largest_apart_u2: np.ndarray  # where codes are not equal
    largest_apart_v2: np.ndarray


@loop
def sum_pairs(blocks, n_blocks, i, j, codes, weights, others, other_weights, u, v, out):
    """`SlotSums` of row i[q] with row j[q] of the others, in row q of `out`.

    Weights are as they are stored; u and v are room for a row of them. Without weights (None) the
    first sum alone is written.
    """
    for start, stop in taken(blocks, n_blocks):
        for q in range(start, stop):
            row, other, sums = codes[i[q]], others[j[q]], out[q]
            sums[0] = _count_equal(row, other)
            if weights is not None:
                read_weights(weights, i[q], 0, u.shape[0], u)
                read_weights(other_weights, j[q], 0, v.shape[0], v)
                _sum_weights(row, other, u, v, sums)
                _find_largest(row, other, u, v, sums)


@loop(inline="always")
def _count_equal(codes, others):
    """Number of slots with equal codes."""
    count = 0
    for s in range(codes.shape[0]):
        count += code_of(codes[s]) == code_of(others[s])
    return count


@inner_loop(fastmath=ANY_ORDER)
def _sum_weights(codes, others, weights, other_weights, out):
    """All sums of `SlotSums` but the first."""
    zero = 0.0
    s1, s2, e1, e2 = zero, zero, zero, zero
    eu, ev, eu2, ev2, epu, epv = zero, zero, zero, zero, zero, zero
    u2, u4, v2, v4 = zero, zero, zero, zero
    for s in range(codes.shape[0]):
        u, v = np.float64(weights[s]), np.float64(other_weights[s])
        e = np.float64(code_of(codes[s]) == code_of(others[s]))
        p, uu, vv = u * v, u * u, v * v
        ep = e * p
        s1, s2, e1, e2 = s1 + p, s2 + p * p, e1 + ep, e2 + ep * p
        eu, ev, eu2, ev2 = eu + e * u, ev + e * v, eu2 + e * uu, ev2 + e * vv
        epu, epv = epu + ep * u, epv + ep * v
        u2, u4, v2, v4 = u2 + uu, u4 + uu * uu, v2 + vv, v4 + vv * vv
    out[1], out[2], out[3], out[4] = s1, s2, e1, e2
    out[5], out[6], out[7], out[8], out[9], out[10] = eu, ev, eu2, ev2, epu, epv
    out[11], out[12], out[13], out[14] = u2, u4, v2, v4


@inner_loop(fastmath=_NUMBERS)
def _find_largest(codes, others, weights, other_weights, out):
    """The largest squares of `SlotSums`."""
    zero = np.float32(0)
    largest_ep2, largest_eu2, largest_ev2, apart_u2, apart_v2 = zero, zero, zero, zero, zero
    for s in range(codes.shape[0]):
        e = np.float32(code_of(codes[s]) == code_of(others[s]))
        uu, vv = weights[s] * weights[s], other_weights[s] * other_weights[s]
        largest_ep2 = max(largest_ep2, e * uu * vv)
        largest_eu2, largest_ev2 = max(largest_eu2, e * uu), max(largest_ev2, e * vv)
        apart_u2, apart_v2 = max(apart_u2, uu - e * uu), max(apart_v2, vv - e * vv)
    out[15], out[16], out[17] = largest_ep2, largest_eu2, largest_ev2
    out[18], out[19] = apart_u2, apart_v2


@loop
def count_matches(codes, others, out):
    """Number of equal codes of each row of `codes` with each row of `others`."""
    for i in range(codes.shape[0]):
        for j in range(others.shape[0]):
            out[i, j] = _count_equal(codes[i], others[j])


@loop(fastmath=ANY_ORDER)
def sum_matches(codes, weights, others, other_weights, v, out):
    """Over equal codes: the sums of u v, of u and of v; and over all slots the sum of u v.

    u are the weights and v the others', which are as they are stored; `v` is room for a row.
    """
    zero = np.float32(0)
    for j in range(others.shape[0]):
        other = others[j]
        read_weights(other_weights, j, 0, v.shape[0], v)
        for i in range(codes.shape[0]):
            row, u = codes[i], weights[i]
            both, first, second, every = zero, zero, zero, zero
            for s in range(row.shape[0]):
                product = u[s] * v[s]
                # a factor: branches do not vectorise
                equal = np.float32(code_of(row[s]) == code_of(other[s]))
                both += product * equal
                first += u[s] * equal
                second += v[s] * equal
                every += product
            out[0, i, j], out[1, i, j], out[2, i, j], out[3, i, j] = both, first, second, every


@loop
def expand_rows(blocks, n_blocks, rows, codes, weights, n_codes, factor, normalize, indices, data):
    """Columns and values of each slot of the rows: slot j at column j n_codes + code.

    Values are the weights, which are as they are stored, times `factor`, or divided by the row's
    norm. Without weights (None) all are `factor`.
    """
    for start, stop in taken(blocks, n_blocks):
        for place in range(start, stop):
            row, columns, values = codes[rows[place]], indices[place], data[place]
            for j in range(row.shape[0]):
                columns[j] = j * n_codes + np.int64(code_of(row[j]))
            if weights is None:
                values[:] = factor
            else:
                read_weights(weights, rows[place], 0, values.shape[0], values)
                scale = _inverse_norm(values) if normalize else factor
                for j in range(values.shape[0]):
                    values[j] *= scale


@inner_loop(fastmath=ANY_ORDER)
def _inverse_norm(values):
    """One over the norm of a row; 0 if that is 0."""
    total = 0.0
    for j in range(values.shape[0]):
        total += np.float64(values[j]) * np.float64(values[j])
    return np.float32(1 / np.sqrt(total)) if total > 0 else np.float32(0)
