from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from threadpoolctl import threadpool_info

import corekernels as ck
from corekernels.errors import DataError, ParameterError
from support import oracles, strategies
from support.kernels import MinMax

KERNELS = ("correlation", "resemblance", "core1", "core2", "core_rbf")
OTHERS = ("inner_product", MinMax())
TOLERANCE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-5}
functions = {name: getattr(ck, name) for name in KERNELS}


@pytest.fixture
def clustered():
    """Rows of both kinds of columns, full and thin, enough of them for several blocks."""
    rng = np.random.default_rng(0)
    full = rng.poisson(1.5, (700, 40))
    thin = rng.random((700, 400)) < 0.01
    return np.hstack([full, thin]) * rng.normal(size=(700, 440))


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=60, deadline=None)
@given(pair=strategies.messy_pair(), gamma=st.sampled_from([None, 0.0, 0.7, 20.0]))
def test_equals_the_dense_oracle(name, pair, gamma):
    X, Y = pair
    K = functions[name](X, Y, gamma=gamma)
    assert K.dtype == np.result_type(X.dtype, Y.dtype)
    # duplicates are summed in the type they came in
    tolerance = max(TOLERANCE[X.dtype], TOLERANCE[Y.dtype])
    np.testing.assert_allclose(K, oracles.kernel(name, X, Y, gamma), rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", KERNELS)
@settings(max_examples=40, deadline=None)
@given(X=strategies.messy_csr(), gamma=st.sampled_from([None, 0.7]))
def test_gram_of_one_matrix_is_a_kernel(name, X, gamma):
    K = functions[name](X, gamma=gamma)
    tolerance = TOLERANCE[K.dtype]
    np.testing.assert_allclose(K, oracles.kernel(name, X, None, gamma), rtol=0, atol=tolerance)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diag(K), oracles.dense(X).any(axis=1))
    assert np.abs(K).max() <= 1
    assert np.linalg.eigvalsh(K.astype(float)).min() >= -tolerance * len(K)


@pytest.mark.parametrize("dtype", strategies.DTYPES)
@pytest.mark.parametrize("name", KERNELS)
def test_many_rows_of_full_and_thin_columns(clustered, name, dtype):
    X = sparse.csr_array(clustered.astype(dtype))
    K = functions[name](X)
    np.testing.assert_allclose(K, oracles.kernel(name, X), rtol=0, atol=TOLERANCE[K.dtype])
    np.testing.assert_allclose(
        functions[name](X[:150], X), K[:150], rtol=0, atol=TOLERANCE[K.dtype]
    )


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("n_jobs", [2, 7, -1, 1000])
def test_threads_change_nothing(clustered, name, n_jobs):
    one = functions[name](clustered, n_jobs=1)
    np.testing.assert_array_equal(functions[name](clustered, n_jobs=n_jobs), one)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("working_memory", [0.001, 0.5, None])
def test_chunks_equal_the_whole(clustered, name, working_memory):
    X = clustered[:300]
    rows, blocks = zip(*ck.gram_chunks(X, kernel=name, working_memory=working_memory), strict=True)
    np.testing.assert_allclose(np.vstack(blocks), functions[name](X), rtol=0, atol=1e-12)
    assert [r for s in rows for r in range(s.start, s.stop)] == list(range(300))
    if working_memory:
        assert max(block.nbytes for block in blocks) <= max(working_memory * 2**20, 300 * 8)


def on_scale(X):
    """Rows of values near 1, whatever they were: tolerances hold for inner products, too."""
    X = oracles.dense(X)
    return X / max(1.0, np.abs(X).max()) * (np.abs(X) > 1e-30)


