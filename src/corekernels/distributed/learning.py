"""Learning by parts: Newton steps over rows that stay where they are."""

import contextlib
import hashlib
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._core.arguments import require_choice, require_count, require_positive
from .._core.progress import progress_bar
from .._core.types import Array, PathLike
from ..classifier import CoREClassifier
from ..errors import DataError, FileError
from ..files.learning import model_for, train
from ..files.merging import merge_parts
from ..files.readers import SignatureReader
from ..files.shards import part_files
from ..io.provenance import join_runs
from ..io.targets import require_target
from ..linear.classifier import LOSS_NAMES
from ..linear.gaps import Measure
from ..linear.labels import check_class_weight
from ..linear.newton import Newton
from ..linear.one_vs_rest import OneVsRest
from ..linear.planes import Planes, lane_blocks, new_planes
from ..linear.problem import Options, Outcome
from ..linear.vectors import Vector
from ..models import Model
from ..recipe import Recipe
from .engines import Engine
from .hashing import hash_parts
from .part_sums import LabelCounts, LearnJob, PartSums, labels_part, load_vector, save_vector
from .plan import Plan, plan_parts
from .rounds import SWEEPS, Rounds

ROWS_FOR_ONE_MACHINE = 10_000_000  # which one learns from in minutes, once they are hashed


@dataclass(frozen=True)
class Round:
    """How far learning was before a step.

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

    Examples
    --------
    >>> from corekernels import distributed
    >>> distributed.Round(block=0, number=3, objective=12.5, gap=0.01, seconds=0.4).gap
    0.01
    """

    block: int
    number: int
    objective: float
    gap: float
    seconds: float


@dataclass(frozen=True)
class TrainReport:
    """What `train_parts` has learned, and how.

    Examples
    --------
    >>> import corekernels as ck
    >>> from corekernels import distributed
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> ck.io.write_rows("rows.npz", X[:300], y[:300])
    >>> with distributed.LocalEngine() as engine:
    ...     plan = distributed.plan_parts(engine, "rows.npz")
    ...     recipe = ck.Recipe(n_columns=plan.n_columns, n_hashes=64)
    ...     found = distributed.train_parts(engine, plan, "model.ck", recipe)
    >>> found.target, found.parts, len(found.rounds) > 0
    ('model.ck', 1, True)
    """

    target: str
    rows: int
    classes: int
    parts: int
    passes: int
    gap: float
    rounds: list[Round]


