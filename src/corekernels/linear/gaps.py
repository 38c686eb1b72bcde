"""The duality gap of a solution, in double precision."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._core.threads import row_blocks
from .._core.types import Array
from .._loops.learning.descent import Problem, Solution
from .._loops.learning.gaps import SlotScratch, Sums, row_gaps, sum_rows
from .._loops.learning.losses import SQUARED
from .._loops.learning.planes import plane_products
from ..errors import DataError
from .packed import Packed

_SLOTS = 64  # whose sums are one task: a cache line of codes
_NUMBERS = 1 << 21  # in the sums of a task, at most
_NEGLIGIBLE = 0.1  # share of the largest gap allowed


@dataclass(frozen=True)
class Measure:
    """How good a solution is, lane by lane."""

    objectives: npt.NDArray[np.float64]
    gaps: npt.NDArray[np.float64]

    def relative_gaps(self) -> npt.NDArray[np.float64]:
        """The gaps as shares of the objectives."""
        found: npt.NDArray[np.float64] = self.gaps / np.where(
            self.objectives > 0, self.objectives, 1
        )
        return found


def half_squares(planes: Array, biases: Array) -> npt.NDArray[np.float64]:
    """For each lane |w|^2 / 2, the intercept included: what the losses are weighed against."""
    products = np.empty((3, len(biases)))
    plane_products(planes, planes, products)
    found: npt.NDArray[np.float64] = 0.5 * (products[0] + biases**2)
    return found


def measure(
    packed: Packed, rows: Array, problem: Problem, solution: Solution, is_sum: bool, tol: float
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
        before, _ = _restore(packed, rows, problem, solution, parts[:1])
        lost = before * packed.codes.shape[1] / (last - first)
    found = _add_up(packed, rows, problem, solution)
    if is_sum and (lost > _NEGLIGIBLE * tol * found.objectives).any():
        _, lost = _restore(packed, rows, problem, solution, parts)
        found = _add_up(packed, rows, problem, solution)
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
    parts: list[tuple[int, int]],
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

    found = [work(part) for part in parts]
    lost: npt.NDArray[np.float64] = 0.5 * np.sum(found, axis=0)
    return lost


def _add_up(packed: Packed, rows: Array, problem: Problem, solution: Solution) -> Measure:
    """Objectives, and the gaps of all rows."""
    sums = Sums(np.empty(len(solution.biases)), np.empty(len(solution.biases)))
    row_gaps(*packed.rows(), rows, problem, *solution, sums)
    return Measure(sums.losses + half_squares(solution.planes, solution.biases), sums.gaps)


def require_finite(found: Measure) -> None:
    """Refuse a solution that is none."""
    if not (np.isfinite(found.objectives).all() and np.isfinite(found.gaps).all()):
        raise DataError(
            "C: with these costs the planes do not fit single precision; lower C or the weights "
            "of rows and classes."
        )
