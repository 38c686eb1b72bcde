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
from .._loops.simd.vectors import LANES
from ..errors import ParameterError
from ..recipe import Recipe
from .descent import as_planes, solve
from .newton import Newton
from .packed import Packed
from .passes import Passes
from .planes import Planes
from .problem import Block, Options, Outcome
from .training_set import TrainingSet
from .vectors import Vector

SOLVERS = ("auto", "descent", "newton")

MakeBlocks = Callable[[int], Sequence[Block]]  # the problems, in blocks of so many planes at most

# Time of a descent in a block of so many planes over that of eight (benchmarks/README.md)
_WIDTHS = (1, 2, 4, LANES)
_SMOOTH_COST = dict(zip(_WIDTHS, (0.45, 0.75, 0.9, 1.0), strict=True))
_LOG_COST = dict(zip(_WIDTHS, (0.7, 0.9, 0.95, 1.0), strict=True))
# Processor time of Newton steps over that of a descent, for one plane
_NEWTON_COST = {"squared_hinge": 3.0, "squared_error": 3.0, "log_loss": 5.0}
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
    if solver == "newton" and block.loss not in _NEWTON_COST:
        raise ParameterError(
            'solver: got "newton", which needs a loss with a second derivative; with '
            'loss="hinge" choose "descent" or "auto".'
        )
    if solver != "auto":
        return Plan(solver, LANES if solver == "descent" else 1)
    packed = training.packed
    fits = packed.n_codes * packed.codes.shape[1] <= _MOST_NUMBERS
    has_newton = block.loss in _NEWTON_COST and fits
    if has_newton and training.contested_weight * float(block.costs.max()) > _CONTESTED:
        return Plan("newton", 1)
    n_threads, n_rows = thread_count(n_jobs), len(training.rows)
    if n_threads == 1 or n_rows < _LEAST_ROWS:
        return Plan("descent", LANES)
    costs = _LOG_COST if block.loss == "log_loss" else _SMOOTH_COST
    times = {}
    for width in reversed(_WIDTHS):
        n_blocks = -(-n_planes // width)
        widest = -(-n_planes // n_blocks)
        cost = next(costs[least] for least in _WIDTHS if least >= widest)
        times[Plan("descent", width)] = cost * -(-n_blocks // n_threads)
    if has_newton and n_rows >= _ROWS_PER_CODE * packed.n_codes:
        work = n_planes * costs[1] * _NEWTON_COST[block.loss]
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
