"""Kernel estimates from the arrays of signatures: the forms of `theory.estimators`, summed up."""

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.arguments import Array
from .._core.team import Team
from .._core.threads import row_blocks, run_blocks
from .._core.validation import read_only
from .._loops.hashing.slots import SlotSums, count_matches, sum_matches, sum_pairs
from ..errors import DataError
from ..kernel_table import SlotWeight
from ..theory.dependence import WeightRounding
from ..theory.estimators import ROUNDING, LinearForm, RowNumbers, RowValues, Slots
from .base import Arrays
from .slots import loop_slots, weights_of

if TYPE_CHECKING:
    from ..recipe import Recipe

_MATRIX_PAIRS = 1 << 20
_BLOCK_PAIRS = 1 << 18  # whose sums are held together
_BLOCK_SLOTS = 1 << 22
_PAIR_SLOTS = 1 << 15  # of pairs that a thread sums up at a time


def estimate_matrix(recipe: "Recipe", S: Arrays, T: Arrays, n_jobs: int | None) -> Array:
    """Estimates of all rows of S against all rows of T."""
    n, m, k = len(S["lengths"]), len(T["lengths"]), recipe.n_hashes
    out = np.empty((n, m), np.float32)
    block_rows = _MATRIX_PAIRS // max(1, m)
    if recipe.entry.slot_weight is not SlotWeight.NONE:  # weights are widened block by block
        block_rows = min(block_rows, _BLOCK_SLOTS // k)
    v, columns = _row_numbers(T, np.s_[None, :]), loop_slots(T)

    @np.errstate(invalid="ignore")
    def work(block: tuple[int, int]) -> None:
        part = {name: array[slice(*block)] for name, array in S.items()}
        u, rows = _row_numbers(part, np.s_[:, None]), loop_slots(part)
        chance = recipe.sketch.aliasing(u.length, v.length)
        form = recipe.entry.linear_form(u, v, chance)
        value = _sum_over_slots(form, rows, columns, recipe.weight_rounding) / k
        if form.constant is not None:
            value += form.constant
        present = (part["lengths"] > 0)[:, None] & (T["lengths"] > 0)[None, :]
        out[slice(*block)] = np.where(present, value, 0)

    run_blocks(work, row_blocks(0, n, max(1, block_rows)), n_jobs)
    _require_finite(out)
    return out


@np.errstate(invalid="ignore")
def estimate_pairs(
    recipe: "Recipe", S: Arrays, T: Arrays, i: Array, j: Array, n_jobs: int | None
) -> tuple[Array, Array]:
    """Estimates and standard errors of row i[p] of S with row j[p] of T."""
    i, j = np.arange(len(S["lengths"]))[i], np.arange(len(T["lengths"]))[j]  # none is negative
    estimates, errors = np.empty(len(i)), np.empty(len(i))
    for block in itertools.starmap(slice, row_blocks(0, len(i), _BLOCK_PAIRS)):
        sums = _pair_sums(S, T, i[block], j[block], n_jobs)
        u, v = _row_numbers(S, i[block]), _row_numbers(T, j[block])
        present = (S["lengths"][i[block]] > 0) & (T["lengths"][j[block]] > 0)
        mean, variance = _mean_and_variance(recipe, u, v, sums)
        estimates[block] = np.where(present, mean, 0)
        errors[block] = np.where(present, np.sqrt(variance), 0)
    _require_finite(estimates)
    return estimates, errors


def _mean_and_variance(
    recipe: "Recipe", u: RowNumbers, v: RowNumbers, sums: SlotSums
) -> tuple[Any, Array]:
    """Estimates of pairs, and their variances: those of the pairs that the slots show."""
    kernel, sketch, rounding = recipe.entry, recipe.sketch, recipe.weight_rounding
    chance = sketch.aliasing(u.length, v.length)
    slots = _slot_averages(recipe, kernel.linear_form(u, v, chance), sums)
    pair = kernel.observed_pair(slots, u.length, v.length, recipe.n_columns, chance)
    change = sketch.variance_change(pair.union)
    variance = np.maximum(kernel.variance(pair, slots.k, chance=chance, change=change), 0)
    if rounding is not None:
        return slots.mean, variance * rounding.variance_factor
    if kernel.slot_weight is SlotWeight.NONE:
        return slots.mean, variance
    return slots.mean, variance + ROUNDING * slots.square


def _pair_sums(S: Arrays, T: Arrays, i: Array, j: Array, n_jobs: int | None) -> SlotSums:
    """Sums over the slots of each pair; of weights in units where they are rounded."""
    both = *loop_slots(S), *loop_slots(T)
    sums, k = np.zeros((len(i), len(SlotSums._fields))), both[0].shape[1]
    rows = read_only(i, np.int64), read_only(j, np.int64)
    Team(n_jobs).run(
        sum_pairs, lambda: (*rows, *both, *np.empty((2, k), np.float32), sums), len(i),
        max(1, _PAIR_SLOTS // k),
    )  # fmt: skip
    return SlotSums(*sums.T)


def _require_finite(estimates: Array) -> None:
    """Hashed rows are finite; a file may have been damaged since."""
    if not np.isfinite(estimates).all():
        raise DataError("signatures: a weight is not finite; the file is damaged, hash it again.")


def _row_numbers(arrays: Arrays, index: Any) -> RowNumbers:
    """Lengths and sums of the rows at an index, which may add an axis."""
    length, total = np.maximum(arrays["lengths"][index], 1), arrays.get("sums")
    return RowNumbers(length, None if total is None else total[index])


def _sum_over_slots(
    form: LinearForm,
    rows: tuple[Array, Array | None],
    columns: tuple[Array, Array | None],
    rounding: WeightRounding | None,
) -> Any:
    """Sum over the slots of Z without its constant, for all rows against all columns.

    Both are what `loop_slots` gives.
    """
    (codes, weights), (others, other_weights) = rows, columns
    total: Any = 0.0
    if form.both is not None and weights is not None:
        sums = np.empty((4, len(codes), len(others)), np.float32)
        if rounding is None:
            numbers = weights.view(np.float16).astype(np.float32)
        else:
            numbers = weights_of(weights, rounding.unit)
            numbers *= np.float32(rounding.unit)  # the others' are in units
        row = np.empty(codes.shape[1], np.float32)
        sum_matches(codes, read_only(numbers), others, other_weights, row, sums)
        if rounding is not None:
            sums *= rounding.exact_share(sums[3] / codes.shape[1])
        coefficients = form.both, form.first, form.second, form.every
        for coefficient, summed in zip(coefficients, sums, strict=True):
            if coefficient is not None:
                total = total + coefficient * summed
    if form.flat is not None:
        total = total + form.flat * _match_counts(codes, others)
    return total


def _match_counts(codes: Array, others: Array) -> Array:
    """Number of equal codes, for all rows against all others."""
    matches = np.empty((len(codes), len(others)), np.int64)
    count_matches(codes, others, matches)
    return matches


def _slot_averages(recipe: "Recipe", form: LinearForm, sums: SlotSums) -> Slots:
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
    if recipe.entry.slot_weight is not SlotWeight.VALUE:
        return slots
    u_error, v_error = _error(sums.u2, sums.u4, k), _error(sums.v2, sums.v4, k)
    return slots._replace(
        largest_square=sums.largest_ep2,
        u=RowValues(sums.u2 / k, u_error, sums.largest_eu2, sums.largest_apart_u2),
        v=RowValues(sums.v2 / k, v_error, sums.largest_ev2, sums.largest_apart_v2),
    )


def _exact(sums: SlotSums, k: int, rounding: WeightRounding) -> SlotSums:
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
