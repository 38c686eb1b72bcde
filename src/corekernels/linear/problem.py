"""Blocks of problems over a training set, and how good a solution is: objective and duality gap.

Classes become two-class problems: one for two classes, else one per class against the rest; where
rows have several labels, one per label. A block is up to eight such problems (or regressions),
solved side by side, one per lane of a vector. Blocks depend on the data alone, so each may run on
any thread.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._core.arguments import Array
from .._core.threads import row_blocks
from .._core.validation import read_only
from .._loops.learning.descent import Problem, Solution, row_gaps, sum_rows
from .._loops.simd.vectors import LANES
from ..errors import DataError, ParameterError
from .coefficients import codes_in_use, half_squares, lane_blocks
from .losses import Loss
from .rows import Packed, TrainingSet

_LEAST_COST = 1e-30  # weight vectors of smaller costs would vanish in single precision


@dataclass(frozen=True)
class Block:
    """Up to eight problems over the same rows, one per lane.

    `targets[i, lane]` is ±1, or the value to predict. The cost of row i in a lane
    is `row_costs[i]` times `costs[0, lane]` or, for a positive target, `costs[1, lane]`.
    `rows` are the rows to learn from: all with a positive cost.
    """

    loss: Loss
    rows: npt.NDArray[np.int64]
    targets: Array
    row_costs: npt.NDArray[np.float64]
    costs: npt.NDArray[np.float64]
    intercept: float

    @property
    def n_lanes(self) -> int:
        """Number of problems."""
        return int(self.targets.shape[1])

    @property
    def problem(self) -> Problem:
        """The problems as the loops take them."""
        return Problem(
            self.loss.in_loops(),
            self.targets,
            self.row_costs,
            read_only(self.costs),
            self.intercept,
        )

    def require_costs(self) -> None:
        """Refuse costs that underflow or overflow, alone or in the solutions they lead to."""
        weights = self.row_costs[self.rows]
        least = float(weights.min()) * float(self.costs.min())
        most = float(weights.max()) * float(self.costs.max())
        if not (least > 0 and _LEAST_COST <= most < np.inf):
            raise ParameterError(
                f"C: times the weights of rows and classes it ranges from {least:.1e} to "
                f"{most:.1e}, but the least must not be 0 and the largest be from "
                f"{_LEAST_COST:.0e} to 1e308; change C, sample_weight or class_weight."
            )


def number_of_problems(n_classes: int, several_labels: bool) -> int:
    """One for two classes of which each row has one, else one per class."""
    return 1 if n_classes == 2 and not several_labels else n_classes


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
    def n_problems(self) -> int:
        """Two classes need one problem, more need one each, and so do several labels per row."""
        return number_of_problems(len(self.class_weights), self.label_sets is not None)

    def blocks(self, training: TrainingSet, C: float, width: int = LANES) -> list[Block]:
        """The problems at one C, for a training set whose targets are class numbers.

        There are at most `width` of them in a block.

        The weight of a class counts where it is the positive one. (As in LIBLINEAR: with two
        classes both weights count, with more each problem weighs its own class against all
        others at weight one.)
        """
        blocks = []
        for lanes in lane_blocks(self.n_problems, width):
            positive = np.arange(lanes.start, lanes.stop)
            costs = C * np.stack([np.ones(len(lanes)), self.class_weights[positive]])
            if self.label_sets is not None:
                is_positive = self.label_sets[:, positive][training.targets]
            elif len(self.class_weights) == 2:
                is_positive, costs = training.targets[:, None] == 1, C * self.class_weights[:, None]
            else:
                is_positive = training.targets[:, None] == positive
            targets = read_only(np.where(is_positive, 1, -1).astype(np.int8))
            rows, row_costs = read_only(training.rows), read_only(training.row_weights)
            blocks.append(Block(self.loss, rows, targets, row_costs, costs, self.intercept))
        return blocks


@dataclass(frozen=True)
class Options:
    """When a solver ends, and the seed of the order in which a descent visits the rows.

    It ends when every lane's duality gap is at most `tol` times its objective or, if that is
    easier, `coef_tol` times |w|^2 / 2; or after `max_iter` passes over the rows. The gap is at
    least half the squared distance to the best weight vector; that is then at most the root of
    `coef_tol`, times |w|.
    """

    tol: float
    max_iter: int
    seed: tuple[int, ...]
    coef_tol: float = 0.0


@dataclass(frozen=True)
class Measure:
    """How good a solution is, lane by lane."""

    objectives: npt.NDArray[np.float64]
    gaps: npt.NDArray[np.float64]

    @property
    def relative_gaps(self) -> npt.NDArray[np.float64]:
        """The gaps as shares of the objectives."""
        return self.gaps / np.where(self.objectives > 0, self.objectives, 1)

    def require_finite(self) -> None:
        """Refuse objectives and gaps that are not finite."""
        if not (np.isfinite(self.objectives).all() and np.isfinite(self.gaps).all()):
            raise DataError(
                "C: with these costs the coefficients do not fit single precision; lower C or the "
                "weights of rows and classes."
            )


@dataclass(frozen=True)
class Outcome:
    """How a solver ended, lane by lane: objective, duality gap over objective."""

    n_iter: int
    objectives: npt.NDArray[np.float64]
    relative_gaps: npt.NDArray[np.float64]
    converged: bool


_SLOTS = 64  # summed at a time: a cache line of codes
_NUMBERS = 1 << 21  # in the sums of these slots, at most
_ROWS = 1 << 16  # added at a time
_NEGLIGIBLE = 0.1  # share of the largest gap allowed


def measure(packed: Packed, block: Block, solution: Solution, is_sum: bool, tol: float) -> Measure:
    """Objectives and duality gaps.

    If the weight vectors are the sum of the rows times their dual variables (`is_sum`), their
    rounding errors count. They are measured on a few slots, as slots are alike; where they matter
    beside `tol` times the objective, all coefficients become the exact sum again.
    """
    if not is_sum:
        return _measure_as_is(packed, block, solution)
    solution.biases[:] = block.intercept * solution.duals[block.rows].sum(axis=0)
    n_slots = max(1, min(_SLOTS, _NUMBERS // (packed.n_codes * LANES)))
    first, *others = row_blocks(0, packed.codes.shape[1], n_slots)
    before, after = _restore(packed, block.rows, solution, *first)
    lost = before * packed.codes.shape[1] / (first[1] - first[0])
    at = _measure_as_is(packed, block, solution)
    if (lost > _NEGLIGIBLE * tol * at.objectives).any():
        lost = after + sum(_restore(packed, block.rows, solution, *part)[1] for part in others)
        at = _measure_as_is(packed, block, solution)
    return Measure(at.objectives, at.gaps + lost)


def _restore(
    packed: Packed, rows: npt.NDArray[np.int64], solution: Solution, first: int, last: int
) -> npt.NDArray[np.float64]:
    """Set slots first to last of the weight vectors to the sum of the rows, rounded once.

    Half the squared distance from the exact sum, lane by lane: before that, and after.
    """
    codes, weights, scales, buffer = packed.rows()
    coef, n_lanes = solution.coef, len(solution.biases)
    rows = rows[solution.duals[rows].any(axis=1)]
    width = 1 if coef.ndim == 2 else LANES
    sums = np.zeros((packed.n_codes, last - first, width))
    for start, stop in row_blocks(0, len(rows), _ROWS):
        chosen = rows[start:stop]
        factors = np.zeros((len(chosen), width))
        factors[:, :n_lanes] = scales[chosen, None] * solution.duals[chosen]
        sum_rows(codes, weights, buffer, chosen, factors, first, last, sums)
    slots = coef.reshape(*coef.shape[:2], width)[:, first:last]
    used = codes_in_use(sums, slots)
    exact, before = sums[used], slots[used]
    slots[used] = exact
    errors = np.stack([before, slots[used]]) - exact
    return 0.5 * np.square(errors).sum(axis=(1, 2))[:, :n_lanes]


def _measure_as_is(packed: Packed, block: Block, solution: Solution) -> Measure:
    """Objectives, and the sums of the gaps of the rows."""
    losses, gaps = sums = np.empty((2, len(solution.biases)))
    row_gap_sums, scores = block.loss.compiled(row_gaps), np.empty(LANES)
    row_gap_sums(*packed.rows(), block.rows, block.problem, solution, scores, sums)
    return Measure(losses + half_squares(solution.coef, solution.biases), gaps)
