"""Weights of 8 and 4 bits, which share an integer with their code."""

import zlib

import numpy as np
import pytest
from scipy import sparse

import corekernels as ck
from corekernels._core.validation import as_matrix
from corekernels._hashing.hashing import hash_matrix
from corekernels.errors import DataError, ParameterError, RecipeMismatch
from corekernels.signatures import sketch
from support.contract import hash_row, levels
from support.rows import compact_rows

SCHEMES = ("circulant", "independent")
KERNELS = ("core1", "core_rbf")
BITS = (8, 4)


def some_rows(n_columns, rng=None):
    """Rows of several lengths, an empty one among them."""
    rng = np.random.default_rng(0) if rng is None else rng
    lengths = [min(n, n_columns) for n in (3, 0, 1, 20, 64, 300, 7, 45)]
    columns = [np.sort(rng.choice(n_columns, length, replace=False)) for length in lengths]
    indptr = np.cumsum([0, *lengths])
    return compact_rows(rng.normal(size=indptr[-1]), np.concatenate(columns), indptr, n_columns)


def recipe_of(kernel, bits, n_columns, **fields):
    fields = {"n_hashes": 130, "seed": 5, **fields}
    return ck.Recipe(kernel=kernel, n_bits=bits, weight_bits=bits, n_columns=n_columns, **fields)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_columns", [1, 63, 1000, 10**6])
def test_slots_are_those_of_the_contract(kernel, scheme, n_columns):
    X = some_rows(n_columns)
    for bits in BITS:
        recipe = recipe_of(kernel, bits, n_columns, scheme=scheme)
        S = sketch(as_matrix(X), recipe)
        for row in range(X.shape[0]):
            some = slice(X.indptr[row], X.indptr[row + 1])
            columns, fields = X.indices[some].astype(np.int64), recipe.asdict()
            codes, weights = hash_row(fields, columns, X.data[some])
            found = S.slots[row].astype(np.int64)
            if len(columns) == 0:
                assert not found.any()
                continue
            np.testing.assert_array_equal(found % 2**bits, codes)
            # sums of single precision and the rounding to halves may move a weight to the next
            # level; angles are sums times sqrt(gamma), and the phase is right to 4e-7
            moved = 2**-11 * np.abs(weights) + 2**-24 * 5 * np.sqrt(2 * len(columns)) + 2e-6
            lowest, highest = (levels(fields, weights + sign * moved) for sign in (-1, 1))
            assert (lowest <= found >> bits).all()
            assert (found >> bits <= highest).all()
            assert np.mean(lowest == highest) > 0.7  # or nothing was tested


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_narrowed_as_if_hashed_that_way(kernel, scheme):
    for n_columns in (100, 10**6):
        X = some_rows(n_columns)
        whole = sketch(as_matrix(X), ck.Recipe(kernel, 70, 8, scheme, n_columns=n_columns))
        for n_bits, weight_bits in ((8, 8), (3, 8), (4, 4), (1, 4)):
            narrow = whole.narrow(n_bits, weight_bits=weight_bits)
            hashed = sketch(as_matrix(X), narrow.recipe)
            np.testing.assert_array_equal(narrow.slots, hashed.slots)
            np.testing.assert_array_equal(narrow.codes, whole.narrow(n_bits).codes)
            np.testing.assert_array_equal(hashed.narrow(1).codes, whole.narrow(1).codes)
            np.testing.assert_array_equal(hashed.narrow(1).weights, hashed.weights)
            assert hashed.slots.itemsize == weight_bits // 4
            assert hashed.nbytes == len(hashed) * hashed.recipe.bytes_per_row


