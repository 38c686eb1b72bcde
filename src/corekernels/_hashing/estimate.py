"""Kernel estimates from the arrays of signatures: the forms of `theory.estimators`, summed up."""

from typing import Any

import numpy as np

from .._core.threads import row_blocks, run_blocks
from .._core.types import Array
from .._core.validation import read_only
from .._loops.hashing.estimates import count_matches, sum_matches
from ..errors import DataError
from ..kernel_table import SlotWeight
from ..recipe import Recipe
from ..theory.aliasing import NO_ALIASING, Aliasing
from ..theory.estimators import LinearForm, RowNumbers
from ..theory.observed import ROUNDING, RowValues, Slots
from ..theory.rounding import WeightRounding
from .slots import codes_of, weights_of

Arrays = dict[str, Array]

_BLOCK_PAIRS = 1 << 20
_BLOCK_SLOTS = 1 << 22
_PAIR_SLOTS = 1 << 18  # of pairs that are estimated together: few enough for the caches


def estimate_matrix(recipe: Recipe, S: Arrays, T: Arrays, n_jobs: int | None) -> Array:
    """Estimates of all rows of S against all rows of T."""
    S, T = _by_use(S), _by_use(T)
    n, m, k = len(S["codes"]), len(T["codes"]), recipe.n_hashes
    out = np.empty((n, m), np.float32)
    others = {name: read_only(array) for name, array in T.items()}
    n_together = _BLOCK_PAIRS // max(1, m)
    if "weights" in S:  # weights are widened block by block
        n_together = min(n_together, _BLOCK_SLOTS // k)
    rounding = recipe.weight_rounding

    @np.errstate(invalid="ignore")
    def work(block: tuple[int, int]) -> None:
        mine = {name: read_only(array[slice(*block)]) for name, array in S.items()}
        u, v = _row_numbers(mine, 1), _row_numbers(others, 0)
        share = _match_counts(mine, others) / k if recipe.has_few_columns else None
        form = _linear_form(recipe, u, v, recipe.aliasing(u.length, v.length, share))
        value = _sum_over_slots(form, mine, others, rounding) / k
        if form.constant is not None:
            value += form.constant
        present = (mine["lengths"] > 0)[:, None] & (others["lengths"] > 0)[None, :]
        out[slice(*block)] = np.where(present, value, 0)

    run_blocks(work, row_blocks(0, n, max(1, n_together)), n_jobs)
    _require_finite(out)
    return out


def estimate_pairs(
    recipe: Recipe, S: Arrays, T: Arrays, i: Array, j: Array, n_jobs: int | None
) -> tuple[Array, Array]:
    """Estimates and standard errors of row i[p] of S with row j[p] of T."""
    S, T, rounding = _by_use(S), _by_use(T), recipe.weight_rounding
    i, j = np.broadcast_arrays(i, j)
    estimates, errors = np.empty(len(i)), np.empty(len(i))

    @np.errstate(invalid="ignore")
    def work(block: tuple[int, int]) -> None:
        some = slice(*block)
        mine = {name: array[i[some]] for name, array in S.items()}
        theirs = {name: array[j[some]] for name, array in T.items()}
        u, v = _row_numbers(mine), _row_numbers(theirs)
        share = (codes_of(mine["codes"]) == codes_of(theirs["codes"])).mean(axis=1)
        chance = recipe.aliasing(u.length, v.length, share)
        form = _linear_form(recipe, u, v, chance)
        slots = _slot_averages(form, mine, theirs, _keeps_values(recipe), rounding)
        variance = _variance(recipe, u, v, chance or NO_ALIASING, slots)
        present = (mine["lengths"] > 0) & (theirs["lengths"] > 0)
        estimates[some] = np.where(present, slots.mean, 0)
        errors[some] = np.where(present, np.sqrt(variance), 0)

    run_blocks(work, row_blocks(0, len(i), max(1, _PAIR_SLOTS // recipe.n_hashes)), n_jobs)
    _require_finite(estimates)
    return estimates, errors


def _variance(
    recipe: Recipe, u: RowNumbers, v: RowNumbers, chance: Aliasing, slots: Slots
) -> Array:
    """Variance of the estimate of a pair that the slots show, weights rounded."""
    kernel = recipe.entry
    n_columns, projection = recipe.n_columns, recipe.projection
    pair = kernel.observed_pair(slots, u.length, v.length, n_columns, chance, projection)
    variance: Array = kernel.variance(
        pair, slots.k, chance=chance, projection=projection,
        dependence=recipe.dependence(pair.union),
    )  # fmt: skip
    if recipe.weight_rounding is not None:
        return np.maximum(variance, 0) * recipe.weight_rounding.variance_factor
    rounding = 0.0 if kernel.slot_weight is SlotWeight.NONE else ROUNDING * slots.square
    return np.maximum(variance, 0) + rounding


def _by_use(arrays: Arrays) -> Arrays:
    """Arrays of signatures in which slots are both codes and weights."""
    slots = arrays.get("slots")
    return arrays if slots is None else {**arrays, "codes": slots, "weights": slots}


def _numbers(weights: Array, dtype: Any, rounding: WeightRounding | None) -> Array:
    """Weights as they are stored, as numbers to compute with."""
    return (weights if rounding is None else weights_of(weights, rounding.unit)).astype(dtype)


def _require_finite(estimates: Array) -> None:
    """Hashed rows are finite; a file may have been damaged since."""
    if not np.isfinite(estimates).all():
        raise DataError("signatures: a weight is not finite; the file is damaged, hash it again.")


def _row_numbers(arrays: Arrays, new_axis: int | None = None) -> RowNumbers:
    """Lengths and sums; with a new axis, so that those of two sides broadcast to all pairs."""
    length, total = np.maximum(arrays["lengths"], 1), arrays.get("sums")
    if new_axis is None:
        return RowNumbers(length, total)
    return RowNumbers(
        np.expand_dims(length, new_axis), None if total is None else np.expand_dims(total, new_axis)
    )


def _linear_form(
    recipe: Recipe, u: RowNumbers, v: RowNumbers, chance: Aliasing | None
) -> LinearForm:
    return recipe.entry.linear_form(u, v, chance)


def _sum_over_slots(
    form: LinearForm, mine: Arrays, others: Arrays, rounding: WeightRounding | None
) -> Any:
    """Sum over the slots of Z without its constant, for all rows against all others."""
    shape = len(mine["codes"]), len(others["codes"])
    total: Any = 0.0
    if form.both is not None:
        sums = np.empty((4, *shape), np.float32)
        k = mine["codes"].shape[1]
        weights, theirs = _numbers(mine["weights"], np.float32, rounding), others["weights"]
        if rounding is None:
            theirs = theirs.view(np.uint16)
        else:
            weights *= np.float32(rounding.unit)  # the others' are in units
        row = np.empty(k, np.float32)
        sum_matches(mine["codes"], read_only(weights), others["codes"], theirs, row, sums)
        if rounding is not None:
            sums *= rounding.exact_share(sums[3] / k)
        for coefficient, summed in zip(
            (form.both, form.first, form.second, form.every), sums, strict=True
        ):
            if coefficient is not None:
                total = total + coefficient * summed
    if form.flat is not None:
        total = total + form.flat * _match_counts(mine, others)
    return total


def _match_counts(mine: Arrays, others: Arrays) -> Array:
    """Number of equal codes, for all rows against all others."""
    matches = np.empty((len(mine["codes"]), len(others["codes"])), np.int64)
    count_matches(mine["codes"], others["codes"], matches)
    return matches


def _keeps_values(recipe: Recipe) -> bool:
    return recipe.entry.slot_weight is SlotWeight.VALUE


def _slot_averages(
    form: LinearForm, mine: Arrays, theirs: Arrays, weights_are_values: bool,
    rounding: WeightRounding | None,
) -> Slots:  # fmt: skip
    """What the slots of each pair show: of Z, of the codes and of the weights."""
    equal = codes_of(mine["codes"]) == codes_of(theirs["codes"])
    k, matches = equal.shape[1], equal.sum(axis=1)
    inside: Any = 0.0 if form.flat is None else _column(form.flat)
    outside: Any = 0.0 if form.constant is None else _column(form.constant)
    product: Any = np.zeros((1, 1))
    if form.both is not None:
        w1, w2 = (_numbers(one["weights"], np.float64, rounding) for one in (mine, theirs))
        product = w1 * w2
        if rounding is not None:
            product *= rounding.exact_share(product.mean(axis=1))[:, None]
        inside = inside + _column(form.both) * product
        if form.first is not None:
            inside = inside + _column(form.first) * w1 + _column(form.second) * w2
        if form.every is not None:
            outside = outside + _column(form.every) * product
    Z = equal * inside + outside
    squares = np.square(product)
    slots = Slots(
        k,
        matches,
        mean=Z.mean(axis=1),
        square=np.square(Z).mean(axis=1),
        product=product.mean(axis=1),
        product_square=squares.mean(axis=1),
        square_error=squares.std(axis=1) / np.sqrt(k),
    )
    if weights_are_values:
        largest = np.where(equal, squares, 0).max(axis=1)
        u, v = _row_values(w1, equal), _row_values(w2, equal)
        slots = slots._replace(largest_square=largest, u=u, v=v)
    return slots


def _row_values(weights: Array, equal: Array) -> RowValues:
    squares = np.square(weights)
    error = squares.std(axis=1) / np.sqrt(weights.shape[1])
    shared, apart = (np.where(some, squares, 0).max(axis=1) for some in (equal, ~equal))
    return RowValues(squares.mean(axis=1), error, shared, apart)


def _column(coefficient: Any) -> Any:
    return np.reshape(coefficient, (-1, 1))
