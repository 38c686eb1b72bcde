"""Dual coordinate descent on (code, weight) pairs: one sweep over the rows, and its gap.

Every lane is a two-class problem of its own (or a regression); lanes share only
the order in which rows are visited, so that a row's codes are read once for all.
`costs[0]` and `costs[1]` are the lanes' costs of a row with a negative and a
positive target; a row's own factor is in `row_costs`.
"""

import numpy as np
from numba import njit

from ..simd.vectors import LANES
from .losses import HINGE, LOG, SQUARED, best_dual, dual_gradient, loss_value, row_gap
from .packed import add_row, score_row


@njit(nogil=True, cache=True)
def margin(loss, target, score):
    """The number the losses are functions of."""
    return 1.0 + score - target if loss == SQUARED else target * score


@njit(nogil=True, cache=True)
def share_in_objective(loss, target, m, cost, a):
    """What a row adds to the objective: its loss, and its part of 1/2 |w|^2 (w sums up rows)."""
    signed_score = m - 1.0 + target if loss == SQUARED else m
    return loss_value(loss, m, cost) + 0.5 * a * signed_score


@njit(nogil=True, cache=True)
def sweep(
    loss, codes, weights, numbers, scales, order, targets, row_costs, costs, intercept,
    live, limits, resting, duals, planes, biases, out_limits, out_objectives, out_gaps,
):  # fmt: skip
    """Visit the rows in `order` once; False if no plane has changed.

    Rows at a bound in all live lanes, and held there by a gradient beyond
    `limits` (the extremes of the sweep before), begin to rest: they are passed
    over until someone clears `resting`. `out_objectives` and `out_gaps` sum what each
    row had at the moment of its visit, an estimate of the true sums that costs nothing.
    """
    n_lanes = live.shape[0]
    scores = np.empty(LANES, np.float32)
    steps = np.zeros(LANES, np.float32)
    out_limits[0] = np.inf
    out_limits[1] = -np.inf
    out_objectives[:] = 0
    out_gaps[:] = 0
    moved = False
    for t in range(order.shape[0]):
        i = order[t]
        if resting[i]:
            continue
        score_row(codes, weights, i, numbers, planes, scores)
        scale = np.float64(scales[i])
        square = (1.0 if scale > 0 else 0.0) + intercept * intercept
        changed, rests = False, loss < LOG
        for lane in range(n_lanes):
            if not live[lane]:
                continue
            target = np.float64(targets[i, lane])
            cost = row_costs[i] * costs[1 if target > 0 else 0, lane]
            m = margin(loss, target, scale * scores[lane] + intercept * biases[lane])
            a = duals[i, lane]
            out_objectives[lane] += share_in_objective(loss, target, m, cost, a)
            out_gaps[lane] += row_gap(loss, m, cost, a)
            if loss < LOG:
                gradient = dual_gradient(loss, m, cost, a)
                if a == 0 and gradient >= 0:
                    rests = rests and gradient > limits[1, lane]
                    steps[lane] = 0
                    continue
                if loss == HINGE and a == cost and gradient <= 0:
                    rests = rests and gradient < limits[0, lane]
                    steps[lane] = 0
                    continue
                rests = False
                out_limits[0, lane] = min(out_limits[0, lane], gradient)
                out_limits[1, lane] = max(out_limits[1, lane], gradient)
            best = best_dual(loss, m, cost, a, square)
            step = best - a if loss == SQUARED else target * (best - a)
            duals[i, lane] = best
            biases[lane] += step * intercept
            steps[lane] = step * scale
            changed = changed or step != 0
        if changed:
            moved = True
            if scale > 0:
                following = order[min(t + 1, order.shape[0] - 1)]
                add_row(codes, weights, i, numbers, following, steps, planes)
        elif rests:
            resting[i] = 1
    return moved


@njit(nogil=True, cache=True)
def gaps(
    loss, codes, weights, numbers, scales, rows, targets, row_costs, costs, intercept,
    duals, planes, biases, out_objectives, out_gaps,
):  # fmt: skip
    """Each lane's objective and its duality gap, all planes standing still.

    Rounding may have led the planes away from the sum of the rows by some error e;
    the gap is then too small by |e|^2 / 2, which is of second order.
    """
    scores = np.empty(LANES, np.float32)
    out_objectives[:] = 0
    out_gaps[:] = 0
    for t in range(rows.shape[0]):
        i = rows[t]
        score_row(codes, weights, i, numbers, planes, scores)
        for lane in range(out_gaps.shape[0]):
            target = np.float64(targets[i, lane])
            cost = row_costs[i] * costs[1 if target > 0 else 0, lane]
            m = margin(
                loss, target, np.float64(scales[i]) * scores[lane] + intercept * biases[lane]
            )
            a = duals[i, lane]
            out_objectives[lane] += share_in_objective(loss, target, m, cost, a)
            out_gaps[lane] += row_gap(loss, m, cost, a)
