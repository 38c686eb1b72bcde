"""The kernels from the numbers that describe a pair of rows."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Pair:
    """The numbers that describe two rows u and v; arrays describe many pairs.

    Attributes
    ----------
    rho : cosine of the rows
    f1, f2 : number of nonzeros of u and of v
    a : number of columns where both are nonzero
    shared_squares : sum of u_i^2 v_i^2 over the columns, for rows of unit length
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
        return cls(
            u @ v,
            np.count_nonzero(u),
            np.count_nonzero(v),
            np.count_nonzero(u * v),
            np.sum(np.square(u * v)),
        )

    @property
    def union(self) -> Any:
        """Number of columns where either row is nonzero."""
        return np.add(self.f1, self.f2) - self.a

    @property
    def R(self) -> Any:
        """Resemblance of the supports."""
        return resemblance(self.f1, self.f2, self.a)


def resemblance(f1: Any, f2: Any, a: Any) -> Any:
    """R = a / (f1 + f2 - a).

    >>> resemblance(3, 2, 1)
    np.float64(0.25)
    """
    return a / (np.add(f1, f2) - a)


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
    return rho * np.sqrt(np.multiply(f1, f2, dtype=float)) / (np.add(f1, f2) - a)


def binary_correlation(f1: Any, f2: Any, a: Any) -> Any:
    """The cosine of binary rows, a / sqrt(f1 f2); with it core2 equals resemblance.

    >>> binary_correlation(2, 8, 1).round(4)
    np.float64(0.25)
    """
    return a / np.sqrt(np.multiply(f1, f2, dtype=float))
