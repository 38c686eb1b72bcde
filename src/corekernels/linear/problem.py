"""Training sets, blocks of problems over them, the state of a solution, and its duality gap."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .._core.arguments import Array
from .._core.threads import row_blocks
from .._core.validation import read_only
from .._loops.learning.coefficients import plane_products
from .._loops.learning.descent import Problem, Solution, row_gaps, sum_rows
from ..errors import DataError, ParameterError
from .coefficients import Packed, codes_in_use, new_planes
from .losses import Loss


@dataclass(frozen=True)
class TrainingSet:
    """Rows to learn from, sorted by their contents, without repetitions.

    Equal rows with equal targets are merged into one that has the sum of their weights; equal
    rows with different targets follow one another. What is learned then does not depend on the
    order of the rows, and a weight of two is the same as two rows.

    Group g of equal rows is `rows[starts[g]:starts[g + 1]]`. The arrays below `starts` have an
    item for each row of `packed`.
    """

    packed: Packed  # the rows, and others that are not learned from
    rows: npt.NDArray[np.int64]  # numbers of the rows to learn from
    starts: npt.NDArray[np.int64]
    row_weights: npt.NDArray[np.float64]  # of those in `rows`, the weights after merging
    targets: Array  # numbers of classes, or values to predict
    sample_weight: npt.NDArray[np.float64]  # the weights that were given
    digests: npt.NDArray[np.uint64]  # hashes of the contents

    @classmethod
    def of(
        cls, packed: Packed, targets: Array, sample_weight: npt.NDArray[np.float64],
        n_jobs: int | None,
    ) -> "TrainingSet":  # fmt: skip
        """The training set of all rows that have a weight."""
        digests, every = packed.digests(n_jobs), np.arange(len(packed))
        none = np.empty(0, np.int64)
        training = cls(packed, none, none, sample_weight, targets, sample_weight, digests)
        return training.subset(every)

    def subset(self, rows: npt.NDArray[np.int64]) -> "TrainingSet":
        """The training set of some of the rows of `packed`: those that have a weight."""
        rows = rows[self.sample_weight[rows] > 0]
        rows, begins = self._by_contents(rows)
        targets = self.targets[rows]
        repeats = np.zeros(len(rows), np.bool_)  # whether a row repeats the one before
        repeats[1:] = ~begins[1:] & (targets[1:] == targets[:-1])
        row_weights = self.sample_weight
        if repeats.any():
            first = np.flatnonzero(~repeats)
            merged = np.add.reduceat(row_weights[rows], first)
            rows, begins = rows[first], begins[first]
            row_weights = row_weights.copy()
            row_weights[rows] = merged
        starts = np.append(np.flatnonzero(begins), len(rows))
        return replace(self, rows=rows, starts=starts, row_weights=row_weights)

    def _by_contents(
        self, rows: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Rows sorted by contents, target and weight, and whether each begins a group of equals.

        They are sorted by digest; different rows of equal digest, by the contents themselves.
        """
        rows = rows[np.lexsort((self.sample_weight[rows], self.targets[rows], self.digests[rows]))]
        digests = self.digests[rows]
        begins = np.ones(len(rows), np.bool_)
        begins[1:] = digests[1:] != digests[:-1]
        shared = np.flatnonzero(~begins)
        begins[shared] = ~self.packed.equal(rows[shared - 1], rows[shared])
        for digest in np.unique(digests[shared[begins[shared]]]):
            run = slice(
                int(np.searchsorted(digests, digest)),
                int(np.searchsorted(digests, digest, side="right")),
            )
            contents = {row: self.packed.contents(row) for row in rows[run].tolist()}
            rows[run] = sorted(rows[run].tolist(), key=contents.__getitem__)  # keeps equals' order
            again = rows[run]
            begins[run.start + 1 : run.stop] = ~self.packed.equal(again[:-1], again[1:])
        return rows, begins

    @property
    def contested_weight(self) -> float:
        """The largest weight of equal rows that have different targets; 0 if there are none."""
        sizes = np.diff(self.starts)
        if len(sizes) == 0 or sizes.max() == 1:
            return 0.0
        sums = np.add.reduceat(self.row_weights[self.rows], self.starts[:-1])
        return float(sums[sizes > 1].max())


_LEAST_COST = 1e-30  # planes of smaller costs would vanish in single precision


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
        """Refuse costs that underflow or overflow, alone or in the planes they lead to."""
        weights = self.row_costs[self.rows]
        least = float(weights.min()) * float(self.costs.min())
        most = float(weights.max()) * float(self.costs.max())
        if not (least > 0 and _LEAST_COST <= most < np.inf):
            raise ParameterError(
                f"C: times the weights of rows and classes it ranges from {least:.1e} to "
                f"{most:.1e}, but the least must not be 0 and the largest be from "
                f"{_LEAST_COST:.0e} to 1e308; change C, sample_weight or class_weight."
            )


