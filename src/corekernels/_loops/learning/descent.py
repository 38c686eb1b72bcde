"""Dual coordinate descent on packed rows: one sweep over the rows.

Every lane (see `scoring`) is a two-class problem of its own, or a regression. Lanes share only
the order in which rows are visited, so that a row's codes are read once for all of them.

`row_gaps` measures objective and duality gap in double precision. The planes that a descent has
moved step by step, in single precision, are no longer the sum of the rows times their dual
variables. The difference, e, adds |e|^2 / 2 to the sum of the rows' gaps; that is then the duality
gap of the planes as they are, whatever has been rounded before. `sum_rows` finds e and makes it as
small as single precision allows.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import allocating_loop, inner_loop, loop
from ..simd.halves import code_of, read_weights
from ..simd.integers import LINE
from ..simd.vectors import LANES, load, multiply_add, prefetch, splat_double, store, widen
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
    """Where the descent stands; changed in place."""

    duals: np.ndarray  # (n_rows, n_lanes)
    planes: np.ndarray
    biases: np.ndarray  # (n_lanes,): weights of the constant column


class Active(NamedTuple):
    """Lanes and rows that a sweep works on.

    Rows at a bound in all active lanes, held there by a slope beyond `limits`, are shrunk, as in
    LIBLINEAR: later sweeps skip them until the caller clears `shrunk`.
    """

    lanes: np.ndarray  # (n_lanes,): True for those not finished
    limits: np.ndarray  # (n_lanes,): steepest slope of the sweep before
    shrunk: np.ndarray  # (n_rows,): 1 for rows to skip; changed in place


@allocating_loop
def sweep(rows, order, problem, active, solution, out_limits, out):
    """Visit the rows in `order` once; False if no plane has changed.

    `out_limits` are the steepest slopes of the dual problem. `out`, (2, n_lanes), are objectives
    and gaps, summed over the rows as each was when visited: estimates that cost nothing.
    """
    # fields are read once: within the loop each reading would count references
    codes, weights, scales, buffer = rows.codes, rows.weights, rows.scales, rows.buffer
    loss, targets, intercept = problem.loss, problem.targets, problem.intercept
    row_costs, costs = problem.row_costs, problem.costs
    lanes, limits, shrunk = active.lanes, active.limits, active.shrunk
    duals, planes, biases = solution.duals, solution.planes, solution.biases
    objectives, gaps = out[0], out[1]
    may_shrink = shrinks(loss)
    scores = np.empty(LANES, np.float32)
    steps = np.zeros(LANES, np.float32)
    out_limits[:] = 0
    out[:] = 0
    moved = False
    for t in range(order.shape[0]):
        i = order[t]
        if shrunk[i]:
            continue
        score_row(codes, weights, i, buffer, planes, scores)
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
                add_row(codes, weights, i, buffer, next_row, steps, planes)
        elif is_held:
            shrunk[i] = 1
    return moved


@loop
def combined_conjugates(rows, problem, duals, others, out):
    """Sums over some rows of the conjugates at five combinations of two sets of dual variables."""
    loss, targets = problem.loss, problem.targets
    row_costs, costs = problem.row_costs, problem.costs
    out[:] = 0
    for i in rows:
        for lane in range(duals.shape[1]):
            target = np.float64(targets[i, lane])
            cost = row_costs[i] * costs[1 if target > 0 else 0, lane]
            dual, other = duals[i, lane], others[i, lane]
            out[0, lane] += conjugate(loss, dual, target, cost)
            out[1, lane] += conjugate(loss, 2 * dual, target, cost)
            out[2, lane] += conjugate(loss, other, target, cost)
            out[3, lane] += conjugate(loss, 2 * other, target, cost)
            out[4, lane] += conjugate(loss, dual + other, target, cost)


_U = np.uint64
_AHEAD = 8  # rows, which are in no order that the processor could predict, between prefetch and use


@allocating_loop
def sum_rows(codes, weights, scales, rows, duals, first, last, sums, buffer, planes, out):
    """Set slots first to last of the planes to the sum of the rows times their dual variables.

    `sums` is working memory, (n_codes, last - first, lanes) zeros in double precision; `buffer` is
    room for the weights of these slots of a row. `out` are the squared distances of the planes
    from the exact sum, lane by lane: before that, and after, when they differ by rounding alone.
    """
    k, n_slots = codes.shape[1], last - first
    parts = np.zeros(LANES)
    for t in range(rows.shape[0]):
        i = rows[t]
        ahead = rows[min(t + _AHEAD, rows.shape[0] - 1)] * k + first
        for j in range(0, n_slots, LINE // codes.itemsize):
            prefetch(codes, ahead + j)
        if weights is not None:
            for j in range(0, n_slots, LINE // weights.itemsize):
                prefetch(weights, ahead + j)
        used = False
        for lane in range(duals.shape[1]):
            parts[lane] = np.float64(scales[i]) * duals[i, lane]
            used = used or parts[lane] != 0
        if used:
            if weights is not None:
                read_weights(weights, i, first, last, buffer)
            _add_row(codes, weights, buffer, i, first, n_slots, parts, sums)
    _replace(sums, first, planes, out)


@inner_loop
def _add_row(codes, weights, buffer, row, first, n_slots, parts, sums):
    """Add some slots of a row, times each lane's part, to the sums."""
    for slot in range(n_slots):
        j = _U(slot)
        code = code_of(codes[row, first + slot])
        weight = 1.0 if weights is None else np.float64(buffer[j])
        if sums.shape[2] == 1:
            sums[code, j, 0] += weight * parts[0]
        else:
            p = (np.intp(code) * n_slots + slot) * LANES
            more = multiply_add(splat_double(weight), load(parts, 0), load(sums, p))
            store(more, p, sums)


