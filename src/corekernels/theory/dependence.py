"""How slots depend on each other, and what that does to the variance of an estimate.

Let z be any function of the column that comes first among those of two rows, such as whether it
is one of both. If all slots of a bank have one correlation c, the mean of z over k slots, in
banks of m, has the variance of k independent slots times 1 + (m - 1) c.
"""

from typing import Any

import numpy as np

_STARTS = 1024  # where slices with offsets may begin


def circulant_change(union: Any, n_columns: int, slots_per_bank: float) -> Any:
    """(m - 1) c of circulant hashing, for a union of U columns among D; never above 0.

    Two slots of a bank look at U positions each, of which they share a number M. The first of
    all these 2 U - M positions is a shared one with probability w = M / (2 U - M); then the two
    slots have different columns, and otherwise they are independent. Sampling two columns
    without repetition has the correlation -1 / (U - 1), so that c = -w / (U - 1) (another form
    of the variance by Li & Li 2022). M is close to its mean U (U - 1) / (D - 1); the second
    order term takes its variance into account.

    >>> round(float(circulant_change(10, 10, 10)), 4)  # all columns, all shifts: no variance left
    -1.0
    >>> round(float(circulant_change(600, 784, 512)), 2)
    -0.53
    """
    U, D = np.maximum(union, 2.0), float(max(n_columns, 3))
    mean = U * (U - 1) / (D - 1)
    variance = mean + mean * (U - 1) * (U - 2) / (D - 2) - mean**2
    unshared = 2 * U - mean
    w = mean / unshared + 2 * U * np.maximum(variance, 0) / unshared**3
    return np.maximum(-(slots_per_bank - 1) * w / (U - 1), -1.0)


def offset_change(union: Any, slots_per_bank: float) -> Any:
    """(m - 1) c of circulant hashing with offsets, for a union of U columns; above 0.

    Two columns have the same start with probability 1 / 1024. Then they keep their distance in
    all slots of the bank, and their order except where one of them wraps around: their orders
    in two slots have a correlation of 1/3 on average. Each column has 2 / U of all pairs.

    >>> round(float(offset_change(3, 512)), 2)
    0.11
    """
    return (slots_per_bank - 1) / (3 * _STARTS) * 2 / np.maximum(union, 2.0)


def two_ended_change(union: Any, positions_per_bank: float, paired: float) -> Any:
    """Change of the variance where positions serve two slots, for a union of U columns.

    `paired` is the share of the slots that are one of two. The first columns of the two, its
    minimum and its maximum, are drawn without repetition, which has the correlation
    -1 / (U - 1). What columns of equal start add to the covariance of two minima (`offset_change`)
    they take, 2 / U times, from that of a minimum and a maximum.

    >>> [round(float(two_ended_change(U, 512, 1.0)), 2) for U in (2, 3, 20)]
    [-1.0, -0.46, -0.04]
    """
    U = np.maximum(union, 2.0)
    return offset_change(U, positions_per_bank) * (1 - paired * 2 / U) - paired / (U - 1)


def binning_change(union: Any, n_bins: int, slots_per_bank: float, otherwise: Any) -> Any:
    """Change of the variance where each column first falls into one of the bins of a bank.

    Bins into which some of U columns fall have different columns, drawn without repetition, with
    the correlation -1 / (U - 1). Of w bins two are both such with probability
    1 - 2 (1 - 1/w)^U + (1 - 2/w)^U, and both empty with (1 - 2/w)^U; then the change is
    `otherwise`. One of each kind are independent.

    >>> [round(float(binning_change(U, 512, 512, 0.0)), 2) for U in (3, 30, 100, 400, 4000)]
    [-0.01, -0.06, -0.16, -0.38, -0.13]
    """
    U = np.maximum(union, 2.0)
    one, both = np.exp(U * np.log1p(-1 / n_bins)), np.exp(U * np.log1p(-2 / n_bins))
    return both * otherwise - (slots_per_bank - 1) * (1 - 2 * one + both) / (U - 1)