@dataclass(frozen=True)
class State:
    """State of a descent, changed in place: dual variables, planes and biases; a warm start.

    The planes are the sum of the rows times their dual variables or, if `is_sum` is False, that sum
    plus the planes from which the descent was started.
    """

    duals: npt.NDArray[np.float64]
    planes: npt.NDArray[np.float32]
    biases: npt.NDArray[np.float64]
    is_sum: bool = True

    @classmethod
    def zero(cls, packed: Packed, n_lanes: int) -> "State":
        """The start of a descent from nothing."""
        planes = new_planes(packed.n_codes, packed.codes.shape[1], n_lanes)
        return cls(np.zeros((len(packed), n_lanes)), planes, np.zeros(n_lanes))

    def copy_from(self, other: "State") -> None:
        """Become equal to another state."""
        self.duals[:], self.biases[:] = other.duals, other.biases
        used = codes_in_use(self.planes, other.planes)
        self.planes[used] = other.planes[used]


@dataclass(frozen=True)
class Options:
    """When a solver ends, and the seed of the order in which a descent visits the rows.

    It ends when every lane's duality gap is at most `tol` times its objective or, if that is
    easier, `plane_tol` times |w|^2 / 2; or after `max_iter` passes over the rows. The gap is at
    least half the squared distance to the best plane; that is then at most the root of
    `plane_tol`, times |w|.
    """

    tol: float
    max_iter: int
    seed: tuple[int, ...]
    plane_tol: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """How a solver ended, lane by lane: objective, duality gap over objective."""

    n_iter: int
    objectives: npt.NDArray[np.float64]
    relative_gaps: npt.NDArray[np.float64]
    converged: bool


_SLOTS = 64  # summed at a time: a cache line of codes
_NUMBERS = 1 << 21  # in the sums of these slots, at most
_NEGLIGIBLE = 0.1  # share of the largest gap allowed


@dataclass(frozen=True)
class Measure:
    """How good a solution is, lane by lane."""

    objectives: npt.NDArray[np.float64]
    gaps: npt.NDArray[np.float64]

    def relative_gaps(self) -> npt.NDArray[np.float64]:
        """The gaps as shares of the objectives."""
        return self.gaps / np.where(self.objectives > 0, self.objectives, 1)


def half_squares(planes: Array, biases: Array) -> npt.NDArray[np.float64]:
    """The regulariser of each lane: |w|^2 / 2, intercept included."""
    products = np.empty((3, len(biases)))
    plane_products(planes, planes, products)
    return 0.5 * (products[0] + biases**2)


def measure(packed: Packed, block: Block, solution: Solution, is_sum: bool, tol: float) -> Measure:
    """Objectives and duality gaps.

    If the planes are the sum of the rows times their dual variables (`is_sum`), their rounding
    errors count. They are measured on a few slots, as slots are alike; where they matter beside
    `tol` times the objective, all planes become the exact sum again.
    """
    rows, lost = block.rows, np.zeros(len(solution.biases))
    parts = _slot_parts(packed, solution)
    if is_sum:
        solution.biases[:] = block.intercept * solution.duals[rows].sum(axis=0)
        first, last = parts[0]
        before, _ = _restore(packed, rows, solution, parts[:1])
        lost = before * packed.codes.shape[1] / (last - first)
    at = _add_up(packed, block, solution)
    if is_sum and (lost > _NEGLIGIBLE * tol * at.objectives).any():
        _, lost = _restore(packed, rows, solution, parts)
        at = _add_up(packed, block, solution)
    return Measure(at.objectives, at.gaps + lost)


def _slot_parts(packed: Packed, solution: Solution) -> list[tuple[int, int]]:
    """Ranges of slots, so short that the sums of all codes take 16 MB at most."""
    width = 1 if solution.planes.ndim == 2 else solution.planes.shape[2]
    n_slots = max(1, min(_SLOTS, _NUMBERS // (packed.n_codes * width)))
    return row_blocks(0, packed.codes.shape[1], n_slots)


def _restore(
    packed: Packed, rows: Array, solution: Solution, parts: list[tuple[int, int]]
) -> npt.NDArray[np.float64]:
    """Set some slots of the planes to the sum of the rows, rounded once.

    Half the squared distance from the exact sum, lane by lane: before that, and after.
    """
    duals, planes, biases = solution
    width = 1 if planes.ndim == 2 else planes.shape[2]
    distances, of_part = np.zeros((2, len(biases))), np.empty((2, len(biases)))
    for first, last in parts:
        sums = np.zeros((packed.n_codes, last - first, width))
        buffer = np.empty(last - first, np.float32)
        sum_rows(
            packed.codes, packed.weights, packed.scales, rows, duals, first, last, sums, buffer,
            planes, of_part,
        )  # fmt: skip
        distances += of_part
    return 0.5 * distances


def _add_up(packed: Packed, block: Block, solution: Solution) -> Measure:
    """Objectives, and the sums of the gaps of the rows."""
    losses, gaps = sums = np.empty((2, len(solution.biases)))
    block.loss.compiled(row_gaps)(*packed.rows(), block.rows, block.problem, *solution, sums)
    return Measure(losses + half_squares(solution.planes, solution.biases), gaps)


def require_finite(at: Measure) -> None:
    """Refuse objectives and gaps that are not finite."""
    if not (np.isfinite(at.objectives).all() and np.isfinite(at.gaps).all()):
        raise DataError(
            "C: with these costs the planes do not fit single precision; lower C or the weights "
            "of rows and classes."
        )