@pytest.mark.parametrize("kernel", OTHERS, ids=["inner_product", "min_max"])
@settings(max_examples=40, deadline=None)
@given(pair=strategies.messy_pair(), dtype=st.sampled_from(strategies.DTYPES))
def test_kernels_of_rows_as_they_are(kernel, pair, dtype):
    X, Y = (sparse.csr_array(on_scale(Z).astype(dtype)) for Z in pair)
    name = getattr(kernel, "name", kernel)
    for Z in (None, Y):
        K, expected = ck.gram(X, Z, kernel), oracles.kernel(name, X, Z)
        assert K.dtype == dtype
        np.testing.assert_allclose(K, expected, rtol=0, atol=10 * TOLERANCE[K.dtype])
        if Z is None:
            np.testing.assert_array_equal(K, K.T)
    blocks = [block for _, block in ck.gram_chunks(X, Y, kernel, working_memory=1e-6)]
    np.testing.assert_allclose(np.vstack(blocks), K, atol=10 * TOLERANCE[K.dtype])
    value = ck.gram(X.toarray()[0], Y.toarray()[0], kernel)
    assert value == pytest.approx(K[0, 0], abs=10 * TOLERANCE[K.dtype])


@pytest.mark.parametrize("kernel", OTHERS, ids=["inner_product", "min_max"])
def test_threads_and_columns_of_both_kinds_change_nothing(clustered, kernel, tmp_path):
    name = getattr(kernel, "name", kernel)
    K = ck.gram(clustered, kernel=kernel, n_jobs=1)
    np.testing.assert_allclose(K[:90], oracles.kernel(name, clustered[:90], clustered), atol=1e-11)
    np.testing.assert_array_equal(ck.gram(clustered, kernel=kernel, n_jobs=3), K)
    kept = ck.gram_to_file(tmp_path / "K.npy", clustered, kernel=kernel, working_memory=1)
    np.testing.assert_allclose(kept, K, rtol=0, atol=1e-11)


def test_a_kernel_of_equal_rows_that_is_not_1_has_no_exponential_variant():
    with pytest.raises(ParameterError, match=r"gamma: exp.* inner_product is not; leave it out"):
        ck.gram(np.eye(2), kernel="inner_product", gamma=1.0)


def test_chunks_against_other_rows(clustered):
    X, Y = clustered[:90], clustered[200:230]
    blocks = [block for _, block in ck.gram_chunks(X, Y, "core2", gamma=2.0, working_memory=0.005)]
    assert len(blocks) > 1
    np.testing.assert_allclose(np.vstack(blocks), ck.core2(X, Y, gamma=2.0), rtol=0, atol=1e-12)


def test_dense_rows_give_the_cosine():
    X = np.random.default_rng(0).normal(size=(20, 8))
    np.testing.assert_allclose(ck.core1(X), ck.correlation(X), atol=1e-15)


def test_binary_rows_make_core2_the_resemblance():
    X = (np.random.default_rng(0).random((20, 50)) < 0.3).astype(float)
    np.testing.assert_allclose(ck.core2(X), ck.resemblance(X), atol=1e-14)


@pytest.mark.parametrize("name", KERNELS)
def test_rows_of_any_scale(name):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, (12, 30)) * rng.normal(size=(12, 30))
    scale = 10.0 ** rng.choice([-305, -300, -150, -101, 0, 101, 150, 300], size=(12, 1))
    np.testing.assert_allclose(functions[name](X * scale), functions[name](X), atol=1e-12)
    np.testing.assert_allclose(
        functions[name]((X * 1e-30).astype(np.float32)), functions[name](X), atol=1e-5
    )


def test_the_smallest_number_has_a_direction():
    tiny = np.nextafter(0, 1)
    np.testing.assert_allclose(ck.correlation([[tiny, tiny, 0]], [[0, 1, 1]]), 0.5, atol=1e-15)


@pytest.mark.parametrize("n_columns", [2**31 + 5, 2**62])
def test_columns_beyond_int32(n_columns):
    columns = np.array([0, 7, n_columns - 1, 7, n_columns - 1, 12], np.int64)
    X = sparse.csr_array(
        (np.arange(1.0, 7.0), columns, np.array([0, 3, 5, 6, 6])), shape=(4, n_columns)
    )
    small = np.array([[1.0, 2, 3, 0], [0, 4, 5, 0], [0, 0, 0, 6], [0, 0, 0, 0]])
    for name in KERNELS:
        np.testing.assert_allclose(functions[name](X), oracles.kernel(name, small), atol=1e-12)
        np.testing.assert_allclose(
            functions[name](X, X[:2]), oracles.kernel(name, small, small[:2]), atol=1e-12
        )


