"""Chance collisions: how often different locations have the same lowest b bits.

Pr{codes equal} is all but a line in R (`aliasing`). Where columns may share a location, codes
collide more often (`aliasing_with_ties`).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from .._core.arguments import Array

# where collision probabilities are summed exactly: their limit is as good elsewhere
_EXACT_LOCATIONS = 4096
_EXACT_ALWAYS = 256
_EXACT_LENGTH = 16
_LOCATIONS = 1 << 16  # that columns may share


class Aliasing(NamedTuple):
    """How often different locations have the same lowest b bits: never, if nothing is said.

    Given that the minimum of the first row comes first, codes are equal with
    probability `first`; given that the second's does, with probability `second`.

    Examples
    --------
    >>> from corekernels import theory
    >>> chance = theory.aliasing(100, 100, 2**32, b=4)
    >>> round(float(chance.C1), 4), round(float(chance.collision_probability(1.0)), 4)
    (0.0625, 1.0)
    """

    C1: Any = 0.0
    C2: Any = 0.0
    first: Any = 0.0
    second: Any = 0.0

    def collision_probability(self, R: Any) -> Any:
        """Pr{codes equal} = C1 + (1 - C2) R.

        >>> round(aliasing(100, 100, 2**32, 1).collision_probability(0.5), 4)
        np.float64(0.75)
        """
        return self.C1 + (1 - self.C2) * R


def aliasing(f1: Any, f2: Any, n_locations: int, b: int | None) -> Aliasing:
    """The constants of Pr{codes equal} = C1 + (1 - C2) R, for rows of f1 and f2 nonzeros.

    After one row's minimum the other's follows at a distance t; codes are equal if 2^b
    divides t. For many locations n, t is geometric, and

        A(r) = r (1 - r)^(2^b - 1) / (1 - (1 - r)^(2^b)),  r1 = f1 / n, r2 = f2 / n,
        C1 = (A(r1) r2 + A(r2) r1) / (r1 + r2),  C2 = (A(r1) r1 + A(r2) r2) / (r1 + r2).

    For few, that is off by the order of 1 / n, or worse for short rows. So Pr{codes equal}
    is computed at the smallest and at the largest overlap the rows can have, exactly where
    it matters and else with A at the density behind the first minimum; C1 and C2 are those
    of the line between. An estimated R is thereby off by less than 0.02 at n = 8, 0.002 at
    n = 64 and 0.0001 at n = 784, and by nothing where codes keep all bits of a location.

    >>> aliasing(1, 1, 784, 1).C1.round(5)      # (784 / 2 - 1) / 783
    np.float64(0.49936)
    >>> aliasing(100, 200, 2**32, 4).C1.round(5)      # 2 ** -4: sparse rows
    np.float64(0.0625)
    """
    if b is None:
        return Aliasing()
    f1, f2 = np.asarray(f1, float), np.asarray(f2, float)
    shape = np.broadcast_shapes(f1.shape, f2.shape)
    (lengths1, i), (lengths2, j) = (np.unique(f, return_inverse=True) for f in (f1, f2))
    if lengths1.size * lengths2.size < math.prod(shape):  # once for each pair of lengths
        pairs = i.reshape(f1.shape), j.reshape(f2.shape)
        return Aliasing(*(c[pairs] for c in aliasing(lengths1[:, None], lengths2, n_locations, b)))
    f1, f2 = (f.ravel() for f in np.broadcast_arrays(f1, f2))

    def at(a: Array) -> tuple[Array, Array, Array, Array]:
        """R, Pr{codes equal} and its two parts by chance, for an overlap of a columns."""
        union = np.maximum(f1 + f2 - a, 1)
        first = _joint_aliases(f1 - a, f2, union, n_locations, b)
        second = _joint_aliases(f2 - a, f1, union, n_locations, b)
        return a / union, a / union + first + second, first * union, second * union

    least, most = np.maximum(0, f1 + f2 - n_locations), np.minimum(f1, f2)
    R_least, p_least, first, second = at(least)
    R_most, p_most, _, _ = at(most)
    span = np.where(R_most > R_least, R_most - R_least, 1.0)
    slope = np.where(R_most > R_least, (p_most - p_least) / span, 1.0)
    parts = (
        p_least - slope * R_least,
        1 - slope,
        first / np.maximum(f1 - least, 1),
        second / np.maximum(f2 - least, 1),
    )
    return Aliasing(*(part.reshape(shape)[()] for part in parts))


def _joint_aliases(alone: Array, f: Array, union: Array, n: int, b: int) -> Array:
    """Pr{codes equal, the minimum of the row with `alone` columns of its own comes first}."""
    before = (n - union) / (union + 1)  # places before the first minimum, on average
    density = f / np.maximum(n - 1 - before, f)
    out = alone / union * _geometric_alias(density, b)
    exact = (n <= _EXACT_LOCATIONS) & ((n <= _EXACT_ALWAYS) | (f < _EXACT_LENGTH))
    if np.any(exact):
        out[exact] = _exact_alias(alone[exact], f[exact], n, b)
    return out


def _geometric_alias(r: Array, b: int) -> Array:
    """A(r): the chance that 2^b divides a geometric distance; 2^-b in the limit r = 0."""
    step = float(2**b)
    with np.errstate(divide="ignore", invalid="ignore"):
        survive = np.log1p(-r)
        value = r * np.exp((step - 1) * survive) / -np.expm1(step * survive)
    return np.where(r < 1e-300, 1 / step, np.where(r >= 1.0, 0.0, value))


def _exact_alias(alone: Array, f: Array, n: int, b: int) -> Array:
    """Pr{x < y and 2^b divides y - x}: x the first of `alone` others, y the first of f.

    y is the first of f among n places; the others are spread over the n - f places left
    by the f, and those before y keep their order: x is the first of `alone` among n - f.
    """
    alone, f = alone.astype(int), f.astype(int)
    out = np.zeros(len(f))
    for length in np.unique(f):
        rows = f == length
        if length == 0 or length == n:
            continue
        counts, back = np.unique(alone[rows], return_inverse=True)
        y = _first_place(np.array([length]), n, n)[0]
        x = _first_place(counts, n - length, n)
        padded = np.zeros((len(counts), -(-n // 2**b) * 2**b))
        padded[:, :n] = x
        tiers = padded.reshape(len(counts), -1, 2**b)
        before = (np.cumsum(tiers, axis=1) - tiers).reshape(len(counts), -1)[:, :n]
        out[rows] = (before @ y)[back]
    return out


def _first_place(counts: Array, places: int, width: int) -> Array:
    """Row i: distribution of the lowest of counts[i] distinct places out of `places`."""
    x = np.arange(places)
    ratio = np.ones((len(counts), places))
    ratio[:, 1:] = np.maximum(places - counts[:, None] - x[:-1], 0) / (places - 1 - x[:-1])
    out = np.zeros((len(counts), width))
    out[:, :places] = counts[:, None] / places * np.cumprod(ratio, axis=1)
    return out


def aliasing_with_ties(f1: Any, f2: Any, b: int | None, ranked: float) -> Aliasing:
    """The constants of Pr{codes equal} = C1 + (1 - C2) R, for locations that columns may share.

    A column has a rank in a slot with probability `ranked`, and such columns come first. Each
    has one of n = 2^16 locations at random, so that no column of m has one below x with
    probability s^(m x), s = exp(-1 / n). The first column of both rows together, in the order of
    ranks and then of locations, is one of both rows with probability R: their codes are equal.
    Otherwise they are equal by chance:

    - if some column has a rank, with probability 1 - (1 - ranked)^U, codes are random: 2^-b;
    - if none has, and both rows have their first columns at one location, with a probability of
      T = [1 - s^a + s^a (1 - s^n1) (1 - s^n2)] / (1 - s^U) - R, with n1 and n2 columns that one
      row alone has;
    - or at two locations whose distance 2^b divides, the second at a geometric distance.

    That is computed without overlap and with the largest; C1 and C2 are those of the line
    between. The true curve lies above it, by 0.0002 at most.

    >>> aliasing_with_ties(100, 100, 8, 1 / 512).C1.round(4)  # about 2^-8
    np.float64(0.0039)
    >>> aliasing_with_ties(100, 100, None, 1 / 512).C1.round(4)
    np.float64(0.0005)
    """
    f1, f2 = np.broadcast_arrays(np.asarray(f1, float), np.asarray(f2, float))
    most = np.minimum(f1, f2)
    first, second = _by_chance(f1, f2, np.zeros_like(f1), b, ranked)
    C1 = first + second
    R = most / np.maximum(f1, f2)
    p = R + np.add(*_by_chance(f1, f2, most, b, ranked))
    slope = (p - C1) / R
    union = f1 + f2
    parts = C1, 1 - slope, first * union / f1, second * union / f2
    return Aliasing(*(part[()] for part in parts))


def _by_chance(f1: Array, f2: Array, a: Array, b: int | None, ranked: float) -> tuple[Array, Array]:
    """Pr{codes equal, the first column is the first row's alone}, and the second row's."""
    n1, n2 = f1 - a, f2 - a
    union = n1 + n2 + a
    steps = float(_LOCATIONS if b is None else 2**b)
    R, none_ranked = a / union, np.exp(union * np.log1p(-ranked))
    tie = (_any(a) + (1 - _any(a)) * _any(n1) * _any(n2)) / _any(union) - R
    alone = np.maximum(n1 + n2, 1)
    parts = []
    for own, other in ((n1, f2), (n2, f1)):
        apart = _any(own) / _any(union) * _geometric(other, steps)
        at_random = own / union / steps
        parts.append(at_random + none_ranked * (tie * own / alone + apart - at_random))
    return parts[0], parts[1]


def _any(m: Array) -> Array:
    """Probability that one of m columns has a given location."""
    return -np.expm1(-m / _LOCATIONS)


def _geometric(m: Array, steps: float) -> Array:
    """Probability that the first of m columns comes a multiple of `steps` locations later."""
    return _any(m) * np.exp(-m * steps / _LOCATIONS) / _any(m * steps)
