"""Learning from files whose rows need not fit in memory: in this process, or by parts."""

import contextlib
import hashlib
import itertools
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .._core.arguments import Array, PathLike, require_count, require_positive
from .._core.progress import progress_bar
from ..classifier import CoREClassifier
from ..errors import DataError, ParameterError
from ..io.atomic import require_target
from ..io.job_folder import JobFolder, unfinished_folder
from ..io.provenance import Origin, checking, join_runs, require_like
from ..linear import CPath, c_path
from ..linear.coefficients import Coefficients, lane_blocks, zero_coef
from ..linear.labels import check_class_weight
from ..linear.losses import loss_of
from ..linear.newton import Newton, Vector
from ..linear.problem import Measure, OneVsRest, Options, Outcome
from ..models import Model
from ..recipe import Recipe
from ..regressor import CoRERegressor
from ..signatures import Signatures, concatenate
from .engines import Engine
from .hashing import HashJob, PartStore, rows_per_part
from .part_sums import AverageTask, EngineSums, LabelCounts, LearnJob, average, labels_part
from .readers import (
    AnyReader,
    SignatureReader,
    hashed_batches,
    label_kind,
    require_labels,
    require_one_kind,
)
from .sources import PartPlan, Source, plan_of, plan_parts

AnyModel = TypeVar("AnyModel", CoREClassifier, CoRERegressor)


class Round(NamedTuple):
    """How far learning by parts was before a step, or at its end; see `files.train`."""

    block: int
    number: int
    objective: float
    gap: float
    seconds: float


def train(
    source: Source, target: PathLike, recipe: Recipe, *, regression: bool = False,
    engine: Engine | None = None, merge: bool = False, resume: bool = False,
    on_round: Callable[[Round], None] | None = None, progress: bool | None = None,
    n_jobs: int | None = None, **options: Any,
) -> Model:  # fmt: skip
    """Learn from labelled rows or signatures, and write the model to `target`.

    Raw rows are hashed batch by batch; beyond a part, their signatures lie in a file beside the
    target, memory-mapped, while the model is learned. The model is the one that
    `CoREClassifier.fit`, or `CoRERegressor.fit`, finds with all rows in memory.

    With an engine, classes are learned by parts: Newton steps on sums over all parts or, for the
    hinge loss, which has no second derivative, the average of what each part learns on its own,
    weighed by its rows. The model depends on the parts, not on the engine or its workers.

    Parameters
    ----------
    source : reader or plan
        From `open_reader`; for an engine from `plan_parts`.
    target : path
        The model file to create or replace.
    recipe : Recipe
        How to hash, or how the rows were hashed: `recipe` of their reader.
    regression : bool
        Whether labels are numbers to predict, not classes. Labels alone do not tell: whole
        numbers may be either.
    engine : Engine, optional
        What learns by parts; all workers must reach the target's folder.
    merge : bool
        Hash by the engine, then learn in this process: faster up to some ten million rows.
    resume : bool
        Go on with what a killed run of the same job has left: parts that were hashed and, by
        parts, the last step.
    on_round : callable, optional
        Called with each round of learning by parts: its `block` of up to eight classes, `number`,
        largest `objective` and duality `gap` of the block before it, as a share of the objective,
        and `seconds` since the block was begun.
    progress : bool, optional
        Whether to show a progress bar; None means where there is a terminal.
    n_jobs : int, optional
        Threads; None means all cores.
    **options
        `loss`, `C`, `class_weight`, `tol`, `max_iter` of `CoREClassifier`, and `solver` unless
        by parts; for regression `C`, `tol`, `max_iter` of `CoRERegressor`.

    Examples
    --------
    >>> import corekernels as ck
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> ck.io.write_rows("train.svm", X[:500], y[:500])
    >>> ck.io.write_rows("test.svm", X[500:700], y[500:700])
    >>> reader = ck.files.open_reader("train.svm")
    >>> recipe = ck.Recipe(n_columns=reader.n_columns, n_hashes=128)
    >>> model = ck.files.train(reader, "model.ck", recipe, C=1.0)
    >>> model.classes_, model.recipe_.n_hashes
    (array([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]), 128)
    """
    if merge and engine is None:
        raise ParameterError("merge: is for an engine, which hashes; leave it out.")
    if engine is not None and not merge:
        if regression:
            raise ParameterError("regression: is not learned by parts; merge them (merge=True).")
        return train_by_parts(
            engine, source, target, recipe, resume=resume, on_round=on_round, progress=progress,
            **options,
        )  # fmt: skip
    model = model_for(CoRERegressor if regression else CoREClassifier, recipe, n_jobs, options)
    final = require_target(target, *source.paths)
    job = HashJob(source, recipe, rows_per_part(recipe), False, engine, progress, n_jobs, "train")
    with _labelled(job, final, resume) as (S, y, provenance):
        model.fit_signatures(S, y)
        model.save(target, provenance=provenance)
    return model


