"""Weights rounded to a few levels: what that does to the products that estimates are made of.

A weight w becomes the number n = floor(s w) of an interval of length 1 / s, at least -N / 2 and
less than N / 2 for N = 2^bits levels, and stands for q(w) = (2 n + 1) delta. Both laws of weights
have an expansion in orthogonal functions, and E[q(w) q(w')] is a sum over its odd terms:

    normal weights of correlation rho:    rho + a3 rho^3 + a5 rho^5 + ...  (Hermite polynomials)
    cosines whose mean product is G:      G + a3 G^9 + a5 G^25 + ...       (cosines of m theta)

The unit delta is chosen so that the first coefficient is 1, and none is negative. They add up to
E[q^2] = 1 + excess, so a mean product x becomes at most x + excess |x|^3, and the share of the
exact one in it follows from the mean product over all slots, which signatures show.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from .._core.forks import computed_once

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

    Examples
    --------
    >>> from corekernels import theory
    >>> rounding = theory.rounded_normal(4)
    >>> round(rounding.unit, 4), round(rounding.excess, 4)
    (0.1687, 0.0117)
    """

    per_unit: float
    unit: float
    excess: float
    exponents: Array
    coefficients: Array

    def mean_product(self, exact: npt.ArrayLike) -> Array:
        """Mean product of two rounded weights, from that of the exact ones.

        >>> from corekernels import theory
        >>> theory.rounded_normal(4).mean_product([0.5, 1.0]).round(4)
        array([0.5002, 1.0117])
        """
        x = np.asarray(exact, float)
        terms = self.coefficients * np.abs(x)[..., None] ** self.exponents
        total: Array = np.sign(x) * terms.sum(axis=-1)
        return total

    def exact_share(self, mean: npt.ArrayLike) -> Array:
        """The exact mean product over that of the rounded weights, from the latter.

        >>> from corekernels import theory
        >>> theory.rounded_normal(4).exact_share([0.0, 1.0117]).round(4)
        array([1.    , 0.9885])
        """
        share: Array = np.interp(np.abs(mean), *self._shares)
        return share

    @computed_once
    def _shares(self) -> tuple[Array, Array]:
        """Mean products of rounded weights, and the shares of the exact ones in them."""
        found = self.mean_product(_GRID)
        return found, np.append(1.0, _GRID[1:] / found[1:])

    @property
    def variance_factor(self) -> float:
        """By how much the variance of an estimate grows: at most, to within 0.001."""
        return (1 + self.excess) ** 2


@cache
def rounded_normal(bits: int) -> WeightRounding:
    """Rounding of normal weights: intervals near the best for their number, 1/3 and 1/32 long.

    >>> from corekernels import theory
    >>> theory.rounded_normal(8).per_unit
    32.0
    """
    per_unit = {4: 3.0, 8: 32.0}[bits]
    edges = _edges(bits, per_unit)
    density = np.exp(-np.square(edges) / 2) / np.sqrt(2 * np.pi)
    # E[q He_m] = sum over the edges of 2 density He_(m - 1), by parts; divided by sqrt(m!)
    before, now, found = np.zeros_like(edges), np.ones_like(edges), []
    for m in range(1, 2 * _TERMS):
        if m % 2:
            found.append(2 * np.sum(density * now) / np.sqrt(m))
        before, now = now, (edges * now - np.sqrt(m - 1) * before) / np.sqrt(m)
    return _rounding(per_unit, np.diff(ndtr(edges), prepend=0, append=1), found, power=1)


@cache
def rounded_cosine(bits: int) -> WeightRounding:
    """Rounding of sqrt(2) cosines of uniform angles: equal intervals from -64/45 to 64/45.

    >>> from corekernels import theory
    >>> theory.rounded_cosine(4).per_unit
    5.625
    """
    per_unit = {4: 5.625, 8: 90.0}[bits]
    angles = np.arccos(_edges(bits, per_unit) / np.sqrt(2))
    found = [2 * np.sqrt(2) * np.sum(np.sin(m * angles)) / (np.pi * m) for m in _odd()]
    shares = np.diff(1 - angles / np.pi, prepend=0, append=1)
    return _rounding(per_unit, shares, found, power=2)


def _odd() -> Array:
    return np.arange(1.0, 2 * _TERMS, 2)


def _edges(bits: int, per_unit: float) -> Array:
    """Where one level ends and the next begins."""
    half = 1 << bits - 1
    return np.arange(1.0 - half, half) / per_unit


def _rounding(per_unit: float, shares: Array, found: list[float], power: int) -> WeightRounding:
    """From the probability of each level, and the expansion of 2 n + 1."""
    unit = float(1 / found[0])
    levels = unit * np.arange(1.0 - len(shares), len(shares), 2)
    square = float(np.sum(shares * np.square(levels)))
    coefficients = np.square(unit * np.array(found))
    coefficients[-1] += square - coefficients.sum()
    return WeightRounding(per_unit, unit, square - 1, _odd() ** power, coefficients)