@pytest.mark.parametrize("kernel", KERNELS)
def test_weights_are_the_middles_of_intervals(kernel):
    X = some_rows(1000)
    exact = sketch(as_matrix(X), ck.Recipe(kernel, 500, n_columns=1000))
    for bits in BITS:
        rounded = exact.narrow(4, weight_bits=bits)
        rounding = rounded.recipe.weight_rounding
        edge = 2 ** (bits - 1) / rounding.per_unit
        inside = np.clip(exact.weights.astype(float), -edge, edge)
        scale = 2 * rounding.per_unit * rounding.unit  # 1 but for what makes products unbiased
        off = np.abs(rounded.weights / scale - inside)[exact.lengths > 0]
        assert off.max() <= 0.5 / rounding.per_unit + 1e-6
        assert abs(scale - 1) < 0.02
        assert not rounded.weights[exact.lengths == 0].any()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_results_depend_on_the_rows_alone(kernel, scheme):
    """Whole, row by row, in threads, in small blocks, unsorted or dense."""
    X = sparse.vstack([some_rows(300, np.random.default_rng(seed)) for seed in range(4)]).tocsr()
    recipe = recipe_of(kernel, 4, 300, scheme=scheme)
    whole = sketch(as_matrix(X), recipe).slots
    rows = [sketch(as_matrix(X[[i]]), recipe).slots for i in range(X.shape[0])]
    np.testing.assert_array_equal(np.vstack(rows), whole)
    messy = X.copy()
    for row in range(0, X.shape[0], 5):
        span = slice(X.indptr[row], X.indptr[row + 1])
        messy.indices[span], messy.data[span] = X.indices[span][::-1], X.data[span][::-1]
    messy = sparse.csr_array((messy.data, messy.indices, messy.indptr), shape=X.shape)
    for matrix in (X, messy, X.toarray()):
        for n_jobs in (1, 3):
            found = hash_matrix(as_matrix(matrix), recipe.sketch, n_jobs, block_nonzeros=100)
            np.testing.assert_array_equal(found["slots"], whole)


def golden_rows(n_columns):
    columns = np.array([0, 5, 9, 5, 9, 60, n_columns - 1])
    values = np.array([1.0, 2.0, -3.0, 0.5, 4.0, 1.0, 2.0])
    return compact_rows(values, columns, [0, 3, 7, 7], n_columns)


# kernel, scheme, columns and bits; first slots of the second row, and a checksum of all slots
GOLDEN = [
    ("core1", "circulant", 100, 4, [8, 18, -52, 0], 567785629),
    ("core1", "circulant", 2**40, 8, [2217, 774, -2381, 4611], 850839058),
    ("core1", "circulant", 2**40, 4, [9, 6, -13, 19], 4287467087),
    ("core1", "independent", 100, 4, [30, 0, -25, 33], 718765412),
    ("core_rbf", "circulant", 100, 4, [-40, 114, -4, 112], 3053731644),
    ("core_rbf", "circulant", 2**40, 8, [-7767, 27654, -32333, 27907], 3113110124),
    ("core_rbf", "circulant", 2**40, 4, [-23, 102, -125, 99], 4277540831),
    ("core_rbf", "independent", 100, 4, [14, 112, -105, 81], 1117639784),
]


@pytest.mark.parametrize(
    ("kernel", "scheme", "n_columns", "bits", "first_slots", "checksum"), GOLDEN
)
def test_golden_vectors(kernel, scheme, n_columns, bits, first_slots, checksum):
    recipe = recipe_of(kernel, bits, n_columns, n_hashes=100, seed=42, scheme=scheme)
    slots = sketch(as_matrix(golden_rows(n_columns)), recipe).slots
    assert slots[1, :4].tolist() == first_slots
    assert zlib.crc32(slots.astype(f"<i{slots.itemsize}").tobytes()) == checksum


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"weight_bits": 5}, "weight_bits: got 5; give one of 16, 8, 4"),
        ({"weight_bits": True}, "weight_bits: got True"),
        ({"weight_bits": 4}, "n_bits: got 8; with weight_bits=4 .* give n_bits=4 or fewer"),
        ({"weight_bits": 8, "n_bits": None}, "n_bits: got None; with weight_bits=8"),
        ({"weight_bits": 4, "n_bits": 4, "kernel": "core2"}, "is for core1 and core_rbf"),
        ({"weight_bits": 8, "kernel": "resemblance"}, "leave it at 16"),
    ],
)
def test_recipes_that_do_not_fit(fields, message):
    with pytest.raises(ParameterError, match=message):
        ck.Recipe(n_columns=10, **fields)


