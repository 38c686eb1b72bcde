"""Sums over the slots of pairs of signatures, for the estimators."""

from typing import NamedTuple

import numpy as np

from ..compilation import ANY_ORDER, inner_loop, loop
from ..rows import taken
from ..simd.halves import code_of, read_weights

# so may the largest be looked for; what comes of NaN is not used, as such estimates are refused
_NUMBERS = ANY_ORDER | {"nnan"}


class PairSums(NamedTuple):
    """Sums over the slots of pairs of rows: a number per pair each.

    Of weights u and v, their product p, and e, which is 1 where the codes are equal and else 0.
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
    """`PairSums` of row i[q] with row j[q] of the others, in row q of `out`.

    Weights are as they are stored; u and v are room for a row of them. Only the first sum if
    `weights` is None; the others are left as they are.
    """
    for start, stop in taken(blocks, n_blocks):
        for q in range(start, stop):
            mine, theirs, sums = codes[i[q]], others[j[q]], out[q]
            count = 0
            for s in range(mine.shape[0]):
                count += code_of(mine[s]) == code_of(theirs[s])
            sums[0] = count
            if weights is not None:
                read_weights(weights, i[q], 0, u.shape[0], u)
                read_weights(other_weights, j[q], 0, v.shape[0], v)
                _sum_weights(mine, theirs, u, v, sums)
                _find_largest(mine, theirs, u, v, sums)


@inner_loop(fastmath=ANY_ORDER)
def _sum_weights(codes, others, weights, other_weights, out):
    """All sums of `PairSums` but the first."""
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
    """The largest squares of `PairSums`."""
    zero = np.float32(0)
    both, mine, theirs, my_apart, their_apart = zero, zero, zero, zero, zero
    for s in range(codes.shape[0]):
        e = np.float32(code_of(codes[s]) == code_of(others[s]))
        u, v = weights[s] * weights[s], other_weights[s] * other_weights[s]
        both = max(both, e * u * v)
        mine, theirs = max(mine, e * u), max(theirs, e * v)
        my_apart, their_apart = max(my_apart, u - e * u), max(their_apart, v - e * v)
    out[15], out[16], out[17], out[18], out[19] = both, mine, theirs, my_apart, their_apart


@loop
def count_matches(codes, others, out):
    """Number of equal codes of each row of `codes` with each row of `others`."""
    for i in range(codes.shape[0]):
        mine = codes[i]
        for j in range(others.shape[0]):
            theirs = others[j]
            count = 0
            for s in range(mine.shape[0]):
                count += code_of(mine[s]) == code_of(theirs[s])
            out[i, j] = count


@loop(fastmath=ANY_ORDER)
def sum_matches(codes, weights, others, other_weights, numbers, out):
    """Over equal codes: the sums of both weights' product, of the first, of the second; and
    over all slots the sum of the product.

    The others' weights are as they are stored; `numbers` is room for a row of them.
    """
    zero = np.float32(0)
    for j in range(others.shape[0]):
        theirs = others[j]
        read_weights(other_weights, j, 0, numbers.shape[0], numbers)
        for i in range(codes.shape[0]):
            mine, u = codes[i], weights[i]
            both, first, second, every = zero, zero, zero, zero
            for s in range(mine.shape[0]):
                product = u[s] * numbers[s]
                # a factor: branches do not vectorise
                equal = np.float32(code_of(mine[s]) == code_of(theirs[s]))
                both += product * equal
                first += u[s] * equal
                second += numbers[s] * equal
                every += product
            out[0, i, j], out[1, i, j], out[2, i, j], out[3, i, j] = both, first, second, every
