"""Kernel estimates from signatures: unbiased at every number of bits.

Every estimator is the mean over the slots of

    Z = 1{codes equal} (both w1 w2 + first w1 + second w2 + flat) + every w1 w2 + constant

with coefficients that depend on the two rows' lengths and sums alone. For whole
locations these are the paper's estimators. With b bits, codes also collide by chance,
and the other terms take out, on average, exactly what that adds:

- resemblance: (p - C1) / (1 - C2), p the share of equal codes.
- core1: the projections do not know about the codes, so chance adds C1 times the mean
  of all products, and takes C2 of K1.
- core2: where the minimum of row 1 comes first, its value is a random one of the columns
  only row 1 has, and the other's a random one of row 2. The mean value over columns
  only one row has follows from that row's values in colliding slots and its whole sum.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.threads import row_blocks, run_blocks
from .._core.validation import read_only
from .._loops.hashing.estimates import count_matches, sum_matches
from ..errors import DataError
from ..recipe import Recipe
from ..theory import aliasing

Array = npt.NDArray[Any]
Arrays = dict[str, Array]

_BLOCK_PAIRS = 1 << 20
_BLOCK_SLOTS = 1 << 22


@dataclass(frozen=True)
class Coefficients:
    """The coefficients of Z above; `unit` is what one colliding slot is worth."""

    both: Any
    first: Any
    second: Any
    flat: Any
    every: Any
    constant: Any
    unit: Any


def matrix(recipe: Recipe, S: Arrays, T: Arrays, n_jobs: int | None) -> Array:
    """Estimates of all rows of S against all rows of T."""
    n, m, k = len(S["codes"]), len(T["codes"]), recipe.n_hashes
    out = np.empty((n, m), np.float32)
    others = {name: read_only(array) for name, array in T.items()}
    n_together = _BLOCK_PAIRS // max(1, m)
    if recipe.kernel != "resemblance":  # weights are widened block by block
        n_together = min(n_together, _BLOCK_SLOTS // k)

    @np.errstate(invalid="ignore")
    def work(block: tuple[int, int]) -> None:
        mine = {name: read_only(array[slice(*block)]) for name, array in S.items()}
        c = _coefficients(recipe, _lifted(mine, 1), _lifted(others, 0))
        if recipe.kernel == "resemblance":
            matches = np.empty((len(mine["codes"]), m), np.int64)
            count_matches(mine["codes"], others["codes"], matches)
            value = c.flat * (matches / k) + c.constant
        else:
            sums = np.empty((4, len(mine["codes"]), m), np.float32)
            weights = read_only(mine["weights"], np.float32)
            halves, row = others["weights"].view(np.uint16), np.empty(k, np.float32)
            sum_matches(mine["codes"], weights, others["codes"], halves, row, sums)
            value = (c.both * sums[0] + c.every * sums[3]) / k
            if recipe.kernel == "core2" and recipe.n_bits is not None:
                matches = np.empty((len(mine["codes"]), m), np.int64)
                count_matches(mine["codes"], others["codes"], matches)
                value += (c.first * sums[1] + c.second * sums[2] + c.flat * matches) / k
                value += c.constant
        present = (mine["lengths"] > 0)[:, None] & (others["lengths"] > 0)[None, :]
        out[slice(*block)] = np.where(present, value, 0)

    run_blocks(work, row_blocks(0, n, max(1, n_together)), n_jobs)
    _require_finite(out)
    return out


@np.errstate(invalid="ignore")
def pairs(recipe: Recipe, S: Arrays, T: Arrays, i: Array, j: Array) -> tuple[Array, Array]:
    """Estimates and standard errors of row i[p] of S with row j[p] of T."""
    i, j = np.broadcast_arrays(i, j)
    estimates, errors = np.empty(len(i)), np.empty(len(i))
    k = recipe.n_hashes
    for start, stop in row_blocks(0, len(i), max(1, _BLOCK_SLOTS // k)):
        mine = {name: array[i[start:stop]] for name, array in S.items()}
        theirs = {name: array[j[start:stop]] for name, array in T.items()}
        c = _coefficients(recipe, mine, theirs)
        slots = _slots(mine, theirs, c)
        mean = slots.mean(axis=1)
        scatter = np.maximum(np.square(slots).mean(axis=1) - mean**2, 0) / k
        present = (mine["lengths"] > 0) & (theirs["lengths"] > 0)
        estimates[start:stop] = np.where(present, mean, 0)
        errors[start:stop] = np.where(present, np.sqrt(scatter + np.square(c.unit / k)), 0)
    _require_finite(estimates)
    return estimates, errors


def _require_finite(estimates: Array) -> None:
    """Hashed rows are finite; a file may have been damaged since."""
    if not np.isfinite(estimates).all():
        raise DataError("signatures: a weight is not finite; the file is damaged, hash it again.")


def _slots(mine: Arrays, theirs: Arrays, c: Coefficients) -> Any:
    """Z of each pair (row) and slot (column)."""

    def column(coefficient: Any) -> Any:
        return np.reshape(coefficient, (-1, 1))

    equal = mine["codes"] == theirs["codes"]
    if "weights" not in mine:
        return column(c.flat) * equal + column(c.constant)
    u, v = mine["weights"].astype(np.float64), theirs["weights"].astype(np.float64)
    inside = column(c.both) * u * v + column(c.first) * u + column(c.second) * v + column(c.flat)
    return equal * inside + column(c.every) * u * v + column(c.constant)


def _lifted(arrays: Arrays, axis: int) -> Arrays:
    """Lengths and sums with a new axis, so that two sides broadcast to all pairs."""
    return {
        name: np.expand_dims(arrays[name], axis) for name in ("lengths", "sums") if name in arrays
    }


def _coefficients(recipe: Recipe, mine: Arrays, theirs: Arrays) -> Coefficients:
    f1, f2 = np.maximum(mine["lengths"], 1), np.maximum(theirs["lengths"], 1)
    chance = aliasing(f1, f2, recipe.n_locations, recipe.n_bits)
    unit = 1 / (1 - chance.C2)
    zero = np.zeros_like(unit)
    if recipe.kernel == "resemblance":
        return Coefficients(zero, zero, zero, unit, zero, -chance.C1 * unit, unit)
    if recipe.kernel == "core1":
        return Coefficients(unit, zero, zero, zero, -chance.C1 * unit, zero, unit)
    s1, s2 = mine["sums"].astype(np.float64), theirs["sums"].astype(np.float64)
    e1, e2 = chance.first, chance.second
    root = np.sqrt(f1 * f2.astype(np.float64))
    c1 = root * e1 * s2 / (f2 * (1 - e1))
    c2 = root * e2 * s1 / (f1 * (1 - e2))
    # 1 / union = (1 + R) / (f1 + f2) = base + slope p
    slope = unit / (f1 + f2)
    base = (1 - chance.C1 * unit) / (f1 + f2)
    return Coefficients(
        both=zero + 1,
        first=c1 / np.sqrt(f1),
        second=c2 / np.sqrt(f2),
        flat=-slope * (c1 * s1 * (1 - e2) + c2 * s2 * (1 - e1)),
        every=zero,
        constant=-c1 * s1 * (base * (1 - e2) + e2 / f1) - c2 * s2 * (base * (1 - e1) + e1 / f2),
        unit=unit,
    )