def test_signatures_of_other_bits_are_refused():
    S = ck.CoREHasher(n_hashes=16, n_bits=4, random_state=0).fit([[1.0, 2]]).sketch([[1.0, 2]])
    small, larger = S.narrow(4, weight_bits=4), S.narrow(4, weight_bits=8)
    for first, second in ((S, small), (small, larger)):
        with pytest.raises(RecipeMismatch, match="weight_bits"):
            first.estimate(second)
        with pytest.raises(RecipeMismatch, match="weight_bits"):
            ck.concatenate([first, second])
    assert len(ck.concatenate([small, small])) == 2
    with pytest.raises(ParameterError, match="rounded to 8 bits already; hash the rows again"):
        larger.narrow(4, weight_bits=4)
    with pytest.raises(DataError, match="slots: are int16; give them as int8"):
        small.with_arrays(slots=small.slots.astype(np.int16))
    with pytest.raises(DataError, match="codes: one is 15, and 1 is the highest"):
        small.narrow(2).with_arrays(slots=small.slots | 15)


def test_files(tmp_path):
    recipe = recipe_of("core_rbf", 4, 300, gamma=3.0)
    S = sketch(as_matrix(some_rows(300)), recipe)
    S.save(tmp_path / "rows.sig")
    again = ck.Signatures.load(tmp_path / "rows.sig")
    assert again.recipe == recipe
    assert again.slots.dtype == np.int8
    np.testing.assert_array_equal(again.slots, S.slots)


def test_expanded_rows_are_what_is_estimated():
    S = sketch(as_matrix(some_rows(1000)), recipe_of("core1", 4, 1000, n_hashes=300))
    X = S.to_csr(normalize=False).toarray()
    equal = S.codes[:, None] == S.codes[None]
    products = np.einsum("is,js,ijs->ij", S.weights, S.weights, equal, dtype=float) / 300
    np.testing.assert_allclose(X @ X.T, products, rtol=1e-5, atol=1e-6)
    lengths = np.linalg.norm(S.to_csr().toarray(), axis=1)
    np.testing.assert_allclose(lengths, S.lengths > 0, atol=1e-6)


@pytest.mark.parametrize("bits", BITS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_estimates_of_all_pairs_are_those_of_single_ones(kernel, bits):
    S = sketch(as_matrix(some_rows(1000)), recipe_of(kernel, bits, 1000, n_hashes=700))
    K = S.estimate()
    i, j = np.indices(K.shape).reshape(2, -1)
    np.testing.assert_allclose(K[i, j], S.estimate_pairs(i, j)[0], atol=2e-6)
    np.testing.assert_array_equal(K[1], 0)  # an empty row


@pytest.mark.parametrize("kernel", KERNELS)
def test_unbiased_for_equal_rows_where_rounding_counts_most(kernel):
    """Without the correction CoRE 1 with 4 bits would be off by 1.2 %, six standard errors."""
    rng = np.random.default_rng(0)
    near = rng.normal(size=(2, 50)) @ np.diag(1 + rng.random(50))
    X = np.vstack([near[0], near[0] + 0.2 * near[1]])
    k, repeats = 1 << 16, 12
    exact = getattr(ck, kernel)(X)
    found = np.array([
        ck.CoREHasher(kernel, k, n_bits=4, weight_bits=4, random_state=seed, n_jobs=1)
        .fit(X).sketch(X).estimate_pairs([0, 0], [0, 1])
        for seed in range(repeats)
    ])  # fmt: skip
    estimates, errors = found[:, 0], found[:, 1]
    spread = np.mean(np.square(errors), axis=0)
    assert (np.abs(estimates.mean(axis=0) - exact[0]) <= 5 * np.sqrt(spread / repeats)).all()
    # a sample variance of n normal values scatters by sqrt(2 / n)
    assert (estimates.var(axis=0, ddof=1) <= spread * (1 + 5 * np.sqrt(2 / repeats))).all()
