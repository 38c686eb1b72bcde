"""Hash tables keyed by signatures: how often near rows meet, and how many tables that takes."""

import math
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
    R = np.asarray(R, float)
    if rho is None:
        return R[()]
    return R * sign_collision(rho)


def sign_collision(K: Any) -> Any:
    """Probability 1 - arccos(K) / pi that projections of two unit rows have the same sign.

    With K the cosine of two hashed, expanded rows (an estimate of the kernel, once the rows
    have unit length) this is the paper's other family: bits from random projections of the
    hashed rows.

    >>> float(sign_collision(1.0)), float(sign_collision(0.0))
    (1.0, 0.5)
    """
    return 1 - np.arccos(np.clip(K, -1.0, 1.0)) / np.pi


def table_recall(p: Any, m: int, T: int) -> Any:
    """Probability 1 - (1 - p^m)^T that rows meet in one of T tables of m slots.

    >>> round(float(table_recall(0.8, 6, 16)), 3)
    0.992
    """
    return 1 - (1 - np.power(p, float(m))) ** T


def miss_rate(p: Any, m: int, T: int) -> float:
    """Expected share of pairs, of slot collision probabilities p, that no table finds.

    >>> round(miss_rate([0.8, 0.9], 6, 16), 4)
    0.0039
    """
    return float(np.mean((1 - np.power(np.asarray(p, float), float(m))) ** T))


def tables_needed(p: float, m: int, recall: float) -> int:
    """The fewest tables of m slots that find a pair with probability `recall`.

    >>> tables_needed(0.8, 6, 0.95)
    10
    """
    _require_recall(recall)
    chance = float(p) ** m
    if chance >= 1:
        return 1
    if chance <= 0:
        raise ParameterError(f"p: got {p!r}; rows that never agree are never found.")
    return max(1, math.ceil(math.log1p(-recall) / math.log1p(-chance)))


def slots_allowed(p: Any, T: int, recall: float) -> int:
    """The most slots a key may have so that T tables find a share `recall` of the pairs.

    p may hold the probabilities of many pairs; 0 if even one slot is too many. More slots
    mean fewer rows of no interest in a bucket.

    >>> slots_allowed(0.8, 64, 0.95)
    13
    """
    _require_recall(recall)
    m = 0
    while m < _MOST_SLOTS and 1 - miss_rate(p, m + 1, T) >= recall:
        m += 1
    return m


def _require_recall(recall: float) -> None:
    if not 0 < recall < 1:
        raise ParameterError(f"recall: got {recall!r}; give a number between 0 and 1.")
