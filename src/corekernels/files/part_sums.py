"""Sums over the rows of all parts, as Newton steps need them, taken where the rows are.

Every task is a function of one part and of vectors. What a process has computed of a part it
keeps; where a task comes to another process, it is computed again, with the same result. Sums are
added in one order, so what is learned depends on the parts alone, not on the engine.
"""

import contextlib
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .._core.arguments import Array
from .._loops.learning.descent import Solution
from ..errors import DataError
from ..io.containers import load_arrays, save_arrays
from ..linear.coefficients import half_squares
from ..linear.descent import descend, zero_solution
from ..linear.labels import check_labels, encode_labels
from ..linear.newton import Lanes, Passes, Vector
from ..linear.problem import Block, Measure, OneVsRest, Options, Outcome, measure
from ..linear.rows import TrainingSet, pack
from ..signatures import Signatures
from .engines.base import Engine
from .readers import load_signatures, require_labels
from .sources import FilePart

_KEPT_PARTS = 32  # that a process keeps as passes need them
_KIND, _VERSION = "vector", 1


class LearnJob(NamedTuple):
    """What is minimised over the rows of all parts: the problems of one block."""

    key: str  # of the job, different for different ones
    problem: OneVsRest
    C: float
    classes: Array
    n_codes: int  # that occur
    block: int

    def training_set(self, part: FilePart) -> TrainingSet:
        """The rows of a part, with the numbers of their classes."""
        S, labels = labelled_rows(part)
        packed = replace(pack(S, 1), n_codes=self.n_codes)
        if packed.largest_code() >= self.n_codes:
            raise DataError(f"{part.path}: changed while it was learned from; begin again.")
        return TrainingSet.of(packed, encode_labels(labels, self.classes), np.ones(len(S)), 1)

    def passes(self, part: FilePart) -> Passes:
        """The rows of a part, for sums over them."""
        training = self.training_set(part)
        return Passes(training.packed, self.problem.blocks(training, self.C)[self.block], 1)


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
    """Where sums are taken: a job, and the file of a vector w."""

    job: LearnJob
    path: str

    @classmethod
    def at(cls, job: LearnJob, path: Path, w: Vector) -> "GradientTask":
        """The task at w, which is written to that file."""
        arrays: dict[str, Array] = {"coef": w.coef, "biases": w.biases}
        save_arrays(path, _KIND, _VERSION, arrays, {}, durable=False, shared=True)
        return cls(job, str(path))

    def vector(self) -> Vector:
        """The vector w."""
        arrays, _ = load_arrays(Path(self.path), _KIND, _VERSION, mmap=False)
        return Vector(arrays["coef"], arrays["biases"])


class _Kept(NamedTuple):
    passes: Passes
    at: str  # the point at which scores, slopes and curvatures were taken


_kept: "OrderedDict[tuple[str, int, str], _Kept]" = OrderedDict()  # the latest used comes last


@contextlib.contextmanager
def _passes_of(point: GradientTask, part: FilePart) -> Iterator[tuple[Passes, bool]]:
    """The rows of a part, and whether they are at the point already; they are there at the end.

    They are taken out in the meantime: no two threads use them at once.
    """
    key = point.job.key, point.job.block, part.path
    found = _kept.pop(key, None) or _Kept(point.job.passes(part), "")
    yield found.passes, found.at == point.path
    _kept[key] = _Kept(found.passes, point.path)
    while len(_kept) > _KEPT_PARTS:
        with contextlib.suppress(KeyError):  # another thread was faster
            _kept.popitem(last=False)


@contextlib.contextmanager
def _passes_at(point: GradientTask, part: FilePart) -> Iterator[Passes]:
    """The rows of a part at a point."""
    with _passes_of(point, part) as (passes, is_there):
        if not is_there:
            w = point.vector()
            passes.move_to(w)
            passes.gradient(w.zeros_like())
        yield passes