def train_parts(
    engine: Engine, plan: Plan, target: PathLike, recipe: Recipe, *, loss: str = "squared_hinge",
    C: float = 1.0, class_weight: Any = None, tol: float = 1e-3, max_iter: int = 1000,
    progress: bool | None = None,
) -> TrainReport:  # fmt: skip
    """Learn from labelled rows or signatures in parts, and write the model to `target`.

    The model is an ordinary `CoREClassifier` file. It depends on the parts, not on the engine or
    the number of its workers. Raw rows are hashed first; their shards, and where learning stands,
    lie in the hidden folder `.NAME.learning` beside the target, which every worker must reach. A
    run that was killed is gone on with by the next one of the same job.

    Parameters
    ----------
    engine : Engine
    plan : Plan
        From `plan_parts`, of rows or signatures.
    target : path
        The model file to create or replace.
    recipe : Recipe
        How to hash, or how the rows were hashed: `Plan.recipe_for` makes it.
    loss : {"squared_hinge", "log_loss", "hinge"}
        The hinge loss has no second derivative: it is learned by rounds of sweeps within each
        part, whose changes are added up (`distributed.rounds`). That comes near fast and close
        never, and needs parts that are alike, not sorted by label. The gap tells.
    C, class_weight
        As of `CoREClassifier`.
    tol : float
        Largest duality gap, as a share of the objective.
    max_iter : int
        Largest number of passes over the rows, for each block of up to eight classes.
    progress : bool, optional
        Whether to show a progress bar; None means where there is a terminal.

    Examples
    --------
    >>> import corekernels as ck
    >>> from corekernels import distributed
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> ck.io.write_rows("rows.npz", X[:300], y[:300])
    >>> with distributed.LocalEngine() as engine:
    ...     plan = distributed.plan_parts(engine, "rows.npz")
    ...     recipe = ck.Recipe(n_columns=plan.n_columns, n_hashes=64)
    ...     found = distributed.train_parts(engine, plan, "model.ck", recipe)
    >>> found.rows, found.classes, found.gap <= 1e-3
    (300, 10, True)
    """
    options = {"loss": loss, "C": C, "class_weight": class_weight, "tol": tol, "max_iter": max_iter}
    require_choice("loss", loss, LOSS_NAMES)
    ends = Options(require_positive("tol", tol), require_count("max_iter", max_iter), ())
    final = require_target(target, *{part.path for part in plan.parts})
    with _learning_folder(final) as folder:
        if plan.recipe is None:
            hash_parts(engine, plan, folder / "shards", recipe, resume=True, progress=progress)
            plan = plan_parts(engine, folder / "shards", progress=progress)
        found = engine.run(labels_part, None, plan.parts, what="labels", progress=progress)
        classes, counts, n_codes = _joined_labels(plan, found)
        weights = check_class_weight(class_weight, classes, np.arange(len(classes)), counts)
        problem = OneVsRest(loss, 1.0, weights)
        key = hashlib.sha256(repr((plan.key, recipe, options, classes.tolist())).encode())
        job = LearnJob(key.hexdigest()[:16], problem, require_positive("C", C), classes, n_codes, 0)
        learner = _Learner(engine, plan, job, ends, folder, progress)
        blocks = [
            learner.learn(number, len(lanes))
            for number, lanes in enumerate(lane_blocks(problem.n_planes))
        ]
        vectors, outcomes = zip(*blocks, strict=True)
        planes = _whole_planes(recipe, vectors)
        model = _as_model(recipe, options, planes, classes, int(counts.sum()), outcomes)
        provenance = [o for part in plan.parts for o in SignatureReader(part.path).provenance]
        model.save(final, provenance=join_runs(provenance))
    return TrainReport(
        str(target), int(counts.sum()), len(classes), len(plan.parts),
        max(outcome.n_iter for outcome in outcomes),
        max(float(outcome.relative_gaps.max()) for outcome in outcomes), learner.rounds,
    )  # fmt: skip


def merge_and_train(
    engine: Engine, plan: Plan, target: PathLike, recipe: Recipe, *,
    progress: bool | None = None, n_jobs: int | None = None, **options: Any,
) -> Model:  # fmt: skip
    """Hash the parts of a plan on a cluster, then learn from all of them on this machine.

    Up to some ten million rows that is faster than learning by parts. The signatures lie in the
    hidden folder `.NAME.learning` in the meantime; an interrupted run is gone on with.

    Parameters
    ----------
    engine, plan, target, recipe, progress
        As for `train_parts`.
    n_jobs : int, optional
        Threads of this machine; None means all cores.
    **options
        As of `files.train`.

    Examples
    --------
    >>> import corekernels as ck
    >>> from corekernels import distributed
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> ck.io.write_rows("rows.npz", X[:300], y[:300])
    >>> with distributed.LocalEngine() as engine:
    ...     plan = distributed.plan_parts(engine, "rows.npz")
    ...     recipe = ck.Recipe(n_columns=plan.n_columns, n_hashes=64)
    ...     model = distributed.merge_and_train(engine, plan, "model.ck", recipe)
    >>> len(model.classes_)
    10
    """
    final = require_target(target, *{part.path for part in plan.parts})
    with _learning_folder(final) as folder:
        if plan.recipe is None:
            hash_parts(engine, plan, folder / "shards", recipe, resume=True, progress=progress)
            paths = part_files(folder / "shards")
        else:
            paths = [Path(part.path) for part in plan.parts]
        merged = paths[0]
        if len(paths) > 1:
            merged = folder / "merged"
            merge_parts(paths, merged)
        reader = SignatureReader(merged)
        return train(reader, final, recipe, progress=progress, n_jobs=n_jobs, **options)


