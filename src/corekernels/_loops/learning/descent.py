"""Dual coordinate descent: the dual variables of one batch of rows.

Every lane (see `scoring`) is a two-class problem of its own, or a regression. Lanes share only
the order in which rows are visited, so that a row's codes are read once for all of them.

Rows are visited in batches. The scores of a batch are found at once, and so are the inner
products of its rows; then the rows are visited one after another, each taking account of the
changes before it through these products, a few times over. What comes out is what visits one by
one would give, and better for the later turns; but all that is long, scores and changes of the
planes, can be shared out among threads by slots (see `team`).
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ..simd.vectors import LANES
from .losses import (
    HINGE,
    LOG,
    SQUARED,
    SQUARED_HINGE,
    best_dual,
    dual_gradient,
    group_shares,
    loss_value,
    row_gap,
)

BATCH = 16  # rows in a batch

_TURNS = 3  # visits of a row in its batch; more save few sweeps
_TURNS_LOG = 1  # the log loss needs few sweeps, and its visits take long


class Groups(NamedTuple):
    """Rows of equal contents, next to each other: group g is rows[starts[g] : starts[g + 1]]."""

    rows: np.ndarray
    starts: np.ndarray


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
    """Lanes and groups that a sweep works on.

    Rows at a bound in all active lanes, held there by a gradient beyond `limits`, are shrunk, as
    in LIBLINEAR: the caller leaves them out of later sweeps until it clears `shrunk`.
    """

    lanes: np.ndarray  # (n_lanes,): True for those not finished
    limits: np.ndarray  # (2, n_lanes): least and greatest gradient of the sweep before
    shrunk: np.ndarray  # (n_groups,): set to 1 for groups to leave out


class Findings(NamedTuple):
    """Output of a sweep.

    The sums over the rows add up what each row had at the moment of its first visit: estimates
    of the true sums that cost nothing.
    """

    limits: np.ndarray  # (2, n_lanes): the extremes of the gradients
    objectives: np.ndarray  # (n_lanes,)
    gaps: np.ndarray  # (n_lanes,)
    moved: np.ndarray  # (1,): 1 if any plane has changed


class BatchScratch(NamedTuple):
    """Working memory for one batch."""

    scores: np.ndarray  # (BATCH, lanes): double precision
    changes: np.ndarray  # (BATCH, lanes): of the rows' parts in the planes
    last_changes: np.ndarray  # (lanes,): of one row in one turn
    shrinks: np.ndarray  # (BATCH,)


@njit(nogil=True, cache=True)
def margin(loss, target, score):
    """The number the losses are functions of."""
    return 1.0 + score - target if loss == SQUARED else target * score


@njit(nogil=True, cache=True)
def part_of_square(loss, target, m, a):
    """A row's part of 1/2 |w|^2, as w sums up rows."""
    signed_score = m - 1.0 + target if loss == SQUARED else m
    return 0.5 * a * signed_score


@njit(nogil=True, cache=True)
def solve_batch(
    batch, groups, scales, problem, active, solution, gram, sums, scratch, steps, moves, findings
):
    """Visit the groups of a batch in turn; their steps, and whether each has one.

    `sums` are their inner products with the planes, not scaled; a step is the change of a row's
    part in the planes, times its scale.
    """
    rows, starts = groups.rows, groups.starts
    biases, intercept = solution.biases, problem.intercept
    scores, changes = scratch.scores, scratch.changes
    n, n_lanes, width = batch.shape[0], biases.shape[0], scores.shape[1]
    for p in range(n):
        scale = np.float64(scales[rows[starts[batch[p]]]])
        for lane in range(n_lanes):
            scores[p, lane] = scale * sums[p, lane] + intercept * biases[lane]
        for lane in range(width):
            changes[p, lane] = 0.0
    for turn in range(_TURNS_LOG if problem.loss == LOG else _TURNS):
        if not _visit_all(
            batch, groups, scales, problem, active, solution, gram, scratch, turn, findings
        ):
            break
    for p in range(n):
        scale, any_change = np.float64(scales[rows[starts[batch[p]]]]), False
        for lane in range(n_lanes):
            biases[lane] += changes[p, lane] * intercept
            any_change = any_change or changes[p, lane] != 0
        for lane in range(width):
            steps[p, lane] = changes[p, lane] * scale
        moves[p] = any_change and scale > 0
        if any_change:
            findings.moved[0] = 1
        elif scratch.shrinks[p]:
            active.shrunk[batch[p]] = 1


