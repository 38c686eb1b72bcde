"""Choice of the solver, and of the number of problems per block.

A descent needs the least work: it visits one row after another, eight problems at a time, so that a
block is the work of one thread. With more threads than blocks, narrower blocks take more work and
less time. With far more threads than problems, so does truncated Newton, whose passes over the rows
are shared out over all threads. Threads that shared the slots of one descent were 1.4 times as fast
for two classes and 0.5 to 0.9 times for ten. Newton needs no preconditioner: with the diagonal of
the Hessian it takes 39 passes, without 26.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .._core.arguments import require_choice
from .._core.threads import thread_count
from .._loops.simd.vectors import LANES
from ..errors import ParameterError
from . import descent, newton
from .problem import Block
from .rows import TrainingSet

MakeBlocks = Callable[[int], Sequence[Block]]  # the problems, in blocks of so many at most

# By its name, the function that solves blocks of problems from zero
SOLVE: dict[str, Callable[..., Any]] = {"descent": descent.solve, "newton": newton.solve}
SOLVERS = ("auto", *SOLVE)

# Time of a descent in a block of so many problems over that of eight (benchmarks/README.md)
_WIDTH_COSTS = {1: 0.45, 2: 0.75, 4: 0.9, LANES: 1.0}
_EFFICIENCY = 0.75  # of threads that share a pass
_LEAST_GAIN = 1.3  # for which the usual blocks are given up
_LEAST_ROWS = 20_000  # below, a descent is over before threads have begun
_ROWS_PER_CODE = 40  # below, work on the coefficients outweighs work on the rows
_MOST_NUMBERS = 1 << 25  # in a weight vector; Newton needs a dozen, a descent touches what it uses
_CONFLICTING = 10.0  # cost of equal rows with different targets, above which a descent crawls


class SolverChoice(NamedTuple):
    """A solver, and the number of problems per block."""

    solver: str
    width: int


_DESCENT, _NEWTON = SolverChoice("descent", LANES), SolverChoice("newton", 1)
_USUAL = {choice.solver: choice for choice in (_DESCENT, _NEWTON)}


def choose_solver(
    solver: str, block: Block, n_problems: int, training: TrainingSet, n_jobs: int | None
) -> SolverChoice:
    """The solver that a parameter names or "auto" takes for these problems, of which one is given.

    Times are those of a descent in one block of eight problems, by one thread.
    """
    require_choice("solver", solver, SOLVERS)
    loss, packed = block.loss, training.packed
    if solver in SOLVE:
        if solver not in loss.solvers:
            raise ParameterError(
                f"solver: got {solver!r}, which cannot solve the {loss.label}; choose "
                f"{' or '.join(loss.solvers)}, or auto."
            )
        return _USUAL[solver]
    if len(loss.solvers) == 1:
        return _USUAL[loss.solvers[0]]
    newton_fits = packed.n_codes * packed.codes.shape[1] <= _MOST_NUMBERS
    if newton_fits and training.conflicting_weight * float(block.costs.max()) > _CONFLICTING:
        return _NEWTON
    n_threads, n_rows = thread_count(n_jobs), len(training.rows)
    if n_threads == 1 or n_rows < _LEAST_ROWS:
        return _USUAL[loss.solvers[0]]
    times = {}
    for width in reversed(_WIDTH_COSTS):
        n_blocks = -(-n_problems // width)
        widest = -(-n_problems // n_blocks)
        cost = next(cost for least, cost in _WIDTH_COSTS.items() if least >= widest)
        times[SolverChoice("descent", width)] = cost * -(-n_blocks // n_threads)
    if newton_fits and n_rows >= _ROWS_PER_CODE * packed.n_codes:
        work = n_problems * _WIDTH_COSTS[1] * loss.newton_cost
        times[_NEWTON] = work / (_EFFICIENCY * n_threads)
    best = min(times, key=times.__getitem__)
    return best if times[best] * _LEAST_GAIN <= times[_DESCENT] else _DESCENT
