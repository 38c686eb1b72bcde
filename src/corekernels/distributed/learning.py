"""Learning by parts: Newton steps over rows that stay where they are."""

import contextlib
import hashlib
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._core.arguments import Array, PathLike, require_choice, require_count, require_positive
from ..classifier import CoREClassifier
from ..errors import DataError, FileError
from ..files.engines.base import Engine
from ..files.learning import model_for, train
from ..files.merging import merge_parts
from ..files.plan import Plan, plan_parts
from ..files.readers import SignatureReader
from ..files.shards import part_files
from ..io.atomic import require_target
from ..io.provenance import join_runs
from ..linear.classifier import LOSS_NAMES
from ..linear.coefficients import Planes, lane_blocks, new_planes
from ..linear.descent import OneVsRest
from ..linear.labels import check_class_weight
from ..linear.newton import Vector
from ..linear.problem import Options, Outcome
from ..models import Model
from ..recipe import Recipe
from .dealing import are_alike, deal_rows
from .hashing import hash_parts
from .learner import Learner, Round
from .part_sums import LabelCounts, LearnJob, labels_part

WARM_ROUNDS = 2  # more of them cost more sweeps than they save Newton steps


@dataclass(frozen=True)
class TrainReport:
    """What `train_parts` has learned, and how.

    Examples
    --------
    >>> from corekernels import distributed
    >>> last = distributed.Round(block=0, number=4, objective=37.6, gap=0.0008, seconds=1.2)
    >>> report = distributed.TrainReport("model.ck", 300, 10, 1, 40, last.gap, [last])
    >>> report.target, report.passes, report.rounds[-1].objective
    ('model.ck', 40, 37.6)
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
    warm_rounds: int = WARM_ROUNDS, progress: bool | None = None,
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
        part, whose changes are put together (`distributed.rounds`). That comes near fast and
        close never; the gap tells. It needs parts that are alike: rows of parts with different
        shares of the classes are first dealt to new ones, which takes room for a copy of them.
    C, class_weight
        As of `CoREClassifier`.
    tol : float
        Largest duality gap, as a share of the objective.
    max_iter : int
        Largest number of passes over the rows, for each block of up to eight classes.
    warm_rounds : int
        Rounds of sweeps within each part before the first Newton step. There are none where parts
        have different shares of the classes.
    progress : bool, optional
        Whether to show a progress bar; None means where there is a terminal.

    Examples
    --------
    >>> from corekernels import Recipe, distributed, files, io
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> io.write_rows("rows.npz", X[:300], y[:300])
    >>> with files.LocalEngine() as engine:
    ...     plan = files.plan_parts(engine, "rows.npz")
    ...     recipe = Recipe(n_columns=plan.n_columns, n_hashes=64)
    ...     found = distributed.train_parts(engine, plan, "model.ck", recipe)
    >>> found.rows, found.classes, found.gap <= 1e-3
    (300, 10, True)
    """
    options = {"loss": loss, "C": C, "class_weight": class_weight, "tol": tol, "max_iter": max_iter}
    require_choice("loss", loss, LOSS_NAMES)
    ends = Options(require_positive("tol", tol), require_count("max_iter", max_iter), ())
    if warm_rounds != 0:
        require_count("warm_rounds", warm_rounds)
    final = require_target(target, *{part.path for part in plan.parts})
    with _learning_folder(final) as folder:
        if plan.recipe is None:
            hash_parts(engine, plan, folder / "shards", recipe, resume=True, progress=progress)
            plan = plan_parts(engine, folder / "shards", progress=progress)
        found = engine.run(labels_part, None, plan.parts, what="labels", progress=progress)
        classes, counts, n_codes = _joined_labels(plan, found)
        weights = check_class_weight(class_weight, classes, np.arange(len(classes)), counts)
        problem = OneVsRest(loss, 1.0, weights)
        told = plan.key, recipe, options, warm_rounds, classes.tolist()
        key = hashlib.sha256(repr(told).encode()).hexdigest()[:16]
        job = LearnJob(key, problem, require_positive("C", C), classes, n_codes, 0)
        alike, rows = are_alike(classes, found), plan
        if loss == "hinge" and not alike:
            rows = deal_rows(engine, plan, classes, folder, progress)
        warm_rounds = warm_rounds if alike else 0
        learner = Learner(engine, rows, job, ends, folder, warm_rounds, progress)
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
    >>> from corekernels import Recipe, distributed, files, io
    >>> io.write_rows("rows.npz", [[1.0, 0], [0, 1]], ["left", "right"])
    >>> with files.LocalEngine() as engine:
    ...     plan = files.plan_parts(engine, "rows.npz")
    ...     model = distributed.merge_and_train(engine, plan, "model.ck", Recipe(n_columns=2))
    >>> model.classes_.tolist()
    ['left', 'right']
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
