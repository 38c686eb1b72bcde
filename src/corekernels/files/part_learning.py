"""Learning by parts: one block of classes after the other, by Newton steps or an average."""

import hashlib
import itertools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from .._core.arguments import Array, PathLike, require_count, require_positive
from .._core.progress import progress_bar
from ..classifier import CoREClassifier
from ..errors import DataError
from ..io.atomic import require_target
from ..io.job_folder import JobFolder, unfinished_folder
from ..io.provenance import checking, join_runs, require_like
from ..linear.coefficients import Planes, lane_blocks, new_planes
from ..linear.descent import OneVsRest
from ..linear.labels import check_class_weight
from ..linear.losses import loss_of
from ..linear.newton import Newton, Vector
from ..linear.problem import Measure, Options, Outcome
from ..recipe import Recipe
from ..regressor import CoRERegressor
from .engines import Engine
from .hashing import HashJob, rows_per_part
from .opening import Source, plan_of
from .part_sums import AverageTask, LabelCounts, LearnJob, PartSums, average, labels_part
from .plan import Plan, plan_parts
from .readers import SignatureReader
from .shard_parts import PartStore

AnyModel = TypeVar("AnyModel", CoREClassifier, CoRERegressor)


@dataclass(frozen=True)
class Round:
    """How far learning by parts was before a step, or at its end.

    Attributes
    ----------
    block : int
        Which block of up to eight classes.
    number : int
        Of the step, from 0.
    objective : float
        The largest of the block.
    gap : float
        The largest duality gap, as a share of the objective.
    seconds : float
        Since the block was begun.
    """

    block: int
    number: int
    objective: float
    gap: float
    seconds: float


def train_by_parts(
    engine: Engine, source: Source, target: PathLike, recipe: Recipe, *,
    loss: str = "squared_hinge", C: float = 1.0, class_weight: Any = None, tol: float = 1e-3,
    max_iter: int = 1000, resume: bool = False, on_round: Callable[[Round], None] | None = None,
    progress: bool | None = None,
) -> CoREClassifier:  # fmt: skip
    """Learn classes from the parts of a source, and write the model; see `files.train`."""
    options = {"loss": loss, "C": C, "class_weight": class_weight, "tol": tol, "max_iter": max_iter}
    chosen = loss_of(loss, "classes")
    ends = Options(require_positive("tol", tol), require_count("max_iter", max_iter), ())
    C = require_positive("C", C)
    plan = plan_of(source)
    final = require_target(target, *plan.paths)
    job = HashJob(plan, recipe, rows_per_part(recipe), False, engine, progress, None, "train")
    about = job.about | {"options": repr(options)}
    with JobFolder.open(unfinished_folder(final), about, resume=resume) as folder:
        if plan.recipe is None:
            store = PartStore(recipe, folder)
            job.fill(store)
            hashed = plan_parts(engine, store.paths, progress=progress)
            plan = replace(hashed, name=plan.name)
        counts = engine.run(labels_part, None, plan.parts, what="labels", progress=progress)
        classes, class_counts, n_codes = _joined_counts(plan, counts)
        weights = check_class_weight(class_weight, classes, np.arange(len(classes)), class_counts)
        problem = OneVsRest(chosen, 1.0, weights)
        key = hashlib.sha256(repr((about, classes.tolist())).encode()).hexdigest()[:16]
        learn = LearnJob(key, problem, C, classes, n_codes, 0)
        shares = np.array([part.counts.sum() for part in counts]) / class_counts.sum()
        learner = _Learner(engine, plan, learn, ends, shares, folder, on_round, progress)
        blocks = [
            learner.learn(number, len(lanes))
            for number, lanes in enumerate(lane_blocks(problem.n_planes))
        ]
        model = _as_model(recipe, options, blocks, classes, int(class_counts.sum()))
        model.save(final, provenance=join_runs(SignatureReader(plan.paths).provenance))
        folder.discard()
    return model


def _joined_counts(plan: Plan, counts: Sequence[LabelCounts]) -> tuple[Array, Array, int]:
    """All classes, sorted, how many rows each has, and the number of codes that occur."""
    kinds: dict[bool, str] = {}
    for part, of_part in zip(plan.parts, counts, strict=True):
        if len(of_part.labels):
            kinds.setdefault(of_part.labels.dtype.kind in "US", part.path)
    if len(kinds) > 1:
        raise DataError(
            f"{kinds[True]}: its labels are words, those of {kinds[False]} are numbers; make them "
            "alike."
        )
    labels = np.concatenate([of_part.labels for of_part in counts])
    classes, numbers = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        only = ", ".join(map(str, classes))
        raise DataError(f"{plan.name}: holds one class only ({only}); give rows of two or more.")
    class_counts = np.bincount(numbers, np.concatenate([of_part.counts for of_part in counts]))
    return classes, class_counts, max(of_part.largest_code for of_part in counts) + 1