@loop
def _replace(sums, first, planes, out):
    """Replace slots of the planes, from `first` on, by the sums."""
    wide = planes.reshape(planes.shape[0], planes.shape[1], -1)
    out[:] = 0
    for code in range(sums.shape[0]):
        for slot in range(sums.shape[1]):
            for lane in range(out.shape[1]):
                exact = sums[code, slot, lane]
                before = np.float64(wide[code, first + slot, lane])
                if exact != 0 or before != 0:
                    wide[code, first + slot, lane] = exact
                    after = np.float64(wide[code, first + slot, lane])
                    out[0, lane] += (before - exact) * (before - exact)
                    out[1, lane] += (after - exact) * (after - exact)


@allocating_loop
def row_gaps(codes, weights, scales, buffer, rows, problem, duals, planes, biases, out):
    """Losses and gaps of each lane, summed over some rows: `out`, (2, n_lanes)."""
    loss, targets, intercept = problem.loss, problem.targets, problem.intercept
    row_costs, costs = problem.row_costs, problem.costs
    losses, gaps = out[0], out[1]
    scores = np.empty(LANES)
    out[:] = 0
    for i in rows:
        _score_row(codes, weights, i, buffer, planes, scores)
        scale = np.float64(scales[i])
        for lane in range(gaps.shape[0]):
            target = np.float64(targets[i, lane])
            cost = row_costs[i] * costs[1 if target > 0 else 0, lane]
            score = scale * scores[lane] + intercept * biases[lane]
            dual = duals[i, lane]
            value = loss_value(loss, score, target, cost)
            losses[lane] += value
            gaps[lane] += max(0.0, value + conjugate(loss, dual, target, cost) + dual * score)


@inner_loop
def _score_row(codes, weights, row, buffer, planes, out):
    """Inner products of one row, not scaled, with each lane's plane."""
    codes_of = codes[row]
    k = _U(codes_of.shape[0])
    if weights is not None:
        read_weights(weights, row, 0, codes_of.shape[0], buffer)
    if planes.ndim == 3:
        lanes = splat_double(0.0)
        for slot in range(codes_of.shape[0]):
            j = _U(slot)
            p = place(codes_of, j, k, _U(LANES))
            weight = 1.0 if weights is None else np.float64(buffer[j])
            lanes = multiply_add(splat_double(weight), widen(load(planes, p)), lanes)
        store(lanes, 0, out)
    else:
        a, b = 0.0, 0.0  # two sums, so that no addition waits for the one before
        even = codes_of.shape[0] // 2 * 2
        for slot in range(0, even, 2):
            j, n = _U(slot), _U(slot + 1)
            u = np.float64(planes[code_of(codes_of[j]), j])
            v = np.float64(planes[code_of(codes_of[n]), n])
            a += u if weights is None else u * buffer[j]
            b += v if weights is None else v * buffer[n]
        for slot in range(even, codes_of.shape[0]):
            j = _U(slot)
            u = np.float64(planes[code_of(codes_of[j]), j])
            a += u if weights is None else u * buffer[j]
        out[0] = a + b
