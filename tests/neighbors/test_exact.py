"""Exact search against brute force, on every odd matrix, by scanning and by lists."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import corekernels as ck
from corekernels._core.team import Team
from corekernels._core.validation import check_rows
from corekernels.kernel_table import CORE1
from corekernels.neighbors.candidates.exact import COUNTS, SCAN, WAYS, inverted_lists
from corekernels.neighbors.store import join, make_queries, make_store
from support import oracles
from support.clusters import METHODS
from support.indexes import exact_index
from support.strategies import messy_pair

KERNELS = ("core1", "core2", "resemblance")


@pytest.fixture(params=WAYS)
def way(request):
    return request.param


def check_against_brute_force(X, Q, kernel, k, distances, found):
    """True values, in order; where two are equal, the lower index first; none better left out."""
    K = oracles.kernel(kernel, Q, X)
    n_kept = min(k, X.shape[0])
    assert distances.shape == found.shape == (Q.shape[0], n_kept)
    np.testing.assert_allclose(1 - distances, np.take_along_axis(K, found, axis=1), atol=1e-6)
    np.testing.assert_allclose(1 - distances, -np.sort(-K, axis=1)[:, :n_kept], atol=1e-6)
    later = np.diff(distances, axis=1)
    assert (later >= 0).all()
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X)
    same_row = (dense[found[:, 1:]] == dense[found[:, :-1]]).all(axis=2)
    both_zero = (distances[:, 1:] == 1) & (np.take_along_axis(K, found, axis=1)[:, :-1] == 0)
    # kernel values of other rows may differ in a digit that their distances do not have
    assert (np.diff(found, axis=1)[(later == 0) & (same_row | both_zero)] > 0).all()
    assert all(len(set(row)) == n_kept for row in found)


@given(messy_pair(), st.sampled_from(KERNELS), st.integers(1, 12), st.sampled_from(WAYS))
@settings(max_examples=60, deadline=None)
def test_equals_brute_force_on_odd_matrices(pair, kernel, k, way):
    X, Q = pair
    index = exact_index(X, kernel, k, way=way)
    check_against_brute_force(X, Q, kernel, k, *index.kneighbors(Q))


@pytest.mark.parametrize("kernel", KERNELS)
def test_equals_brute_force_on_many_rows(way, kernel):
    rng = np.random.default_rng(0)
    X = rng.poisson(rng.random(90) * 0.5, (6000, 90)) * rng.integers(1, 5, (6000, 90))
    X[rng.integers(0, 6000, 50)] = 0
    X[3000:3100] = X[:100]  # ties
    Q = np.concatenate([X[:40], rng.poisson(0.3, (20, 90)), np.zeros((1, 90), int), -X[:5]])
    index = exact_index(X, kernel, way=way)
    distances, found = index.kneighbors(Q)
    check_against_brute_force(X, Q, kernel, 10, distances, found)
    # whole numbers: values are exact, so are ties
    K = oracles.kernel(kernel, Q, X).round(12)
    np.testing.assert_array_equal(found, np.argsort(-K, axis=1, kind="stable")[:, :10])
    assert (found[60] == np.arange(10)).all()  # an empty query is as far from every row


def test_a_row_is_at_distance_zero_from_itself(way):
    X = np.random.default_rng(0).lognormal(sigma=3, size=(200, 30))
    X[X < 1] = 0
    distances, found = exact_index(X, n_neighbors=1, way=way).kneighbors(X)
    present = X.any(axis=1)
    assert (found[present, 0] == np.flatnonzero(present)).all()
    assert (distances[present] == 0).all()


@pytest.mark.parametrize("n_columns", [70_000, 2**40])
def test_columns_beyond_tables(n_columns):
    rng = np.random.default_rng(0)
    columns = rng.choice(n_columns, 300)
    X = sparse.csr_array(
        (rng.random(900), rng.choice(columns, 900), np.arange(0, 901, 9)), shape=(100, n_columns)
    )
    X.sum_duplicates()
    Q = X[:20].copy()
    Q.indices[::3] = n_columns - 1  # a column no row has
    Q.sum_duplicates()
    index = ck.CoRENeighbors("core2", 5, method="exact").fit(X[:60])
    index.add(X[60:])
    _, narrow = np.unique(np.concatenate([X.indices, Q.indices]), return_inverse=True)
    shape = narrow.max() + 1
    dense = sparse.csr_array((X.data, narrow[: X.nnz], X.indptr), shape=(100, shape)).toarray()
    queries = sparse.csr_array((Q.data, narrow[X.nnz :], Q.indptr), shape=(20, shape)).toarray()
    check_against_brute_force(dense, queries, "core2", 5, *index.kneighbors(Q))


def test_values_of_any_magnitude():
    X = np.random.default_rng(0).random((50, 8)) ** 3
    scales = 10.0 ** np.linspace(-300, 300, 50)
    plain = ck.CoRENeighbors(n_neighbors=5).fit(X).kneighbors(X)
    scaled = ck.CoRENeighbors(n_neighbors=5).fit(X * scales[:, None]).kneighbors(X * 1e-200)
    np.testing.assert_allclose(plain[0], scaled[0], atol=1e-12)


def test_dense_equals_sparse_and_threads_do_not_matter(way):
    X = np.random.default_rng(0).poisson(0.3, (700, 50)).astype(np.float32)
    one = exact_index(X, way=way, n_jobs=1).kneighbors(X)
    many = exact_index(sparse.csc_array(X), way=way, n_jobs=3).kneighbors(sparse.coo_array(X))
    for a, b in zip(one, many, strict=True):
        np.testing.assert_array_equal(a, b)


@given(messy_pair(), st.sampled_from(KERNELS), st.floats(0, 1.5))
@settings(max_examples=25, deadline=None)
def test_radius(pair, kernel, radius):
    X, Q = pair
    index = ck.CoRENeighbors(kernel).fit(X)
    distances, found = index.radius_neighbors(Q, radius)
    apart = 1 - oracles.kernel(kernel, Q, X)
    for q in range(Q.shape[0]):
        surely = np.flatnonzero(apart[q] < radius - 1e-6)
        perhaps = np.flatnonzero(apart[q] <= radius + 1e-6)
        assert set(surely) <= set(found[q]) <= set(perhaps)
        np.testing.assert_allclose(distances[q], apart[q, found[q]], atol=1e-6)


def test_radius_with_many_rows_inside(way):
    X = np.random.default_rng(0).poisson(1, (500, 20))
    found = exact_index(X, way=way).radius_neighbors(X[:3], 2.0, return_distance=False)
    assert [sorted(row) for row in found] == [list(range(500))] * 3


@pytest.mark.parametrize("kernel", KERNELS)
def test_dense_rows_of_bytes_are_compared_as_such_to_the_same_values(kernel):
    rng = np.random.default_rng(0)
    X = rng.integers(1, 256, (300, 130)) * (rng.random((300, 130)) < 0.6)
    assert make_store(check_rows(X), CORE1).byte_rows.shape == (300, 192)  # whole cache lines
    halves, sparse_rows = X / 2, X * (rng.random(X.shape) < 0.1)
    wide = sparse.csr_array((X[X > 0], np.nonzero(X)), shape=(300, 5000))
    for others in (halves, sparse_rows, -X, wide):
        assert make_store(check_rows(others), CORE1).byte_rows.shape == (300, 0)
    index, other = exact_index(X, kernel, way=SCAN), exact_index(halves, kernel, way=SCAN)
    for Q in (X[:20], X[:20] / 4, -X[:5]):  # powers of two change no digit
        for found, expected in zip(index.kneighbors(Q), other.kneighbors(Q), strict=True):
            np.testing.assert_array_equal(found, expected)
    pairs, expected = (i.near_duplicates(0.5) for i in (index, other))
    np.testing.assert_array_equal(pairs.pairs, expected.pairs)
    np.testing.assert_array_equal(pairs.similarities, expected.similarities)


def wide(dense, columns, n_columns):
    """The rows, their columns being these out of many."""
    rows, places = np.nonzero(dense)
    values = dense[rows, places].astype(np.float32)
    return sparse.csr_array((values, (rows, columns[places])), (len(dense), n_columns))


@pytest.mark.parametrize("method", ["scan", "lists", *METHODS[1:]])
@pytest.mark.parametrize("kernel", KERNELS)
def test_columns_that_dense_rows_of_bytes_do_not_have(kernel, method):
    """Of many columns, rows are laid out over those in use: queries may have others."""
    rng = np.random.default_rng(0)
    dense = rng.integers(1, 9, (60, 60)) * (rng.random((60, 60)) < 0.6)
    dense[:50, 40:] = 0
    X = wide(dense, np.sort(rng.choice(10**6, 60, replace=False)), 10**6)
    if method in METHODS:
        index = ck.CoRENeighbors(kernel, method=method, recall=0.5, random_state=0).fit(X[:50])
        assert index.method_ == method
    else:
        index = exact_index(X[:50], kernel, way=method)
    assert index._snapshot.main.store.byte_rows.shape[1] > 0
    index.add(X[50:])
    assert index._snapshot.tail.store.byte_rows.shape[1] > 0
    check_against_brute_force(dense, dense, kernel, 60, *index.kneighbors(X, 60))


def test_words_that_no_row_has():
    shingles = ck.text.Shingles(weights="counts")
    X = shingles.transform(["the rose has a thorn", "a thorn of the rose is sharp"])
    Q = shingles.transform([" ".join(f"word{i}" for i in range(200)) + " rose", "the sharp rose"])
    columns, places = np.unique(np.concatenate([X.indices, Q.indices]), return_inverse=True)
    x, q = np.zeros((2, len(columns))), np.zeros((2, len(columns)))
    x[X.nonzero()[0], places[: X.nnz]], q[Q.nonzero()[0], places[X.nnz :]] = X.data, Q.data
    found = ck.CoRENeighbors(n_neighbors=2).fit(X).kneighbors(Q)
    check_against_brute_force(x, q, "core1", 2, *found)


@pytest.mark.parametrize("method", METHODS)
def test_values_that_vanish_beside_others_are_shared_still(method):
    """Rows are brought to scale by a power of two, under which all values of some but one fall."""
    rng = np.random.default_rng(0)
    X = np.zeros((60, 5000))  # of so many columns supports are no bit sets
    for row in X:
        row[rng.choice(4000, 1)] = 1e300
        row[rng.choice(range(0, 5000, 100), 30, replace=False)] = 1e-300
    K = oracles.kernel("core1", X)
    index = ck.CoRENeighbors(method=method, recall=0.1, random_state=0).fit(X[:50])
    index.add(X[50:])
    assert index.method_ == method
    for distances, found in (index.kneighbors(X), index.kneighbors(X, 60)):
        np.testing.assert_allclose(1 - distances, np.take_along_axis(K, found, 1), atol=1e-9)


def test_stores():
    X = sparse.csr_array(np.array([[1.0, 0, 255], [0, 0, 0], [0.5, 2, 0]]))
    store = make_store(check_rows(X[:2]), CORE1)
    assert store.values.dtype == np.uint8
    assert store.columns.dtype == np.uint16
    both = join(store, make_store(check_rows(X[2:] / 3), CORE1))
    assert both.values.dtype == np.float64
    assert (both.lengths == [2, 0, 2]).all()
    team = Team(1)
    queries = make_queries(check_rows(X), store, team)
    assert (queries.lengths == [2, 0, 2]).all()
    assert (both.take(np.array([2, 0])).lengths == [2, 2]).all()


def test_lists_of_columns_that_every_row_has():
    rng = np.random.default_rng(0)
    X = sparse.random_array((2000, 700), density=0.2, rng=rng, format="csr", dtype=np.float32)
    X = X.tolil()
    X[:, :3] = 1
    X = X.tocsr()
    store = make_store(check_rows(X), CORE1)
    heads, rows, values = inverted_lists(store, store.values)
    back = sparse.csc_array((values, rows, heads), shape=X.shape)
    assert back.has_sorted_indices
    assert (back != X).nnz == 0


def test_shared_columns_are_counted_across_lines_and_sides():
    """Common and rare columns, rows of very different lengths, ties, and rows that were removed."""
    rng = np.random.default_rng(0)
    rarity = 1 / (1 + np.arange(5000))
    X = np.zeros((3000, 5000), np.float32)
    for row in X:
        row[rng.choice(5000, rng.integers(0, 60), replace=False, p=rarity / rarity.sum())] = 1
    index = exact_index(sparse.csr_array(X), "resemblance", way=COUNTS)
    assert index._snapshot.main.way == COUNTS
    gone = rng.choice(3000, 300, replace=False)
    index.remove(gone)
    K = oracles.resemblance(X[:50], X)
    K[:, gone] = -1
    for k in (1, 10, 2700):
        distances, found = index.kneighbors(sparse.csr_array(X[:50]), k)
        np.testing.assert_array_equal(found, np.argsort(-K.round(12), axis=1, kind="stable")[:, :k])
        np.testing.assert_allclose(1 - distances, -np.sort(-K, axis=1)[:, :k], atol=1e-12)
