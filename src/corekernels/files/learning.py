"""Learning from files whose rows need not fit in memory."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from .._core.arguments import Array, PathLike
from ..classifier import CoREClassifier
from ..errors import DataError, FileError
from ..io.atomic import require_target
from ..io.provenance import Origin, join_runs
from ..linear import CPath, HashedLinearClassifier, c_path
from ..models import Model
from ..recipe import Recipe
from ..regressor import CoRERegressor
from ..signatures import Signatures, concatenate
from .hashing import hash_to_file
from .readers import (
    AnyReader,
    hashed_batches,
    load_signatures,
    require_labels,
)

AnyModel = TypeVar("AnyModel", CoREClassifier, CoRERegressor)


def train(
    reader: AnyReader,
    target: PathLike,
    recipe: Recipe,
    *,
    regression: bool = False,
    progress: bool | None = None,
    n_jobs: int | None = None,
    **options: Any,
) -> Model:
    """Learn from a reader of labelled rows or signatures, and write the model to `target`.

    Raw rows are hashed batch by batch; their signatures lie in a file beside the target,
    memory-mapped, while the model is learned. The model is the one that
    `CoREClassifier.fit`, or `CoRERegressor.fit`, finds with all rows in memory.

    Parameters
    ----------
    reader : reader
        From `open_reader`.
    target : path
        The model file to create or replace.
    recipe : Recipe
        How to hash, or how the rows were hashed: from `recipe_for`.
    regression : bool
        Whether labels are numbers to predict, not classes. Labels alone do not tell: whole
        numbers may be either.
    progress : bool, optional
        Whether to show a progress bar; None means where there is a terminal.
    n_jobs : int, optional
        Threads; None means all cores.
    **options
        `loss`, `C`, `class_weight`, `tol`, `max_iter` of `CoREClassifier`; for regression
        `C`, `tol`, `max_iter` of `CoRERegressor`.

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
    model = model_for(CoRERegressor if regression else CoREClassifier, recipe, n_jobs, options)
    beside = require_target(target, reader.name)
    with _signatures(reader, recipe, beside, progress, n_jobs) as (S, y):
        labels = require_labels(y, reader.name)
        with _naming_file(reader):
            model.fit_signatures(S, labels)
        model.save(target, provenance=_provenance(reader, len(S)))
    return model


def sweep(
    reader: AnyReader,
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
    reader, recipe, n_jobs
        As for `train`.
    Cs, cv, progress
        As for `linear.c_path`.
    target : path, optional
        The model file to create or replace.
    validation : reader, optional
        Rows to score on, instead of folds of the reader.
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
    beside = None
    if target is not None:
        sides = [reader] if validation is None else [reader, validation]
        beside = require_target(target, *(side.name for side in sides))
    with _signatures(reader, recipe, beside, progress, n_jobs) as (S, y):
        if validation is not None:
            hashed = hashed_batches(validation, recipe, "hashing", progress=progress, n_jobs=n_jobs)
            batches = list(hashed)
            held = [require_labels(batch.y, validation.name) for batch in batches]
            judges = (concatenate([batch.signatures for batch in batches]), np.concatenate(held))
        labels = require_labels(y, reader.name)
        with _naming_file(reader):
            linear = HashedLinearClassifier(**model._linear_parameters(), random_state=recipe.seed)
            path = c_path(S, labels, Cs, cv=cv, validation=judges, progress=progress, model=linear)
        if target is not None:
            model.set_params(C=path.best_C)._adopt(recipe, path.best_model)
            model.save(target, provenance=_provenance(reader, len(S)))
    return path


def _provenance(reader: AnyReader, n_rows: int) -> list[Origin]:
    """Where the rows came from: of signatures, the files that were hashed."""
    if reader.holds == "signatures":
        return join_runs(reader.provenance)
    return [reader.origin(0, n_rows)]


@contextlib.contextmanager
def _naming_file(reader: AnyReader) -> Iterator[None]:
    """Errors about the labels y name the file that holds them."""
    try:
        yield
    except DataError as error:
        if not str(error).startswith("y: "):
            raise
        raise DataError(f"{reader.name}: {str(error)[3:]}") from error


def model_for(
    kind: type[AnyModel], recipe: Recipe, n_jobs: int | None, options: dict[str, Any]
) -> AnyModel:
    """A model, not fitted, that hashes by a recipe."""
    names = ("kernel", "n_hashes", "n_bits", "scheme", "gamma", "weight_bits")
    hashing = {name: getattr(recipe, name) for name in names}
    return kind(**hashing, **options, random_state=recipe.seed, n_jobs=n_jobs)


@contextlib.contextmanager
def _signatures(
    reader: AnyReader, recipe: Recipe, beside: Path | None, progress: bool | None,
    n_jobs: int | None,
) -> Iterator[tuple[Signatures, Array | None]]:  # fmt: skip
    """Signatures and labels of a reader; of raw rows, in a file that is removed afterwards.

    Its name depends on the target's alone: what a killed run leaves, the next one replaces.
    """
    if reader.holds == "signatures":
        yield reader.read()
    elif beside is None:
        with tempfile.TemporaryDirectory() as folder:
            hash_to_file(reader, Path(folder) / "rows", recipe, progress=progress, n_jobs=n_jobs)
            yield load_signatures(Path(folder) / "rows")
    else:
        scratch = beside.with_name(f".{beside.name}.rows")
        if scratch.is_symlink():
            raise FileError(f"{scratch}: is a symbolic link; remove it, hashed rows go there.")
        try:
            hash_to_file(reader, scratch, recipe, progress=progress, n_jobs=n_jobs)
            yield load_signatures(scratch)
        finally:
            scratch.unlink(missing_ok=True)
