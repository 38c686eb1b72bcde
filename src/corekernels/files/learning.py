"""Learning from files whose rows need not fit in memory."""

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._core.arguments import Array, PathLike
from ..classifier import CoREClassifier
from ..errors import DataError, ParameterError
from ..io.atomic import require_target
from ..io.provenance import Origin, join_runs
from ..linear import CPath, HashedLinearClassifier, c_path
from ..models import Model
from ..recipe import Recipe
from ..regressor import CoRERegressor
from ..signatures import Signatures, concatenate
from .engines import Engine
from .hashing import HashJob, rows_per_part
from .opening import Source, reader_of, source_paths
from .part_learning import Round, model_for, train_by_parts
from .readers import AnyReader, SignatureReader, hashed_batches, require_labels
from .shards import merge_parts

ROWS_FOR_ONE_MACHINE = 10_000_000  # beyond, a cluster is faster if there is one


def train(
    source: Source,
    target: PathLike,
    recipe: Recipe,
    *,
    regression: bool = False,
    engine: Engine | None = None,
    merge: bool = False,
    resume: bool = False,
    on_round: Callable[[Round], None] | None = None,
    progress: bool | None = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Model:
    """Learn from labelled rows or signatures, and write the model to `target`.

    Raw rows are hashed batch by batch; beyond a part, their signatures lie in a file beside the
    target, memory-mapped, while the model is learned. The model is the one that
    `CoREClassifier.fit`, or `CoRERegressor.fit`, finds with all rows in memory.

    With an engine, classes are learned by parts: Newton steps on sums over all parts or, for the
    hinge loss, which has no second derivative, the average of what each part learns on its own,
    weighed by its rows. The model depends on the parts, not on the engine or its workers.

    Parameters
    ----------
    source : reader or Plan
        From `open_reader`; for an engine from `plan_parts`.
    target : path
        The model file to create or replace.
    recipe : Recipe
        How to hash, or how the rows were hashed: from `recipe_for`.
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
        Called with each `Round` of learning by parts.
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
    >>> recipe = ck.files.recipe_for(reader, n_hashes=128)
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
    final = require_target(target, *source_paths(source))
    job = HashJob(source, recipe, rows_per_part(recipe), False, engine, progress, n_jobs, "train")
    with _signatures(job, final, resume) as (S, y, provenance):
        labels = require_labels(y, source.name)
        with _naming_file(source.name):
            model.fit_signatures(S, labels)
        model.save(target, provenance=provenance)
    return model


def sweep(
    source: Source,
    recipe: Recipe,
    Cs: Any,
    *,
    target: PathLike | None = None,
    validation: AnyReader | None = None,
    cv: Any = 5,
    progress: bool | None = None,
    n_jobs: int | None = None,
    **options: Any,
) -> CPath:
    """Accuracies over a range of C, and if there is a `target`, the best model in that file.

    Parameters
    ----------
    source, recipe, n_jobs
        As for `train`.
    Cs, cv, progress
        As for `linear.c_path`.
    target : path, optional
        The model file to create or replace.
    validation : reader, optional
        Rows to score on, instead of folds of the source.
    **options
        `loss`, `class_weight`, `tol`, `max_iter` of `CoREClassifier`.

    Examples
    --------
    >>> import corekernels as ck
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> ck.io.write_rows("train.svm", X[:300], y[:300])
    >>> reader = ck.files.open_reader("train.svm")
    >>> recipe = ck.files.recipe_for(reader, n_hashes=64)
    >>> path = ck.files.sweep(reader, recipe, [0.01, 1], cv=2)
    >>> path.best_C, path.scores.shape
    (1.0, (2, 2))
    """
    model = model_for(CoREClassifier, recipe, n_jobs, options)
    judges = None
    others = [] if validation is None else [validation.name]
    final = None if target is None else require_target(target, *source_paths(source), *others)
    job = HashJob(source, recipe, rows_per_part(recipe), False, None, progress, n_jobs, "path")
    with _signatures(job, final, False) as (S, y, provenance):
        if validation is not None:
            hashed = hashed_batches(validation, recipe, "hashing", progress=progress, n_jobs=n_jobs)
            batches = list(hashed)
            held = [require_labels(batch.y, validation.name) for batch in batches]
            judges = (concatenate([batch.signatures for batch in batches]), np.concatenate(held))
        labels = require_labels(y, source.name)
        with _naming_file(source.name):
            linear = HashedLinearClassifier(**model._linear_parameters(), random_state=recipe.seed)
            path = c_path(S, labels, Cs, cv=cv, validation=judges, progress=progress, model=linear)
        if target is not None:
            model.set_params(C=path.best_C)._adopt(recipe, path.best_model)
            model.save(target, provenance=provenance)
    return path


@contextlib.contextmanager
def _naming_file(name: str) -> Iterator[None]:
    """Errors about the labels y name the file that holds them."""
    try:
        yield
    except DataError as error:
        if not str(error).startswith("y: "):
            raise
        raise DataError(f"{name}: {str(error)[3:]}") from error


@contextlib.contextmanager
def _signatures(
    job: HashJob, target: Path | None, resume: bool
) -> Iterator[tuple[Signatures, Array | None, list[Origin]]]:
    """Signatures, labels and provenance of a job's source.

    Raw rows are hashed: into memory if they make one part, else into a file of the job's folder.
    """
    with contextlib.ExitStack() as stack:
        if target is None:
            target = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "model"
        if getattr(job.source, "recipe", None) is not None:
            reader = reader_of(job.source, job.n_jobs)
            assert reader.holds == "signatures"
            if job.engine is None or len(reader.parts) == 1:
                yield *reader.read(), join_runs(reader.provenance)
                return
            store = job.store(stack, target, resume, True)
            store.paths = reader.parts
        else:
            store = job.store(stack, target, resume, False)
            job.fill(store)
        if store.only is not None:
            signatures, labels, provenance = store.only
            yield concatenate(list(signatures)), labels, list(provenance)
            return
        assert store.folder is not None
        merged = store.paths[0]
        if len(store.paths) > 1:
            merged = store.folder.file("merged")
            merge_parts(store.paths, merged, target)
        reader = SignatureReader(merged)
        yield *reader.read(), join_runs(reader.provenance)
        store.discard()
