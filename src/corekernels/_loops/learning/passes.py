"""Passes over packed rows, shared out over threads: scores, and sums of rows times factors.

What a pass finds does not depend on the number of threads: rows are cut into parts (or blocks) by
their number alone, sums belong to one part, and the caller adds up the parts in order.

`chosen` are the numbers of the rows that a pass is over. Arrays of numbers per row have one row
for each of them, and a column per lane.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import allocating_loop, loop
from ..rows import next_block
from ..simd.halves import code_of, read_weights
from ..simd.vectors import LANES, load, multiply_add, splat, store
from .losses import loss_curvature, loss_slope, loss_value
from .scoring import place, score_rows

_U = np.uint64
TILE = 64  # rows that are scored, then added: the caches hold them


class PartSums(NamedTuple):
    """Output: sums over the rows of each part."""

    planes: np.ndarray  # (n_parts, n_codes, n_hashes[, 8]): of the rows times their factors
    numbers: np.ndarray  # (n_parts, 2, lanes): of the constant column, and of the losses


@loop
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


@loop(inline="always")
def _part_of(n_rows, part, n_parts):
    """The first row of a part and the row after its last."""
    return n_rows * part // n_parts, n_rows * (part + 1) // n_parts


@loop
def gradient_parts(blocks, n_blocks, rows, chosen, problem, scores, tile, curvatures, sums):
    """Gradients of the losses of each part at the scores, and the curvatures of all rows.

    `tile` is working memory, (TILE, lanes).
    """
    loss, targets, intercept = problem.loss, problem.targets, problem.intercept
    row_costs, costs = problem.row_costs, problem.costs
    codes, weights, scales, buffer = rows.codes, rows.weights, rows.scales, rows.buffer
    for _ in range(n_blocks):
        part, after = next_block(blocks)
        if part == after:
            return False
        planes, numbers = sums.planes[part], sums.numbers[part]
        planes[:] = 0
        numbers[:] = 0
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
                    numbers[0, lane] += intercept * slope
                    numbers[1, lane] += loss_value(loss, score, target, cost)
                    tile[t - start, lane] = slope * scales[i]
                    curvatures[t, lane] = loss_curvature(loss, score, target, cost)
            _add_rows(codes, weights, buffer, chosen[start:stop], tile, planes)
    return True


@allocating_loop
def product_parts(
    blocks, n_blocks, rows, chosen, places, planes, biases, intercept, curvatures, tile, sums
):  # fmt: skip
    """Hessians of the losses of each part, times a direction.

    `places` are those of the chosen rows in `curvatures`; `tile` is working memory.
    """
    codes, weights, scales, buffer = rows.codes, rows.weights, rows.scales, rows.buffer
    n_lanes = biases.shape[0]
    intercepts = biases * intercept
    for _ in range(n_blocks):
        part, after = next_block(blocks)
        if part == after:
            return False
        out, numbers = sums.planes[part], sums.numbers[part]
        out[:] = 0
        numbers[:] = 0
        first, last = _part_of(chosen.shape[0], part, blocks.n_rows)
        for start in range(first, last, TILE):
            stop = min(start + TILE, last)
            some = chosen[start:stop]
            score_rows(
                codes, weights, scales, buffer, some, planes, None, n_lanes, intercepts, tile
            )
            for t in range(start, stop):
                scale = scales[chosen[t]]
                for lane in range(n_lanes):
                    product = tile[t - start, lane] * curvatures[places[t], lane]
                    numbers[0, lane] += intercept * product
                    tile[t - start, lane] = product * scale
            _add_rows(codes, weights, buffer, some, tile, out)
    return True


@loop
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
                    total[s, lane] += loss_value(loss, score + steps[s] * move, target, cost)
    return True


@allocating_loop
def _add_rows(codes, weights, buffer, chosen, factors, planes):
    """Add rows, times their factors, to planes."""
    n_hashes, n_lanes = codes.shape[1], factors.shape[1]
    lanes = np.zeros(LANES, np.float32)
    for t in range(chosen.shape[0]):
        row, used = chosen[t], False
        for lane in range(n_lanes):
            lanes[lane] = factors[t, lane]
            used = used or lanes[lane] != 0
        if not used:
            continue
        codes_of = codes[row]
        if weights is not None:
            read_weights(weights, row, 0, n_hashes, buffer)
        if planes.ndim == 3:
            steps = load(lanes, 0)
            for slot in range(n_hashes):
                j = _U(slot)
                p = place(codes_of, j, _U(n_hashes), _U(LANES))
                weight = splat(np.float32(1) if weights is None else buffer[j])
                store(multiply_add(weight, steps, load(planes, p)), p, planes)
        else:
            step = lanes[0]
            for slot in range(n_hashes):
                u = _U(slot)
                planes[code_of(codes_of[u]), u] += step if weights is None else step * buffer[u]


@allocating_loop
def add_parts(blocks, n_blocks, parts, out):
    """Add the sums of all parts, in double precision, to `out`; both flat."""
    for _ in range(n_blocks):
        start, stop = next_block(blocks)
        if start == stop:
            return False
        totals = out[start:stop].astype(np.float64)
        for part in range(parts.shape[0]):
            totals += parts[part, start:stop]
        out[start:stop] = totals
    return True
