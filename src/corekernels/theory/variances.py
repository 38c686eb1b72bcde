"""Variances of the estimators, for independent hashes."""

from typing import Any

import numpy as np


def variance_resemblance(R: Any, k: int, *, C1: Any = 0.0, C2: Any = 0.0) -> Any:
    """Var of the estimated resemblance: p (1 - p) / (k (1 - C2)^2), p = C1 + (1 - C2) R.

    >>> variance_resemblance(0.5, 100)
    0.0025
    """
    p = C1 + (1 - C2) * R
    return p * (1 - p) / (k * (1 - C2) ** 2)


def variance_core1(
    rho: Any, R: Any, k: int, *, projection: str = "gaussian", shared_squares: Any = 0.0,
    C1: Any = 0.0, C2: Any = 0.0,
) -> Any:  # fmt: skip
    """Var of the estimated K1: [m (p (1 - 2 C1) + C1^2) / (1 - C2)^2 - rho^2 R^2] / k.

    m = E[P(u)^2 P(v)^2] is 1 + 2 rho^2 for Gaussian projections and smaller by
    2 shared_squares for +-1; p = C1 + (1 - C2) R. With whole locations this is the
    paper's [(1 + 2 rho^2) R - rho^2 R^2] / k.

    >>> round(float(variance_core1(0.5, 0.5, 100)), 6)
    0.006875
    """
    moment = 1 + 2 * np.square(rho) - (2 * shared_squares if projection == "rademacher" else 0)
    p = C1 + (1 - C2) * R
    second = moment * (p * (1 - 2 * C1) + np.square(C1)) / np.square(1 - C2)
    return (second - np.square(rho) * np.square(R)) / k


def variance_core2(
    rho: Any, f1: Any, f2: Any, a: Any, shared_squares: Any, k: int, *,
    C1: Any = 0.0, C2: Any = 0.0,
) -> Any:  # fmt: skip
    """Var of the estimated K2: f1 f2 / U [shared_squares - rho^2 / U] / k, U = f1 + f2 - a.

    With b bits, slots that collide by chance add their second moment, which is 1 a
    slot: (C1 - C2 R) / k, up to terms of the order of its square.

    >>> float(variance_core2(1.0, 4, 4, 4, 0.25, 100))  # one binary row with itself
    0.0
    """
    union = f1 + f2 - a
    R = a / union
    whole = f1 * f2 / union * (shared_squares - np.square(rho) / union)
    return (whole + C1 - C2 * R) / k
