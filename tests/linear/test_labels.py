"""Labels, values and weights."""

import numpy as np
import pandas as pd
import pytest

import corekernels as ck
from corekernels.errors import DataError, ParameterError
from corekernels.linear import labels


def test_labels_and_values_are_checked():
    for check in (labels.check_labels, labels.check_values):
        with pytest.raises(DataError, match="requires y to be passed, but the target y is None"):
            check(None, 3)
        with pytest.raises(DataError, match=r"y: has 2 (labels|values) for 3 rows"):
            check([1, 2], 3)
        with pytest.raises(DataError, match=r"y: row 1 contains NaN or infinity"):
            check([1.0, np.nan, 2.0], 3)
    with pytest.raises(DataError, match=r"y: holds text .*'a'.*; give numbers, or learn classes"):
        labels.check_values(["a", "b"], 2)
    with pytest.raises(DataError, match=r"real numbers such as 0.5.* or learn numbers: CoRERegr"):
        labels.check_labels([0.5, 1.2], 2)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
def test_missing_labels_among_words_are_named(missing):
    with pytest.raises(DataError, match=r"y: the label of row 1 is missing \(.*\); fill or drop"):
        labels.check_labels(["a", missing, "b"], 3)
    rows = np.eye(3)
    for model in (ck.CoREClassifier(n_hashes=4), ck.linear.HashedLinearClassifier()):
        S = ck.CoREHasher(n_hashes=4, random_state=0).fit(rows).sketch(rows)
        with pytest.raises(DataError, match="y: the label of row 1 is missing"):
            model.fit(rows if isinstance(model, ck.CoREClassifier) else S, ["a", missing, "b"])


def test_labels_of_several_kinds():
    with pytest.raises(DataError, match="y: labels are of several kinds"):
        labels.check_labels(np.array(["a", 1, "b"], dtype=object), 3)


def test_classes_are_named_once():
    known = np.array(["a", "b"])
    assert labels.check_classes(["b", "a", "b"], None).tolist() == ["a", "b"]
    assert labels.check_classes(None, known) is known
    assert labels.check_classes(["b", "a"], known) is known
    with pytest.raises(ParameterError, match="classes: None in the first call"):
        labels.check_classes(None, None)
    with pytest.raises(ParameterError, match=r"not those of the first call \(a, b\)"):
        labels.check_classes(["a", "c"], known)
    with pytest.raises(DataError, match="one class only"):
        labels.check_classes(["a", "a"], None)


def test_labels_become_numbers():
    classes = np.array(["a", "b", "d"])
    assert labels.encode_labels(np.array(["d", "a"]), classes).tolist() == [2, 0]
    for stranger in ("c", "z"):
        with pytest.raises(DataError, match=f"row 1 has the label {stranger}, not one of"):
            labels.encode_labels(np.array(["a", stranger]), classes)


def test_weights():
    assert labels.check_weights(None, 2).tolist() == [1, 1]
    assert labels.check_weights(3, 2).tolist() == [3, 3]
    with pytest.raises(DataError, match="sample_weight: could not convert"):
        labels.check_weights(["heavy", "light"], 2)
    with pytest.raises(DataError, match="row 1 has the weight nan"):
        labels.check_weights([1, np.nan], 2)


def test_class_weights():
    classes, numbers = np.array([3, 5, 8]), np.array([0, 0, 0, 1])
    weights = np.array([1.0, 1, 1, 3])

    def found(class_weight):
        return labels.check_class_weight(class_weight, classes, numbers, weights).tolist()

    assert found(None) == [1, 1, 1]
    assert found({5: 2}) == [1, 2, 1]
    assert found("balanced") == [1, 1, 1]  # equal sums of weights; class 8 has no rows
    weights[3] = 1
    assert found("balanced") == [4 / 2 / 3, 4 / 2 / 1, 1]


@pytest.mark.parametrize(
    ("y", "fault"),
    [
        (np.array([1, "a"], object), "labels are of several kinds"),
        (np.array([b"1", b"a"]), "labels are bytes; decode them"),
        (np.array([0.5, 0.25], object), "real numbers such as 0.5, not classes"),
    ],
)
def test_labels_that_cannot_be_classes(y, fault):
    with pytest.raises(DataError, match=fault):
        labels.check_labels(y, 2)
