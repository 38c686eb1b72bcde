"""Numbers as labels: train, predict, evaluate and info; scores and probabilities of classes."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score

import corekernels as ck
from support.command_line import as_json, ok, run


@pytest.fixture
def values(in_digits):
    """The digits with a number of their own each: the mean of their pixels, and the digit."""
    found = []
    for name in ("train", "test"):
        X, y = ck.io.read_rows(f"{name}.svm", n_columns=64)
        y = y + X.mean(axis=1) / 4
        ck.io.write_rows(f"{name}.npz", X, y)
        found.append((X, y))
    return found


def test_regression_is_that_of_python(values):
    (X, y), (T, truth) = values
    model = ck.CoRERegressor(n_hashes=256, random_state=3, C=2.0).fit(X, y)
    report = as_json("train train.npz m.ck --regression --n-hashes 256 --C 2 --seed 3")
    assert report["rows"] == 400
    assert "classes" not in report
    ok("predict m.ck test.npz values.txt")
    found = np.loadtxt("values.txt")
    np.testing.assert_array_equal(found, model.predict(T))
    about = as_json("evaluate m.ck test.npz")
    assert about["rows"] == 200
    assert about["r2"] == pytest.approx(r2_score(truth, found))
    assert about["mean_absolute_error"] == pytest.approx(mean_absolute_error(truth, found))
    squared = mean_squared_error(truth, found)
    assert about["root_mean_squared_error"] == pytest.approx(squared**0.5)
    assert about["r2"] > 0.5
    assert "mean absolute error" in ok("evaluate m.ck test.npz").stdout
    described = as_json("info m.ck")
    assert (described["predicts"], described["rows"], described["n_hashes"]) == ("values", 400, 256)
    assert isinstance(ck.load_model("m.ck"), ck.CoRERegressor)


def test_regression_from_signatures(values):
    ok("hash train.npz train.sig --n-hashes 64")
    ok("train train.sig a.ck --regression")
    ok("train train.npz b.ck --regression --n-hashes 64")
    a, b = ck.load_model("a.ck"), ck.load_model("b.ck")
    np.testing.assert_array_equal(a.predict(values[1][0]), b.predict(values[1][0]))


def test_values_that_are_all_equal_have_no_r2(values):
    ck.io.write_rows("same.npz", values[1][0], np.full(200, 2.5))
    ok("train train.npz m.ck --regression --n-hashes 16")
    assert as_json("evaluate m.ck same.npz")["r2"] is None


def _table(line):
    lines = ok(line).stdout.splitlines()
    return lines[0].split("\t"), [row.split("\t") for row in lines[1:]]


def test_scores_and_probabilities(in_digits):
    T, _ = ck.io.read_rows("test.svm", n_columns=64)
    ok("train train.svm m.ck --n-hashes 64 --loss log_loss")
    model = ck.load_model("m.ck")
    labels = ok("predict m.ck test.svm -").stdout.split()
    for option, expected in (
        ("--scores", model.decision_function(T)), ("--proba", model.predict_proba(T)),
    ):  # fmt: skip
        names, rows = _table(f"predict m.ck test.svm - {option}")
        assert names == ["label", *(str(digit) for digit in range(10))]
        assert [row[0] for row in rows] == labels
        np.testing.assert_array_equal(np.array([row[1:] for row in rows], float), expected)


def test_scores_of_two_classes(in_digits):
    Path("two.svm").write_text("no 1:1 2:1\nyes 3:1\nno 1:1\nyes 2:1 3:1\n")
    X, _ = ck.io.read_rows("two.svm")
    ok("train two.svm m.ck --n-hashes 64 --loss log_loss")
    model = ck.load_model("m.ck")
    names, rows = _table("predict m.ck two.svm - --scores")
    assert names == ["label", "yes"]
    scores = np.array([row[1] for row in rows], float)
    np.testing.assert_array_equal(scores, model.decision_function(X))
    assert _table("predict m.ck two.svm - --proba")[0] == ["label", "no", "yes"]


def test_logarithms_of_probabilities(in_digits):
    X, y = ck.io.read_rows("train.svm")
    for labels in (y, y % 2):
        model = ck.CoREClassifier(n_hashes=64, loss="log_loss", C=100.0, random_state=0)
        model.fit(X, labels)
        logs = model.predict_log_proba(X)
        np.testing.assert_allclose(np.exp(logs), model.predict_proba(X), rtol=1e-9)
        assert np.isfinite(logs).all()
    assert not hasattr(ck.CoREClassifier(), "predict_log_proba")


def test_recorded_column_bases_are_compared(tmp_path, monkeypatch):
    """Signatures do not show where columns counted from, but remember it."""
    monkeypatch.chdir(tmp_path)
    Path("zero.svm").write_text("7 0:3 2:1\n7 0:2\n8 1:2\n8 1:3 2:1\n")
    Path("one.svm").write_text("7 1:3 3:1\n7 1:2\n8 2:2\n8 2:3 3:1\n")
    ok("hash zero.svm zero.sig --n-hashes 32 --n-columns 3")
    ok("hash one.svm one.sig --n-hashes 32 --n-columns 3 --one-based")
    ok("train zero.sig m.ck")
    ok("evaluate m.ck zero.sig")
    for line in (
        "evaluate m.ck one.sig",
        "path zero.sig --cv 2 --validation one.sig",
        "predict m.ck one.sig out",
        "estimate zero.sig --against one.sig --pair 0,0",
    ):
        result = run(line)
        assert result.exit_code == 2, line
        assert "one.sig: its columns counted from 1, those known before from 0" in result.stderr