def sweep(
    source: Source, recipe: Recipe, Cs: Any, *, target: PathLike | None = None,
    validation: AnyReader | None = None, cv: Any = 5, progress: bool | None = None,
    n_jobs: int | None = None, **options: Any,
) -> CPath:  # fmt: skip
    """Accuracies over a range of C, and if there is a `target`, the best model in that file.

    `validation` has rows to score on, instead of folds of the source. Options are `loss`,
    `class_weight`, `tol`, `max_iter` of `CoREClassifier`; all else is as for `train` and
    `linear.c_path`.
    """
    model = model_for(CoREClassifier, recipe, n_jobs, options)
    judges = None
    others = [] if validation is None else [validation.name]
    final = None if target is None else require_target(target, *source.paths, *others)
    job = HashJob(source, recipe, rows_per_part(recipe), False, None, progress, n_jobs, "path")
    with _labelled(job, final, False) as (S, y, provenance):
        if validation is not None:
            hashed = hashed_batches(validation, recipe, "hashing", progress=progress, n_jobs=n_jobs)
            batches = list(hashed)
            held = [require_labels(batch.y, validation.name) for batch in batches]
            judges = (concatenate([batch.signatures for batch in batches]), np.concatenate(held))
        model.recipe_ = recipe  # whose seed the linear model has
        linear = model._new_linear()
        path = c_path(S, y, Cs, cv=cv, validation=judges, progress=progress, model=linear)
        if target is not None:
            model.set_params(C=path.best_C)._adopt(recipe, path.best_model)
            model.save(target, provenance=provenance)
    return path


@contextlib.contextmanager
def _labelled(
    job: HashJob, target: Path | None, resume: bool
) -> Iterator[tuple[Signatures, Array, list[Origin]]]:
    """Signatures, labels and provenance of a job's source, which errors about labels name.

    Raw rows are hashed: into memory if they make one part, else into a file of the job's folder.
    """
    with contextlib.ExitStack() as stack:
        store = None
        if getattr(job.source, "recipe", None) is None:
            if target is None:
                target = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "model"
            store = job.store(stack, target, resume, False)
            job.fill(store)
            S, y, provenance = store.read()
        else:
            reader = SignatureReader(job.source.paths)
            (S, y), provenance = reader.read(), join_runs(reader.provenance)
        try:
            yield S, require_labels(y, job.source.name), provenance
        except DataError as error:
            if not str(error).startswith("y: "):
                raise
            raise DataError(f"{job.source.name}: {str(error)[3:]}") from error
        if store is not None:
            store.discard()


def train_by_parts(
    engine: Engine, source: Source, target: PathLike, recipe: Recipe, *,
    loss: str = "squared_hinge", C: float = 1.0, class_weight: Any = None, tol: float = 1e-3,
    max_iter: int = 1000, resume: bool = False, on_round: Callable[[Round], None] | None = None,
    progress: bool | None = None,
) -> CoREClassifier:  # fmt: skip
    """Learn classes one block after the other, by Newton steps or an average; see `train`."""
    options = {"loss": loss, "C": C, "class_weight": class_weight, "tol": tol, "max_iter": max_iter}
    chosen = loss_of(loss, "classes")
    ends = Options(require_positive("tol", tol), require_count("max_iter", max_iter), ())
    C = require_positive("C", C)
    plan = plan_of(source)
    final = require_target(target, *plan.paths)
    job = HashJob(plan, recipe, rows_per_part(recipe), False, engine, progress, None, "train")
    about = job.about | {"options": repr(options)}
    with JobFolder.open(
        unfinished_folder(final), about, resume=resume, redo_changed=True
    ) as folder:
        if folder.changed:
            folder.remove("block-*")
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
            for number, lanes in enumerate(lane_blocks(problem.n_problems))
        ]
        model = _as_model(recipe, options, blocks, classes, int(class_counts.sum()))
        model.save(final, provenance=join_runs(SignatureReader(plan.paths).provenance))
        folder.discard()
    return model


