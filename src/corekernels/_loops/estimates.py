"""Sums over the slots of pairs of signatures, for the estimators."""

from numba import njit

# Sums over slots may be taken in any order: without leave to reorder, LLVM adds one by one.
_ANY_ORDER = {"reassoc", "nsz", "contract"}


@njit(nogil=True, cache=True)
def count_matches(codes, others, out):
    """Number of equal codes of each row of `codes` with each row of `others`."""
    for i in range(codes.shape[0]):
        mine = codes[i]
        for j in range(others.shape[0]):
            theirs = others[j]
            count = 0
            for s in range(mine.shape[0]):
                count += mine[s] == theirs[s]
            out[i, j] = count


@njit(nogil=True, cache=True, fastmath=_ANY_ORDER)
def sum_matches(codes, weights, others, other_weights, out):
    """Over equal codes: the sums of both weights' product, of the first, of the second; and
    over all slots the sum of the product."""
    zero = weights.dtype.type(0)
    for i in range(codes.shape[0]):
        mine, u = codes[i], weights[i]
        for j in range(others.shape[0]):
            theirs, v = others[j], other_weights[j]
            both, first, second, every = zero, zero, zero, zero
            for s in range(mine.shape[0]):
                product = u[s] * v[s]
                equal = mine[s] == theirs[s]
                both += product if equal else zero
                first += u[s] if equal else zero
                second += v[s] if equal else zero
                every += product
            out[0, i, j], out[1, i, j], out[2, i, j], out[3, i, j] = both, first, second, every
