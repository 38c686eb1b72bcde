import pickle
import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import corekernels as ck
from corekernels.errors import DataError, DenseRowsWarning, ParameterError

X, y = load_digits(return_X_y=True)
KERNELS = ("resemblance", "core1", "core2")


@parametrize_with_checks(
    [
        ck.CoREHasher(n_hashes=64, random_state=0),
        ck.CoREHasher(),
        ck.CoREHasher(n_hashes=64, n_bits=4, weight_bits=4, random_state=0),
    ]
)
def test_scikit_learn_s_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_bits", [1, 8, 16])
def test_transform_has_k_nonzeros_a_row(kernel, n_bits):
    rows = sparse.csr_array(X[:30].astype(np.float32))
    rows.data[rows.indptr[4] : rows.indptr[5]] = 0
    Z = ck.CoREHasher(kernel, 32, n_bits=n_bits, random_state=0).fit_transform(rows)
    assert isinstance(Z, sparse.csr_array)
    assert Z.dtype == np.float32
    assert Z.shape == (30, 32 * 2**n_bits)
    np.testing.assert_array_equal(np.diff(Z.indptr), np.where(np.arange(30) == 4, 0, 32))
    np.testing.assert_allclose(np.sqrt(Z.multiply(Z).sum(axis=1)), np.arange(30) != 4, atol=1e-6)
    slots = Z.indices.reshape(-1, 32) // 2**n_bits
    np.testing.assert_array_equal(slots, np.broadcast_to(np.arange(32), slots.shape))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("scheme", ["circulant", "independent"])
def test_inner_products_are_the_estimates(kernel, scheme):
    hasher = ck.CoREHasher(
        kernel, 128, n_bits=None, scheme=scheme, normalize=False, random_state=0
    ).fit(X)
    Z = hasher.transform(X[:40])
    K = hasher.sketch(X[:40]).estimate()
    for i, j in [(0, 0), (0, 10), (3, 17), (20, 39)]:
        assert Z[[i]].multiply(Z[[j]]).data.sum() == pytest.approx(K[i, j], abs=1e-5)


def test_wide_features_have_wide_indices():
    rows = sparse.csr_array(np.eye(3, 10))
    Z = ck.CoREHasher("core2", 2**16, n_bits=16, random_state=0).fit_transform(rows)
    assert Z.shape == (3, 2**32)
    assert Z.indices.dtype == np.int64
    assert Z.indices.max() >= 2**31


@pytest.mark.parametrize(
    "model",
    [
        LinearSVC(random_state=0),
        SGDClassifier(random_state=0),
        LogisticRegression(C=100, tol=1e-3),
    ],
    ids=lambda model: type(model).__name__,
)
def test_pipelines_beat_the_linear_model(model):
    train, test = slice(0, 900), slice(900, None)
    pipeline = make_pipeline(ck.CoREHasher(n_hashes=512, n_bits=4, random_state=0), model)
    hashed = pipeline.fit(X[train], y[train]).score(X[test], y[test])
    scaled = X / 16
    plain = clone(model).fit(scaled[train], y[train]).score(scaled[test], y[test])
    assert hashed > plain


def test_grid_search():
    pipeline = make_pipeline(ck.CoREHasher(n_hashes=16, random_state=0), LinearSVC(random_state=0))
    grid = {
        "corehasher__n_hashes": [4, 64],
        "corehasher__n_bits": [1, 4],
        "corehasher__kernel": list(KERNELS),
    }
    search = GridSearchCV(pipeline, grid, cv=2).fit(X[:300], y[:300])
    assert search.best_params_["corehasher__n_hashes"] == 64


def test_seeds():
    first = ck.CoREHasher(n_hashes=16, random_state=5).fit(X)
    assert first.seed_ == 5
    again = clone(first).fit(X)
    np.testing.assert_array_equal(first.sketch(X).codes, again.sketch(X).codes)
    state = np.random.RandomState(0)
    drawn = [ck.CoREHasher(random_state=state).fit(X).seed_ for _ in range(2)]
    assert drawn[0] != drawn[1]
    assert ck.CoREHasher().fit(X).seed_ != ck.CoREHasher().fit(X).seed_


def test_pickle():
    hasher = ck.CoREHasher(n_hashes=16, random_state=0).fit(X)
    loaded = pickle.loads(pickle.dumps(hasher))
    np.testing.assert_array_equal(loaded.sketch(X).weights, hasher.sketch(X).weights)


def test_names_of_features():
    hasher = ck.CoREHasher(n_hashes=3, n_bits=2).fit(X)
    names = hasher.get_feature_names_out()
    assert names.tolist() == [f"corehasher{i}" for i in range(12)]
    with pytest.raises(ParameterError, match="choose n_bits"):
        ck.CoREHasher(n_bits=None).fit(X).get_feature_names_out()


