"""Passes over packed rows, shared out over threads: scores, and sums of rows times factors.

Results do not depend on the number of threads: rows are cut into parts (or blocks) by their number
alone, every sum is that of one part, and the caller adds up the parts in order.

`chosen` are the numbers of the rows that a pass is over. Arrays of numbers per row have one row
for each of them, and a column per lane.
"""

import numpy as np

from ..compilation import allocating_loop, loop
from ..rows import taken
from ..simd.halves import read_weights
from ..simd.vectors import LANES, load, multiply_add, splat, store
from .losses import loss_curvature, loss_slope, loss_value
from .scoring import add_row, score_rows

TILE = 64  # rows that are scored, then added: the caches hold them


@loop
def score_blocks(blocks, n_blocks, rows, chosen, coef, intercepts, out):
    """Scores of rows."""
    codes, weights, scales, buffer = rows.codes, rows.weights, rows.scales, rows.buffer
    n_lanes = intercepts.shape[0]
    for start, stop in taken(blocks, n_blocks):
        score_rows(
            codes, weights, scales, buffer, chosen[start:stop], coef, None, n_lanes, intercepts,
            out[start:stop],
        )  # fmt: skip


@loop(inline="always")
def _part_of(n_rows, part, n_parts):
    """The first row of a part and the row after its last."""
    return n_rows * part // n_parts, n_rows * (part + 1) // n_parts


@loop
def gradient_parts(
    blocks, n_blocks, rows, chosen, problem, scores, tile, curvatures, sums, numbers
):
    """Gradients of the losses of each part at the scores, and the curvatures of all rows.

    `tile` is working memory, (TILE, lanes). `sums`, (n_parts, n_codes, n_hashes[, 8]), are those of
    the rows times their factors; `numbers`, (n_parts, 2, lanes), of the constant column and losses.
    """
    loss, targets, intercept = problem.loss, problem.targets, problem.intercept
    row_costs, costs = problem.row_costs, problem.costs
    codes, weights, scales, buffer = rows.codes, rows.weights, rows.scales, rows.buffer
    for part, _ in taken(blocks, n_blocks):
        coef, own = sums[part], numbers[part]
        coef[:] = 0
        own[:] = 0
        first, last = _part_of(chosen.shape[0], part, blocks.n_rows)
        for start in range(first, last, TILE):
            stop = min(start + TILE, last)
            for t in range(start, stop):
                i = chosen[t]
                for lane in range(scores.shape[1]):
                    target = np.float64(targets[i, lane])
                    cost = row_costs[i] * costs[1 if target > 0 else 0, lane]
                    score = scores[t, lane]
                    slope = loss_slope(loss, score, target, cost)
                    own[0, lane] += intercept * slope
                    own[1, lane] += loss_value(loss, score, target, cost)
                    tile[t - start, lane] = slope * scales[i]
                    curvatures[t, lane] = loss_curvature(loss, score, target, cost)
            _add_rows(codes, weights, buffer, chosen[start:stop], tile, coef)


@allocating_loop
def product_parts(
    blocks, n_blocks, rows, chosen, places, coef, biases, intercept, curvatures, tile, sums,
    numbers,
):  # fmt: skip
    """Hessians of the losses of each part, times a direction: sums as those of `gradient_parts`.

    `places` are those of the chosen rows in `curvatures`; `tile` is working memory.
    """
    codes, weights, scales, buffer = rows.codes, rows.weights, rows.scales, rows.buffer
    n_lanes = biases.shape[0]
    intercepts = biases * intercept
    for part, _ in taken(blocks, n_blocks):
        out, own = sums[part], numbers[part]
        out[:] = 0
        own[:] = 0
        first, last = _part_of(chosen.shape[0], part, blocks.n_rows)
        for start in range(first, last, TILE):
            stop = min(start + TILE, last)
            some = chosen[start:stop]
            score_rows(codes, weights, scales, buffer, some, coef, None, n_lanes, intercepts, tile)
            for t in range(start, stop):
                scale = scales[chosen[t]]
                for lane in range(n_lanes):
                    product = tile[t - start, lane] * curvatures[places[t], lane]
                    own[0, lane] += intercept * product
                    tile[t - start, lane] = product * scale
            _add_rows(codes, weights, buffer, some, tile, out)


@loop
def line_blocks(blocks, n_blocks, chosen, problem, scores, moves, steps, sums):
    """Losses at scores + step * moves, for each of some steps; `sums[block]`, (steps, lanes)."""
    loss, targets = problem.loss, problem.targets
    row_costs, costs = problem.row_costs, problem.costs
    for start, stop in taken(blocks, n_blocks):
        total = sums[start // blocks.size]
        total[:] = 0
        for t in range(start, stop):
            i = chosen[t]
            for lane in range(scores.shape[1]):
                target = np.float64(targets[i, lane])
                cost = row_costs[i] * costs[1 if target > 0 else 0, lane]
                score, move = scores[t, lane], moves[t, lane]
                for s in range(steps.shape[0]):
                    total[s, lane] += loss_value(loss, score + steps[s] * move, target, cost)


@allocating_loop
def _add_rows(codes, weights, buffer, chosen, factors, coef):
    """Add rows, times their factors, to weight vectors."""
    n_lanes, last = factors.shape[1], chosen.shape[0] - 1
    steps = np.zeros(LANES, np.float32)
    for t in range(chosen.shape[0]):
        used = False
        for lane in range(n_lanes):
            steps[lane] = factors[t, lane]
            used = used or steps[lane] != 0
        if used:
            if weights is not None:
                read_weights(weights, chosen[t], 0, codes.shape[1], buffer)
            add_row(codes, weights, chosen[t], buffer, chosen[min(t + 1, last)], steps, coef)


@allocating_loop
def add_parts(blocks, n_blocks, parts, out):
    """Add the sums of all parts, in double precision, to `out`; both flat."""
    for start, stop in taken(blocks, n_blocks):
        totals = out[start:stop].astype(np.float64)
        for part in range(parts.shape[0]):
            totals += parts[part, start:stop]
        out[start:stop] = totals


_RUN = 64  # slots summed in single precision, over which rounding errors do not build up


@allocating_loop
def combine_blocks(blocks, n_blocks, x, factors, y, others, z, products):
    """z = x + factors * y, and the inner products of z with itself and with `others`.

    All are flat, in blocks of a multiple of eight numbers; number p belongs to lane p % 8, a
    single weight vector to all eight. z may be x or y. `products[block]`, (2, 8), is the share of
    the block.
    """
    zero, f = splat(np.float32(0)), load(factors, 0)
    partial = np.empty((2, LANES), np.float32)
    for start, stop in taken(blocks, n_blocks):
        total = products[start // blocks.size]
        total[:] = 0
        for first in range(start, stop, _RUN * LANES):
            last = min(first + _RUN * LANES, stop)
            a, b = zero, zero
            for p in range(first, last // LANES * LANES, LANES):
                sums = multiply_add(f, load(y, p), load(x, p))
                store(sums, p, z)
                a = multiply_add(sums, sums, a)
                b = multiply_add(sums, load(others, p), b)
            store(a, 0, partial)
            store(b, LANES, partial)
            total += partial
        for p in range(stop // LANES * LANES, stop):  # the end of a single weight vector
            z[p] = x[p] + factors[0] * y[p]
            total[0, 0] += z[p] * z[p]
            total[1, 0] += z[p] * others[p]
