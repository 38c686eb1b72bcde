import os

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

import corekernels as ck
from corekernels.errors import DataError, ParameterError

FEW = {"n_rows": 300, "sizes": (32, 128), "cv": 3}


def rings(n=300, seed=0):
    """Classes told apart by how many columns are in use, which no plane sees."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = np.zeros((n, 60))
    for row, label in enumerate(y):
        half = 30 * rng.integers(0, 2)
        block = half + 15 * (label ^ (half > 0)) + rng.permutation(15)[:8]
        other = (30 - half) + 15 * rng.integers(0, 2) + rng.permutation(15)[:8]
        X[row, block], X[row, other] = 1, 0.2
        X[row, rng.permutation(60)[:3]] += 0.1
    return X, y


def blobs(n=300, seed=0):
    """Classes a plane tells apart, in rows whose columns are all noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = 0.02 * rng.random((n, 200)) * (rng.random((n, 200)) < 0.1)
    X[np.arange(n), y] += 1 + rng.random(n)
    return X, y


def test_it_says_when_core_brings_nothing():
    advice = ck.advise(*blobs(), **FEW)
    assert not advice.helps
    assert advice.best.kind == "linear"
    assert advice.sentence.startswith("CoRE brings nothing here")


def test_it_says_what_to_use_where_core_helps():
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    # two digits a class: planes cannot part them as well as kernels can
    advice = ck.advise(X, y % 2, n_rows=900, sizes=(64, 512), cv=3)
    assert advice.helps
    assert advice.best.gain > 2 * advice.best.gain_error
    assert advice.sentence.startswith("Use ")
    assert f"{100 * advice.best.gain:.1f} ±" in advice.sentence


def test_what_is_compared():
    X, y = rings()
    advice = ck.advise(sparse.csr_array(X), y, **FEW)
    assert [c.kind for c in advice.candidates] == ["linear"] + ["exact"] * 3 + ["hashed"] * 2 + [
        "both"
    ]
    assert (advice.n_rows, advice.n_classes, advice.n_folds) == (300, 2, 3)
    again = ck.advise(X, y, **FEW)
    assert [c.accuracy for c in again.candidates] == [c.accuracy for c in advice.candidates]


def test_progress_names_the_candidates(capsys):
    X, y = rings()
    advice = ck.advise(X, y, **FEW, progress=True)
    shown = capsys.readouterr().err
    places = [shown.index(f"\r{candidate.name}:") for candidate in advice.candidates]
    assert places == sorted(places)
    assert f"{len(places) - 1}/{len(places)}" in shown
    ck.advise(X, y, **FEW, progress=False)
    assert capsys.readouterr().err == ""


def test_samples_are_bounded_and_rare_classes_named():
    X, y = blobs(900)
    y = y.copy()
    y[:2] = 9
    advice = ck.advise(X, y, **FEW)
    assert advice.n_rows <= 300
    assert advice.n_classes == 3
    assert advice.notes == (
        "1 classes with fewer than 3 rows left out",
        f"judged on a sample of {advice.n_rows} rows",
    )


def test_column_numbers_may_be_huge_and_labels_strings():
    X, y = blobs(150)
    wide = sparse.coo_array(X)
    wide = sparse.csr_array(
        (wide.data, (wide.row.astype(np.int64), wide.col.astype(np.int64) * 2**33)),
        shape=(150, 2**41),
    )
    advice = ck.advise(wide, np.array(["a", "b", "c"])[y], **FEW)
    plain = ck.advise(X, y, **FEW)
    assert advice.candidates[0].accuracy == plain.candidates[0].accuracy


def test_errors():
    X, y = blobs(30)
    with pytest.raises(DataError, match="one label per row"):
        ck.advise(X, y[:-1])
    with pytest.raises(DataError, match="fewer than two of its 3 classes have 50 rows"):
        ck.advise(X, y, cv=50)
    with pytest.raises(ParameterError, match="n_rows"):
        ck.advise(X, y, n_rows=0)
    with pytest.raises(ParameterError, match="sizes: got 0"):
        ck.advise(X, y, sizes=[16, 0])
    with pytest.raises(ParameterError, match="sizes: got none"):
        ck.advise(X, y, sizes=[])


@pytest.mark.slow
@pytest.mark.skipif("COREKERNELS_DATA" not in os.environ, reason="needs COREKERNELS_DATA")
def test_on_real_data():
    images, digits = ck.datasets.mnist()
    advice = ck.advise(images.reshape(len(images), -1), digits)
    assert advice.helps
    assert advice.best.gain > 0.03
    folder = ck.datasets.data_folder("20news")
    X = TfidfTransformer(sublinear_tf=True).fit_transform(sparse.load_npz(folder / "train_tf.npz"))
    advice = ck.advise(X, np.load(folder / "labels.npz")["train"])
    assert not advice.helps
