"""Hash tables keyed by signatures: how often rows collide, and how many slots a key may have."""

from typing import Any

import numpy as np

from ..errors import ParameterError

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