@dataclass
class _Learner:
    """Learns the planes of a job, a block at a time."""

    engine: Engine
    plan: Plan
    job: LearnJob
    options: Options
    shares: Array
    folder: JobFolder
    on_round: Callable[[Round], None] | None
    progress: bool | None

    def learn(self, number: int, n_lanes: int) -> tuple[Vector, Outcome]:
        """The solution of a block, from where an earlier run was, if there was one."""
        assert self.plan.recipe is not None
        job, saved = self.job._replace(block=number), f"block-{number}"
        start, numbers = time.perf_counter(), itertools.count()
        planes = new_planes(job.n_codes, self.plan.recipe.n_hashes, n_lanes)
        w, n_passes = self._before(saved, Vector(planes, np.zeros(n_lanes)))
        with progress_bar(None, f"learning, block {number}", "rounds", self.progress) as bar:

            def report(w: Vector, at: Measure) -> None:
                gap, objective = float(at.relative_gaps().max()), float(at.objectives.max())
                seconds = time.perf_counter() - start
                if self.on_round is not None:
                    self.on_round(Round(number, next(numbers), objective, gap, seconds))
                bar.set_postfix_str(f"objective {objective:.6g}, gap {gap:.1e}", refresh=False)
                bar.update(1)

            if "newton" not in job.problem.loss.solvers:
                task = AverageTask(job, self.options, self.shares, str(self.folder.parts))
                w, outcome = average(self.engine, self.plan.parts, task)
                objectives = outcome.objectives
                report(w, Measure(objectives, outcome.relative_gaps * objectives))
                return w, outcome
            options = replace(self.options, max_iter=max(1, self.options.max_iter - n_passes))
            sums = PartSums(self.engine, self.plan.parts, job, self.folder.parts)

            def step(w: Vector, at: Measure) -> None:
                report(w, at)
                passes = n_passes + int(newton._n_passes)
                self.folder.save(saved, passes, planes=w.planes, biases=w.biases)

            newton = Newton(sums, w, options, None, step)
            outcome = newton.solve()
            return w, replace(outcome, n_iter=outcome.n_iter + n_passes)

    def _before(self, saved: str, w: Vector) -> tuple[Vector, int]:
        """Where an earlier run was, and after how many passes; else w."""
        with checking(self.folder.file(saved), "remove it, to learn anew"):
            found = self.folder.load(saved)
            if found is None:
                return w, 0
            arrays, n_passes = found
            require_like("planes", arrays["planes"], w.planes)
            require_like("biases", arrays["biases"], w.biases)
            return Vector(arrays["planes"], arrays["biases"]), int(n_passes)


def _as_model(
    recipe: Recipe, options: dict[str, Any], blocks: Sequence[tuple[Vector, Outcome]],
    classes: Array, n_rows: int,
) -> CoREClassifier:  # fmt: skip
    """An ordinary model that has learned these planes, which have the codes that occur."""
    assert recipe.n_bits is not None
    planes = []
    for w, _ in blocks:
        block = new_planes(1 << recipe.n_bits, recipe.n_hashes, w.n_lanes)
        block[: len(w.planes)] = w.planes
        planes.append(block)
    biases = np.concatenate([w.biases for w, _ in blocks])
    model = model_for(CoREClassifier, recipe, None, options)
    model.recipe_ = recipe
    linear = model._new_linear()
    linear._keep(Planes(recipe, planes, biases), n_rows)
    linear.classes_ = classes
    linear.n_iter_ = max(outcome.n_iter for _, outcome in blocks)
    return model._adopt(recipe, linear)


def model_for(
    kind: type[AnyModel], recipe: Recipe, n_jobs: int | None, options: dict[str, Any]
) -> AnyModel:
    """A model, not fitted, that hashes by a recipe."""
    names = ("kernel", "n_hashes", "n_bits", "scheme", "gamma", "weight_bits")
    hashing = {name: getattr(recipe, name) for name in names}
    return kind(**hashing, **options, random_state=recipe.seed, n_jobs=n_jobs)
