"""Chance collisions where columns may share a location: wide rows, whose columns fall into bins."""

from typing import Any

import numpy as np

from .._core.types import Array
from .aliasing import Aliasing

LOCATIONS = 1 << 16


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
    steps = float(LOCATIONS if b is None else 2**b)
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
    return -np.expm1(-m / LOCATIONS)


def _geometric(m: Array, steps: float) -> Array:
    """Probability that the first of m columns comes a multiple of `steps` locations later."""
    return _any(m) * np.exp(-m * steps / LOCATIONS) / _any(m * steps)
