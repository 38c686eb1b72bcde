"""Sums over the rows of all parts, as Newton steps need them, taken where the rows are.

Every task is a function of one part and of vectors. What a process has computed of a part it
keeps; where a task comes to another process, it is computed again, with the same result. Sums are
added in one order, so what is learned depends on the parts alone, not on the engine.
"""

import contextlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from .._core.arguments import Array
from .._loops.learning.descent import Solution
from ..errors import DataError
from ..io.job_folder import JobFolder
from ..linear.coefficients import half_squares
from ..linear.descent import descend, zero_solution
from ..linear.labels import check_labels, encode_labels
from ..linear.newton import Lanes, Passes, Vector
from ..linear.problem import Block, Measure, OneVsRest, Options, Outcome, measure
from ..linear.rows import TrainingSet, pack
from ..signatures import Signatures
from .engines import Engine
from .readers import load_signatures, require_labels
from .sources import FilePart

_KEPT_PARTS = 32  # that a process keeps as passes need them


class LearnJob(NamedTuple):
    """What is minimised over the rows of all parts: the problems of one block."""

    key: str  # of the job, different for different ones
    problem: OneVsRest
    C: float
    classes: Array
    n_codes: int  # that occur
    block: int

    def training_set(self, part: FilePart) -> tuple[TrainingSet, Block]:
        """The rows of a part, with the numbers of their classes, and their problems."""
        S, labels = labelled_rows(part)
        packed = replace(pack(S, 1), n_codes=self.n_codes)
        if packed.largest_code() >= self.n_codes:
            raise DataError(f"{part.path}: changed while it was learned from; begin again.")
        numbers = encode_labels(labels, self.classes)
        training = TrainingSet.of(packed, numbers, np.ones(len(S)), 1)
        return training, self.problem.blocks(training, self.C)[self.block]


def labelled_rows(part: FilePart) -> tuple[Signatures, Array]:
    """The signatures and labels of a part."""
    S, y = load_signatures(part.path)
    return S, check_labels(require_labels(y, part.path), len(S))


class LabelCounts(NamedTuple):
    """What is known of the rows of a part before learning."""

    labels: Array
    counts: Array
    largest_code: int


def labels_part(_: Any, part: FilePart) -> LabelCounts:
    """A task: the labels of a part, each once, how many rows have them, and its largest code."""
    S, y = labelled_rows(part)
    return LabelCounts(*np.unique(y, return_counts=True), S.largest_code())


class GradientTask(NamedTuple):
    """Where sums are taken: a job, and a vector w, with a name of its own."""

    job: LearnJob
    w: Vector
    name: str


# by job, block and path: rows and the name of the point that they are at; the latest used come last
_kept: "OrderedDict[tuple[str, int, str], tuple[Passes, str]]" = OrderedDict()


@contextlib.contextmanager
def _passes_at(
    point: GradientTask, part: FilePart, *, finds_gradient: bool = False
) -> Iterator[Passes]:
    """The rows of a part at a point, with slopes and curvatures unless the gradient is found next.

    They are taken out in the meantime: no two threads use them at once.
    """
    key = point.job.key, point.job.block, part.path
    passes, name = _kept.pop(key, (None, ""))
    if passes is None:
        training, block = point.job.training_set(part)
        passes = Passes(training.packed, block, 1)
    if name != point.name:
        passes.move_to(point.w)
        if not finds_gradient:
            passes.gradient(point.w.zeros_like())
    yield passes
    _kept[key] = passes, point.name
    while len(_kept) > _KEPT_PARTS:
        with contextlib.suppress(KeyError):  # another thread was faster
            _kept.popitem(last=False)


def gradient_part(point: GradientTask, part: FilePart) -> tuple[Lanes, Array, Lanes]:
    """A task: the losses of the rows of a part, and their gradient."""
    out = point.w.zeros_like()
    with _passes_at(point, part, finds_gradient=True) as passes:
        losses = passes.gradient(out)
    return losses, out.coef, out.biases


class HessianTask(NamedTuple):
    """Where products are taken, of which lanes, with which direction."""

    point: GradientTask
    lanes: npt.NDArray[np.bool_]
    direction: Vector


def product_part(task: HessianTask, part: FilePart) -> tuple[Array, Lanes, float, int]:
    """A task: the Hessian of the losses of a part, times a direction; rows visited, and parts."""
    out = task.direction.zeros_like()
    with _passes_at(task.point, part) as passes:
        passes.choose_lanes(task.lanes)
        share = passes.product(task.direction, out)
    return out.coef, out.biases, share, 1


