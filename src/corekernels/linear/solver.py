"""Which method solves a problem, in blocks of how many planes; and the planes it finds.

Descent needs the least work: it visits one row after another, eight planes at a time, and so
keeps one thread per block busy. Where there are more threads than blocks, narrower blocks do more
work in less time; where there are far more threads than planes, truncated Newton does, whose
passes over the rows are shared out over all threads.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._core.arguments import require_choice
from .._core.threads import thread_count
from .._loops.learning.coefficients import move_towards
from .._loops.simd.vectors import LANES
from ..errors import ParameterError
from ..recipe import Recipe
from .coefficients import Packed, Planes, lane_blocks, new_planes
from .descent import as_planes, solve
from .newton import Newton, Passes, Vector
from .problem import Block, Options, Outcome, State, TrainingSet

SOLVERS = ("auto", "descent", "newton")

MakeBlocks = Callable[[int], Sequence[Block]]  # the problems, in blocks of so many planes at most

# Time of a descent in a block of so many planes over that of eight (benchmarks/README.md)
_WIDTHS = (1, 2, 4, LANES)
_WIDTH_COSTS = dict(zip(_WIDTHS, (0.45, 0.75, 0.9, 1.0), strict=True))
_EFFICIENCY = 0.75  # of threads that share a pass
_LEAST_GAIN = 1.3  # for which the usual blocks are given up
_LEAST_ROWS = 20_000  # below, a descent is over before threads have begun
_ROWS_PER_CODE = 40  # below, work on the planes outweighs work on the rows
_MOST_NUMBERS = 1 << 25  # in a plane, of which Newton needs a dozen; a descent touches what it uses
_CONTESTED = 10.0  # cost of equal rows with different targets, above which a descent crawls


@dataclass(frozen=True)
class Plan:
    """A method, and the planes per block."""

    method: str
    width: int


def make_plan(
    solver: str, block: Block, n_planes: int, training: TrainingSet, n_jobs: int | None
) -> Plan:
    """What `solver` means for these problems; `block` is one of them."""
    require_choice("solver", solver, SOLVERS)
    solvers = block.loss.solvers
    if solver != "auto" and solver not in solvers:
        raise ParameterError(
            f"solver: got {solver!r}, which cannot solve the {block.loss.label}; choose "
            f"{' or '.join(solvers)}, or auto."
        )
    if solver != "auto" or len(solvers) == 1:
        method = solvers[0] if solver == "auto" else solver
        return Plan(method, LANES if method == "descent" else 1)
    packed = training.packed
    fits = packed.n_codes * packed.codes.shape[1] <= _MOST_NUMBERS
    if fits and training.contested_weight * float(block.costs.max()) > _CONTESTED:
        return Plan("newton", 1)
    n_threads, n_rows = thread_count(n_jobs), len(training.rows)
    if n_threads == 1 or n_rows < _LEAST_ROWS:
        return Plan(solvers[0], LANES if solvers[0] == "descent" else 1)
    times = {}
    for width in reversed(_WIDTHS):
        n_blocks = -(-n_planes // width)
        widest = -(-n_planes // n_blocks)
        cost = next(_WIDTH_COSTS[least] for least in _WIDTHS if least >= widest)
        times[Plan("descent", width)] = cost * -(-n_blocks // n_threads)
    if fits and n_rows >= _ROWS_PER_CODE * packed.n_codes:
        work = n_planes * _WIDTH_COSTS[1] * block.loss.newton_cost
        times[Plan("newton", 1)] = work / (_EFFICIENCY * n_threads)
    usual = Plan("descent", LANES)
    best = min(times, key=times.__getitem__)
    return best if times[best] * _LEAST_GAIN <= times[usual] else usual


def find_planes(
    training: TrainingSet, make_blocks: MakeBlocks, recipe: Recipe, plan: Plan, options: Options,
    n_jobs: int | None,
) -> tuple[Planes, list[Outcome]]:  # fmt: skip
    """Solve the problems as planned."""
    blocks = make_blocks(plan.width)
    if plan.method == "descent":
        states, outcomes = solve(training.packed, blocks, options, n_jobs)
        planes = as_planes(recipe, states, blocks[0].intercept)
        return planes if plan.width == LANES else planes.in_usual_blocks(), outcomes
    found = [_newton(training.packed, block, options, n_jobs) for block in blocks]
    biases = np.concatenate([w.biases for w, _ in found]) * blocks[0].intercept
    planes = Planes(recipe, [w.planes for w, _ in found], biases)
    return planes.in_usual_blocks(), [outcome for _, outcome in found]


def _newton(
    packed: Packed, block: Block, options: Options, n_jobs: int | None
) -> tuple[Vector, Outcome]:
    """Newton steps from zero, on planes of the codes that occur."""
    block.require_costs()
    used = replace(packed, n_codes=packed.largest_code() + 1)
    w = Vector.zero(used, block.n_lanes)
    outcome = Newton(Passes(used, block, n_jobs), w, options, n_jobs).solve()
    whole = Vector.zero(packed, block.n_lanes)
    whole.planes[: used.n_codes] = w.planes
    whole.biases[:] = w.biases
    return whole, outcome


_MAX_SWEEPS = 10
_TOL = 1e-3
_POWER = 3


@dataclass
class Stream:
    """What is carried from batch to batch: the planes now, and their average.

    The planes after n rows weigh n^3 times the size of their batch in the average.
    """

    states: list[State]
    average: Planes
    n_rows: int
    total_weight: float

    @classmethod
    def start(cls, recipe: Recipe, packed: Packed, n_planes: int) -> "Stream":
        """A stream that nothing has been learned from yet."""
        blocks = [
            new_planes(packed.n_codes, recipe.n_hashes, len(lanes))
            for lanes in lane_blocks(n_planes)
        ]
        return cls.resume(Planes(recipe, blocks, np.zeros(n_planes)), 0, 1.0)

    @classmethod
    def resume(cls, planes: Planes, n_rows: int, intercept: float) -> "Stream":
        """A stream that goes on from planes which so many rows have led to.

        `planes.blocks` are changed by the batches to come.
        """
        states = []
        for lanes, block in zip(lane_blocks(len(planes.intercepts)), planes.blocks, strict=True):
            biases = planes.intercepts[lanes.start : lanes.stop] / (intercept or 1.0)
            states.append(State(np.zeros((0, len(lanes))), block.copy(), biases))
        average = Planes(planes.recipe, planes.blocks, planes.intercepts.copy())
        return cls(states, average, n_rows, float(n_rows) ** (_POWER + 1))

    def learn(
        self, packed: Packed, blocks: Sequence[Block], options: Options, n_jobs: int | None
    ) -> None:
        """Solve the problems of one batch against the planes now, and add to the average."""
        states = [
            State(
                np.zeros((len(packed), len(state.biases))), state.planes, state.biases, is_sum=False
            )
            for state in self.states
        ]
        options = replace(
            options,
            tol=max(_TOL, options.tol),
            max_iter=min(_MAX_SWEEPS, options.max_iter),
            seed=(*options.seed, self.n_rows),
        )
        solve(packed, blocks, options, n_jobs, states)
        self._average(as_planes(self.average.recipe, states, blocks[0].intercept), len(packed))

    def _average(self, now: Planes, n_rows: int) -> None:
        """Move the average towards the planes after another batch."""
        self.n_rows += n_rows
        weight = float(n_rows) * float(self.n_rows) ** _POWER
        self.total_weight += weight
        share = weight / self.total_weight
        for goal, block in zip(now.blocks, self.average.blocks, strict=True):
            move_towards(goal, np.float32(share), block)
        self.average.intercepts[:] += share * (now.intercepts - self.average.intercepts)
