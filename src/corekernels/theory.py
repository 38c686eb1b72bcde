"""Formulas of the CoRE kernels, for pairs of rows described by a few numbers.

========  ==================================================================
symbol    meaning
========  ==================================================================
f1, f2    number of nonzeros of the two rows
a         number of columns where both are nonzero
rho       cosine of the two rows (not centred)
R         resemblance of their supports, a / (f1 + f2 - a)
========  ==================================================================

Pure formulas: arguments may be numbers or arrays that broadcast.
"""

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
