"""Search methods: the recall they promise, and what holds whatever they propose."""

import os

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

import corekernels as ck
from reproduction import datasets
from support.clusters import METHODS, clustered

KERNELS = ("core1", "core2", "resemblance")


def recall(index, Q, k=10):
    truth = ck.CoRENeighbors(index.kernel, k, method="exact").fit(index.rows)
    last = truth.kneighbors(Q, k)[0][:, -1:]
    return float((index.kneighbors(Q, k)[0] <= last).mean())


def fitted(X, kernel, method, wanted=0.9, **options):
    index = ck.CoRENeighbors(kernel, method=method, recall=wanted, random_state=0, **options)
    index.fit(X).rows = X
    return index


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("method", ["graph", "lsh"])
def test_recall_on_images(kernel, method):
    X = load_digits().data
    index = fitted(X[:1500], kernel, method)
    assert index.method_ == method
    assert recall(index, X[1500:]) >= 0.9
    assert 0.9 <= index.estimated_recall_ <= 1
    assert "ranked again" in index.reason_ or "width" in index.reason_


@pytest.mark.parametrize("kernel", KERNELS)
def test_recall_of_inverted_lists(kernel):
    X = clustered(2300, 5000, 40)
    index = fitted(X[:2000], kernel, "inverted")
    assert index.method_ == "inverted"
    assert recall(index, X[2000:]) >= 0.9


@pytest.mark.parametrize("kernel", ["core1", "core2"])
def test_signs_where_rows_are_dense(kernel):
    X = clustered(2300, 40, 40, dense=True, spread=0.5)
    index = fitted(X[:2000], kernel, "graph")
    assert index.method_ == "graph"
    assert " 0 sign bits" not in index.reason_
    assert recall(index, X[2000:]) >= 0.9


@pytest.mark.parametrize("method", METHODS)
def test_what_holds_whatever_is_proposed(method):
    X = clustered(1300, 300, 40)
    X = sparse.vstack([X, sparse.csr_array((5, 300), dtype=np.float32), X[:3]]).tocsr()
    index = fitted(X[:1100], "core1", method, 0.8)
    Q = sparse.vstack([X[1100:], -X[:3]]).tocsr()
    distances, found = index.kneighbors(Q)
    assert found.shape == (Q.shape[0], 10)
    K = ck.core1(Q.astype(np.float64), X[:1100].astype(np.float64))
    np.testing.assert_allclose(1 - distances, np.take_along_axis(K, found, 1), atol=1e-12)
    assert (np.diff(distances, axis=1) >= 0).all()
    assert all(len(set(row)) == 10 for row in found)
    assert index.kneighbors(Q[:2], 2000)[1].shape == (2, 1100)
    index.set_params(n_jobs=3)
    for a, b in zip(index.kneighbors(Q), (distances, found), strict=True):
        np.testing.assert_array_equal(a, b)


def test_auto_says_what_it_chose():
    X = clustered(9000, 200, 40)
    index = fitted(X, "core1", "auto", 0.8)
    assert index.method_ == "graph"
    assert "9000 rows of" in index.reason_
    assert recall(index, clustered(9000, 200, 40)[:300]) >= 0.8
    few = fitted(X[:100], "core1", "auto")
    assert (few.method_, few.estimated_recall_) == ("exact", 1.0)


def test_a_method_that_cannot_is_replaced_visibly():
    rng = np.random.default_rng(0)
    X = sparse.random_array((3000, 2000), density=0.01, rng=rng, format="csr")
    with pytest.warns(UserWarning, match="lsh does not reach recall 0.9999"):
        index = fitted(X, "core1", "lsh", 0.9999)  # more than a sample can show
    assert index.method_ == "exact"
    assert "lsh does not reach recall 0.9999" in index.reason_
    auto = fitted(X, "core1", "auto", 0.99)
    assert auto.method_ in ("exact", "inverted")
    with pytest.warns(UserWarning, match="no other method guarantees recall 1"):
        ck.CoRENeighbors(method="graph", recall=1).fit(X)


def test_the_same_seed_gives_the_same_index():
    X = clustered(1500, 300, 40)
    first, second = (fitted(X, "core1", "graph", 0.8, n_jobs=jobs) for jobs in (1, 2))
    np.testing.assert_array_equal(first.kneighbors()[1], second.kneighbors()[1])


def real(name):
    if name == "mnist":
        images, _ = datasets.mnist()
        return images.reshape(len(images), -1)[:60_000], images.reshape(len(images), -1)[60_000:]
    news = datasets.load("20news")
    return news.X_train, news.X_test


@pytest.mark.slow
@pytest.mark.skipif("COREKERNELS_DATA" not in os.environ, reason="needs the real data")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["mnist", "20news"])
def test_promised_recall_on_real_data(name, kernel):
    X, Q = real(name)
    truth = ck.CoRENeighbors(kernel, method="exact").fit(X).kneighbors(Q[:1000])[0][:, -1:]
    for wanted in (0.8, 0.9, 0.95, 0.99):
        index = fitted(X, kernel, "auto", wanted)
        assert (index.kneighbors(Q[:1000])[0] <= truth).mean() >= wanted
