"""The estimators as linear forms in what two signatures hold, unbiased at every number of bits.

Every estimator is the mean over the slots of

    Z = 1{codes equal} (both w1 w2 + first w1 + second w2 + flat) + every w1 w2 + constant

where w1 and w2 are the slot's weights in the two rows, and the coefficients depend on the two
rows' lengths and sums alone. With whole locations these are the paper's estimators. With b
bits, codes also collide by chance, and the other terms take out, on average, exactly what that
adds.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .aliasing import Aliasing


@dataclass(frozen=True)
class LinearForm:
    """The coefficients of Z above; a coefficient of None stands for a term that is not there.

    Examples
    --------
    >>> from corekernels import theory
    >>> theory.LinearForm(both=1.0)  # of CoRE 1 and CoRE 2 with whole locations
    LinearForm(both=1.0, first=None, second=None, flat=None, every=None, constant=None)
    """

    both: Any = None
    first: Any = None
    second: Any = None
    flat: Any = None
    every: Any = None
    constant: Any = None


@dataclass(frozen=True)
class RowNumbers:
    """What a signature keeps of its row beside the slots: length and, for some kernels, sum.

    `length` counts the nonzeros; `sum` is the sum of the values of the unit row.

    Examples
    --------
    >>> from corekernels import theory
    >>> theory.RowNumbers(length=12, sum=2.5).length
    12
    """

    length: Any
    sum: Any = None


def resemblance_form(u: RowNumbers, v: RowNumbers, chance: Aliasing | None) -> LinearForm:
    """(p - C1) / (1 - C2), where p is the share of equal codes."""
    if chance is None:
        return LinearForm(flat=1.0)
    unit = 1 / (1 - chance.C2)
    return LinearForm(flat=unit, constant=-chance.C1 * unit)


def projection_form(u: RowNumbers, v: RowNumbers, chance: Aliasing | None) -> LinearForm:
    """(mean of w1 w2 over colliding slots, less C1 times its mean over all) / (1 - C2).

    Weights made of projections are independent of the codes, so chance collisions add C1 times
    the mean of all products, and take C2 of the kernel value.
    """
    if chance is None:
        return LinearForm(both=1.0)
    unit = 1 / (1 - chance.C2)
    return LinearForm(both=unit, every=-chance.C1 * unit)


def core2_form(u: RowNumbers, v: RowNumbers, chance: Aliasing | None) -> LinearForm:
    """The mean of w1 w2 over colliding slots, less what collisions by chance add to it.

    Where the minimum of row 1 comes first, its value is a random one of the columns only row 1
    has, and the other's a random one of row 2. The mean value over columns that only one row
    has follows from that row's values in colliding slots and its whole sum.
    """
    if chance is None:
        return LinearForm(both=1.0)
    f1, f2 = u.length, v.length
    s1, s2 = np.asarray(u.sum, np.float64), np.asarray(v.sum, np.float64)
    e1, e2 = chance.first, chance.second
    unit = 1 / (1 - chance.C2)
    root = np.sqrt(np.multiply(f1, f2, dtype=np.float64))
    c1 = root * e1 * s2 / (f2 * (1 - e1))
    c2 = root * e2 * s1 / (f1 * (1 - e2))
    # 1 / union = (1 + R) / (f1 + f2) = base + slope p
    slope = unit / (f1 + f2)
    base = (1 - chance.C1 * unit) / (f1 + f2)
    return LinearForm(
        both=1.0,
        first=c1 / np.sqrt(f1),
        second=c2 / np.sqrt(f2),
        flat=-slope * (c1 * s1 * (1 - e2) + c2 * s2 * (1 - e1)),
        constant=-c1 * s1 * (base * (1 - e2) + e2 / f1) - c2 * s2 * (base * (1 - e1) + e1 / f2),
    )
