"""Passes over packed rows, shared out over threads: scores, and sums of rows times factors.

What a pass finds does not depend on the number of threads: a score belongs to one row, a sum to
one slot, and totals are written block by block, for the caller to add up in order.

`chosen` are the numbers of the rows that a pass is over. Arrays of numbers per row have one row
for each of them, and a column per lane.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ..blocks import next_block
from ..simd.halves import read_halves
from ..simd.llvm import LINE
from ..simd.vectors import LANES, load, multiply_add, prefetch, splat, store
from .losses import SQUARED, loss_curvature, loss_slope, loss_value, margin
from .scoring import place, score_rows

_U = np.uint64
_RUN = 4096  # rows summed in single precision, over which rounding errors do not build up
_AHEAD = 8  # rows between prefetch and use: a slice of the slots is no sequence of addresses


class SlotSums(NamedTuple):
    """Working memory of one thread for the sums of some slots."""

    totals: np.ndarray  # (n_codes, slots, lanes), double precision
    run: np.ndarray  # the same in single precision
    weights: np.ndarray  # (slots,): of a row


class RowTerms(NamedTuple):
    """Output: what each row adds to the gradient and to the Hessian at the present scores."""

    factors: np.ndarray  # what the row's weights are multiplied with in the gradient
    curvatures: np.ndarray  # second derivatives of the losses in the scores
    sums: np.ndarray  # (n_blocks, 2, lanes): losses, and their derivatives in the bias


@njit(nogil=True, cache=True)
def score_blocks(blocks, n_blocks, rows, chosen, planes, intercepts, out):
    """Scores of rows."""
    codes, weights, scales, buffer = rows.codes, rows.weights, rows.scales, rows.buffer
    n_lanes = intercepts.shape[0]
    for _ in range(n_blocks):
        start, stop = next_block(blocks)
        if start == stop:
            return False
        score_rows(
            codes, weights, scales, buffer, chosen[start:stop], planes, None, n_lanes, intercepts,
            out[start:stop],
        )  # fmt: skip
    return True


@njit(nogil=True, cache=True)
def product_blocks(
    blocks, n_blocks, rows, chosen, places, planes, biases, intercept, curvatures, factors, sums
):  # fmt: skip
    """Scores of a direction, times the curvatures: the factors of rows in a Hessian product.

    `places` are those of the chosen rows in `curvatures`. `sums[block]` adds up the products of
    the constant column.
    """
    codes, weights, scales, buffer = rows.codes, rows.weights, rows.scales, rows.buffer
    n_lanes = biases.shape[0]
    intercepts = biases * intercept
    for _ in range(n_blocks):
        start, stop = next_block(blocks)
        if start == stop:
            return False
        score_rows(
            codes, weights, scales, buffer, chosen[start:stop], planes, None, n_lanes, intercepts,
            factors[start:stop],
        )  # fmt: skip
        total = sums[start // blocks.size]
        total[:] = 0
        for t in range(start, stop):
            scale = scales[chosen[t]]
            for lane in range(n_lanes):
                product = factors[t, lane] * curvatures[places[t], lane]
                total[lane] += intercept * product
                factors[t, lane] = product * scale
    return True


@njit(nogil=True, cache=True)
def term_blocks(blocks, n_blocks, scales, chosen, problem, scores, out):
    """Losses of rows at their scores, with first and second derivatives."""
    loss, targets, intercept = problem.loss, problem.targets, problem.intercept
    row_costs, costs = problem.row_costs, problem.costs
    factors, curvatures, sums = out.factors, out.curvatures, out.sums
    for _ in range(n_blocks):
        start, stop = next_block(blocks)
        if start == stop:
            return False
        total = sums[start // blocks.size]
        total[:] = 0
        for t in range(start, stop):
            i = chosen[t]
            for lane in range(scores.shape[1]):
                target = np.float64(targets[i, lane])
                cost = row_costs[i] * costs[1 if target > 0 else 0, lane]
                m = margin(loss, target, scores[t, lane])
                slope = loss_slope(loss, m, cost) * (1.0 if loss == SQUARED else target)
                total[0, lane] += loss_value(loss, m, cost)
                total[1, lane] += intercept * slope
                factors[t, lane] = slope * scales[i]
                curvatures[t, lane] = loss_curvature(loss, m, cost)
    return True


@njit(nogil=True, cache=True)
def line_blocks(blocks, n_blocks, chosen, problem, scores, moves, steps, sums):
    """Losses at scores + step * moves, for each of some steps; `sums[block]`, (steps, lanes)."""
    loss, targets = problem.loss, problem.targets
    row_costs, costs = problem.row_costs, problem.costs
    for _ in range(n_blocks):
        start, stop = next_block(blocks)
        if start == stop:
            return False
        total = sums[start // blocks.size]
        total[:] = 0
        for t in range(start, stop):
            i = chosen[t]
            for lane in range(scores.shape[1]):
                target = np.float64(targets[i, lane])
                cost = row_costs[i] * costs[1 if target > 0 else 0, lane]
                score, move = scores[t, lane], moves[t, lane]
                for s in range(steps.shape[0]):
                    m = margin(loss, target, score + steps[s] * move)
                    total[s, lane] += loss_value(loss, m, cost)
    return True


@njit(nogil=True, cache=True)
def add_rows(blocks, n_blocks, rows, chosen, factors, n_slots, scratch, sums):
    """Add rows, times their factors, to `sums[part]`, one block of planes per part of the rows.

    A block is one part of the rows and `n_slots` of the slots.
    """
    codes, weights = rows.codes, rows.weights
    totals, run, numbers = scratch.totals, scratch.run, scratch.weights
    n_hashes, n_parts = codes.shape[1], sums.shape[0]
    n_rows = chosen.shape[0]
    for _ in range(n_blocks):
        block, after = next_block(blocks)
        if block == after:
            return False
        part, first = block % n_parts, block // n_parts * n_slots
        last = min(first + n_slots, n_hashes)
        totals[:] = 0
        for start in range(n_rows * part // n_parts, n_rows * (part + 1) // n_parts, _RUN):
            stop = min(start + _RUN, n_rows * (part + 1) // n_parts)
            run[:] = 0
            _add_run(codes, weights, chosen, start, stop, factors, first, last, numbers, run)
            totals += run
        out = sums[part].reshape(sums.shape[1], n_hashes, -1)
        for code in range(out.shape[0]):
            for slot in range(last - first):
                for lane in range(out.shape[2]):
                    out[code, first + slot, lane] = totals[code, slot, lane]
    return True


@njit(nogil=True, cache=True)
def _add_run(codes, weights, chosen, start, stop, factors, first, last, numbers, sums):
    """Add slots first to last of rows start to stop, times their factors, to the sums."""
    n_slots, n_lanes = last - first, factors.shape[1]
    width = _U(sums.shape[1])
    lanes = np.zeros(LANES, np.float32)
    for t in range(start, stop):
        row = chosen[t]
        ahead = chosen[min(t + _AHEAD, stop - 1)] * codes.shape[1] + first
        for j in range(0, n_slots, LINE // codes.itemsize):
            prefetch(codes, ahead + j)
        if weights is not None:
            for j in range(0, n_slots, LINE // weights.itemsize):
                prefetch(weights, ahead + j)
        used = False
        for lane in range(n_lanes):
            lanes[lane] = factors[t, lane]
            used = used or lanes[lane] != 0
        if not used:
            continue
        if weights is not None:
            read_halves(weights, row, first, last, numbers)
        codes_of = codes[row, first:last]
        if sums.shape[2] == 1:
            for slot in range(n_slots):
                u = _U(slot)
                step = lanes[0] if weights is None else lanes[0] * numbers[u]
                sums[codes_of[u], u, 0] += step
        else:
            steps = load(lanes, 0)
            for slot in range(n_slots):
                u = _U(slot)
                p = place(codes_of, u, width, _U(LANES))
                weight = splat(np.float32(1) if weights is None else numbers[u])
                store(multiply_add(weight, steps, load(sums, p)), p, sums)
