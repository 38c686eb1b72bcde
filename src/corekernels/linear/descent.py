"""Descent on packed rows, one block of problems at a time, until its duality gap is small.

A block is up to eight two-class problems (or regressions) that are solved side by side, one
per lane of a vector. Blocks depend on nothing but the data, so each may run on any thread, or on
a team of threads.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.threads import run_blocks, stop_if_asked, thread_count
from .._core.validation import read_only
from .._loops.learning import losses
from .._loops.learning.descent import Active, Findings, Groups, Problem, Solution
from .._loops.learning.planes import copy_planes
from ..errors import DataError, ParameterError
from ..recipe import Recipe
from .gaps import Measure, half_squares, measure
from .packed import Packed
from .planes import Planes, new_planes
from .team import Team

Array = npt.NDArray[Any]

_LEAST_COST = 1e-30  # planes of smaller costs would vanish in single precision
_HINGE_RATIO = 10.0  # of a sweep's estimate of the gap to the true one, with the hinge loss

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
    `rows` are the rows to learn from, all with a positive cost; equal rows follow one another,
    and each group of them begins at one of `starts`.
    """

    loss: str
    rows: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
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
    """Where a descent stands: changed in place, and good to start the next one from.

    The planes are the sum of the rows times their dual variables or, if `is_sum` is False, differ
    from it by the planes that the descent was started from.
    """

    duals: npt.NDArray[np.float64]
    planes: npt.NDArray[np.float32]
    biases: npt.NDArray[np.float64]
    is_sum: bool = True

    @classmethod
    def zero(cls, packed: Packed, n_lanes: int) -> "State":
        """The start of a descent without a better one."""
        planes = new_planes(packed.n_codes, packed.codes.shape[1], n_lanes)
        return cls(np.zeros((len(packed), n_lanes)), planes, np.zeros(n_lanes))

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


def descend(
    packed: Packed, block: Block, state: State, options: Options, n_threads: int = 1
) -> Outcome:
    """Sweep over the rows of a block, from `state` on, until the gaps are small enough.

    Each sweep yields an estimate of the gaps as it goes; once that is small enough for all
    lanes, one pass over all rows finds the true ones. Lanes that pass are finished, the others
    go on with no row shrunk. The hinge loss, whose estimates are far too large, gets such a pass
    earlier and now and then.
    """
    n_lanes = block.n_lanes
    problem = Problem(
        LOSSES[block.loss], block.targets, block.row_costs, read_only(block.costs), block.intercept
    )
    groups = Groups(read_only(block.rows), read_only(block.starts))
    solution = Solution(state.duals, state.planes, state.biases)
    team = Team(packed, n_lanes, len(block.starts) - 1, n_threads)
    unfinished = np.ones(n_lanes, np.bool_)
    shrunk = np.zeros(len(block.starts) - 1, np.bool_)
    limits = np.array([[-np.inf], [np.inf]]).repeat(n_lanes, axis=1)
    findings = Findings(np.empty((2, n_lanes)), np.empty(n_lanes), np.empty(n_lanes), np.empty(1))
    next_look = 1
    for epoch in range(1, options.max_iter + 1):
        stop_if_asked()
        rng = np.random.default_rng([*options.seed, epoch])
        order = rng.permutation(np.flatnonzero(~shrunk))
        active = Active(read_only(unfinished), read_only(limits), shrunk)
        team.sweep(read_only(order), groups, problem, active, solution, findings)
        limits[0] = np.where(findings.limits[0] < 0, findings.limits[0], -np.inf)
        limits[1] = np.where(findings.limits[1] > 0, findings.limits[1], np.inf)
        done = not (findings.moved[0] and _too_large(*findings[1:3], options, solution, unfinished))
        early = block.loss == "hinge" and epoch >= next_look
        early = early and not _too_large(
            findings.objectives, findings.gaps / _HINGE_RATIO, options, solution, unfinished
        )
        if not (done or early or epoch == options.max_iter):
            continue
        next_look = epoch + 1 + epoch // 8
        found = measure(
            packed, groups.rows, problem, solution, state.is_sum, options.tol, n_threads
        )
        _require_finite(found)
        unfinished = _lanes_too_large(found.objectives, found.gaps, options, solution)
        if not unfinished.any():
            break
        if done:
            shrunk[:] = False
            limits[0], limits[1] = -np.inf, np.inf
    relative = found.gaps / np.where(found.objectives > 0, found.objectives, 1)
    return Outcome(epoch, found.objectives, relative, not unfinished.any())


def solve(
    packed: Packed, blocks: Sequence[Block], options: Options, n_jobs: int | None,
    states: Sequence[State] | None = None,
) -> tuple[list[State], list[Outcome]]:  # fmt: skip
    """Descend on all blocks, from `states` (changed in place) or from zero."""
    if states is None:
        states = [State.zero(packed, block.n_lanes) for block in blocks]
    for block in blocks:
        _require_costs(block)
    n_threads = max(1, min(thread_count(n_jobs), thread_count(None)) // len(blocks))

    def work(task: tuple[Block, State]) -> Outcome:
        return descend(packed, *task, options, n_threads)

    outcomes = run_blocks(work, list(zip(blocks, states, strict=True)), n_jobs)
    return list(states), outcomes


def as_planes(recipe: Recipe, states: Sequence[State], intercept: float) -> Planes:
    """The planes that the states have reached, without a copy."""
    biases = np.concatenate([state.biases for state in states]) * intercept
    return Planes(recipe, [state.planes for state in states], biases)


def _too_large(
    objectives: Array, gaps: Array, options: Options, solution: Solution, lanes: Array
) -> bool:
    """Whether the gap of any of these lanes is too large; not if there is none to be had."""
    if not np.isfinite(objectives).all():
        return False
    return bool(_lanes_too_large(objectives, gaps, options, solution)[lanes].any())


def _lanes_too_large(
    objectives: Array, gaps: Array, options: Options, solution: Solution
) -> npt.NDArray[np.bool_]:
    """Lanes whose gap is too large."""
    found: npt.NDArray[np.bool_] = gaps > max(options.tol, options.plane_tol) * objectives
    # |w|^2 / 2 is part of the objective, and takes a pass over the planes: looked at if need be
    if options.plane_tol > 0 and not found.all():
        halves = half_squares(solution.planes, solution.biases)
        found = gaps > np.maximum(options.tol * objectives, options.plane_tol * halves)
    return found


def _require_costs(block: Block) -> None:
    """Refuse costs that underflow or overflow, alone or in the planes they lead to."""
    weights = block.row_costs[block.rows]
    least = float(weights.min()) * float(block.costs.min())
    most = float(weights.max()) * float(block.costs.max())
    if not (least > 0 and _LEAST_COST <= most < np.inf):
        raise ParameterError(
            f"C: times the weights of rows and classes it ranges from {least:.1e} to {most:.1e}, "
            f"but the least must not be 0 and the largest be from {_LEAST_COST:.0e} to 1e308; "
            "change C, sample_weight or class_weight."
        )


def _require_finite(found: Measure) -> None:
    """Refuse a solution that is none."""
    if not (np.isfinite(found.objectives).all() and np.isfinite(found.gaps).all()):
        raise DataError(
            "C: with these costs the planes do not fit single precision; lower C or the weights "
            "of rows and classes."
        )
