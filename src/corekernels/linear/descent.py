"""Dual coordinate descent on packed rows, a block of problems at a time."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.arguments import Array
from .._core.threads import run_blocks, stop_if_asked
from .._core.validation import read_only
from .._loops.learning.descent import Active, Solution, sweep
from .._loops.simd.vectors import LANES
from .coefficients import codes_in_use, half_squares, inner_products, zero_coef
from .problem import Block, Measure, Options, Outcome, measure
from .rows import Packed


def zero_solution(packed: Packed, n_lanes: int) -> Solution:
    """The start of a descent from nothing."""
    coef = zero_coef(packed.n_codes, packed.codes.shape[1], n_lanes)
    return Solution(np.zeros((len(packed), n_lanes)), coef, np.zeros(n_lanes))


def solve(
    packed: Packed, blocks: Sequence[Block], options: Options, n_jobs: int | None,
    solutions: Sequence[Solution] | None = None, is_sum: bool = True,
) -> tuple[Sequence[Solution], list[Outcome]]:  # fmt: skip
    """Descend on all blocks, from `solutions` (changed in place) or from zero; see `descend`."""
    if solutions is None:
        solutions = [zero_solution(packed, block.n_lanes) for block in blocks]
    for block in blocks:
        block.require_costs()
    tasks = list(zip(blocks, solutions, strict=True))
    outcomes = run_blocks(lambda task: descend(packed, *task, options, is_sum), tasks, n_jobs)
    return solutions, outcomes


def descend(
    packed: Packed, block: Block, solution: Solution, options: Options, is_sum: bool = True
) -> Outcome:
    """Sweep over the rows of a block, from `solution` on, until the gaps are small enough.

    The weight vectors of `solution` are the sum of the rows times their dual variables or, if
    `is_sum` is False, that sum plus the vectors from which the descent was started.

    Each sweep estimates the gaps on its way. Once the estimate is small enough for all lanes, one
    pass over all rows finds the true gaps. Lanes whose gap is small enough are finished, the others
    go on with no row shrunk. Where the estimates are too large by nature (`Loss.gap_excess`), such
    a pass is also made earlier, now and then.
    """
    rows, problem, n_lanes = packed.rows(), block.problem, block.n_lanes
    compiled_sweep, gap_excess = block.loss.compiled(sweep), block.loss.gap_excess
    every = unfinished = np.ones(n_lanes, np.bool_)
    shrunk = np.zeros(len(packed), np.uint8)
    limits, steepest = np.full(n_lanes, np.inf), np.empty(n_lanes)
    scores, steps = np.zeros((2, LANES), np.float32)
    objectives, gaps = sums = np.empty((2, n_lanes))
    next_look = 1
    for epoch in range(1, options.max_iter + 1):
        stop_if_asked()
        order = np.random.default_rng([*options.seed, epoch]).permutation(block.rows)
        active = Active(read_only(unfinished), read_only(limits), shrunk)
        moved = compiled_sweep(
            rows, read_only(order), problem, active, solution, scores, steps, steepest, sums
        )
        limits[:] = np.where(steepest > 0, steepest, np.inf)
        estimate = Measure(objectives, gaps)
        done = not moved or not _too_large(estimate, unfinished, solution, options).any()
        hopeful = Measure(objectives, gaps / gap_excess)
        early = gap_excess > 1 and epoch >= next_look
        early = early and not _too_large(hopeful, unfinished, solution, options).any()
        if not (done or early or epoch == options.max_iter):
            continue
        next_look = epoch + 1 + epoch // 8
        at = measure(packed, block, solution, is_sum, options.tol)
        at.require_finite()
        unfinished = _too_large(at, every, solution, options)
        if not unfinished.any():
            break
        if done:
            shrunk[:] = 0
            limits[:] = np.inf
    return Outcome(epoch, at.objectives, at.relative_gaps, not unfinished.any())


def _too_large(
    at: Measure, lanes: npt.NDArray[np.bool_], solution: Solution, options: Options
) -> npt.NDArray[np.bool_]:
    """Those of some lanes whose gap is too large; none if an objective is not finite."""
    gaps, objectives = at.gaps, at.objectives
    if not np.isfinite(objectives).all():
        return np.zeros_like(lanes)
    too_large = lanes & (gaps > max(options.tol, options.coef_tol) * objectives)
    # |w|^2 / 2 is part of the objective, and takes a pass over the coefficients
    if options.coef_tol > 0 and (too_large != lanes).any():
        limits = options.coef_tol * half_squares(solution.coef, solution.biases)
        too_large = lanes & (gaps > np.maximum(options.tol * objectives, limits))
    return too_large


_PARALLEL = 1e-4  # share of the curvature below which two solutions count as one


def extrapolate(block: Block, solution: Solution, before: Solution) -> None:
    """Extrapolate the solutions for two smaller costs to the costs of `block`.

    `solution` is the latest one and `before` the one before it (or zero), which becomes what
    `solution` was. `solution` becomes their best linear combination for the dual problem without
    its bounds: the minimum of a quadratic function of two variables. The first sweep corrects dual
    variables beyond a bound, one row after another. (Clipped here, all at once, they would move
    the weight vectors by a sum of terms mostly of one sign, which costs more sweeps than it saves.)

    Where the conjugate of the loss is not quadratic, both stay as they are. On paths of eight C a
    factor of 2 apart, this saves an eighth to a fifth of the time.
    """
    if not block.loss.quadratic_conjugate:
        return
    factors = _best_combination(block, solution, before)
    _combine(solution.duals, before.duals, factors)
    _combine(solution.biases, before.biases, factors)
    lanes = np.zeros((2, 1 if block.n_lanes == 1 else LANES), np.float32)
    lanes[:, : block.n_lanes] = factors
    used = codes_in_use(solution.coef, before.coef)
    coef, older_coef = solution.coef[used], before.coef[used]
    _combine(coef, older_coef, lanes)
    solution.coef[used], before.coef[used] = coef, older_coef


def _best_combination(block: Block, solution: Solution, before: Solution) -> Array:
    """For each lane, the factors of both solutions in their best combination."""
    targets = block.targets[block.rows]
    costs = np.where(targets > 0, block.costs[1], block.costs[0])
    costs = costs * block.row_costs[block.rows, None]
    a, b = solution.duals[block.rows], before.duals[block.rows]
    conjugate: Any = block.loss.conjugate  # quadratic, so that it takes arrays as well
    one, two, other, other_two, both = (
        conjugate(duals, targets, costs).sum(axis=0) for duals in (a, 2 * a, b, 2 * b, a + b)
    )
    pairs = (solution, solution), (solution, before), (before, before)
    products = [
        inner_products(x.coef, y.coef, block.n_lanes) + x.biases * y.biases for x, y in pairs
    ]
    # conjugate(x a + y b) is curvatures[0] x^2 / 2 + curvatures[1] x y + ... - gains[0] x - ...
    curvatures = two - 2 * one, both - one - other, other_two - 2 * other
    gains = 0.5 * curvatures[0] - one, 0.5 * curvatures[2] - other
    xx, xy, yy = np.add(curvatures, products)
    hessians = np.moveaxis(np.array([[xx, xy], [xy, yy]]), 2, 0)
    inverses = np.linalg.pinv(hessians, rcond=_PARALLEL, hermitian=True)
    return np.einsum("lij,jl->il", inverses, gains)


def _combine(now: Array, then: Array, factors: Array) -> None:
    """Combine two arrays into the first; the second becomes what the first was."""
    combined = factors[0] * now + factors[1] * then
    then[:], now[:] = now, combined