def gradient_part(point: GradientTask, part: FilePart) -> tuple[Lanes, Array, Lanes]:
    """A task: the losses of the rows of a part, and their gradient."""
    w = point.vector()
    out = w.zeros_like()
    with _passes_of(point, part) as (passes, is_there):
        if not is_there:
            passes.move_to(w)
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
    """Sums over all parts, for `linear.newton.Newton`.

    Vectors w are kept in a folder that every worker reaches.
    """

    engine: Engine
    parts: Sequence[FilePart]
    job: LearnJob
    folder: Path

    def __post_init__(self) -> None:
        self._n_points = 0
        self._lanes: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)

    def move_to(self, w: Vector) -> None:
        """Take sums at w from now on."""
        before = getattr(self, "_point", None)
        path = self.folder / f"w-{self.job.block}-{self._n_points}"
        self._n_points += 1
        self._w, self._point = w, GradientTask.at(self.job, path, w)
        if before is not None:
            Path(before.path).unlink(missing_ok=True)

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
        (found,) = self.engine.total(
            line_part, LineSearchTask(self._point, direction, steps), self.parts
        )
        return found

    def step(self, steps: Lanes) -> None:
        """Take sums at where w has moved to."""
        self.move_to(self._w)


class AverageTask(NamedTuple):
    """What parts learn each on its own: of all rows they have `shares`, by their numbers."""

    job: LearnJob
    options: Options
    shares: Array
    folder: str

    def duals_file(self, part: FilePart) -> Path:
        """The dual variables that a part has found, as a share of those of all rows."""
        return Path(self.folder) / f"duals-{self.job.block}-{part.number}"

    def block(self, part: FilePart) -> tuple[TrainingSet, Block]:
        """The rows of a part, and their problems."""
        training = self.job.training_set(part)
        return training, self.job.problem.blocks(training, self.job.C)[self.job.block]


def average_part(task: AverageTask, part: FilePart) -> tuple[Array, Lanes, float]:
    """A task: what a part has learned, times its share of the rows, and so its passes.

    The part stands for all rows: its costs are divided by its share. Times the share, its dual
    variables are feasible for all rows, and the sum of the vectors belongs to them.
    """
    share = float(task.shares[part.number])
    training, block = task.block(part)
    solution = zero_solution(training.packed, block.n_lanes)
    outcome = descend(
        training.packed, replace(block, costs=block.costs / share), solution, task.options
    )
    arrays = {"duals": share * solution.duals}
    save_arrays(task.duals_file(part), _KIND, _VERSION, arrays, {}, durable=False, shared=True)
    return np.float32(share) * solution.coef, share * solution.biases, share * outcome.n_iter


def gap_part(task: tuple[AverageTask, GradientTask], part: FilePart) -> tuple[Lanes, Lanes]:
    """A task: the losses of a part's rows at the average, and their share of the duality gap."""
    average, point = task
    training, block = average.block(part)
    w = point.vector()
    arrays, _ = load_arrays(average.duals_file(part), _KIND, _VERSION, mmap=False)
    solution = Solution(arrays["duals"], w.coef, w.biases)
    at = measure(training.packed, block, solution, False, 1.0)
    return at.objectives - half_squares(w.coef, w.biases), at.gaps


def average(engine: Engine, parts: Sequence[FilePart], task: AverageTask) -> tuple[Vector, Outcome]:
    """The average of what all parts learn, weighed by their rows, with its duality gap."""
    coef, biases, n_iter = engine.total(average_part, task, parts)
    w = Vector(coef, biases)
    path = Path(task.folder) / f"average-{task.job.block}"
    point = GradientTask.at(task.job, path, w)
    losses, gaps = engine.total(gap_part, (task, point), parts)
    at = Measure(losses + half_squares(w.coef, w.biases), gaps)
    path.unlink(missing_ok=True)
    for part in parts:
        task.duals_file(part).unlink(missing_ok=True)
    relative = at.relative_gaps()
    return w, Outcome(
        round(n_iter), at.objectives, relative, bool((relative <= task.options.tol).all())
    )
