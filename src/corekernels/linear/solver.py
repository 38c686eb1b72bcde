"""Choice of the solver, and of the number of planes per block; the planes that a solver finds.

A descent needs the least work: it visits one row after another, eight planes at a time, so that a
block of planes is the work of one thread. With more threads than blocks, narrower blocks take more
work and less time. With far more threads than planes, so does truncated Newton, whose passes over
the rows are shared out over all threads. Threads that shared the slots of one descent were 1.4
times as fast for two classes and 0.5 to 0.9 times for ten. Newton needs no preconditioner: with the
diagonal of the Hessian it takes 39 passes, without 26.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from .._core.arguments import require_choice
from .._core.threads import thread_count
from .._loops.simd.vectors import LANES
from ..errors import ParameterError
from ..recipe import Recipe
from .coefficients import Packed, Planes, codes_in_use, lane_blocks, new_planes
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


class SolverChoice(NamedTuple):
    """A solver, and the number of planes per block."""

    solver: str
    width: int


_DESCENT, _NEWTON = SolverChoice("descent", LANES), SolverChoice("newton", 1)
_USUAL = {choice.solver: choice for choice in (_DESCENT, _NEWTON)}


def choose_solver(
    solver: str, block: Block, n_planes: int, training: TrainingSet, n_jobs: int | None
) -> SolverChoice:
    """The solver that a parameter names or "auto" takes for these problems, of which one is given.

    Times are those of a descent in one block of eight planes, by one thread.
    """
    require_choice("solver", solver, SOLVERS)
    loss, packed = block.loss, training.packed
    if solver != SOLVERS[0]:
        if solver not in loss.solvers:
            raise ParameterError(
                f"solver: got {solver!r}, which cannot solve the {loss.label}; choose "
                f"{' or '.join(loss.solvers)}, or auto."
            )
        return _USUAL[solver]
    if len(loss.solvers) == 1:
        return _USUAL[loss.solvers[0]]
    newton_fits = packed.n_codes * packed.codes.shape[1] <= _MOST_NUMBERS
    if newton_fits and training.contested_weight * float(block.costs.max()) > _CONTESTED:
        return _NEWTON
    n_threads, n_rows = thread_count(n_jobs), len(training.rows)
    if n_threads == 1 or n_rows < _LEAST_ROWS:
        return _USUAL[loss.solvers[0]]
    times = {}
    for width in reversed(_WIDTHS):
        n_blocks = -(-n_planes // width)
        widest = -(-n_planes // n_blocks)
        cost = next(_WIDTH_COSTS[least] for least in _WIDTHS if least >= widest)
        times[SolverChoice("descent", width)] = cost * -(-n_blocks // n_threads)
    if newton_fits and n_rows >= _ROWS_PER_CODE * packed.n_codes:
        work = n_planes * _WIDTH_COSTS[1] * loss.newton_cost
        times[_NEWTON] = work / (_EFFICIENCY * n_threads)
    best = min(times, key=times.__getitem__)
    return best if times[best] * _LEAST_GAIN <= times[_DESCENT] else _DESCENT


def find_planes(
    training: TrainingSet, make_blocks: MakeBlocks, recipe: Recipe, choice: SolverChoice,
    options: Options, n_jobs: int | None,
) -> tuple[Planes, list[Outcome]]:  # fmt: skip
    """Solve the problems from zero."""
    packed, blocks = training.packed, make_blocks(choice.width)
    solutions: Sequence[State | Vector]
    if choice.solver == "descent":
        solutions, outcomes = solve(packed, blocks, options, n_jobs)
    else:
        pairs = [_newton(packed, block, options, n_jobs) for block in blocks]
        solutions, outcomes = [w for w, _ in pairs], [outcome for _, outcome in pairs]
    planes = as_planes(recipe, solutions, blocks[0].intercept)
    return planes if choice.width == LANES else planes.in_usual_blocks(), outcomes


def _newton(
    packed: Packed, block: Block, options: Options, n_jobs: int | None
) -> tuple[Vector, Outcome]:
    """Newton steps from zero, on planes of no more codes than occur."""
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
    """State between the batches of a stream: the latest planes, and their average.

    The planes after n rows weigh n^3 times the size of their batch in the average.
    """

    states: list[State]
    average: Planes
    n_rows: int
    total_weight: float

    @classmethod
    def start(cls, recipe: Recipe, packed: Packed, n_planes: int) -> "Stream":
        """A stream before its first batch."""
        blocks = [
            new_planes(packed.n_codes, recipe.n_hashes, len(lanes))
            for lanes in lane_blocks(n_planes)
        ]
        return cls.resume(Planes(recipe, blocks, np.zeros(n_planes)), 0, 1.0)

    @classmethod
    def resume(cls, planes: Planes, n_rows: int, intercept: float) -> "Stream":
        """A stream that goes on from planes learned from `n_rows` rows.

        Later batches change `planes.blocks` in place.
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
        """Solve the problems of one batch, starting from the latest planes; add to the average."""
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

    def _average(self, latest: Planes, n_rows: int) -> None:
        """Move the average towards the planes after a batch of so many rows."""
        self.n_rows += n_rows
        weight = float(n_rows) * float(self.n_rows) ** _POWER
        self.total_weight += weight
        share = weight / self.total_weight
        for new, average in zip(latest.blocks, self.average.blocks, strict=True):
            used = codes_in_use(new, average)
            average[used] += np.float32(share) * (new[used] - average[used])
        self.average.intercepts[:] += share * (latest.intercepts - self.average.intercepts)
