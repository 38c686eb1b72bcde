"""Applying a model to files, batch by batch."""

import copy
import hashlib
import pickle
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.arguments import Array, require_choice
from .._core.escaping import field, fields
from .._core.progress import Progress
from ..classifier import CoREClassifier
from ..errors import DataError, ParameterError
from ..io.atomic import Target
from ..io.provenance import require_same_names
from ..models import Model
from .engines import Engine
from .lines import Counts, Lines, LinesJob, write_lines
from .readers import AnyReader, HashedBatch, hashed_batches, require_labels
from .sources import FilePart, Source, plan_of, reader_of

Outcomes = Counter[tuple[Any, Any]] | tuple[Array, Array]


@dataclass(frozen=True)
class Evaluation:
    """How well a model does on the labelled rows of a file."""

    rows: int
    accuracy: float
    standard_error: float  # binomial
    classes: Array  # all labels of the model and of the file, sorted
    confusion: npt.NDArray[np.int64]  # rows of class i that were given class j

    @property
    def recall(self) -> npt.NDArray[np.float64]:
        """For each class, the share of its rows that were found; NaN if it has none."""
        return _share(np.diag(self.confusion), self.confusion.sum(axis=1))

    @property
    def precision(self) -> npt.NDArray[np.float64]:
        """For each class, the share of rows given to it that are its own; NaN if none was."""
        return _share(np.diag(self.confusion), self.confusion.sum(axis=0))


@dataclass(frozen=True)
class RegressionEvaluation:
    """How well a regressor does on the rows of a file that have values."""

    rows: int
    r2: float  # share of the variance that is explained; NaN if all values are equal
    mean_absolute_error: float
    root_mean_squared_error: float


def _hashed(
    model: Model, reader: AnyReader, what: str, progress: Progress
) -> Iterator[HashedBatch]:
    """The signatures of a reader, whose columns must be called as the model knows them."""
    names = getattr(model, "feature_names_in_", None)
    require_same_names(reader.name, reader.provenance, model.provenance_, names)
    return hashed_batches(reader, model.recipe_, what, progress=progress, n_jobs=model.n_jobs)


def _require_one_label(model: Model) -> None:
    if isinstance(model, CoREClassifier) and model.multilabel_:
        raise DataError(
            "model: was learned from several labels per row, for which there are no files; use its "
            "`predict` in Python."
        )


def predict(
    model: Model, source: Source, target: Target, *, output: str = "labels",
    engine: Engine | None = None, resume: bool = False, progress: bool | None = None,
) -> int:  # fmt: skip
    """Write what a model predicts for each row of a source, a line per row; number of rows.

    Rows that have names have them at the beginning of the line, with a tab behind. Control
    characters of names and labels are escaped as in JSON strings, and so are backslashes.

    Parameters
    ----------
    model : CoREClassifier or CoRERegressor
    source : reader or plan
        From `open_reader`, with the model's number of columns (`match_columns`); for an engine from
        `plan_parts`.
    target : path or open binary file
        A file is created or replaced, whole or not at all.
    output : {"labels", "scores", "probabilities"}
        Only the label, or the value of a regressor. Or also the score or probability of each
        class, with tabs between, after a line of names; of two classes the score of the second.
        Probabilities are for models of the log loss.
    engine : Engine, optional
        What runs a task per part, in place of this process; all workers must reach the target.
    resume : bool
        With an engine: go on with the parts that an unfinished run has left.
    progress : bool, optional
        As for `hash_to_file`.

    Examples
    --------
    >>> from pathlib import Path
    >>> import corekernels as ck
    >>> rows, labels = [[1.0, 0], [0, 1]], ["left", "right"]
    >>> model = ck.CoREClassifier(n_hashes=16, random_state=0).fit(rows, labels)
    >>> ck.io.write_rows("test.svm", [[2.0, 0], [0, 3], [4, 0]])
    >>> ck.files.predict(model, ck.files.open_reader("test.svm", match_columns=2), "labels.txt")
    3
    >>> Path("labels.txt").read_text().split()
    ['left', 'right', 'left']
    """
    require_choice("output", output, ("labels", *_NUMBERS))
    _require_one_label(model)
    header = b""
    if output != "labels":
        header = _names(model, output, reader_of(source, 1).has_names)
    about: dict[str, Any] = {"job": "predict", "output": output}
    if engine is not None:
        model = _in_one_thread(model)
        about["model"] = hashlib.sha256(pickle.dumps(model)).hexdigest()
    job = LinesJob(predicted_lines, (model, output), about)
    counts = write_lines(
        job, source, target, header, engine=engine, resume=resume, progress=progress,
        n_jobs=model.n_jobs,
    )  # fmt: skip
    return counts.rows


