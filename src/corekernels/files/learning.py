"""Learning from files whose rows need not fit in memory."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..classifier import CoREClassifier
from ..linear import CPath, HashedLinearClassifier, c_path
from ..recipe import Recipe
from ..signatures import Signatures, concatenate
from .hashing import hash_to_file
from .merging import joined_sources
from .readers import (
    SignatureReader,
    hashed_batches,
    labels_of,
    load_signatures,
    require_target,
    source_entry,
)

Array = npt.NDArray[Any]


def train(
    source: Any,
    target: str | os.PathLike[str],
    recipe: Recipe,
    *,
    n_jobs: int | None = None,
    **options: Any,
) -> CoREClassifier:
    """Learn from a source of labelled rows or signatures, and write the model to `target`.

    Raw rows are hashed batch by batch; their signatures lie in a file beside the target,
    memory-mapped, while the model is learned. The model is the one that
    `CoREClassifier.fit` finds with all rows in memory.

    Parameters
    ----------
    source : reader
        From `open_source`.
    target : path
        The model file to create or replace.
    recipe : Recipe
        How to hash, or how the rows were hashed: from `recipe_for`.
    n_jobs : int, optional
        Threads; None means all cores.
    **options
        `loss`, `C`, `class_weight`, `tol`, `max_iter` of `CoREClassifier`.
    """
    model = _classifier(recipe, n_jobs, options)
    with _signatures(source, recipe, require_target(target, source.name), n_jobs) as (S, y):
        model.fit_signatures(S, labels_of(y, source.name))
        model.save(target, sources=_sources(source, len(S)))
    return model


def sweep(
    source: Any,
    recipe: Recipe,
    Cs: Any,
    *,
    target: str | os.PathLike[str] | None = None,
    validation: Any = None,
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
    """
    model = _classifier(recipe, n_jobs, options)
    judges = None
    beside = None
    if target is not None:
        readers = (source,) if validation is None else (source, validation)
        beside = require_target(target, *(reader.name for reader in readers))
    with _signatures(source, recipe, beside, n_jobs) as (S, y):
        if validation is not None:
            batches = list(hashed_batches(validation, recipe, n_jobs))
            held = [labels_of(batch.y, validation.name) for batch in batches]
            judges = (concatenate([batch.signatures for batch in batches]), np.concatenate(held))
        path = c_path(
            S, labels_of(y, source.name), Cs, cv=cv, validation=judges, progress=progress,
            model=HashedLinearClassifier(**model._linear_parameters(), random_state=recipe.seed),
        )  # fmt: skip
        if target is not None:
            model.set_params(C=path.best_C)._adopt(recipe, path.best_model)
            model.save(target, sources=_sources(source, len(S)))
    return path


def _sources(source: Any, n_rows: int) -> list[dict[str, Any]]:
    """Where the rows came from: of signatures, the files that were hashed."""
    if isinstance(source, SignatureReader) and source.sources:
        return joined_sources(source.sources)
    return [source_entry(source, 0, n_rows)]


def _classifier(recipe: Recipe, n_jobs: int | None, options: dict[str, Any]) -> CoREClassifier:
    hashing = {name: getattr(recipe, name) for name in ("kernel", "n_hashes", "n_bits", "scheme")}
    if recipe.projection is not None:
        hashing["projection"] = recipe.projection
    return CoREClassifier(**hashing, **options, random_state=recipe.seed, n_jobs=n_jobs)


@contextlib.contextmanager
def _signatures(
    source: Any, recipe: Recipe, beside: Path | None, n_jobs: int | None
) -> Iterator[tuple[Signatures, Array | None]]:
    """Signatures and labels of a source; of raw rows, in a file that goes afterwards.

    Its name depends on the target's alone: what a killed run leaves, the next one replaces.
    """
    if isinstance(source, SignatureReader):
        yield source.read()
    elif beside is None:
        with tempfile.TemporaryDirectory() as folder:
            hash_to_file(source, Path(folder) / "rows", recipe, n_jobs=n_jobs)
            yield load_signatures(Path(folder) / "rows")
    else:
        scratch = beside.with_name(f".{beside.name}.rows")
        try:
            hash_to_file(source, scratch, recipe, n_jobs=n_jobs)
            yield load_signatures(scratch)
        finally:
            scratch.unlink(missing_ok=True)
