"""Kernel estimates from the arrays of signatures: the forms of `theory.estimators`, summed up."""

import itertools
from typing import Any

import numpy as np

from .._core.arguments import Array
from .._core.team import Team
from .._core.threads import row_blocks, run_blocks
from .._core.validation import read_only
from .._loops.hashing.estimates import PairSums, count_matches, sum_matches, sum_pairs
from ..errors import DataError
from ..kernel_table import SlotWeight
from ..recipe import Recipe
from ..theory.aliasing import NO_ALIASING, Aliasing
from ..theory.dependence import WeightRounding
from ..theory.estimators import ROUNDING, LinearForm, RowNumbers, RowValues, Slots
from .sketch import loop_slots, weights_of

Arrays = dict[str, Array]

_MATRIX_PAIRS = 1 << 20
_BLOCK_PAIRS = 1 << 18  # whose sums are held together
_BLOCK_SLOTS = 1 << 22
_PAIR_SLOTS = 1 << 15  # of pairs that a thread sums up at a time


def estimate_matrix(recipe: Recipe, S: Arrays, T: Arrays, n_jobs: int | None) -> Array:
    """Estimates of all rows of S against all rows of T."""
    S, T = _by_use(S), _by_use(T)
    n, m, k = len(S["codes"]), len(T["codes"]), recipe.n_hashes
    out = np.empty((n, m), np.float32)
    others = {name: read_only(array) for name, array in T.items()}
    n_together = _MATRIX_PAIRS // max(1, m)
    if "weights" in S:  # weights are widened block by block
        n_together = min(n_together, _BLOCK_SLOTS // k)
    rounding = recipe.weight_rounding

    @np.errstate(invalid="ignore")
    def work(block: tuple[int, int]) -> None:
        mine = {name: read_only(array[slice(*block)]) for name, array in S.items()}
        u, v = _row_numbers(mine, np.s_[:, None]), _row_numbers(others, np.s_[None, :])
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


@np.errstate(invalid="ignore")
def estimate_pairs(
    recipe: Recipe, S: Arrays, T: Arrays, i: Array, j: Array, n_jobs: int | None
) -> tuple[Array, Array]:
    """Estimates and standard errors of row i[p] of S with row j[p] of T."""
    i, j = np.arange(len(S["lengths"]))[i], np.arange(len(T["lengths"]))[j]  # none is negative
    estimates, errors = np.empty(len(i)), np.empty(len(i))
    for some in itertools.starmap(slice, row_blocks(0, len(i), _BLOCK_PAIRS)):
        sums = _pair_sums(S, T, i[some], j[some], n_jobs)
        u, v = _row_numbers(S, i[some]), _row_numbers(T, j[some])
        chance = recipe.aliasing(u.length, v.length, sums.e / recipe.n_hashes)
        form = _linear_form(recipe, u, v, chance)
        slots = _slot_averages(recipe, form, sums)
        variance = _variance(recipe, u, v, chance or NO_ALIASING, slots)
        present = (S["lengths"][i[some]] > 0) & (T["lengths"][j[some]] > 0)
        estimates[some] = np.where(present, slots.mean, 0)
        errors[some] = np.where(present, np.sqrt(variance), 0)
    _require_finite(estimates)
    return estimates, errors


def _pair_sums(S: Arrays, T: Arrays, i: Array, j: Array, n_jobs: int | None) -> PairSums:
    """Sums over the slots of each pair; of weights in units where they are rounded."""
    both = *loop_slots(S), *loop_slots(T)
    sums, k = np.zeros((len(i), len(PairSums._fields))), both[0].shape[1]
    rows = read_only(i, np.int64), read_only(j, np.int64)
    Team(n_jobs).run(
        sum_pairs, lambda: (*rows, *both, *np.empty((2, k), np.float32), sums), len(i),
        max(1, _PAIR_SLOTS // k),
    )  # fmt: skip
    return PairSums(*sums.T)


def _variance(
    recipe: Recipe, u: RowNumbers, v: RowNumbers, chance: Aliasing, slots: Slots
) -> Array:
    """Variance of the estimate of a pair that the slots show, weights rounded."""
    kernel = recipe.entry
    pair = kernel.observed_pair(slots, u.length, v.length, recipe.n_columns, chance)
    change = recipe.variance_change(pair.union)
    variance: Array = kernel.variance(pair, slots.k, chance=chance, change=change)
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


def _row_numbers(arrays: Arrays, index: Any) -> RowNumbers:
    """Lengths and sums of rows, at an index: some rows, or all with a new axis."""
    length, total = np.maximum(arrays["lengths"][index], 1), arrays.get("sums")
    return RowNumbers(length, None if total is None else total[index])


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


def _slot_averages(recipe: Recipe, form: LinearForm, sums: PairSums) -> Slots:
    """What the slots of each pair show: of Z, of the codes and of the weights."""
    k = recipe.n_hashes
    if recipe.weight_rounding is not None:
        sums = _exact(sums, k, recipe.weight_rounding)
    both, first, second, flat, every, constant = (
        0.0 if coefficient is None else coefficient for coefficient in vars(form).values()
    )
    # Z = e inside + outside
    inside = flat * sums.e + both * sums.ep + first * sums.eu + second * sums.ev
    inside_p = flat * sums.ep + both * sums.ep2 + first * sums.epu + second * sums.epv
    inside_u = flat * sums.eu + both * sums.epu + first * sums.eu2 + second * sums.ep
    inside_v = flat * sums.ev + both * sums.epv + first * sums.ep + second * sums.ev2
    inside_square = flat * inside + both * inside_p + first * inside_u + second * inside_v
    outside_square = k * constant**2 + 2 * constant * every * sums.p + every**2 * sums.p2
    square = inside_square + 2 * (constant * inside + every * inside_p) + outside_square
    slots = Slots(
        k, sums.e,
        mean=(inside + every * sums.p) / k + constant,
        square=square / k,
        product=sums.p / k,
    )  # fmt: skip
    if recipe.entry.slot_weight is SlotWeight.VALUE:
        slots = slots._replace(
            largest_square=sums.largest_ep2,
            u=RowValues(
                sums.u2 / k, _error(sums.u2, sums.u4, k), sums.largest_eu2, sums.largest_apart_u2
            ),
            v=RowValues(
                sums.v2 / k, _error(sums.v2, sums.v4, k), sums.largest_ev2, sums.largest_apart_v2
            ),
        )
    return slots


def _exact(sums: PairSums, k: int, rounding: WeightRounding) -> PairSums:
    """Sums of exact products, from those of rounded weights in units.

    No kernel with rounded weights has a form with one weight alone: those sums stay in units.
    """
    share = rounding.unit**2 * rounding.exact_share(rounding.unit**2 * sums.p / k)
    return sums._replace(
        p=share * sums.p, p2=share**2 * sums.p2, ep=share * sums.ep, ep2=share**2 * sums.ep2
    )


def _error(squares: Array, fourths: Array, k: int) -> Array:
    """Standard error of the mean of squares, from their sum and that of their squares."""
    variance = np.maximum(fourths / k - (squares / k) ** 2, 0)
    return np.sqrt(variance / k)
