"""Search by inner products, and by kernels from outside, beside a dense oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import corekernels as ck
from corekernels.errors import DataError, ParameterError
from corekernels.neighbors.candidates.exact import LISTS, SCAN
from support import oracles
from support.indexes import exact_index, with_short_tail
from support.kernels import MinMax
from support.strategies import messy_pair

KERNELS = ("inner_product", MinMax())
NAMES = ["inner_product", "min_max"]


def values_of(kernel, Q, X):
    return oracles.kernel(getattr(kernel, "name", kernel), Q, X)


def check(K, k, distances, found, digits=12):
    """The k largest values of each row of K, in order, to rounding errors of so many digits."""
    scale = 10.0**-digits * max(1.0, np.abs(K[np.isfinite(K)]).max(initial=0))
    nearest = -np.sort(-K, axis=1)[:, :k]
    np.testing.assert_allclose(1 - distances, nearest, rtol=0, atol=scale)
    assert (np.diff(distances, axis=1) >= 0).all()
    values = np.take_along_axis(K, found, axis=1)
    np.testing.assert_allclose(1 - distances, values, rtol=0, atol=scale)
    assert all(len(set(row)) == len(row) for row in found)


def signed(n, width, density=0.2, seed=0, dtype=np.float64):
    """Rows of either sign and of very different norms, one in ten of them empty."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, width)) * (rng.random((n, width)) < density)
    X *= rng.lognormal(sigma=2, size=(n, 1)) * (rng.random((n, 1)) < 0.9)
    return X.astype(dtype)


@pytest.mark.parametrize("way", [SCAN, LISTS])
@given(messy_pair(), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_inner_products_of_odd_matrices(way, pair, k):
    X, Q = pair
    index = exact_index(X, "inner_product", k, way=way)
    check(values_of("inner_product", Q, X), min(k, X.shape[0]), *index.kneighbors(Q), digits=6)


@given(messy_pair(), st.integers(1, 12))
@settings(max_examples=60, deadline=None)
def test_a_kernel_from_outside_on_odd_matrices(pair, k):
    X, Q = pair
    index = ck.CoRENeighbors(MinMax(), k).fit(X)
    check(values_of(MinMax(), Q, X), min(k, X.shape[0]), *index.kneighbors(Q), digits=6)


@pytest.mark.parametrize("way", [SCAN, LISTS])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.uint8])
def test_inner_products_of_many_rows(way, dtype):
    """Enough for the scan to stop early, at rows whose norms are too small."""
    X, Q = signed(7000, 60, dtype=np.float64), signed(40, 60, seed=1)
    if dtype == np.uint8:
        X, Q = np.abs(X).clip(0, 255).round(), np.abs(Q).clip(0, 255).round()
    X, Q = X.astype(dtype), Q.astype(dtype)
    K = values_of("inner_product", Q, X)
    for n_jobs in (1, 3):
        index = exact_index(X, "inner_product", 10, way=way, n_jobs=n_jobs)
        check(K, 10, *index.kneighbors(Q))
        check(K, 1, *index.kneighbors(Q, 1))


def test_all_inner_products_are_negative():
    X = -np.abs(signed(300, 20, density=0.9)) - 1.0
    Q = np.abs(signed(5, 20, density=0.9, seed=1)) + 1.0
    for way in (SCAN, LISTS):
        index = exact_index(X, "inner_product", 7, way=way)
        check(values_of("inner_product", Q, X), 7, *index.kneighbors(Q))


@pytest.mark.parametrize("kernel", KERNELS, ids=NAMES)
@pytest.mark.parametrize("n_columns", [50, 4097, 70_000, 2**62])
def test_through_a_life(kernel, n_columns, tmp_path):
    """Rows are added and removed, columns unseen, the file memory-mapped."""
    dense, Q = signed(900, 50), signed(30, 50, seed=1)
    dense[:, 45:] = 0  # no stored row has what queries have
    rng = np.random.default_rng(0)
    columns = np.sort(rng.choice(min(n_columns, 2**40), 50, replace=False))
    columns += n_columns - 1 - columns[-1]

    def wide(rows):
        r, c = np.nonzero(rows)
        return sparse.csr_array((rows[r, c], (r, columns[c])), (len(rows), n_columns))

    index = ck.CoRENeighbors(kernel, 8, method="exact").fit(wide(dense[:600]))
    index = with_short_tail(index, 50)
    index.add(wide(dense[600:]))
    gone = rng.choice(900, 300, replace=False)
    index.remove(gone)
    K = values_of(kernel, Q, dense)
    K[:, gone] = -np.inf
    answers = [index.kneighbors(wide(Q))]
    if isinstance(kernel, str):
        index.save(tmp_path / "index")
        answers.append(ck.CoRENeighbors.load(tmp_path / "index").kneighbors(wide(Q)))
    for distances, found in answers:
        check(K, 8, distances, found)