def _joined_counts(plan: PartPlan, counts: Sequence[LabelCounts]) -> tuple[Array, Array, int]:
    """All classes, sorted, how many rows each has, and the number of codes that occur."""
    parts = zip(plan.parts, counts, strict=True)
    kinds = {
        label_kind(of_part.labels): part.path for part, of_part in parts if len(of_part.labels)
    }
    require_one_kind(kinds)
    labels = np.concatenate([of_part.labels for of_part in counts])
    classes, numbers = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        only = ", ".join(map(str, classes))
        raise DataError(f"{plan.name}: holds one class only ({only}); give rows of two or more.")
    class_counts = np.bincount(numbers, np.concatenate([of_part.counts for of_part in counts]))
    return classes, class_counts, max(of_part.largest_code for of_part in counts) + 1


@dataclass
class _Learner:
    """Learns the weight vectors of a job, a block at a time."""

    engine: Engine
    plan: PartPlan
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
        coef = zero_coef(job.n_codes, self.plan.recipe.n_hashes, n_lanes)
        w, n_passes = self._before(saved, Vector(coef, np.zeros(n_lanes)))
        with progress_bar(None, f"learning, block {number}", "rounds", self.progress) as bar:

            def report(w: Vector, at: Measure) -> None:
                gap, objective = float(at.relative_gaps.max()), float(at.objectives.max())
                seconds = time.perf_counter() - start
                if self.on_round is not None:
                    self.on_round(Round(number, next(numbers), objective, gap, seconds))
                bar.set_postfix_str(f"objective {objective:.6g}, gap {gap:.1e}", refresh=False)
                bar.update(1)

            if not job.problem.loss.is_smooth:
                task = AverageTask(job, self.options, self.shares, str(self.folder.path))
                w, at, outcome = average(self.engine, self.plan.parts, task)
                report(w, at)
                return w, outcome
            options = replace(self.options, max_iter=max(1, self.options.max_iter - n_passes))

            def step(w: Vector, at: Measure) -> None:
                report(w, at)
                passes = n_passes + int(newton._n_passes)
                self.folder.save(saved, passes, coef=w.coef, biases=w.biases)

            sums = EngineSums(self.engine, self.plan.parts, job)
            newton = Newton(sums, w, options, None, step)
            outcome = newton.solve()
            return w, replace(outcome, n_iter=outcome.n_iter + n_passes)

    def _before(self, saved: str, w: Vector) -> tuple[Vector, int]:
        """Where an earlier run was, and after how many passes; else w."""
        with checking(self.folder.file(saved), "remove it, to learn anew"):
            saved_state = self.folder.load(saved)
            if saved_state is None:
                return w, 0
            arrays, n_passes = saved_state
            require_like("coef", arrays["coef"], w.coef)
            require_like("biases", arrays["biases"], w.biases)
            return Vector(arrays["coef"], arrays["biases"]), int(n_passes)


def _as_model(
    recipe: Recipe, options: dict[str, Any], blocks: Sequence[tuple[Vector, Outcome]],
    classes: Array, n_rows: int,
) -> CoREClassifier:  # fmt: skip
    """An ordinary model that has learned these weight vectors, which have the codes that occur."""
    assert recipe.n_bits is not None
    whole = []
    for w, _ in blocks:
        block = zero_coef(1 << recipe.n_bits, recipe.n_hashes, w.n_lanes)
        block[: len(w.coef)] = w.coef
        whole.append(block)
    biases = np.concatenate([w.biases for w, _ in blocks])
    model = model_for(CoREClassifier, recipe, None, options)
    model.recipe_ = recipe
    linear = model._new_linear()
    linear._keep(Coefficients(recipe, whole, biases), n_rows)
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