def test_data_frames_and_feature_names():
    frame = pd.DataFrame(X[:50], columns=[f"pixel{i}" for i in range(64)])
    hasher = ck.CoREHasher(n_hashes=8, random_state=0).fit(frame)
    assert hasher.feature_names_in_[3] == "pixel3"
    np.testing.assert_array_equal(
        hasher.sketch(frame).codes,
        ck.CoREHasher(n_hashes=8, random_state=0).fit(X).sketch(X[:50]).codes,
    )
    with pytest.raises(ValueError, match="feature names"):
        hasher.transform(frame.rename(columns={"pixel3": "dot"}))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_hashes": 0}, "n_hashes: got 0; give an integer from 1"),
        ({"n_hashes": -3}, "n_hashes: got -3"),
        ({"n_hashes": 2.5}, r"n_hashes: got 2\.5; give an integer"),
        ({"n_bits": 0}, "n_bits: got 0; give an integer from 1 to 16"),
        ({"n_bits": 17}, "n_bits: got 17"),
        ({"kernel": "rbf"}, "kernel: got 'rbf'; choose one of resemblance, core1, core2"),
        ({"scheme": "magic"}, "scheme: got 'magic'; choose one of circulant"),
        ({"random_state": -1}, "random_state: got -1"),
        ({"n_jobs": 0}, "n_jobs: got 0"),
    ],
)
def test_parameters_are_checked_in_fit(parameters, message):
    hasher = ck.CoREHasher(**parameters)
    with pytest.raises(ParameterError, match=message):
        hasher.fit(X)


def test_rows_are_checked():
    hasher = ck.CoREHasher(n_hashes=4, random_state=0).fit(X)
    with pytest.raises(ValueError, match="X has 63 features, but CoREHasher is expecting 64"):
        hasher.sketch(X[:, 1:])
    bad = X[:2000].copy()
    bad[1234, 5] = np.nan
    with pytest.raises(DataError, match="X: row 1234 contains NaN"):
        hasher.sketch(bad)
    with pytest.raises(DataError, match="X: row 1234 contains NaN"):
        hasher.transform(sparse.csr_array(bad))
    bad[1234, 5] = -np.inf
    with pytest.raises(DataError, match="X: row 1234 contains infinity"):
        hasher.sketch(bad)


@pytest.mark.parametrize("scheme", ["circulant", "independent"])
@pytest.mark.parametrize("kernel", KERNELS)
def test_memory_mapped_rows_are_not_copied(kernel, scheme, tmp_path):
    """Peak of all arrays above the result: 64 MB, tables included; the input has 144 MB.

    Unsorted columns and 64-bit indices have to be brought into order: block by block.
    """
    n_rows, length, n_columns = 60_000, 150, 50_000
    stride = n_columns // length
    columns = np.arange(length)[::-1] * stride + np.arange(n_rows)[:, None] % stride

    def mapped(name, array):
        np.save(tmp_path / name, array)
        return np.load(tmp_path / name, mmap_mode="r")

    rows = sparse.csr_array((n_rows, n_columns), dtype=np.float64)
    rows.indptr = np.arange(0, n_rows * length + 1, length)
    rows.indices = mapped("indices.npy", columns.reshape(-1))
    rows.data = mapped("data.npy", np.ones(n_rows * length))
    del columns
    hasher = ck.CoREHasher(kernel, 8, scheme=scheme, random_state=0, n_jobs=2).fit(rows)
    tracemalloc.start()
    try:
        S = hasher.sketch(rows)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak - S.nbytes <= 64e6
    assert S.lengths.tolist() == [length] * n_rows


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_dense_rows_are_noticed(container):
    X = np.ones((100, 20))
    X[:, 0] = np.arange(100) % 2  # 97.5 % nonzero
    with pytest.warns(DenseRowsWarning, match=r"98% of the values.*SplineTransformer"):
        ck.CoREHasher(n_hashes=8).fit(container(X))
    with pytest.warns(DenseRowsWarning) as caught:
        ck.CoREClassifier(n_hashes=8).fit(container(X), np.arange(100) % 2)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ck.CoREHasher(n_hashes=8).fit(container(X[:99]))  # few rows prove nothing
        X[:, :2] = 0
        ck.CoREHasher(n_hashes=8).fit(container(X))


@pytest.mark.parametrize("everywhere", [False, True])
def test_data_frames_are_not_for_sparse_features(everywhere):
    hasher = ck.CoREHasher(n_hashes=8, random_state=0).fit([[1.0, 2.0]])
    with sklearn.config_context(transform_output="pandas" if everywhere else "default"):
        if not everywhere:
            hasher.set_output(transform="pandas")
        with pytest.raises(ParameterError, match=r'call set_output\(transform="default"\)'):
            hasher.transform([[1.0, 2.0]])
        assert hasher.set_output(transform="default").transform([[1.0, 2.0]]).shape == (1, 8 * 256)
