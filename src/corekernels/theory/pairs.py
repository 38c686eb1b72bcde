"""The numbers that describe a pair of rows, and the variances of its estimates.

`chance` says how often codes of few bits collide by chance (`aliasing`); `change` is the relative
change of the variance by slots that depend on each other (`dependence`). Chance collisions of two
slots are independent.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import ParameterError
from .aliasing import Aliasing

WHOLE = Aliasing()  # locations, which never collide by chance
_MOST_SLOTS = 64


def slot_collision(R: Any, rho: Any = None) -> Any:
    """Probability that two rows agree in one slot of a key.

    R for minwise locations alone; R (1 - arccos(rho) / pi) for a location and the sign of
    the projection beside it, which are independent.

    >>> float(slot_collision(0.5)), round(float(slot_collision(0.5, 0.0)), 4)
    (0.5, 0.25)
    """
    return np.multiply(R, 1.0 if rho is None else sign_collision(rho))


def sign_collision(K: Any) -> Any:
    """Probability 1 - arccos(K) / pi that projections of two unit rows have the same sign.

    With K the cosine of two hashed, expanded rows (an estimate of the kernel, once the rows
    have unit length) this is the paper's other family: bits from random projections of the
    hashed rows.

    >>> float(sign_collision(1.0)), float(sign_collision(0.0))
    (1.0, 0.5)
    """
    return 1 - np.arccos(np.clip(K, -1.0, 1.0)) / np.pi


def miss_rate(p: Any, m: int, T: int) -> float:
    """Expected share of pairs, of slot collision probabilities p, that T tables of m slots miss.

    A pair is in one bucket of at least one table with probability 1 - (1 - p^m)^T.

    >>> round(miss_rate([0.8, 0.9], 6, 16), 4)
    0.0039
    """
    return float(np.mean((1 - np.power(np.asarray(p, float), float(m))) ** T))


def slots_allowed(p: Any, T: int, recall: float) -> int:
    """The most slots a key may have so that T tables find a share `recall` of the pairs.

    p may hold the probabilities of many pairs; 0 if even one slot is too many. More slots
    mean fewer rows of no interest in a bucket.

    >>> slots_allowed(0.8, 64, 0.95)
    13
    """
    if not 0 < recall < 1:
        raise ParameterError(f"recall: got {recall!r}; give a number between 0 and 1.")
    m = 0
    while m < _MOST_SLOTS and 1 - miss_rate(p, m + 1, T) >= recall:
        m += 1
    return m


@dataclass(frozen=True)
class Pair:
    """The numbers that describe two rows u and v; arrays describe many pairs.

    Attributes
    ----------
    rho : cosine of the rows
    f1, f2 : number of nonzeros of u and of v
    a : number of columns where both are nonzero
    shared_squares : sum of u_i^2 v_i^2 over the columns, for rows of unit length

    Examples
    --------
    >>> from corekernels import theory
    >>> pair = theory.Pair.of([3.0, 4.0, 0.0], [0.0, 1.0, 0.0])
    >>> float(pair.rho), float(pair.R), int(pair.union)
    (0.8, 0.5, 2)
    """

    rho: Any
    f1: Any
    f2: Any
    a: Any
    shared_squares: Any = 0.0

    @classmethod
    def of(cls, u: Any, v: Any) -> "Pair":
        """The numbers of two dense rows.

        >>> Pair.of([3.0, 4.0, 0.0], [0.0, 1.0, 0.0]).R
        np.float64(0.5)
        """
        u, v = (np.asarray(row, float) / np.linalg.norm(row) for row in (u, v))
        f1, f2, a = map(np.count_nonzero, (u, v, u * v))
        return cls(u @ v, f1, f2, a, np.sum(np.square(u * v)))

    @property
    def union(self) -> Any:
        """Number of columns where either row is nonzero."""
        return np.add(self.f1, self.f2) - self.a

    @property
    def R(self) -> Any:
        """Resemblance of the supports."""
        return self.a / self.union


def variance_resemblance(pair: Pair, k: int, *, chance: Aliasing = WHOLE, change: Any = 0.0) -> Any:
    """Var of the estimated resemblance: p (1 - p) / (k (1 - C2)^2), p = C1 + (1 - C2) R.

    Dependent slots add a share `change` of R (1 - R) / k.

    >>> float(variance_resemblance(Pair(rho=1.0, f1=3, f2=3, a=2), 100))
    0.0025
    """
    p = chance.collision_probability(pair.R)
    slot = p * (1 - p) / (1 - chance.C2) ** 2
    return (slot + change * pair.R * (1 - pair.R)) / k


def variance_core1(pair: Pair, k: int, *, chance: Aliasing = WHOLE, change: Any = 0.0) -> Any:
    """Var of the estimated K1: [m (p (1 - 2 C1) + C1^2) / (1 - C2)^2 - rho^2 R^2] / k.

    m = E[P(u)^2 P(v)^2] is 1 + 2 rho^2; p = C1 + (1 - C2) R. With whole locations this is the
    paper's [(1 + 2 rho^2) R - rho^2 R^2] / k. Projections of different slots are independent:
    dependent slots add a share `change` of rho^2 R (1 - R) / k.

    >>> round(float(variance_core1(Pair(rho=0.5, f1=3, f2=3, a=2), 100)), 6)
    0.006875
    """
    moment = 1 + 2 * np.square(pair.rho)
    return _variance_of_products(pair, k, pair.rho, moment, chance, change)


def variance_core_rbf(
    pair: Pair, k: int, *, gamma: float, chance: Aliasing = WHOLE, change: Any = 0.0
) -> Any:
    """Var of the estimated R exp(-gamma (1 - rho)): as of K1, for other products of weights.

    Their mean is G = exp(-gamma (1 - rho)) and their second moment 1 + G^4 / 2; with whole
    locations the variance is [(1 + G^4 / 2) R - G^2 R^2] / k. `docs/core-rbf.md` derives it.

    >>> float(variance_core_rbf(Pair(1.0, 3, 3, 3), 100, gamma=2.0))  # one row with itself
    0.005
    """
    exponent = gamma * (1 - np.asarray(pair.rho, float))
    mean = np.exp(-exponent)
    return _variance_of_products(pair, k, mean, 1 + mean**4 / 2, chance, change)


def _variance_of_products(
    pair: Pair, k: int, mean: Any, moment: Any, chance: Aliasing, change: Any
) -> Any:
    """Variance of `projection_form`, from the mean and second moment of a product of weights."""
    C1, p = chance.C1, chance.collision_probability(pair.R)
    second = moment * (p * (1 - 2 * C1) + np.square(C1)) / np.square(1 - chance.C2)
    locations = change * pair.R * (1 - pair.R) - np.square(pair.R)
    return (second + np.square(mean) * locations) / k


def variance_core2(pair: Pair, k: int, *, chance: Aliasing = WHOLE, change: Any = 0.0) -> Any:
    """Var of the estimated K2: f1 f2 / U [shared_squares - rho^2 / U] / k, U = f1 + f2 - a.

    With b bits, slots that collide by chance add their second moment, which is 1 per
    slot: (C1 - C2 R) / k, up to terms of the order of its square. Dependent slots change the
    rest by a share `change`.

    >>> float(variance_core2(Pair(1.0, 4, 4, 4, 0.25), 100))  # one binary row with itself
    0.0
    """
    excess = pair.shared_squares - np.square(pair.rho) / pair.union
    whole = pair.f1 * pair.f2 / pair.union * excess
    return (whole * (1 + change) + chance.C1 - chance.C2 * pair.R) / k
