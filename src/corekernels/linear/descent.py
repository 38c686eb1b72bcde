"""Descent on packed rows, one block of problems at a time, until its duality gap is small.

A block is up to eight two-class problems (or regressions) that are solved side by side, one
per lane of a vector. Blocks depend on nothing but the data, so each may run on any thread.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.threads import run_blocks, stop_if_asked
from .._core.validation import read_only
from .._loops.learning import losses
from .._loops.learning.descent import Active, Problem, Solution, Sums, measure_gaps, sweep
from .._loops.learning.planes import copy_planes, plane_products
from ..recipe import Recipe
from .packed import Packed
from .planes import Planes, new_planes

Array = npt.NDArray[Any]

LOSSES = {
    "squared_hinge": losses.SQUARED_HINGE,
    "hinge": losses.HINGE,
    "log_loss": losses.LOG,
    "squared_error": losses.SQUARED,
}


@dataclass(frozen=True)
class Block:
    """Up to eight problems over the same rows, one per lane.

    `targets[i, lane]` is ±1, or the value to predict. The cost of row i in a lane
    is `row_costs[i]` times `costs[0, lane]` or, for a positive target, `costs[1, lane]`.
    `rows` are the rows to learn from: all with a positive cost.
    """

    loss: str
    rows: npt.NDArray[np.int64]
    targets: Array
    row_costs: npt.NDArray[np.float64]
    costs: npt.NDArray[np.float64]
    intercept: float

    @property
    def n_lanes(self) -> int:
        """Number of problems."""
        return int(self.targets.shape[1])


@dataclass(frozen=True)
class State:
    """Where a descent stands: changed in place, and good to start the next one from."""

    duals: npt.NDArray[np.float64]
    planes: npt.NDArray[np.float32]
    biases: npt.NDArray[np.float64]

    @classmethod
    def zero(cls, packed: Packed, n_lanes: int) -> "State":
        """The start of a descent without a better one."""
        planes = new_planes(packed.n_codes, packed.codes.shape[1], n_lanes)
        return cls(np.zeros((len(packed), n_lanes)), planes, np.zeros(n_lanes))

    def half_squares(self) -> npt.NDArray[np.float64]:
        """For each lane |w|^2 / 2, the intercept included: what the losses are weighed against."""
        products = np.empty((3, len(self.biases)))
        plane_products(self.planes, self.planes, products)
        found: npt.NDArray[np.float64] = 0.5 * (products[0] + self.biases**2)
        return found

    def copy_from(self, other: "State") -> None:
        """Become equal to another state."""
        self.duals[:], self.biases[:] = other.duals, other.biases
        copy_planes(other.planes, self.planes)


@dataclass(frozen=True)
class Options:
    """When a descent ends, and the seed of the order in which it visits the rows.

    It ends when every lane's duality gap is at most `tol` times its objective or, if that is
    easier, `plane_tol` times |w|^2 / 2; or after `max_iter` sweeps. The gap is at least half the
    squared distance to the best plane; that is then at most the root of `plane_tol`, times |w|.
    """

    tol: float
    max_iter: int
    seed: tuple[int, ...]
    plane_tol: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """How a descent ended, lane by lane: objective, duality gap over objective."""

    n_iter: int
    objectives: npt.NDArray[np.float64]
    relative_gaps: npt.NDArray[np.float64]
    converged: bool


def descend(packed: Packed, block: Block, state: State, options: Options) -> Outcome:
    """Sweep over the rows of a block, from `state` on, until the gaps are small enough.

    Each sweep yields an estimate of the gaps as it goes; once that is small enough for all
    lanes, one pass over all rows finds the true ones. Lanes that pass are finished, the others
    go on with no row shrunk.
    """
    rows = packed.rows()
    problem = Problem(
        LOSSES[block.loss], block.targets, block.row_costs, read_only(block.costs), block.intercept
    )
    solution = Solution(state.duals, state.planes, state.biases)
    n_lanes = block.n_lanes
    unfinished = np.ones(n_lanes, np.bool_)
    shrunk = np.zeros(len(packed), np.uint8)
    limits = np.array([[-np.inf], [np.inf]]).repeat(n_lanes, axis=1)
    found, sums = np.empty((2, n_lanes)), Sums(np.empty(n_lanes), np.empty(n_lanes))
    for epoch in range(1, options.max_iter + 1):
        stop_if_asked()
        order = np.random.default_rng([*options.seed, epoch]).permutation(block.rows)
        active = Active(read_only(unfinished), read_only(limits), shrunk)
        moved = sweep(rows, read_only(order), problem, active, solution, found, sums)
        if (
            moved
            and epoch < options.max_iter
            and _too_large(sums, state, options)[unfinished].any()
        ):
            limits[0] = np.where(found[0] < 0, found[0], -np.inf)
            limits[1] = np.where(found[1] > 0, found[1], np.inf)
            continue
        measure_gaps(rows, block.rows, problem, solution, sums)
        unfinished = _too_large(sums, state, options)
        if not unfinished.any():
            break
        shrunk[:] = 0
        limits[0], limits[1] = -np.inf, np.inf
    relative = sums.gaps / np.where(sums.objectives > 0, sums.objectives, 1)
    return Outcome(epoch, sums.objectives, relative, not unfinished.any())


def solve(
    packed: Packed, blocks: Sequence[Block], options: Options, n_jobs: int | None,
    states: Sequence[State] | None = None,
) -> tuple[list[State], list[Outcome]]:  # fmt: skip
    """Descend on all blocks, from `states` (changed in place) or from zero."""
    if states is None:
        states = [State.zero(packed, block.n_lanes) for block in blocks]

    def work(task: tuple[Block, State]) -> Outcome:
        return descend(packed, *task, options)

    outcomes = run_blocks(work, list(zip(blocks, states, strict=True)), n_jobs)
    return list(states), outcomes


def as_planes(recipe: Recipe, states: Sequence[State], intercept: float) -> Planes:
    """The planes that the states have reached, without a copy."""
    biases = np.concatenate([state.biases for state in states]) * intercept
    return Planes(recipe, [state.planes for state in states], biases)


def _too_large(sums: Sums, state: State, options: Options) -> npt.NDArray[np.bool_]:
    """Lanes whose gap is too large."""
    gaps, objectives = sums.gaps, sums.objectives
    largest = max(options.tol, options.plane_tol) * objectives
    found: npt.NDArray[np.bool_] = gaps > largest
    # |w|^2 / 2 is part of the objective, and takes a pass over the planes: looked at if need be
    if options.plane_tol > 0 and not found.all():
        halves = state.half_squares()
        found = gaps > np.maximum(options.tol * objectives, options.plane_tol * halves)
    return found