@njit(nogil=True, cache=True)
def _visit_all(batch, groups, scales, problem, active, solution, gram, scratch, turn, findings):
    """Visit each group of a batch once; False if nothing has changed."""
    # fields are read once: within the loop each reading would count references
    rows, starts = groups.rows, groups.starts
    loss, targets, intercept = problem.loss, problem.targets, problem.intercept
    row_costs, costs, duals = problem.row_costs, problem.costs, solution.duals
    lanes, limits = active.lanes, active.limits
    scores, changes, shrinks = scratch.scores, scratch.changes, scratch.shrinks
    last_changes = scratch.last_changes
    objectives, gaps, out_limits = findings.objectives, findings.gaps, findings.limits
    has_bounds = loss in (SQUARED_HINGE, HINGE)
    moved = False
    for p in range(batch.shape[0]):
        first, last = starts[batch[p]], starts[batch[p] + 1]
        i, alone = rows[first], last == first + 1
        square = (1.0 if scales[i] > 0 else 0.0) + intercept * intercept
        changed = False
        if turn == 0:
            shrinks[p] = has_bounds and alone
        for lane in range(lanes.shape[0]):
            last_changes[lane] = 0.0
            if not lanes[lane]:
                continue
            if turn == 0:
                for r in range(first, last):
                    target = np.float64(targets[rows[r], lane])
                    cost = row_costs[rows[r]] * costs[1 if target > 0 else 0, lane]
                    m, a = margin(loss, target, scores[p, lane]), duals[rows[r], lane]
                    value = loss_value(loss, m, cost)
                    objectives[lane] += value + part_of_square(loss, target, m, a)
                    gaps[lane] += row_gap(loss, m, cost, a, value)
            if not alone:
                change = _solve_group(
                    rows[first:last], lane, problem, duals, scores[p, lane], square
                )
                last_changes[lane] = change
                changed = changed or change != 0
                continue
            target = np.float64(targets[i, lane])
            cost = row_costs[i] * costs[1 if target > 0 else 0, lane]
            m, a = margin(loss, target, scores[p, lane]), duals[i, lane]
            if has_bounds:
                gradient = dual_gradient(loss, m, cost, a)
                if a == 0 and gradient >= 0:
                    shrinks[p] = shrinks[p] and gradient > limits[1, lane]
                    continue
                if loss == HINGE and a == cost and gradient <= 0:
                    shrinks[p] = shrinks[p] and gradient < limits[0, lane]
                    continue
                shrinks[p] = False
                if turn == 0:
                    out_limits[0, lane] = min(out_limits[0, lane], gradient)
                    out_limits[1, lane] = max(out_limits[1, lane], gradient)
            best = best_dual(loss, m, cost, a, square)
            change = best - a if loss == SQUARED else target * (best - a)
            duals[i, lane] = best
            last_changes[lane] = change
            changed = changed or change != 0
        if changed:
            moved = True
            _carry_over(p, batch.shape[0], gram, intercept * intercept, last_changes, scores)
            for lane in range(lanes.shape[0]):
                changes[p, lane] += last_changes[lane]
    return moved


@njit(nogil=True, cache=True)
def _carry_over(p, n, gram, constant, last_changes, scores):
    """Add what the change of row p does to the scores of all rows of its batch."""
    if scores.shape[1] == 1:
        change = last_changes[0]
        for q in range(n):
            scores[q, 0] += change * (gram[p, q] + constant)
    else:
        for q in range(n):
            product = gram[p, q] + constant
            for lane in range(LANES):
                scores[q, lane] += last_changes[lane] * product


@njit(nogil=True, cache=True)
def _solve_group(members, lane, problem, duals, score, square):
    """Find the best dual variables of equal rows, all at once; the change of their part.

    One after another, rows of opposite targets would undo each other's steps again and again.
    """
    loss, targets = problem.loss, problem.targets
    row_costs, costs = problem.row_costs, problem.costs
    sums = np.zeros(2)  # of the costs, by sign; for the squared loss, also times the targets
    before, values = 0.0, 0.0
    for i in members:
        target = np.float64(targets[i, lane])
        sign = 1 if target > 0 else 0
        cost = row_costs[i] * costs[sign, lane]
        sums[sign] += cost
        values += cost * target
        before += duals[i, lane] if loss == SQUARED else target * duals[i, lane]
    rest = score - square * before
    shares = np.zeros(2)
    if loss == SQUARED:
        shares[0] = (rest + 2.0 * square * values) / (1.0 + 2.0 * square * (sums[0] + sums[1]))
    else:
        shares[1], shares[0] = group_shares(loss, rest, square, sums[1], sums[0])
    after = 0.0
    for i in members:
        target = np.float64(targets[i, lane])
        sign = 1 if target > 0 else 0
        cost = row_costs[i] * costs[sign, lane]
        if loss == SQUARED:
            duals[i, lane] = 2.0 * cost * (target - shares[0])
            after += duals[i, lane]
        else:
            duals[i, lane] = cost * shares[sign]
            after += target * duals[i, lane]
    return after - before
