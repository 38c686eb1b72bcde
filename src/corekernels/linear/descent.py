"""Descent on packed rows, one block of problems at a time, until its duality gap is small.

A block is up to eight two-class problems (or regressions) that are solved side by side, one
per lane of a vector. Blocks depend on nothing but the data, so each may run on any thread.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .._core.threads import run_blocks, stop_if_asked
from .._core.validation import read_only
from .._loops.learning.descent import Active, Solution, Sums, sweep
from ..recipe import Recipe
from .gaps import Measure, half_squares, measure, require_finite
from .packed import Packed
from .planes import Planes
from .problem import Block, Options, Outcome, State

_HINGE_RATIO = 10.0  # of a sweep's estimate of the gap to the true one, with the hinge loss


def descend(packed: Packed, block: Block, state: State, options: Options) -> Outcome:
    """Sweep over the rows of a block, from `state` on, until the gaps are small enough.

    Each sweep yields an estimate of the gaps as it goes; once that is small enough for all
    lanes, one pass over all rows finds the true ones. Lanes that pass are finished, the others
    go on with no row shrunk. The hinge loss, whose estimates are far too large, gets such a pass
    earlier and now and then.
    """
    rows, problem, n_lanes = packed.rows(), block.problem, block.n_lanes
    solution = Solution(state.duals, state.planes, state.biases)
    unfinished = np.ones(n_lanes, np.bool_)
    shrunk = np.zeros(len(packed), np.uint8)
    limits = np.array([[-np.inf], [np.inf]]).repeat(n_lanes, axis=1)
    extremes, sums = np.empty((2, n_lanes)), Sums(np.empty(n_lanes), np.empty(n_lanes))
    next_look = 1
    for epoch in range(1, options.max_iter + 1):
        stop_if_asked()
        order = np.random.default_rng([*options.seed, epoch]).permutation(block.rows)
        active = Active(read_only(unfinished), read_only(limits), shrunk)
        moved = sweep(rows, read_only(order), problem, active, solution, extremes, sums)
        limits[0] = np.where(extremes[0] < 0, extremes[0], -np.inf)
        limits[1] = np.where(extremes[1] > 0, extremes[1], np.inf)
        estimate = Measure(sums.objectives, sums.gaps)
        done = not (moved and _some_too_large(estimate, solution, options, unfinished))
        early = block.loss == "hinge" and epoch >= next_look
        if early:
            hopeful = Measure(sums.objectives, sums.gaps / _HINGE_RATIO)
            early = not _some_too_large(hopeful, solution, options, unfinished)
        if not (done or early or epoch == options.max_iter):
            continue
        next_look = epoch + 1 + epoch // 8
        found = measure(packed, block.rows, problem, solution, state.is_sum, options.tol)
        require_finite(found)
        unfinished = _too_large(found, solution, options)
        if not unfinished.any():
            break
        if done:
            shrunk[:] = 0
            limits[0], limits[1] = -np.inf, np.inf
    return Outcome(epoch, found.objectives, found.relative_gaps(), not unfinished.any())


def solve(
    packed: Packed, blocks: Sequence[Block], options: Options, n_jobs: int | None,
    states: Sequence[State] | None = None,
) -> tuple[list[State], list[Outcome]]:  # fmt: skip
    """Descend on all blocks, from `states` (changed in place) or from zero."""
    if states is None:
        states = [State.zero(packed, block.n_lanes) for block in blocks]
    for block in blocks:
        block.require_costs()

    def work(task: tuple[Block, State]) -> Outcome:
        return descend(packed, *task, options)

    outcomes = run_blocks(work, list(zip(blocks, states, strict=True)), n_jobs)
    return list(states), outcomes


def as_planes(recipe: Recipe, states: Sequence[State], intercept: float) -> Planes:
    """The planes that the states have reached, without a copy."""
    biases = np.concatenate([state.biases for state in states]) * intercept
    return Planes(recipe, [state.planes for state in states], biases)


def _some_too_large(
    found: Measure, solution: Solution, options: Options, lanes: npt.NDArray[np.bool_]
) -> bool:
    """Whether the gap of any of these lanes is too large; not if there is none to be had."""
    if not np.isfinite(found.objectives).all():
        return False
    return bool(_too_large(found, solution, options)[lanes].any())


def _too_large(found: Measure, solution: Solution, options: Options) -> npt.NDArray[np.bool_]:
    """Lanes whose gap is too large."""
    gaps, objectives = found.gaps, found.objectives
    largest = max(options.tol, options.plane_tol) * objectives
    lanes: npt.NDArray[np.bool_] = gaps > largest
    # |w|^2 / 2 is part of the objective, and takes a pass over the planes: looked at if need be
    if options.plane_tol > 0 and not lanes.all():
        halves = half_squares(solution.planes, solution.biases)
        lanes = gaps > np.maximum(options.tol * objectives, options.plane_tol * halves)
    return lanes
