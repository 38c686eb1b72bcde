"""Labels, values to predict and weights, checked once."""

import math
from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from .._core.arguments import Array
from ..errors import DataError, ParameterError


def check_labels(y: Any, n_rows: int, *, several: bool = False) -> Array:
    """Class labels, one per row.

    If rows may have several, and y is a table of 0 and 1 with a column per label: that, as bools.
    """
    try:
        shape = (y if sparse.issparse(y) else np.asarray(y)).shape
        if len(shape) == 2 and shape[1] > 1:
            return _check_table(y, n_rows, shape[1], several)
        if isinstance(y, list | tuple) and any(isinstance(label, str) for label in y):
            _refuse_missing(y)  # NumPy would make the word "nan" of a missing one
        labels = _column(y, n_rows, "label")
        if labels.dtype.kind == "S":
            raise DataError("y: labels are bytes; decode them to strings.")
        if labels.dtype.kind == "f":
            _refuse_not_finite(labels)
        if labels.dtype.kind == "O":
            _refuse_missing(labels)
            np.unique(labels)  # a TypeError where they cannot be put in order
        check_classification_targets(labels)
    except DataError:
        raise
    except TypeError as error:
        raise DataError("y: labels are of several kinds; use numbers or strings.") from error
    except ValueError as error:
        if "continuous" in str(error):
            raise DataError(
                f"y: Unknown label type: real numbers such as {labels.flat[0]}, not classes; "
                "make them classes, or learn numbers: CoRERegressor, or regression=True for files."
            ) from error
        raise DataError(f"y: {error}") from error
    return labels


def check_values(y: Any, n_rows: int) -> npt.NDArray[np.float64]:
    """Numbers to predict, one per row."""
    try:
        values = _column(y, n_rows, "value", np.float64)
    except DataError:
        raise
    except ValueError as error:
        if "convert string" in str(error):
            raise DataError(
                f"y: holds text where numbers are to be learned ({error}); "
                "give numbers, or learn classes."
            ) from error
        raise DataError(f"y: {error}") from error
    _refuse_not_finite(values)
    return values


def _column(y: Any, n_rows: int, what: str, dtype: Any = None) -> Array:
    """One label or value per row."""
    if y is None:
        raise DataError(
            f"y: requires y to be passed, but the target y is None; give one {what} per row."
        )
    column: Array = column_or_1d(y, dtype=dtype, warn=True)
    if len(column) != n_rows:
        raise DataError(f"y: has {len(column)} {what}s for {n_rows} rows; give one {what} per row.")
    return column


def _check_table(y: Any, n_rows: int, n_columns: int, several: bool) -> npt.NDArray[np.bool_]:
    """Which labels each row has."""
    if not several:
        raise DataError(
            f"y: has {n_columns} columns, but one label per row is wanted here; several labels per "
            "row are learned by `fit` only, of a classifier, or column by column."
        )
    table = y.toarray() if sparse.issparse(y) else np.asarray(y)
    if table.dtype.kind not in "biufO" or not np.isin(table, (0, 1)).all():
        raise DataError(
            f"y: has {n_columns} columns that hold other values than 0 and 1; give a column of 0 "
            "and 1 per label, or wrap the estimator in scikit-learn's MultiOutputClassifier."
        )
    if len(table) != n_rows:
        raise DataError(f"y: has {len(table)} rows of labels for {n_rows} rows; give one per row.")
    return table.astype(np.bool_)


def _refuse_missing(labels: Iterable[Any]) -> None:
    """Raise if a label is None, NaN or what pandas has in their place."""
    for row, label in enumerate(labels):
        is_nan = isinstance(label, float) and math.isnan(label)
        if label is None or is_nan or type(label).__name__ in ("NAType", "NaTType"):
            raise DataError(
                f"y: the label of row {row} is missing ({label}); fill or drop such rows first."
            )


def _refuse_not_finite(values: Array) -> None:
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        raise DataError(
            f"y: row {wrong[0]} contains NaN or infinity; fill or drop such rows first."
        )


def check_classes(classes: Any, first: Array | None) -> Array:
    """All classes of a stream, sorted; `first` are those of its first call, None in that call.

    The first call has to name them; later ones may, and have to name the same.
    """
    if classes is None:
        if first is None:
            raise ParameterError("classes: None in the first call; name all classes there.")
        return first
    named = np.unique(check_labels(classes, len(classes)))
    if len(named) < 2:
        raise DataError("classes: one class only; a classifier needs at least two classes.")
    if first is not None and not np.array_equal(named, first):
        raise ParameterError(
            f"classes: not those of the first call ({', '.join(map(str, first))}); "
            "leave them out, or begin anew with a clone."
        )
    return named if first is None else first


def encode_labels(labels: Array, classes: Array) -> npt.NDArray[np.int64]:
    """Number of each label's class."""
    numbers = np.searchsorted(classes, labels).clip(0, len(classes) - 1)
    unknown = np.flatnonzero(classes[numbers] != labels)
    if len(unknown):
        row = unknown[0]
        raise DataError(
            f"y: row {row} has the label {labels[row]!s}, not one of the classes named in the "
            f"first call ({', '.join(map(str, classes))}); name all classes there."
        )
    return numbers


def check_weights(sample_weight: Any, n_rows: int) -> npt.NDArray[np.float64]:
    """Weights of the rows, all 1 if none are given."""
    if sample_weight is None:
        return np.ones(n_rows)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_rows, float(sample_weight))
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(f"sample_weight: {error}; give one number per row.") from error
    if weights.shape != (n_rows,):
        raise DataError(
            f"sample_weight: has shape {weights.shape} for {n_rows} rows; give one number per row."
        )
    wrong = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(wrong):
        raise DataError(
            f"sample_weight: row {wrong[0]} has the weight {weights[wrong[0]]}; "
            "weights must be finite and not negative."
        )
    if not weights.any():
        raise DataError("sample_weight: every weight is zero; give some row a weight.")
    return weights


def check_class_weight(
    class_weight: Any, classes: Array, numbers: npt.NDArray[np.int64] | None = None,
    weights: npt.NDArray[np.float64] | None = None,
) -> npt.NDArray[np.float64]:  # fmt: skip
    """A weight for each class: 1, "balanced" (rarer means heavier) or as a dict says.

    `numbers` and `weights` are those of the rows; without them "balanced" is refused.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if numbers is None and isinstance(class_weight, str):
        raise ParameterError(
            f"class_weight: got {class_weight!r}; where rows have several labels, give None or a "
            "dict of weights."
        )
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.bincount(numbers, weights, minlength=len(classes))  # type: ignore[arg-type]
        share = totals.sum() / np.count_nonzero(totals)
        return np.divide(share, totals, out=np.ones(len(classes)), where=totals > 0)
    if not isinstance(class_weight, Mapping):
        raise ParameterError(
            f'class_weight: got {class_weight!r}; give None, "balanced" or a dict of weights.'
        )
    labels = classes.tolist()
    for label, weight in class_weight.items():
        if label not in labels:
            raise ParameterError(f"class_weight: names the class {label!r}, which y does not hold.")
        if not isinstance(weight, Real) or not 0 < float(weight) < np.inf:
            raise ParameterError(f"class_weight: class {label!r} has {weight!r}; give more than 0.")
    return np.array([float(class_weight.get(label, 1.0)) for label in labels])
