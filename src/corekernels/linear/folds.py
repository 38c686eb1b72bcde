"""Rows to learn from and rows to score on: folds of one set, or a validation set."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import check_cv

from .._core.types import Array
from ..errors import DataError, ParameterError, RecipeMismatch
from ..recipe import Recipe
from ..signatures import Signatures
from .labels import check_labels
from .packed import Packed, pack
from .planes import Planes
from .training_set import TrainingSet


@dataclass(frozen=True)
class Fold:
    """A training set, and rows to score what is learned from it on.

    Attributes
    ----------
    training : TrainingSet
    packed : Packed
        Holds the rows to score on.
    rows : ndarray of int
        Their numbers.
    labels : ndarray
        Their labels.
    """

    training: TrainingSet
    packed: Packed
    rows: npt.NDArray[np.int64]
    labels: Array

    def accuracy(self, planes: Planes, classes: Array, n_jobs: int | None) -> float:
        """Share of the rows to score on that get their own label."""
        scores = planes.scores_of(self.packed, self.rows, n_jobs)
        best = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
        return float((classes[best.astype(int)] == self.labels).mean())


def cross_validation(cv: Any, training: TrainingSet, labels: Array) -> list[Fold]:
    """The folds of a training set; `cv` as scikit-learn takes it."""
    rows = np.arange(len(labels))
    try:
        splits = check_cv(cv, labels, classifier=True).split(rows, labels)
        parts = [(rows[np.asarray(train)], rows[np.asarray(test)]) for train, test in splits]
    except (ValueError, IndexError, TypeError) as error:
        raise ParameterError(f"cv: {error}") from error
    if not parts or not all(len(part) for pair in parts for part in pair):
        raise ParameterError("cv: there is no fold, or one without rows; give at least one.")
    return [
        Fold(training.subset(train), training.packed, test, labels[test]) for train, test in parts
    ]


def held_out(
    validation: tuple[Signatures, Any], training: TrainingSet, recipe: Recipe, n_jobs: int | None
) -> Fold:
    """The fold that learns from all rows and is scored on a validation set."""
    S, y = validation
    labels = check_labels(y, len(S))
    packed = pack(S, n_jobs)
    if not len(packed):
        raise DataError("validation: has no rows; give some to score on, or folds (cv).")
    if S.recipe != recipe:
        raise RecipeMismatch(recipe, S.recipe)
    return Fold(training, packed, np.arange(len(packed)), labels)