def predicted_lines(shared: tuple[Model, str], reader: AnyReader, progress: Progress) -> Lines:
    """The lines of a reader's rows: labels, or another output, of a model."""
    model, output = shared
    for batch in _hashed(model, reader, "predicting", progress):
        yield _lines(model, batch, output), Counts(len(batch), len(batch))


def _in_one_thread(model: Model) -> Model:
    """A copy of the model, which tasks of a process share, that uses one thread."""
    copied: Model = copy.copy(model).set_params(n_jobs=1)
    copied.linear_ = copy.copy(model.linear_).set_params(n_jobs=1)
    return copied


_NUMBERS = {"scores": "decision_function", "probabilities": "predict_proba"}


def _names(model: Any, output: str, has_names: bool) -> bytes:
    """The line of names over scores or probabilities, which the model must have."""
    if not isinstance(model, CoREClassifier):
        raise ParameterError(f"output: got {output!r}, but a regressor predicts values only.")
    if not hasattr(model, _NUMBERS[output]):
        raise ParameterError(
            f"output: got {output!r}, which a model of {model.loss} does not have; learn one "
            "with loss=log_loss."
        )
    classes = [_label_field(label) for label in model.classes_.tolist()]
    shown = classes[1:] if output == "scores" and len(classes) == 2 else classes
    return "\t".join([*(["name"] if has_names else []), "label", *shown]).encode() + b"\n"


def _lines(model: Model, batch: HashedBatch, output: str) -> bytes:
    """A line for each row: its name, its label or value, and the numbers wanted beside it."""
    S = batch.signatures
    labels = model.linear_.predict(S)
    if output == "labels" and batch.names is None and isinstance(model, CoREClassifier):
        return _label_lines(labels, model.classes_)
    columns: list[Any] = [] if batch.names is None else [fields(batch.names)]
    columns.append(map(_label_field, labels.tolist()))
    if output != "labels":
        numbers = getattr(model.linear_, _NUMBERS[output])(S)
        columns += [map(repr, column.tolist()) for column in numbers.reshape(len(S), -1).T]
    return "".join("\t".join(line) + "\n" for line in zip(*columns, strict=True)).encode()


def _label_lines(labels: Array, classes: Array) -> bytes:
    """A line for each label; each class is made into text once."""
    lines = np.array([f"{_label_field(label)}\n".encode() for label in classes.tolist()])
    padded = lines[np.searchsorted(classes, labels)]  # the shorter ones with zero bytes
    return padded.tobytes().replace(b"\0", b"")


def _label_field(label: Any) -> str:
    return field(label_text(label))


def label_text(label: Any) -> str:
    """A label as people write it: whole numbers without a point."""
    if isinstance(label, float) and label.is_integer():
        return str(int(label))
    return str(label)


