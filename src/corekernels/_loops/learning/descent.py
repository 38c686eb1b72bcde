"""Dual coordinate descent on packed rows: one sweep over the rows.

Every lane (see `scoring`) is a two-class problem of its own, or a regression. Lanes share only
the order in which rows are visited, so that a row's codes are read once for all of them.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import allocating_loop
from ..simd.vectors import LANES
from .losses import (
    HINGE,
    SQUARED,
    SQUARED_HINGE,
    best_dual,
    dual_gradient,
    loss_value,
    margin,
    row_gap,
)
from .scoring import add_row, score_row


class Problem(NamedTuple):
    """What is minimised in each lane.

    The cost of a row is its `row_costs` times its lane's `costs[0]` or, if its target is
    positive, `costs[1]`.
    """

    loss: int
    targets: np.ndarray  # (n_rows, n_lanes): -1 or 1, or the values to predict
    row_costs: np.ndarray  # (n_rows,)
    costs: np.ndarray  # (2, n_lanes)
    intercept: float  # value of the constant column; 0: none


class Solution(NamedTuple):
    """Where the descent stands; changed in place."""

    duals: np.ndarray  # (n_rows, n_lanes)
    planes: np.ndarray
    biases: np.ndarray  # (n_lanes,): weights of the constant column


class Active(NamedTuple):
    """Lanes and rows that a sweep works on.

    Rows at a bound in all active lanes, held there by a gradient beyond `limits`, are shrunk, as
    in LIBLINEAR: later sweeps skip them until the caller clears `shrunk`.
    """

    lanes: np.ndarray  # (n_lanes,): True for those not finished
    limits: np.ndarray  # (2, n_lanes): least and greatest gradient of the sweep before
    shrunk: np.ndarray  # (n_rows,): 1 for rows to skip; changed in place


class Sums(NamedTuple):
    """Output: the sums over the rows, one per lane."""

    objectives: np.ndarray
    gaps: np.ndarray


@allocating_loop
def sweep(rows, order, problem, active, solution, out_limits, out_sums):
    """Visit the rows in `order` once; False if no plane has changed.

    `out_limits` are the extremes of the gradients. `out_sums` add up what each row had at the
    moment of its visit: estimates of the true sums that cost nothing.
    """
    # fields are read once: within the loop each reading would count references
    codes, weights, scales, buffer = rows.codes, rows.weights, rows.scales, rows.buffer
    loss, targets, intercept = problem.loss, problem.targets, problem.intercept
    row_costs, costs = problem.row_costs, problem.costs
    lanes, limits, shrunk = active.lanes, active.limits, active.shrunk
    duals, planes, biases = solution.duals, solution.planes, solution.biases
    objectives, gaps = out_sums.objectives, out_sums.gaps
    has_bounds = loss in (SQUARED_HINGE, HINGE)
    scores = np.empty(LANES, np.float32)
    steps = np.zeros(LANES, np.float32)
    out_limits[0] = np.inf
    out_limits[1] = -np.inf
    objectives[:] = 0
    gaps[:] = 0
    moved = False
    for t in range(order.shape[0]):
        i = order[t]
        if shrunk[i]:
            continue
        score_row(codes, weights, i, buffer, planes, scores)
        scale = np.float64(scales[i])
        square = (1.0 if scale > 0 else 0.0) + intercept * intercept
        changed, shrinks = False, has_bounds
        for lane in range(lanes.shape[0]):
            if not lanes[lane]:
                continue
            target = np.float64(targets[i, lane])
            cost = row_costs[i] * costs[1 if target > 0 else 0, lane]
            m = margin(loss, target, scale * scores[lane] + intercept * biases[lane])
            a = duals[i, lane]
            value = loss_value(loss, m, cost)
            signed_score = m - 1.0 + target if loss == SQUARED else m
            objectives[lane] += value + 0.5 * a * signed_score  # |w|^2 / 2 is a sum over rows too
            gaps[lane] += row_gap(loss, m, cost, a, value)
            if has_bounds:
                gradient = dual_gradient(loss, m, cost, a)
                if a == 0 and gradient >= 0:
                    shrinks = shrinks and gradient > limits[1, lane]
                    steps[lane] = 0
                    continue
                if loss == HINGE and a == cost and gradient <= 0:
                    shrinks = shrinks and gradient < limits[0, lane]
                    steps[lane] = 0
                    continue
                shrinks = False
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
                next_row = order[min(t + 1, order.shape[0] - 1)]
                add_row(codes, weights, i, buffer, next_row, steps, planes)
        elif shrinks:
            shrunk[i] = 1
    return moved