class LineSearchTask(NamedTuple):
    """Where losses are taken: steps from a point in a direction."""

    point: GradientTask
    direction: Vector
    steps: Lanes


def line_part(task: LineSearchTask, part: FilePart) -> tuple[Array]:
    """A task: losses of the rows of a part along a line, one row per step."""
    with _passes_at(task.point, part) as passes:
        return (passes.losses_along(task.direction, task.steps),)


@dataclass
class EngineSums:
    """Sums over all parts, for `linear.newton.Newton`."""

    engine: Engine
    parts: Sequence[FilePart]
    job: LearnJob

    def move_to(self, w: Vector) -> None:
        """Take sums at w from now on."""
        self._point = GradientTask(self.job, w, uuid4().hex)

    def gradient(self, out: Vector) -> Lanes:
        """Add the gradient of the losses to `out`; the losses, lane by lane."""
        losses, coef, biases = self.engine.total(gradient_part, self._point, self.parts)
        out.coef[...] += coef
        out.biases[:] += biases
        return losses

    def choose_lanes(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Say which lanes the products to come are for."""
        self._lanes = lanes

    def product(self, direction: Vector, out: Vector) -> float:
        """Add the Hessian of the losses times a direction to `out`; the share of rows visited."""
        task = HessianTask(self._point, self._lanes, direction)
        coef, biases, share, n_parts = self.engine.total(product_part, task, self.parts)
        out.coef[...] += coef
        out.biases[:] += biases
        return float(share / n_parts)

    def losses_along(self, direction: Vector, steps: Lanes) -> Array:
        """Losses at w + step * direction, one row per step."""
        task = LineSearchTask(self._point, direction, steps)
        (losses,) = self.engine.total(line_part, task, self.parts)
        return losses

    def step(self, steps: Lanes) -> None:
        """Take sums at where w has moved to."""
        self.move_to(self._point.w)


class AverageTask(NamedTuple):
    """What parts learn each on its own: of all rows they have `shares`, by their numbers.

    Their dual variables, as shares of those of all rows, wait in the job's folder.
    """

    job: LearnJob
    options: Options
    shares: Array
    folder: str

    def duals_name(self, part: FilePart) -> str:
        """The part of the job's folder that holds the dual variables of a part."""
        return f"duals-{self.job.block}-{part.number}"


def average_part(task: AverageTask, part: FilePart) -> tuple[Array, Lanes, float]:
    """A task: what a part has learned, times its share of the rows, and so its passes.

    The part stands for all rows: its costs are divided by its share. Times the share, its dual
    variables are feasible for all rows, and the sum of the vectors belongs to them.
    """
    share = float(task.shares[part.number])
    training, block = task.job.training_set(part)
    block = replace(block, costs=block.costs / share)
    solution = zero_solution(training.packed, block.n_lanes)
    outcome = descend(training.packed, block, solution, task.options)
    JobFolder(task.folder).save(task.duals_name(part), duals=share * solution.duals)
    return np.float32(share) * solution.coef, share * solution.biases, share * outcome.n_iter


def gap_part(task: tuple[AverageTask, Vector], part: FilePart) -> tuple[Lanes, Lanes]:
    """A task: the losses of a part's rows at the average w, and their share of the duality gap."""
    average, w = task
    training, block = average.job.training_set(part)
    saved = JobFolder(average.folder).load(average.duals_name(part))
    assert saved is not None
    solution = Solution(saved[0]["duals"], w.coef, w.biases)
    at = measure(training.packed, block, solution, False, 1.0)
    return at.objectives - half_squares(w.coef, w.biases), at.gaps


def average(
    engine: Engine, parts: Sequence[FilePart], task: AverageTask
) -> tuple[Vector, Measure, Outcome]:
    """The average of what all parts learn, weighed by their rows, with its duality gap."""
    coef, biases, n_iter = engine.total(average_part, task, parts)
    w = Vector(coef, biases)
    losses, gaps = engine.total(gap_part, (task, w), parts)
    at = Measure(losses + half_squares(w.coef, w.biases), gaps)
    JobFolder(task.folder).remove(f"duals-{task.job.block}-*")
    relative = at.relative_gaps
    converged = bool((relative <= task.options.tol).all())
    return w, at, Outcome(round(n_iter), at.objectives, relative, converged)
