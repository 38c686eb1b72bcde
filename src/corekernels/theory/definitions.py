"""The kernels from the numbers that describe a pair of rows."""

from typing import Any

import numpy as np


def resemblance(f1: Any, f2: Any, a: Any) -> Any:
    """R = a / (f1 + f2 - a).

    >>> resemblance(3, 2, 1)
    0.25
    """
    return a / (f1 + f2 - a)


def core1(rho: Any, R: Any) -> Any:
    """K1 = rho R.

    >>> core1(0.5, 0.25)
    0.125
    """
    return rho * R


def core2(rho: Any, f1: Any, f2: Any, a: Any) -> Any:
    """K2 = rho sqrt(f1 f2) / (f1 + f2 - a).

    >>> core2(0.5, 2, 8, 1).round(4)
    np.float64(0.2222)
    """
    return rho * np.sqrt(np.multiply(f1, f2, dtype=float)) / (f1 + f2 - a)


def binary_correlation(f1: Any, f2: Any, a: Any) -> Any:
    """The cosine of binary rows, a / sqrt(f1 f2); with it core2 equals resemblance.

    >>> binary_correlation(2, 8, 1).round(4)
    np.float64(0.25)
    """
    return a / np.sqrt(np.multiply(f1, f2, dtype=float))
