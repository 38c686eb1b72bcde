"""Sums over the slots of pairs of signatures, for the estimators."""

import numpy as np

from ..compilation import loop
from ..simd.slots import code_of, read_weights

# Sums over slots may be taken in any order: without leave to reorder, LLVM adds one by one.
_ANY_ORDER = {"reassoc", "nsz", "contract"}


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


@loop(fastmath=_ANY_ORDER)
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
