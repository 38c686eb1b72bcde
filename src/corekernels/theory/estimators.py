"""The estimators as linear forms in what two signatures hold, unbiased at every number of bits.

Every estimator is the mean over the slots of

    Z = 1{codes equal} (both w1 w2 + first w1 + second w2 + flat) + every w1 w2 + constant

where w1 and w2 are the slot's weights in the two rows, and the coefficients depend on the two
rows' lengths and sums alone. With whole locations these are the paper's estimators. With b
bits, codes also collide by chance, and the other terms take out, on average, exactly what that
adds.

The standard error of an estimate is the theoretical one (`theory.pairs`) of the pair of rows that
the slots show. For resemblance and CoRE 1 it depends on numbers that all slots show, not on how the
few slots that collide happen to scatter.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .aliasing import Aliasing
from .pairs import Pair


@dataclass(frozen=True)
class LinearForm:
    """The coefficients of Z above; a coefficient of None stands for a term that is not there."""

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
    """

    length: Any
    sum: Any = None


def resemblance_form(u: RowNumbers, v: RowNumbers, chance: Aliasing) -> LinearForm:
    """(p - C1) / (1 - C2), where p is the share of equal codes."""
    unit = 1 / (1 - chance.C2)
    return LinearForm(flat=unit, constant=-chance.C1 * unit)


def projection_form(u: RowNumbers, v: RowNumbers, chance: Aliasing) -> LinearForm:
    """(mean of w1 w2 over colliding slots, less C1 times its mean over all) / (1 - C2).

    Weights made of projections are independent of the codes, so chance collisions add C1 times
    the mean of all products, and take C2 of the kernel value.
    """
    unit = 1 / (1 - chance.C2)
    return LinearForm(both=unit, every=-chance.C1 * unit)


def core2_form(u: RowNumbers, v: RowNumbers, chance: Aliasing) -> LinearForm:
    """The mean of w1 w2 over colliding slots, less what collisions by chance add to it.

    Where the minimum of row 1 comes first, its value is a random one of the columns only row 1
    has, and the other's a random one of row 2. The mean value over columns that only one row
    has follows from that row's values in colliding slots and its whole sum.
    """
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


# Slots added to those that collide, and as many to the others: otherwise the error would be 0
# where no slot collides, or all do (Agresti & Coull 1998)
_ADDED = 2.0
# variance of the relative rounding error of a product of two halves: 2 (2^-11)^2 / 3
ROUNDING = 2 * 2.0**-22 / 3


class RowValues(NamedTuple):
    """What the slots show of one row; of weights w, the mean of w^2 is 1 at large k."""

    square: Any  # mean of w^2 over the slots
    square_error: Any  # its standard error
    shared: Any  # largest w^2 of the slots with equal codes
    apart: Any  # the same of the other slots

    def largest_and_apart(self, f: Any) -> tuple[Any, Any]:
        """Shares of the squared norm: of the largest column, and of one not seen in equal codes.

        Either no slot has such a column, and the mean of w^2 is short of 1 (by more than half its
        error, or light-tailed rows would pay as well); or only slots with different codes do.
        """
        short = np.maximum(1 - self.square - self.square_error / 2, 0)
        largest = np.maximum(self.shared, self.apart) / f
        return np.maximum(short, largest), np.maximum(short, (self.apart - self.shared) / f)


class Slots(NamedTuple):
    """What the slots of two rows show; products of weights are 0 for kernels without weights."""

    k: int  # number of slots
    matches: Any  # number of slots with equal codes
    mean: Any  # of Z (`theory.estimators`)
    square: Any  # mean of its square
    product: Any = 0.0  # mean over all slots of the product of the weights
    largest_square: Any = 0.0  # largest squared product of the weights among equal codes
    u: RowValues | None = None  # values of the two rows, for kernels that keep them
    v: RowValues | None = None