class _Learner:
    """Newton steps or rounds, one block of planes after another; a killed run is gone on with."""

    def __init__(
        self, engine: Engine, plan: Plan, job: LearnJob, options: Options, folder: Path,
        progress: bool | None,
    ) -> None:  # fmt: skip
        self._engine, self._plan, self._job = engine, plan, job
        self._options, self._folder, self._progress = options, folder, progress
        self.rounds: list[Round] = []

    def learn(self, number: int, n_lanes: int) -> tuple[Vector, Outcome]:
        """The solution of a block, from where an earlier run was, if there was one."""
        job = self._job._replace(block=number)
        saved = self._folder / f"{job.key}-{number}"
        w = Vector(new_planes(job.n_codes, self._n_hashes, n_lanes), np.zeros(n_lanes))
        about: dict[str, Any] = {}
        if saved.exists():
            w, about = load_vector(saved)
        start = time.perf_counter()
        with progress_bar(None, f"learning, block {number}", "rounds", self._progress) as bar:

            def report(w: Vector, found: Measure) -> None:
                gap = float(found.relative_gaps().max())
                objective = float(found.objectives.max())
                seconds = time.perf_counter() - start
                self.rounds.append(Round(number, bar.n, objective, gap, seconds))
                if job.problem.loss != "hinge":
                    save_vector(saved, w)
                bar.set_postfix_str(f"objective {objective:.6g}, gap {gap:.1e}", refresh=False)
                bar.update(1)

            def reached(w: Vector, next_round: int) -> None:
                save_vector(saved, w, next_round=next_round)

            if job.problem.loss == "hinge":
                rounds = Rounds(self._engine, self._plan.parts, job, self._folder, report, reached)
                most = max(1, self._options.max_iter // SWEEPS)
                return w, rounds.solve(w, self._options.tol, most, about.get("next_round", 0))
            sums = PartSums(self._engine, self._plan.parts, job, self._folder)
            return w, Newton(sums, w, self._options, None, report).solve()

    @property
    def _n_hashes(self) -> int:
        assert self._plan.recipe is not None
        return self._plan.recipe.n_hashes


def _joined_labels(plan: Plan, found: Sequence[LabelCounts]) -> tuple[Array, Array, int]:
    """All classes, sorted, how many rows each has, and the number of codes that occur."""
    kinds = {counts.labels.dtype.kind in "US" for counts in found if len(counts.labels)}
    if len(kinds) > 1:
        raise DataError(f"{plan.name}: labels of its parts are of several kinds; use one kind.")
    labels = np.concatenate([counts.labels for counts in found])
    classes, numbers = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        only = ", ".join(map(str, classes))
        raise DataError(f"{plan.name}: holds one class only ({only}); give rows of two or more.")
    counts = np.bincount(numbers, np.concatenate([counts.counts for counts in found]))
    return classes, counts, max(counts.largest_code for counts in found) + 1


def _whole_planes(recipe: Recipe, vectors: Sequence[Vector]) -> Planes:
    """Planes of all codes, of vectors that have those that occur."""
    assert recipe.n_bits is not None
    blocks = []
    for w in vectors:
        block = new_planes(1 << recipe.n_bits, recipe.n_hashes, w.n_lanes)
        block[: len(w.planes)] = w.planes
        blocks.append(block)
    return Planes(recipe, blocks, np.concatenate([w.biases for w in vectors]))


def _as_model(
    recipe: Recipe, options: dict[str, Any], planes: Planes, classes: Array, n_rows: int,
    outcomes: Sequence[Outcome],
) -> CoREClassifier:  # fmt: skip
    """An ordinary model that has learned these planes."""
    model = model_for(CoREClassifier, recipe, None, options)
    model.recipe_ = recipe
    linear = model._new_linear()
    linear._keep(planes, n_rows)
    linear.classes_ = classes
    return model._adopt(recipe, linear)


@contextlib.contextmanager
def _learning_folder(target: Path) -> Iterator[Path]:
    """The folder of a job, which stays if the job does not end well."""
    folder = target.absolute().with_name(f".{target.name}.learning")
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise FileError(f"{folder}: is no folder; remove it, parts gather there.")
    folder.mkdir(0o700, exist_ok=True)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)
