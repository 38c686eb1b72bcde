"""The duality gap of a solution, in double precision."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.threads import row_blocks, run_blocks
from .._loops.learning.descent import Problem, Solution
from .._loops.learning.gaps import SlotScratch, Sums, row_gaps, sum_rows
from .._loops.learning.losses import SQUARED
from .._loops.learning.planes import plane_products
from .packed import ROWS_PER_TASK, Packed

Array = npt.NDArray[Any]

_SLOTS = 64  # whose sums are one task: a cache line of codes
_NUMBERS = 1 << 21  # in the sums of a task, at most
_NEGLIGIBLE = 0.1  # share of the largest gap allowed


@dataclass(frozen=True)
class Measure:
    """How good a solution is, lane by lane."""

    objectives: npt.NDArray[np.float64]
    gaps: npt.NDArray[np.float64]


def half_squares(planes: Array, biases: Array) -> npt.NDArray[np.float64]:
    """For each lane |w|^2 / 2, the intercept included: what the losses are weighed against."""
    products = np.empty((3, len(biases)))
    plane_products(planes, planes, products)
    found: npt.NDArray[np.float64] = 0.5 * (products[0] + biases**2)
    return found


def measure(
    packed: Packed, rows: Array, problem: Problem, solution: Solution, is_sum: bool, tol: float,
    n_threads: int,
) -> Measure:  # fmt: skip
    """Objectives and duality gaps.

    If the planes are to be the sum of the rows times their dual variables (`is_sum`), what
    rounding has done to that sum counts. Some slots tell how much it is, as slots are alike;
    if it matters beside `tol` times the objective, all planes become the exact sum again.
    """
    lost = np.zeros(len(solution.biases))
    parts = _slot_parts(packed, solution)
    if is_sum:
        _restore_biases(rows, problem, solution)
        first, last = parts[0]
        before, _ = _restore(packed, rows, problem, solution, parts[:1], n_threads)
        lost = before * packed.codes.shape[1] / (last - first)
    found = _add_up(packed, rows, problem, solution, n_threads)
    if is_sum and (lost > _NEGLIGIBLE * tol * found.objectives).any():
        _, lost = _restore(packed, rows, problem, solution, parts, n_threads)
        found = _add_up(packed, rows, problem, solution, n_threads)
    return Measure(found.objectives, found.gaps + lost)


def _slot_parts(packed: Packed, solution: Solution) -> list[tuple[int, int]]:
    """Slots whose sums are one task each."""
    width = 1 if solution.planes.ndim == 2 else solution.planes.shape[2]
    n_slots = max(1, min(_SLOTS, _NUMBERS // (packed.n_codes * width)))
    return row_blocks(0, packed.codes.shape[1], n_slots)


def _restore_biases(rows: Array, problem: Problem, solution: Solution) -> None:
    """Make the biases the sum of the rows again."""
    duals = solution.duals[rows]
    shares = duals if problem.loss == SQUARED else duals * problem.targets[rows]
    solution.biases[:] = problem.intercept * shares.sum(axis=0)


def _restore(
    packed: Packed, rows: Array, problem: Problem, solution: Solution,
    parts: list[tuple[int, int]], n_threads: int,
) -> npt.NDArray[np.float64]:  # fmt: skip
    """Make some slots of the planes the sum of the rows again, rounded once.

    Half the squared distance from the exact sum, lane by lane: before that, and after.
    """
    duals, planes, biases = solution
    width = 1 if planes.ndim == 2 else planes.shape[2]

    def work(part: tuple[int, int]) -> Array:
        first, last = part
        scratch = SlotScratch(
            np.zeros((packed.n_codes, last - first, width)), np.empty(last - first, np.float32)
        )
        out = np.empty((2, len(biases)))
        sum_rows(
            packed.codes, packed.weights, packed.scales, rows, problem, duals, first, last,
            scratch, planes, out,
        )  # fmt: skip
        return out

    found = run_blocks(work, parts, n_threads)
    lost: npt.NDArray[np.float64] = 0.5 * np.sum(found, axis=0)
    return lost


def _add_up(
    packed: Packed, rows: Array, problem: Problem, solution: Solution, n_threads: int
) -> Measure:
    """Objectives, and the gaps of all rows.

    In parts that do not depend on the number of threads, added up in their order.
    """
    n_lanes = len(solution.biases)

    def work(part: tuple[int, int]) -> Array:
        out = Sums(np.empty(n_lanes), np.empty(n_lanes))
        row_gaps(*packed.rows(), rows[slice(*part)], problem, *solution, out)
        return np.stack(out)

    sums = Sums(
        *np.sum(run_blocks(work, row_blocks(0, len(rows), ROWS_PER_TASK), n_threads), axis=0)
    )
    return Measure(sums.losses + half_squares(solution.planes, solution.biases), sums.gaps)
