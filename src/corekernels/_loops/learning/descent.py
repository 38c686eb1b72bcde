"""Dual coordinate descent on packed rows: one sweep over the rows.

Every lane (see `scoring`) is a two-class problem of its own, or a regression. Lanes share only
the order in which rows are visited, so that a row's codes are read once for all of them.

`row_gaps` measures objective and duality gap in double precision. The weight vectors that a descent
has moved step by step, in single precision, are no longer the sum of the rows times their dual
variables. The difference, e, adds |e|^2 / 2 to the sum of the rows' gaps; that is then the duality
gap of the weight vectors as they are, whatever has been rounded before. `sum_rows` finds the exact
sum.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import ANY_ORDER, inner_loop, loop
from ..simd.halves import code_of, read_weights
from ..simd.vectors import LANES, load, multiply_add, splat_double, store, widen
from .losses import best_dual, conjugate, dual_bounds, dual_slope, loss_value, shrinks
from .scoring import add_row, place, score_row


class Problem(NamedTuple):
    """What is minimised in each lane.

    The cost of a row is its `row_costs` times its lane's `costs[0]` or, if its target is
    positive, `costs[1]`.
    """

    loss: tuple[float, ...]  # of its parameters: see `losses`
    targets: np.ndarray  # (n_rows, n_lanes): -1 or 1, or the values to predict
    row_costs: np.ndarray  # (n_rows,)
    costs: np.ndarray  # (2, n_lanes)
    intercept: float  # value of the constant column; 0: none


class Solution(NamedTuple):
    """Dual variables, weight vectors and biases of a descent, changed in place; a warm start."""

    duals: np.ndarray  # (n_rows, n_lanes)
    coef: np.ndarray
    biases: np.ndarray  # (n_lanes,): weights of the constant column


class Active(NamedTuple):
    """Lanes and rows that a sweep works on.

    Rows at a bound in all active lanes, held there by a slope beyond `limits`, are shrunk, as in
    LIBLINEAR: later sweeps skip them until the caller clears `shrunk`.
    """

    lanes: np.ndarray  # (n_lanes,): True for those not finished
    limits: np.ndarray  # (n_lanes,): steepest slope of the sweep before
    shrunk: np.ndarray  # (n_rows,): 1 for rows to skip; changed in place


@loop
def sweep(rows, order, problem, active, solution, scores, steps, out_limits, out):
    """Visit the rows in `order` once; False if no weight vector has changed.

    `scores` and `steps`, one number per lane, are scratch, and `steps` zeros at first.
    `out_limits` are the steepest slopes of the dual problem. `out`, (2, n_lanes), are objectives
    and gaps, summed over the rows as each was when visited: estimates that cost nothing.
    """
    # fields are read once: within the loop each reading would count references
    codes, weights, scales, buffer = rows.codes, rows.weights, rows.scales, rows.buffer
    loss, targets, intercept = problem.loss, problem.targets, problem.intercept
    row_costs, costs = problem.row_costs, problem.costs
    lanes, limits, shrunk = active.lanes, active.limits, active.shrunk
    duals, coef, biases = solution.duals, solution.coef, solution.biases
    objectives, gaps = out[0], out[1]
    may_shrink = shrinks(loss)
    out_limits[:] = 0
    out[:] = 0
    moved = False
    for t in range(order.shape[0]):
        i = order[t]
        if shrunk[i]:
            continue
        score_row(codes, weights, i, buffer, coef, scores)
        scale = np.float64(scales[i])
        square = (1.0 if scale > 0 else 0.0) + intercept * intercept
        changed, is_held = False, may_shrink
        for lane in range(lanes.shape[0]):
            if not lanes[lane]:
                continue
            target = np.float64(targets[i, lane])
            cost = row_costs[i] * costs[1 if target > 0 else 0, lane]
            score = scale * scores[lane] + intercept * biases[lane]
            dual = duals[i, lane]
            value = loss_value(loss, score, target, cost)
            objectives[lane] += value + 0.5 * dual * score  # |w|^2 / 2 is a sum over rows too
            gaps[lane] += max(0.0, value + conjugate(loss, dual, target, cost) + dual * score)
            if may_shrink:
                low, high = dual_bounds(loss, target, cost)
                slope = dual_slope(loss, score, target, cost, dual)
                if (dual == low and slope >= 0) or (dual == high and slope <= 0):
                    is_held = is_held and abs(slope) > limits[lane]
                    steps[lane] = 0
                    continue
                is_held = False
                out_limits[lane] = max(out_limits[lane], abs(slope))
            best = best_dual(loss, score, target, cost, dual, square)
            step = best - dual
            duals[i, lane] = best
            biases[lane] += step * intercept
            steps[lane] = step * scale
            changed = changed or step != 0
        if changed:
            moved = True
            if scale > 0:
                next_row = order[min(t + 1, order.shape[0] - 1)]
                add_row(codes, weights, i, buffer, next_row, steps, coef)
        elif is_held:
            shrunk[i] = 1
    return moved


_U = np.uint64


@loop
def sum_rows(codes, weights, buffer, chosen, factors, first, last, sums):
    """Add slots first to last of rows, times their factors in each lane, in double precision.

    `factors` are (n_chosen, 1) or (n_chosen, 8) and `sums`, (n_codes, last - first, 1 or 8), zeros
    at first. `buffer` is room for the weights of these slots of a row.
    """
    n_slots = last - first
    for t in range(chosen.shape[0]):
        i = chosen[t]
        if weights is not None:
            read_weights(weights, i, first, last, buffer)
        for slot in range(n_slots):
            code = code_of(codes[i, first + slot])
            weight = 1.0 if weights is None else np.float64(buffer[slot])
            if sums.shape[2] == 1:
                sums[code, slot, 0] += weight * factors[t, 0]
            else:
                p = (np.intp(code) * n_slots + slot) * LANES
                more = multiply_add(splat_double(weight), load(factors, t * LANES), load(sums, p))
                store(more, p, sums)


@loop
def row_gaps(codes, weights, scales, buffer, chosen, problem, solution, scores, out):
    """Losses and gaps of each lane, summed over the chosen rows: `out`, (2, n_lanes).

    `scores`, eight numbers in double precision, are scratch.
    """
    loss, targets, intercept = problem.loss, problem.targets, problem.intercept
    row_costs, costs = problem.row_costs, problem.costs
    duals, coef, biases = solution.duals, solution.coef, solution.biases
    losses, gaps = out[0], out[1]
    out[:] = 0
    for t in range(chosen.shape[0]):
        i = chosen[t]
        if weights is not None:
            read_weights(weights, i, 0, codes.shape[1], buffer)
        _score_exactly(codes, buffer, i, coef, scores)
        scale = np.float64(scales[i])
        for lane in range(gaps.shape[0]):
            target = np.float64(targets[i, lane])
            cost = row_costs[i] * costs[1 if target > 0 else 0, lane]
            score = scale * scores[lane] + intercept * biases[lane]
            dual = duals[i, lane]
            value = loss_value(loss, score, target, cost)
            losses[lane] += value
            gaps[lane] += max(0.0, value + conjugate(loss, dual, target, cost) + dual * score)


@inner_loop(fastmath=ANY_ORDER)
def _score_exactly(codes, weights, row, coef, out):
    """Inner products of one row with each lane's weight vector, in double precision."""
    codes_of = codes[row]
    lanes, total = splat_double(0.0), 0.0
    for slot in range(codes_of.shape[0]):
        j = _U(slot)
        weight = 1.0 if weights is None else np.float64(weights[j])
        if coef.ndim == 3:
            p = place(codes_of, j, _U(codes_of.shape[0]), _U(LANES))
            lanes = multiply_add(splat_double(weight), widen(load(coef, p)), lanes)
        else:
            total += weight * coef[code_of(codes_of[j]), j]
    if coef.ndim == 3:
        store(lanes, 0, out)
    else:
        out[0] = total
