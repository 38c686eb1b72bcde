"""Slots that depend on each other, and weights of few bits: what both do to an estimate's variance.

Slots. Let z be any function of the column that comes first among those of two rows, such as
whether it is one of both. If all slots of a bank have one correlation c, the mean of z over k
slots, in banks of m, has the variance of k independent slots times 1 + (m - 1) c.

Weights. A weight w becomes the number n = floor(s w) of an interval of length 1 / s, at least
-N / 2 and less than N / 2 for N = 2^bits levels, and stands for q(w) = (2 n + 1) delta. Both laws
of weights have an expansion in orthogonal functions, and E[q(w) q(w')] is a sum over its odd terms:

    normal weights of correlation rho:    rho + a3 rho^3 + a5 rho^5 + ...  (Hermite polynomials)
    cosines whose mean product is G:      G + a3 G^9 + a5 G^25 + ...       (cosines of m theta)

The unit delta is chosen so that the first coefficient is 1, and none is negative. They add up to
E[q^2] = 1 + excess, so a mean product x becomes at most x + excess |x|^3. The mean product over all
slots, which signatures show, tells what share of it is exact.
"""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.forks import computed_once

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

    Two columns have the same start with probability 1 / 1024. Then they have the same distance in
    all slots of the bank, and the same order unless one of them wraps around: their orders in two
    slots have a correlation of 1/3 on average. Each column is in 2 / U of all pairs.

    >>> round(float(offset_change(3, 512)), 2)
    0.11
    """
    return (slots_per_bank - 1) / (3 * _STARTS) * 2 / np.maximum(union, 2.0)


def two_ended_change(union: Any, positions_per_bank: float, paired: float) -> Any:
    """Change of the variance where positions serve two slots, for a union of U columns.

    `paired` is the share of slots that are one of two. The columns of the two, one of the minimum
    and one of the maximum, are drawn without repetition, with the correlation -1 / (U - 1). Columns
    of equal start add `offset_change` to the covariance of two minima, and take 2 / U times as much
    from that of a minimum and a maximum.

    >>> [round(float(two_ended_change(U, 512, 1.0)), 2) for U in (2, 3, 20)]
    [-1.0, -0.46, -0.04]
    """
    U = np.maximum(union, 2.0)
    return offset_change(U, positions_per_bank) * (1 - paired * 2 / U) - paired / (U - 1)


def binning_change(union: Any, n_bins: int, slots_per_bank: float, otherwise: Any) -> Any:
    """Change of the variance where each column first falls into one of the bins of a bank.

    Full bins have different columns of the U, drawn without repetition, with the correlation
    -1 / (U - 1). Two of w bins are both full with probability 1 - 2 (1 - 1/w)^U + (1 - 2/w)^U.
    With probability (1 - 2/w)^U both are empty, which changes the variance by `otherwise`. A full
    and an empty bin are independent.

    >>> [round(float(binning_change(U, 512, 512, 0.0)), 2) for U in (3, 30, 100, 400, 4000)]
    [-0.01, -0.06, -0.16, -0.38, -0.13]
    """
    U = np.maximum(union, 2.0)
    one, both = np.exp(U * np.log1p(-1 / n_bins)), np.exp(U * np.log1p(-2 / n_bins))
    return both * otherwise - (slots_per_bank - 1) * (1 - 2 * one + both) / (U - 1)


Array = npt.NDArray[np.float64]

_TERMS = 200  # of the expansions; what is left goes to the last
_GRID = 1 - np.square(np.linspace(1, 0, 513))  # of mean products; most near 1, where it counts


@dataclass(frozen=True, eq=False)
class WeightRounding:
    """Weights as one of 2^bits levels.

    Attributes
    ----------
    per_unit : intervals per unit of the weight, s above; few binary digits, so s w is exact
    unit : delta above
    excess : E[q^2] - 1
    exponents, coefficients : of the expansion of E[q(w) q(w')] above
    """

    per_unit: float
    unit: float
    excess: float
    exponents: Array
    coefficients: Array

    def mean_product(self, exact: npt.ArrayLike) -> Array:
        """Mean product of two rounded weights, from that of the exact ones."""
        x = np.asarray(exact, float)
        terms = self.coefficients * np.abs(x)[..., None] ** self.exponents
        return np.sign(x) * terms.sum(axis=-1)

    def exact_share(self, mean: npt.ArrayLike) -> Array:
        """Exact mean product divided by that of the rounded weights, which is given."""
        return np.interp(np.abs(mean), *self._shares)

    @computed_once
    def _shares(self) -> tuple[Array, Array]:
        """Mean products of rounded weights, and the shares of the exact ones in them."""
        rounded = self.mean_product(_GRID)
        return rounded, np.append(1.0, _GRID[1:] / rounded[1:])

    @property
    def variance_factor(self) -> float:
        """Factor of the variance of an estimate by rounding: at most, to within 0.001."""
        return (1 + self.excess) ** 2


@cache
def rounded_normal(bits: int) -> WeightRounding:
    """Rounding of normal weights: intervals near the best for their number, 1/3 and 1/32 long.

    >>> rounding = rounded_normal(4)
    >>> round(rounding.unit, 4), round(rounding.excess, 4)
    (0.1687, 0.0117)
    """
    from scipy.special import ndtr  # on use: few jobs round weights, and the import is long

    per_unit = {4: 3.0, 8: 32.0}[bits]
    edges = _edges(bits, per_unit)
    density = np.exp(-np.square(edges) / 2) / np.sqrt(2 * np.pi)
    # E[q He_m] = sum over the edges of 2 density He_(m - 1), by parts; divided by sqrt(m!)
    before, now, means = np.zeros_like(edges), np.ones_like(edges), []
    for m in range(1, 2 * _TERMS):
        if m % 2:
            means.append(2 * np.sum(density * now) / np.sqrt(m))
        before, now = now, (edges * now - np.sqrt(m - 1) * before) / np.sqrt(m)
    return _rounding(per_unit, np.diff(ndtr(edges), prepend=0, append=1), means, power=1)


@cache
def rounded_cosine(bits: int) -> WeightRounding:
    """Rounding of sqrt(2) cosines of uniform angles: equal intervals from -64/45 to 64/45."""
    per_unit = {4: 5.625, 8: 90.0}[bits]
    angles = np.arccos(_edges(bits, per_unit) / np.sqrt(2))
    means = [2 * np.sqrt(2) * np.sum(np.sin(m * angles)) / (np.pi * m) for m in _odd()]
    shares = np.diff(1 - angles / np.pi, prepend=0, append=1)
    return _rounding(per_unit, shares, means, power=2)


def _odd() -> Array:
    return np.arange(1.0, 2 * _TERMS, 2)


def _edges(bits: int, per_unit: float) -> Array:
    """Where one level ends and the next begins."""
    half = 1 << bits - 1
    return np.arange(1.0 - half, half) / per_unit


def _rounding(per_unit: float, shares: Array, means: list[float], power: int) -> WeightRounding:
    """From the probability of each level, and the odd coefficients of the expansion of 2 n + 1."""
    unit = float(1 / means[0])
    levels = unit * np.arange(1.0 - len(shares), len(shares), 2)
    square = float(np.sum(shares * np.square(levels)))
    coefficients = np.square(unit * np.array(means))
    coefficients[-1] += square - coefficients.sum()
    return WeightRounding(per_unit, unit, square - 1, _odd() ** power, coefficients)