def evaluate(
    model: Model, source: Source, *, engine: Engine | None = None, progress: bool | None = None
) -> Evaluation | RegressionEvaluation:
    """How well a model does on the labelled rows of a source, as `predict` takes it.

    Returns
    -------
    found : of classes `accuracy` with its `standard_error`, `classes`, `confusion`, and `recall` \
and `precision` of each; of values `r2`, `mean_absolute_error`, `root_mean_squared_error`; `rows`

    Examples
    --------
    >>> import corekernels as ck
    >>> model = ck.CoREClassifier(n_hashes=16, random_state=0).fit([[1.0, 0], [0, 1]], [0, 1])
    >>> ck.io.write_rows("test.npz", [[2.0, 0], [0, 3], [4, 0]], [0, 1, 1])
    >>> found = ck.files.evaluate(model, ck.files.open_reader("test.npz", match_columns=2))
    >>> found.rows, round(found.accuracy, 2), round(found.standard_error, 2)
    (3, 0.67, 0.27)
    """
    _require_one_label(model)
    if engine is None:
        outcomes = [outcomes_of(model, reader_of(source, model.n_jobs), progress)]
    else:
        parts, model = plan_of(source).parts, _in_one_thread(model)
        outcomes = engine.run(evaluate_part, model, parts, what="evaluating", progress=progress)
    if isinstance(model, CoREClassifier):
        return _evaluate_classes(model, sum(outcomes, Counter()), source.name)  # type: ignore[arg-type]
    values, truth = (np.concatenate(arrays) for arrays in zip(*outcomes, strict=True))
    return _evaluate_values(values, truth, source.name)


def evaluate_part(model: Model, part: FilePart) -> Outcomes:
    """A task: the outcomes of a part."""
    return outcomes_of(model, part.open(), False)


def outcomes_of(model: Model, reader: AnyReader, progress: Progress) -> Outcomes:
    """How often each label was given to rows of each; of a regressor, values found and true."""
    counts: Counter[tuple[Any, Any]] = Counter()
    values, truth = [np.empty(0)], [np.empty(0)]
    for batch in _hashed(model, reader, "evaluating", progress):
        predicted, y = model.linear_.predict(batch.signatures), require_labels(batch.y, reader.name)
        if isinstance(model, CoREClassifier):
            counts.update(zip(y.tolist(), predicted.tolist(), strict=True))
            continue
        if y.dtype.kind not in "biuf":
            raise DataError(f"{reader.name}: labels such as {y.flat[0]!s} are no numbers.")
        values.append(predicted)
        truth.append(y.astype(np.float64))
    if isinstance(model, CoREClassifier):
        return counts
    return np.concatenate(values), np.concatenate(truth)


def _evaluate_classes(
    model: CoREClassifier, counts: Counter[tuple[Any, Any]], name: str
) -> Evaluation:
    n_rows = counts.total()
    _require_rows(n_rows, name)
    labels = {label for pair in counts for label in pair} | set(model.classes_.tolist())
    if len({isinstance(label, str) for label in labels}) > 1:
        raise DataError(
            f"{name}: its labels are of another kind than the model's "
            f"({', '.join(label_text(label) for label in model.classes_[:3])}, ...)."
        )
    classes = sorted(labels)
    place = {label: number for number, label in enumerate(classes)}
    confusion = np.zeros((len(classes), len(classes)), np.int64)
    for (truth, predicted), count in counts.items():
        confusion[place[truth], place[predicted]] = count
    accuracy = float(np.trace(confusion)) / n_rows
    error = float(np.sqrt(accuracy * (1 - accuracy) / n_rows))
    return Evaluation(n_rows, accuracy, error, np.array(classes), confusion)


def _evaluate_values(values: Array, y: Array, name: str) -> RegressionEvaluation:
    _require_rows(len(y), name)
    errors = values - y
    spread = float(np.square(y - y.mean()).sum())
    r2 = 1 - float(np.square(errors).sum()) / spread if spread > 0 else np.nan
    root = float(np.sqrt(np.square(errors).mean()))
    return RegressionEvaluation(len(y), r2, float(np.abs(errors).mean()), root)


def _require_rows(n_rows: int, name: str) -> None:
    if not n_rows:
        raise DataError(f"{name}: holds no rows; give some to judge the model by.")


def _share(part: Array, total: Array) -> npt.NDArray[np.float64]:
    out = np.full(len(total), np.nan)
    np.divide(part, total, out=out, where=total > 0)
    return out
