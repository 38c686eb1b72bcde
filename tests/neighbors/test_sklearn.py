"""scikit-learn's conventions and consumers."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN
from sklearn.datasets import load_digits
from sklearn.manifold import Isomap
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import corekernels as ck


@parametrize_with_checks(
    [
        ck.CoRENeighbors(),
        ck.CoRENeighbors("core2", 3, method="exact"),
        ck.CoRENeighborsTransformer(n_neighbors=3),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:600], y[:600]


def test_shapes_are_those_of_scikit_learn(digits):
    X, _ = digits
    mine = ck.CoRENeighbors(n_neighbors=4).fit(X)
    apart = np.clip(1 - ck.core1(X), 0, None)
    other = NearestNeighbors(n_neighbors=4, metric="precomputed").fit(apart)
    for a, b in zip(mine.kneighbors(), other.kneighbors(), strict=True):
        assert a.shape == b.shape
    np.testing.assert_allclose(mine.kneighbors()[0], other.kneighbors()[0], atol=1e-9)
    np.testing.assert_array_equal(mine.kneighbors()[1], other.kneighbors()[1])
    for mode in ("connectivity", "distance"):
        a, b = mine.kneighbors_graph(X, mode=mode), other.kneighbors_graph(apart, mode=mode)
        np.testing.assert_allclose(a.toarray(), b.toarray(), atol=1e-9)
    a = mine.radius_neighbors(radius=0.2)
    b = other.radius_neighbors(radius=0.2, sort_results=True, return_distance=True)
    for x, y in zip(a[0], b[0], strict=True):
        np.testing.assert_allclose(x, y, atol=1e-9)


def test_radius_graph_is_that_of_scikit_learn(digits):
    X, _ = digits
    mine = ck.CoRENeighbors().fit(X)
    apart = np.clip(1 - ck.core1(X), 0, None)
    other = NearestNeighbors(metric="precomputed").fit(apart)
    for mode in ("connectivity", "distance"):
        a = mine.radius_neighbors_graph(X, 0.2, mode)
        b = other.radius_neighbors_graph(apart, 0.2, mode)
        assert type(a) is type(b)
        np.testing.assert_allclose(a.toarray(), b.toarray(), atol=1e-9)
    assert mine.radius_neighbors_graph(radius=0.2).diagonal().sum() == 0


def test_transformer_gives_matrices_of_either_mode(digits):
    X, _ = digits
    graph = ck.CoRENeighborsTransformer(n_neighbors=4).fit_transform(X)
    assert isinstance(graph, sparse.csr_matrix)
    assert set(np.diff(graph.indptr)) == {5}
    ones = ck.CoRENeighborsTransformer(n_neighbors=4, mode="connectivity").fit(X).transform(X)
    assert set(np.diff(ones.indptr)) == {4}
    assert set(ones.data) == {1}
    shared = set(ck.CoRENeighbors().get_params())
    assert set(ck.CoRENeighborsTransformer().get_params()) == shared | {"mode", "symmetric"}
    with pytest.raises(ck.CoREError, match="mode: got 'graph'"):
        ck.CoRENeighborsTransformer(mode="graph").fit(X)


def test_symmetric_graph_has_every_link_in_both_directions(digits):
    X, y = digits
    X = np.vstack([X, X[:3]])  # equal rows, whose distance 0 is stored
    plain = ck.CoRENeighborsTransformer(n_neighbors=4).fit_transform(X)
    both = ck.CoRENeighborsTransformer(n_neighbors=4, symmetric=True).fit_transform(X)
    stored = (plain.copy(), both.copy())
    for graph in stored:
        graph.data[:] = 1
    links = stored[0].toarray() > 0
    np.testing.assert_array_equal(stored[1].toarray() > 0, links | links.T)
    np.testing.assert_allclose(both.toarray(), both.toarray().T, atol=1e-9)
    assert all((np.diff(row.data) >= 0).all() for row in both)
    model = KNeighborsClassifier(3, metric="precomputed").fit(both[:600, :600], y)
    assert model.score(both[:600, :600], y) > 0.9


def test_rows_that_crowd_each_other_out():
    X = np.ones((6, 3))
    distances, found = ck.CoRENeighbors(n_neighbors=3).fit(X).kneighbors()
    assert (distances == 0).all()
    assert all(row not in mine for row, mine in enumerate(found))
    assert found.shape == (6, 3)


def test_consumers(digits):
    X, y = digits
    model = make_pipeline(
        ck.CoRENeighborsTransformer(n_neighbors=5), KNeighborsClassifier(5, metric="precomputed")
    )
    whole = KNeighborsClassifier(5, metric="precomputed").fit(1 - ck.core1(X[:400]), y[:400])
    expected = whole.score(1 - ck.core1(X[400:], X[:400]), y[400:])
    assert model.fit(X[:400], y[:400]).score(X[400:], y[400:]) == expected
    graph = ck.CoRENeighbors(n_neighbors=20).fit(X).kneighbors_graph(X, mode="distance")
    labels = DBSCAN(eps=0.25, min_samples=4, metric="precomputed").fit(graph).labels_
    assert 3 <= len(set(labels)) <= 60
    embed = make_pipeline(
        ck.CoRENeighborsTransformer(n_neighbors=20), Isomap(n_neighbors=15, metric="precomputed")
    )
    assert embed.fit_transform(X).shape == (600, 2)


def test_names_of_columns(digits):
    """Those of a frame are checked, and warned of only where they are missing."""
    frame = pd.DataFrame(digits[0]).add_prefix("pixel")
    index = ck.CoRENeighbors(random_state=0).fit(frame)
    assert index.check_recall(frame[:50]).recall == 1
    with pytest.raises(ValueError, match="feature names should match"):
        index.check_recall(frame[frame.columns[::-1]])
    transformer = ck.CoRENeighborsTransformer(n_neighbors=3).fit(frame)
    assert transformer.transform(frame[:5]).shape == (5, len(frame))


def test_clone_and_pickle(digits):
    X, _ = digits
    index = ck.CoRENeighbors(random_state=0).fit(X)
    again = pickle.loads(pickle.dumps(index))
    np.testing.assert_array_equal(again.kneighbors(X)[1], index.kneighbors(X)[1])
    again.add(X[:1])
    assert not hasattr(clone(index), "_snapshot")