def test_inputs_stay_as_they_are(tmp_path):
    X = sparse.csr_array(
        (np.array([1.0, 0, 2, 3, -3]), np.array([3, 1, 0, 2, 2]), np.array([0, 3, 5])), shape=(2, 4)
    )
    arrays = [X.data, X.indices, X.indptr]
    before = [array.copy() for array in arrays]
    for array in arrays:
        array.flags.writeable = False
    ck.core1(X, X.copy())
    for array, old in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, old)

    np.save(tmp_path / "dense.npy", X.toarray())
    mapped = np.load(tmp_path / "dense.npy", mmap_mode="r")
    np.testing.assert_allclose(ck.core1(mapped), ck.core1(X))


@pytest.mark.parametrize("values", [np.uint8, np.int64, bool, np.float16])
def test_other_number_types(values):
    X = np.array([[1, 0, 1], [0, 1, 1]], values)
    expected = np.float32 if values is np.float16 else np.float64
    assert ck.core1(X).dtype == expected
    np.testing.assert_allclose(ck.core1(X), oracles.kernel("core1", X), atol=1e-6)


def test_two_vectors_give_a_number():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, (6, 9)) * rng.normal(size=(6, 9))
    X[3] = 0
    for name, gamma in [(name, gamma) for name in KERNELS for gamma in (None, 0.5)]:
        values = [[functions[name](x, y, gamma=gamma) for y in X] for x in X]
        assert isinstance(values[0][0], float)
        np.testing.assert_allclose(values, functions[name](X, X.copy(), gamma=gamma), atol=1e-12)


def test_rows_of_a_sparse_array_are_vectors_too():
    X = np.random.default_rng(0).poisson(0.5, (3, 9)).astype(float)
    S = sparse.csr_array(X)
    expected = pytest.approx(functions["core1"](X[0], X[1]), rel=1e-12)
    for x, y in ((S[0], S[1]), (S[0], X[1]), (X[0], S[1])):
        assert functions["core1"](x, y) == expected
    with pytest.raises(DataError, match=r"X: Expected 2D array, got 1D sparse array.*X\[\[i\]\]"):
        functions["core1"](S[0], S)


def test_no_rows():
    assert ck.core1(np.empty((0, 3)), np.ones((2, 3))).shape == (0, 2)
    assert ck.core1(np.ones((2, 3)), np.empty((0, 3))).shape == (2, 0)
    assert list(ck.gram_chunks(np.empty((0, 3)))) == []


def with_value(value):
    X = np.ones((4, 3))
    X[2, 1] = value
    return X


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array, sparse.coo_array])
@pytest.mark.parametrize(
    ("value", "what"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")]
)
def test_values_must_be_finite(convert, value, what):
    with pytest.raises(DataError, match=f"X: row 2 contains {what}; fill or drop"):
        ck.core1(convert(with_value(value)))
    with pytest.raises(DataError, match=f"Y: row 2 contains {what}"):
        ck.core1(np.ones((1, 3)), convert(with_value(value)))


def test_duplicates_that_overflow():
    X = sparse.csr_array((np.full(2, 1e308), np.zeros(2, int), np.array([0, 2])), shape=(1, 2))
    with pytest.raises(DataError, match="row 0 sum to infinity"):
        ck.core1(X)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.ones(3), "Expected 2D array, got 1D array"),
        (np.ones((2, 2, 2)), "dim 3"),
        (np.ones((2, 2), complex), "Complex data not supported"),
        (sparse.csr_array(np.ones((2, 2), complex)), "Complex data not supported"),
        (np.array([["a", "b"]]), "X: .*numeric"),
        (np.array([[{}, 1]], object), "X: .*number"),
        (np.ones((2, 0)), "0 feature"),
        (None, "X: "),
    ],
)
def test_input_must_be_a_matrix_of_numbers(X, message):
    with pytest.raises(DataError, match=message):
        ck.core1(X)


def test_damaged_matrices_are_refused():
    X = sparse.csr_array(np.ones((2, 3)))
    X.indices[4] = 3
    with pytest.raises(DataError, match=r"has the column .*, outside 0 to 2"):
        ck.core1(X)
    X = sparse.csr_array(np.ones((2, 3)))
    X.indptr[1] = 9
    with pytest.raises(DataError, match="row pointers"):
        ck.core1(X)


