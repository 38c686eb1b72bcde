"""Applying a model to files, batch by batch."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.types import Array
from ..classifier import CoREClassifier
from ..errors import DataError
from ..io.targets import Target, open_target
from .readers import AnyReader, HashedBatch, hashed_batches, require_labels


@dataclass(frozen=True)
class Evaluation:
    """How well a model does on the labelled rows of a file.

    Attributes
    ----------
    rows : int
    accuracy, standard_error : float
        Share of rows with the right label, and its binomial standard error.
    classes : ndarray
        All labels of the model and of the file, sorted.
    confusion : ndarray of shape (n_classes, n_classes)
        Rows of class i that were given class j.
    """

    rows: int
    accuracy: float
    standard_error: float
    classes: Array
    confusion: npt.NDArray[np.int64]

    @property
    def recall(self) -> npt.NDArray[np.float64]:
        """For each class, the share of its rows that were found; NaN if it has none."""
        return _share(np.diag(self.confusion), self.confusion.sum(axis=1))

    @property
    def precision(self) -> npt.NDArray[np.float64]:
        """For each class, the share of rows given to it that are its own; NaN if none was."""
        return _share(np.diag(self.confusion), self.confusion.sum(axis=0))


def predictions(
    model: CoREClassifier, reader: AnyReader, what: str = "predicting",
    progress: bool | None = None,
) -> Iterator[tuple[Array, Array | None]]:  # fmt: skip
    """Predicted labels of the rows or signatures of a reader, and their own, batch by batch."""
    for labels, batch in _predicted(model, reader, what, progress):
        yield labels, batch.y


def _predicted(
    model: CoREClassifier, reader: AnyReader, what: str, progress: bool | None
) -> Iterator[tuple[Array, HashedBatch]]:
    for batch in hashed_batches(
        reader, model.recipe_, what, progress=progress, n_jobs=model.n_jobs
    ):
        yield model.linear_.predict(batch.signatures), batch


def predict(
    model: CoREClassifier, reader: AnyReader, target: Target, *, progress: bool | None = None
) -> int:
    """Write the predicted label of each row of a reader, one label per line; number of rows.

    Rows that have names have them before the label, with a tab between.

    Parameters
    ----------
    model : CoREClassifier
    reader : reader
        From `open_matching`, with the model's number of columns.
    target : path or open binary file
        A file is created or replaced, whole or not at all.
    progress : bool, optional
        As for `hash_to_file`.
    """
    n_rows = 0
    with open_target(target, reader.name) as file:
        for labels, batch in _predicted(model, reader, "predicting", progress):
            lines = [label_text(label) for label in labels.tolist()]
            if batch.names is not None:
                lines = [f"{name}\t{line}" for name, line in zip(batch.names, lines, strict=True)]
            file.write("".join(f"{line}\n" for line in lines).encode())
            n_rows += len(labels)
    return n_rows


def label_text(label: Any) -> str:
    """A label as people write it: whole numbers without a point.

    >>> label_text(3.0), label_text(0.5), label_text("spam")
    ('3', '0.5', 'spam')
    """
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def evaluate(
    model: CoREClassifier, reader: AnyReader, *, progress: bool | None = None
) -> Evaluation:
    """Accuracy and confusion of a model on the labelled rows of a reader."""
    counts: Counter[tuple[Any, Any]] = Counter()
    for found, y in predictions(model, reader, "evaluating", progress):
        truth = require_labels(y, reader.name)
        counts.update(zip(truth.tolist(), found.tolist(), strict=True))
    n_rows = counts.total()
    if not n_rows:
        raise DataError(f"{reader.name}: holds no rows; give some to judge the model by.")
    names = {label for pair in counts for label in pair} | set(model.classes_.tolist())
    if len({isinstance(name, str) for name in names}) > 1:
        raise DataError(
            f"{reader.name}: its labels are of another kind than the model's "
            f"({', '.join(label_text(name) for name in model.classes_[:3])}, ...)."
        )
    classes = sorted(names)
    place = {label: number for number, label in enumerate(classes)}
    confusion = np.zeros((len(classes), len(classes)), np.int64)
    for (truth, found), count in counts.items():
        confusion[place[truth], place[found]] = count
    accuracy = float(np.trace(confusion)) / n_rows
    error = float(np.sqrt(accuracy * (1 - accuracy) / n_rows))
    return Evaluation(n_rows, accuracy, error, np.array(classes), confusion)


def _share(some: Array, total: Array) -> npt.NDArray[np.float64]:
    out = np.full(len(total), np.nan)
    np.divide(some, total, out=out, where=total > 0)
    return out