def _supports(slots: Slots, f1: Any, f2: Any, n_columns: int, chance: Aliasing) -> Pair:
    """The pair's numbers of nonzeros; rho is not known yet."""
    p = (slots.matches + _ADDED) / (slots.k + 2 * _ADDED)
    R = np.clip((p - chance.C1) / (1 - chance.C2), 0, 1)
    most = np.minimum(np.add(f1, f2, dtype=float), n_columns)
    union = np.clip(np.add(f1, f2) / (1 + R), np.maximum(f1, f2), most)
    return Pair(0.0, f1, f2, np.add(f1, f2) - union)


def observed_resemblance(slots: Slots, f1: Any, f2: Any, n_columns: int, chance: Aliasing) -> Pair:
    """The pair as the share of equal codes shows it."""
    return _supports(slots, f1, f2, n_columns, chance)


def observed_core1(slots: Slots, f1: Any, f2: Any, n_columns: int, chance: Aliasing) -> Pair:
    """The pair as equal codes and the products of all slots show it; the latter have mean rho."""
    pair = _supports(slots, f1, f2, n_columns, chance)
    return Pair(np.clip(slots.product, -1, 1), f1, f2, pair.a)


def observed_core_rbf(
    slots: Slots, f1: Any, f2: Any, n_columns: int, chance: Aliasing, *, gamma: float
) -> Pair:
    """The pair as equal codes and all products show it, whose mean is exp(-gamma (1 - rho))."""
    pair = _supports(slots, f1, f2, n_columns, chance)
    mean = np.clip(slots.product, np.exp(-2 * gamma), 1)
    return Pair(1 + np.log(mean) / gamma if gamma else 1.0, f1, f2, pair.a)


def observed_core2(slots: Slots, f1: Any, f2: Any, n_columns: int, chance: Aliasing) -> Pair:
    """The pair whose theoretical variance is that of the slots, and of what they may have missed.

    Where a few columns have most of the norm, slots that happen not to show them scatter too
    little. But rows have length one, so that what is missing is known for each of them: at most
    shares q1 and q2 of the squared norms. One column that has both adds f1 f2 / U q1 q2 to the
    variance of a slot. That is taken times R, the share of columns that are common, and times
    2 k / U where that is below 1, since the estimate is off by no more than that column's share.
    Both factors were chosen by simulation (`benchmarks/intervals.py`).
    """
    pair = _supports(slots, f1, f2, n_columns, chance)
    scale = np.multiply(f1, f2, dtype=float) / pair.union
    per_match = slots.square * slots.k / np.maximum(slots.matches, 1)
    added = _ADDED / slots.k * np.maximum(per_match, 1 / np.square(1 - chance.C2))
    slot = np.maximum(slots.square - np.square(slots.mean), 0) + added
    whole = np.maximum(slot - (chance.C1 - chance.C2 * pair.R), 0)
    if slots.u is not None and slots.v is not None:
        unseen = scale * _unseen(slots, slots.u, slots.v, f1, f2, pair.R, chance)
        whole = whole + unseen * pair.R * np.minimum(2 * slots.k / pair.union, 1)
    rho = slots.mean * np.sqrt(pair.union / scale)
    return Pair(rho, f1, f2, pair.a, whole / scale + np.square(rho) / pair.union)


def _unseen(
    slots: Slots, u: RowValues, v: RowValues, f1: Any, f2: Any, R: Any, chance: Aliasing
) -> Any:
    """q1 q2: the product of the rows' shares in a column of both that no slot shows as such.

    Equal codes say that a column is one of both, unless they are equal by chance: then only the
    product of the weights says so.
    """
    (largest1, apart1), (largest2, apart2) = u.largest_and_apart(f1), v.largest_and_apart(f2)
    product = slots.largest_square / np.multiply(f1, f2, dtype=float)
    not_seen = np.maximum(largest1 * largest2 - product, 0)
    true = R / chance.collision_probability(R)
    return true * apart1 * apart2 + (1 - true) * not_seen