@pytest.mark.parametrize("method", ["auto", "inverted"])
def test_inverted_lists_find_large_inner_products(method):
    rng = np.random.default_rng(0)
    columns = 10_000 ** rng.random(6000 * 40)  # some common, most rare, as words are
    places = np.repeat(np.arange(6000), 40), columns.astype(int)
    X = sparse.csr_array((rng.lognormal(size=6000 * 40), places), (6000, 10_000))
    index = ck.CoRENeighbors("inner_product", 5, method=method, recall=0.8, random_state=0).fit(X)
    assert index.method_ == "inverted"
    check_of = index.check_recall(X[:500])
    # of 500 queries, beside the recall that was asked for of queries like the rows
    assert check_of.recall >= 0.8 - 3 * np.sqrt(0.8 * 0.2 / 500)
    distances, found = index.kneighbors(X[:50])
    K = (X[:50] @ X.T).toarray()
    np.testing.assert_allclose(1 - distances, np.take_along_axis(K, found, axis=1), atol=1e-12)


@pytest.mark.parametrize("kernel", KERNELS, ids=NAMES)
def test_within_a_radius(kernel):
    X, Q = signed(200, 20), signed(6, 20, seed=1)
    K = values_of(kernel, Q, X)
    index = ck.CoRENeighbors(kernel).fit(X)
    for least in (-0.5, 0.1, float(np.quantile(K, 0.9))):
        distances, found = index.radius_neighbors(Q, 1 - least)
        for q in range(6):
            assert set(found[q]) == set(np.flatnonzero(K[q] >= 1 - (1 - least)))
            np.testing.assert_allclose(1 - distances[q], K[q, found[q]], atol=1e-10)


def test_near_duplicates_by_a_kernel_from_outside():
    X = signed(60, 30)
    X[10] = X[3] * 1.001
    found = ck.CoRENeighbors(MinMax()).fit(X).near_duplicates(0.99)
    K = np.triu(values_of(MinMax(), X, X), 1)
    assert found.pairs.tolist() == np.argwhere(K >= 0.99).tolist()


def test_what_makes_no_sense_is_refused():
    X = signed(50, 20)
    index = ck.CoRENeighbors("inner_product").fit(X)
    with pytest.raises(ParameterError, match=r"kernel: near-duplicates .* use radius_neighbors"):
        index.near_duplicates(0.9)
    with pytest.raises(
        ParameterError, match=r"method: lsh .* by inner_product; choose one of auto"
    ):
        ck.CoRENeighbors("inner_product", method="lsh").fit(X)
    with pytest.raises(
        ParameterError, match=r"method: inverted .* min_max; choose one of auto, ex"
    ):
        ck.CoRENeighbors(MinMax(), method="inverted").fit(X)
    with pytest.raises(DataError, match="row 3 holds 1e-90; inner_product takes values from 1e-70"):
        ck.CoRENeighbors("inner_product").fit(np.eye(5) * [1, 1, 1, 1e-90, 1])
    with pytest.raises(DataError, match=r"row 0 holds -1e\+80; inner_product takes"):
        index.kneighbors(np.full((1, 20), -1e80))


def test_an_index_of_a_kernel_from_outside_is_pickled_but_not_saved(tmp_path):
    index = ck.CoRENeighbors(MinMax()).fit(np.eye(4))
    with pytest.raises(ParameterError, match="a parameter cannot be held by a file"):
        index.save(tmp_path / "index")
    assert not list(tmp_path.iterdir())
