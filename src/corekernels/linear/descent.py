"""Dual coordinate descent on packed rows, a block of problems at a time.

Classes become two-class problems: one for two classes, else one per class against the rest; where
rows have several labels, one per label. A block is up to eight such problems (or regressions),
solved side by side, one per lane of a vector. Blocks depend on the data alone, so each may run on
any thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.arguments import Array
from .._core.threads import run_blocks, stop_if_asked
from .._core.validation import read_only
from .._loops.learning.coefficients import plane_products
from .._loops.learning.descent import Active, Solution, combined_conjugates, sweep
from .._loops.simd.vectors import LANES
from ..recipe import Recipe
from .coefficients import Packed, Planes, codes_in_use, lane_blocks, number_of_planes
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
    """The two-class problems of a classifier, but for C.

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
    """Extrapolate the solutions for two smaller costs to the costs of `block`.

    `state` is the latest solution and `before` the one before it (or zero), which becomes what
    `state` was. `state` becomes their best linear combination for the dual problem without its
    bounds: the minimum of a quadratic function of two variables. The first sweep corrects dual
    variables beyond a bound, one row after another. (Clipped here, all at once, they would move
    the planes by a sum of terms mostly of one sign, which costs more sweeps than it saves.)

    Where the conjugate of the loss is not quadratic, both stay as they are. On paths of eight C a
    factor of 2 apart, this saves an eighth to a fifth of the time.
    """
    if not block.loss.quadratic_conjugate:
        return
    factors = _combination(block, state, before)
    _mix(state.duals, before.duals, factors)
    _mix(state.biases, before.biases, factors)
    lanes = np.zeros((2, 1 if block.n_lanes == 1 else LANES), np.float32)
    lanes[:, : block.n_lanes] = factors
    used = codes_in_use(state.planes, before.planes)
    planes, older_planes = state.planes[used], before.planes[used]
    _mix(planes, older_planes, lanes)
    state.planes[used], before.planes[used] = planes, older_planes


def _combination(block: Block, state: State, before: State) -> Array:
    """For each lane, the factors of both solutions in their best combination."""
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
    """Combine two arrays into the first; the second becomes what the first was."""
    mixed = factors[0] * now + factors[1] * then
    then[:], now[:] = now, mixed


def _divide(x: Array, y: Array, otherwise: float) -> Array:
    """x / y; `otherwise` where y is zero."""
    return np.divide(x, y, out=np.full(np.shape(x), otherwise), where=y > 0)


def descend(packed: Packed, block: Block, state: State, options: Options) -> Outcome:
    """Sweep over the rows of a block, from `state` on, until the gaps are small enough.

    Each sweep estimates the gaps on its way. Once the estimate is small enough for all lanes, one
    pass over all rows finds the true gaps. Lanes whose gap is small enough are finished, the others
    go on with no row shrunk. Where the estimates are too large by nature (`Loss.gap_excess`), such
    a pass is also made earlier, now and then.
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
        at = measure(packed, block, solution, state.is_sum, options.tol)
        require_finite(at)
        unfinished = _too_large(at, solution, options)
        if not unfinished.any():
            break
        if done:
            shrunk[:] = 0
            limits[:] = np.inf
    return Outcome(epoch, at.objectives, at.relative_gaps(), not unfinished.any())


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
    at: Measure, solution: Solution, options: Options, lanes: npt.NDArray[np.bool_]
) -> bool:
    """Whether the gap of any of these lanes is too large; not if there is none to be had."""
    if not np.isfinite(at.objectives).all():
        return False
    return bool(_too_large(at, solution, options)[lanes].any())


def _too_large(at: Measure, solution: Solution, options: Options) -> npt.NDArray[np.bool_]:
    """Lanes whose gap is too large."""
    gaps, objectives = at.gaps, at.objectives
    largest = max(options.tol, options.plane_tol) * objectives
    lanes: npt.NDArray[np.bool_] = gaps > largest
    # |w|^2 / 2 is part of the objective, and takes a pass over the planes: looked at if need be
    if options.plane_tol > 0 and not lanes.all():
        halves = half_squares(solution.planes, solution.biases)
        lanes = gaps > np.maximum(options.tol * objectives, options.plane_tol * halves)
    return lanes