def test_columns_must_agree():
    with pytest.raises(DataError, match="Y: has 2 columns, X has 3"):
        ck.core1(np.ones((1, 3)), np.ones((1, 2)))
    with pytest.raises(DataError, match="Y: has 2 columns, X has 3"):
        ck.core1(np.ones(3), np.ones(2))


@pytest.mark.parametrize("gamma", [-1.0, np.nan, np.inf])
def test_gamma_must_be_finite_and_not_negative(gamma):
    with pytest.raises(ParameterError, match="gamma: got"):
        ck.core1(np.ones((1, 3)), gamma=gamma)
    with pytest.raises(ParameterError, match="gamma: got"):
        ck.core1(np.ones(3), np.ones(3), gamma=gamma)


def test_gamma_as_gaussian_processes_give_it():
    X = np.eye(3)
    np.testing.assert_array_equal(ck.core1(X, gamma=np.array([0.5])), ck.core1(X, gamma=0.5))


def test_unknown_names_and_sizes():
    with pytest.raises(ParameterError, match="kernel: got 'rbf'; choose one of correlation, res"):
        ck.gram_chunks(np.ones((1, 3)), kernel="rbf")
    with pytest.raises(ParameterError, match="working_memory: got 0"):
        ck.gram_chunks(np.ones((1, 3)), working_memory=0)
    with pytest.raises(ParameterError, match="n_jobs: got 0"):
        ck.core1(np.ones((1, 3)), n_jobs=0)
    with pytest.raises(ParameterError, match=r"n_jobs: got 1\.5"):
        ck.core1(np.ones((1, 3)), n_jobs=1.5)


def test_big_endian_and_other_floats():
    X = np.array([[1, 0, 2], [0, 1, 1]])
    assert ck.core1(X.astype(">f4")).dtype == np.float32
    np.testing.assert_allclose(ck.core1(X.astype(">f8")), ck.core1(X.astype(float)))
    if np.dtype(np.longdouble).itemsize > 8:
        with pytest.raises(DataError, match="would lose digits; pass float64"):
            ck.core1(X.astype(np.longdouble))
    with pytest.raises(DataError, match="masked array"):
        ck.core1(np.ma.masked_equal(X, 0))
    with pytest.raises(DataError, match="could not convert string to float: 'a'; leave text out"):
        ck.core1(np.array([[1, "a"]], dtype=object))
    frame = pd.DataFrame(X).rename(
        columns={0: "recipe", 1: "b", 2: "c"}
    )  # a name, not that of signatures
    np.testing.assert_array_equal(ck.core1(frame), ck.core1(X))
    with pytest.raises(DataError, match="X: is Signatures, not rows; give the rows they were made"):
        ck.core1(ck.CoREHasher(n_hashes=4).fit(X).sketch(X))


@pytest.mark.parametrize(
    "call",
    [
        lambda X: ck.core1([[1, 2], [3]]),
        lambda X: ck.core1([], []),
        lambda X: ck.core1(X, gamma="scale"),
        lambda X: ck.core1(X, gamma=np.ones(2)),
        lambda X: ck.gram_chunks(X, kernel=["core1"]),
        lambda X: ck.gram_chunks(X, working_memory="1"),
    ],
)
def test_odd_arguments_raise_our_errors(call):
    with pytest.raises(ck.CoREError):
        call(np.ones((2, 2)))


def test_unlimited_memory_is_one_chunk():
    assert len(list(ck.gram_chunks(np.ones((50, 3)), working_memory=np.inf))) == 1


def test_few_rows_against_many(clustered):
    """Threads share out the panels of Y then."""
    many = np.vstack([clustered] * 3)
    K = ck.core1(clustered[:5], many, n_jobs=2)
    np.testing.assert_allclose(K, oracles.kernel("core1", clustered[:5], many), atol=1e-12)
    np.testing.assert_array_equal(K, ck.core1(clustered[:5], many, n_jobs=1))


def test_overlapping_calls_leave_blas_as_it_was(clustered):
    def threads():
        return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

    before = threads()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: ck.core1(clustered[:50]), range(40)))
    assert threads() == before
