"""Descent on packed rows, one block of problems at a time, until its duality gap is small.

A block is up to eight two-class problems (or regressions) that are solved side by side, one
per lane of a vector. Blocks depend on nothing but the data, so each may run on any thread.

From classes to two-class problems: one for two classes, else one per class against the rest.

Where rows have several labels, there is one problem per label.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.arguments import Array
from .._core.threads import run_blocks, stop_if_asked
from .._core.validation import read_only
from .._loops.learning.coefficients import mix_planes, plane_products
from .._loops.learning.descent import Active, Solution, combined_conjugates, sweep
from .._loops.simd.vectors import LANES
from ..recipe import Recipe
from .coefficients import Packed, Planes, lane_blocks, number_of_planes
from .losses import Loss
from .problem import (
    Block,
    Measure,
    Options,
    Outcome,
    State,
    TrainingSet,
    half_squares,
    measure,
    require_finite,
)


@dataclass(frozen=True)
class OneVsRest:
    """What is minimised, but for C.

    Where rows have several labels, targets are numbers of sets of labels: `label_sets`, of shape
    (n_sets, n_classes).
    """

    loss: Loss
    intercept: float  # value of the constant column; 0: none
    class_weights: npt.NDArray[np.float64]
    label_sets: npt.NDArray[np.bool_] | None = None

    @property
    def n_planes(self) -> int:
        """Two classes need one plane, more need one each, and so do several labels per row."""
        return number_of_planes(len(self.class_weights), self.label_sets is not None)

    def blocks(self, training: TrainingSet, C: float, width: int = LANES) -> list[Block]:
        """The two-class problems at one C, for a training set whose targets are class numbers.

        There are at most `width` of them in a block.

        The weight of a class counts where it is the positive one. (As in LIBLINEAR: with two
        classes both weights count, with more each problem weighs its own class against all
        others at weight one.)
        """
        blocks = []
        for lanes in lane_blocks(self.n_planes, width):
            planes = np.arange(lanes.start, lanes.stop)
            costs = C * np.stack([np.ones(len(planes)), self.class_weights[planes]])
            if self.label_sets is not None:
                is_positive = self.label_sets[:, planes][training.targets]
            elif len(self.class_weights) == 2:
                is_positive, costs = training.targets[:, None] == 1, C * self.class_weights[:, None]
            else:
                is_positive = training.targets[:, None] == planes
            targets = np.where(is_positive, 1, -1).astype(np.int8)
            rows, weights = read_only(training.rows), read_only(training.row_weights)
            blocks.append(
                Block(self.loss, rows, read_only(targets), weights, costs, self.intercept)
            )
        return blocks


_PARALLEL = 1e-4  # squared sine of the angle below which two solutions count as one


def extrapolate(block: Block, state: State, before: State) -> None:
    """Move a solution for smaller costs towards the solution for the costs of `block`.

    `before` is the solution before that one (or zero, if there was none); it becomes what
    `state` was. Of all combinations of both, `state` becomes the one that is best for the dual
    problem without its bounds: the minimum of a quadratic function of two variables. Dual
    variables beyond a bound are corrected as the first sweep visits their rows, one after
    another, each taking account of the ones before. (Clipped here, all at once, they would move
    the planes by the sum of all that was clipped, mostly of one sign; that costs more sweeps
    than it saves.)

    Where the conjugate of the loss is not quadratic, both stay as they are.
    """
    if not block.loss.quadratic_conjugate:
        return
    factors = _combination(block, state, before)
    _mix(state.duals, before.duals, factors)
    _mix(state.biases, before.biases, factors)
    lanes = np.zeros((2, LANES), np.float32)
    lanes[:, : block.n_lanes] = factors
    mix_planes(lanes, state.planes, before.planes)


def _combination(block: Block, state: State, before: State) -> Array:
    """For each lane, the factors of both solutions that are best together."""
    sums = np.empty((5, block.n_lanes))
    conjugates = block.loss.compiled(combined_conjugates)
    conjugates(block.rows, block.problem, state.duals, before.duals, sums)
    one, two, other, other_two, both = sums
    # the conjugates are (a, b) -> squares a^2 / 2 + crossed a b + others b^2 / 2 - gain a - ...
    squares, others, crossed = two - 2 * one, other_two - 2 * other, both - one - other
    gain, other_gain = 0.5 * squares - one, 0.5 * others - other
    products = np.empty((3, block.n_lanes))
    plane_products(state.planes, before.planes, products)
    new, old = state.biases, before.biases
    squares += products[0] + new * new
    crossed += products[1] + new * old
    others += products[2] + old * old
    # The older solution counts with what in it is orthogonal to the newer one.
    share = _divide(crossed, squares, 0.0)
    rest = others - share * crossed
    older = _divide(other_gain - share * gain, np.where(rest > _PARALLEL * others, rest, 0), 0.0)
    return np.stack([_divide(gain, squares, 1.0) - share * older, older])


def _mix(now: Array, then: Array, factors: Array) -> None:
    mixed = factors[0] * now + factors[1] * then
    then[:], now[:] = now, mixed


def _divide(x: Array, y: Array, otherwise: float) -> Array:
    """x / y; `otherwise` where y is zero."""
    return np.divide(x, y, out=np.full(np.shape(x), otherwise), where=y > 0)


def descend(packed: Packed, block: Block, state: State, options: Options) -> Outcome:
    """Sweep over the rows of a block, from `state` on, until the gaps are small enough.

    Each sweep yields an estimate of the gaps as it goes; once that is small enough for all
    lanes, one pass over all rows finds the true ones. Lanes that pass are finished, the others
    go on with no row shrunk. A loss whose estimates are too large (`Loss.gap_excess`) gets such a
    pass earlier and now and then.
    """
    rows, problem, n_lanes = packed.rows(), block.problem, block.n_lanes
    compiled_sweep = block.loss.compiled(sweep)
    solution = Solution(state.duals, state.planes, state.biases)
    unfinished = np.ones(n_lanes, np.bool_)
    shrunk = np.zeros(len(packed), np.uint8)
    limits, steepest = np.full(n_lanes, np.inf), np.empty(n_lanes)
    objectives, gaps = sums = np.empty((2, n_lanes))
    next_look = 1
    for epoch in range(1, options.max_iter + 1):
        stop_if_asked()
        order = np.random.default_rng([*options.seed, epoch]).permutation(block.rows)
        active = Active(read_only(unfinished), read_only(limits), shrunk)
        moved = compiled_sweep(rows, read_only(order), problem, active, solution, steepest, sums)
        limits[:] = np.where(steepest > 0, steepest, np.inf)
        estimate = Measure(objectives, gaps)
        done = not (moved and _some_too_large(estimate, solution, options, unfinished))
        early = block.loss.gap_excess > 1 and epoch >= next_look
        if early:
            hopeful = Measure(objectives, gaps / block.loss.gap_excess)
            early = not _some_too_large(hopeful, solution, options, unfinished)
        if not (done or early or epoch == options.max_iter):
            continue
        next_look = epoch + 1 + epoch // 8
        found = measure(packed, block, solution, state.is_sum, options.tol)
        require_finite(found)
        unfinished = _too_large(found, solution, options)
        if not unfinished.any():
            break
        if done:
            shrunk[:] = 0
            limits[:] = np.inf
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


def as_planes(recipe: Recipe, solutions: Sequence[Any], intercept: float) -> Planes:
    """The planes of states or vectors, one per block, without a copy."""
    biases = np.concatenate([solution.biases for solution in solutions]) * intercept
    return Planes(recipe, [solution.planes for solution in solutions], biases)


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
