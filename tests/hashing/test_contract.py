"""Hashing depends on the recipe alone, and the contract stands still."""

import zlib

import numpy as np
import pytest
from scipy import sparse

import corekernels as ck
from corekernels._core.validation import as_matrix
from corekernels._hashing.base import cut_rows
from corekernels._hashing.circulant import Circulant
from corekernels._hashing.hashing import hash_matrix
from corekernels._hashing.randomness import Purpose, random_numbers, stream
from corekernels._loops.hashing.minwise import find_starts
from corekernels.errors import DataError
from support.contract import directions
from support.rows import compact_rows

SCHEMES = ("circulant", "independent")
KERNELS = ("resemblance", "core1", "core2", "core_rbf")


def hash_rows(X, n_jobs=1, *, options=None, **recipe):
    recipe = ck.Recipe(**{"n_hashes": 50, "seed": 7, "n_columns": X.shape[1], **recipe})
    return signatures(X, recipe, n_jobs, **(options or {}))


def signatures(X, recipe, n_jobs=1, sketch=None, **options):
    arrays = hash_matrix(as_matrix(X), sketch or recipe.sketch, n_jobs, **options)
    return ck.Signatures.from_arrays(recipe, arrays)


def assert_equal(S, T):
    assert S.recipe == T.recipe
    np.testing.assert_array_equal(S.codes, T.codes)
    np.testing.assert_array_equal(S.lengths, T.lengths)
    if S.weights is not None:
        np.testing.assert_array_equal(S.weights, T.weights)
    if S.sums is not None:
        np.testing.assert_array_equal(S.sums, T.sums)


@pytest.fixture(params=[100, 30_000, 10**6], ids=["few", "many", "wide"])
def X(request):
    rng = np.random.default_rng(0)
    rows = [rng.choice(request.param, rng.integers(0, 60), replace=False) for _ in range(60)]
    indptr = np.cumsum([0] + [len(row) for row in rows])
    values = rng.normal(size=indptr[-1])
    return compact_rows(values, np.concatenate(rows), indptr, request.param)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_whole_equals_row_by_row_equals_shuffled(X, kernel, scheme):
    whole = hash_rows(X, kernel=kernel, scheme=scheme)
    one_by_one = ck.concatenate(
        [hash_rows(X[i : i + 1], kernel=kernel, scheme=scheme) for i in range(X.shape[0])]
    )
    assert_equal(whole, one_by_one)
    order = np.random.default_rng(1).permutation(X.shape[0])
    assert_equal(whole[order], hash_rows(X[order], kernel=kernel, scheme=scheme))
    small = {"block_nonzeros": 100}
    for n_jobs in (1, 2, 7, 100):
        assert_equal(whole, hash_rows(X, n_jobs, options=small, kernel=kernel, scheme=scheme))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_container_does_not_matter(kernel, scheme):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, (20, 40)) * rng.normal(size=(20, 40))
    expected = hash_rows(sparse.csr_array(X), kernel=kernel, scheme=scheme)
    messy = sparse.csr_array(X)
    messy.indices = messy.indices.astype(np.int64)
    messy.indptr = messy.indptr.astype(np.int64)
    messy.data, messy.indices = messy.data.copy(), messy.indices.copy()
    for start, stop in zip(messy.indptr[:-1], messy.indptr[1:], strict=True):
        messy.data[start:stop] = messy.data[start:stop][::-1].copy()
        messy.indices[start:stop] = messy.indices[start:stop][::-1].copy()
    for other in (X, sparse.csc_matrix(X), sparse.coo_array(X), messy):
        assert_equal(expected, hash_rows(other, kernel=kernel, scheme=scheme))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("n_bits", [1, 5, 8, 9, 16])
def test_fewer_bits_are_a_part_of_the_whole(X, scheme, n_bits):
    whole = hash_rows(X, scheme=scheme, n_bits=None)
    assert_equal(whole.narrow(n_bits), hash_rows(X, scheme=scheme, n_bits=n_bits))
    assert_equal(hash_rows(X, scheme=scheme, n_bits=16).narrow(n_bits), whole.narrow(n_bits))


def test_every_part_of_a_recipe_matters(X):
    first = hash_rows(X, n_bits=None)
    assert not np.array_equal(first.codes, hash_rows(X, n_bits=None, seed=8).codes)
    for scheme in SCHEMES[1:]:
        assert not np.array_equal(first.codes, hash_rows(X, n_bits=None, scheme=scheme).codes)


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_hashes", [1, 3, 64, 1000])
@pytest.mark.parametrize("n_columns", [1, 2, 65, 2**31 + 11, 2**62])
def test_any_number_of_hashes_and_columns(kernel, scheme, n_hashes, n_columns):
    columns = np.array([0, n_columns - 1, n_columns // 2])
    X = compact_rows([1.0, -2.0, 3.0], columns, [0, 1, 3, 3], n_columns)
    S = hash_rows(X, kernel=kernel, scheme=scheme, n_hashes=n_hashes, n_columns=n_columns)
    assert S.codes.shape == (3, n_hashes)
    assert not S.codes[2].any()
    K = S.estimate()
    assert np.isfinite(K).all()
    if kernel == "resemblance":
        np.testing.assert_allclose(np.diag(K), [1, 1, 0], atol=1e-6)


def test_core2_values_come_from_the_row():
    rng = np.random.default_rng(0)
    for n_columns in (300, 10**6):
        X = sparse.random_array((5, n_columns), density=20 / n_columns, format="csr", rng=rng)
        for scheme in SCHEMES:
            S = hash_rows(X, kernel="core2", scheme=scheme)
            for row in range(5):
                stored = X[[row]].data
                unit = stored / np.linalg.norm(stored) * np.sqrt(len(stored))
                assert np.isin(S.weights[row], unit.astype(np.float32).astype(np.float16)).all()


def starts_in(banks, bank, n_columns):
    starts = np.empty(n_columns, np.int32)
    find_starts(np.arange(n_columns, dtype=np.int32), banks, bank, starts)
    return starts


def test_independent_projections_are_the_table_s():
    """core1 weights, restated densely from the table: 16 lower halves, then 16 upper ones."""
    X = np.random.default_rng(0).normal(size=(4, 30))
    fields = {"n_hashes": 300, "scheme": "independent", "seed": 3}
    words = ck.Recipe("core1", n_columns=30, **fields).sketch.tables.directions
    halves = np.stack([words << np.uint32(16), words & np.uint32(0xFFFF0000)]).view(np.float32)
    numbers = halves.reshape(2, 30, -1, 16).transpose(1, 2, 0, 3).reshape(30, -1)[:, :300]
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    S = hash_rows(X, kernel="core1", **fields)
    np.testing.assert_allclose(S.weights, unit @ numbers, rtol=2**-11, atol=1e-5)


@pytest.mark.parametrize("gamma", [0.0, 0.3, 2.0, 10_000.0])
@pytest.mark.parametrize(
    ("scheme", "n_hashes"), [("circulant", 300), ("independent", 300), ("circulant", 66_000)]
)
def test_core_rbf_weights_are_cosines_of_core1_s_projections(scheme, n_hashes, gamma):
    X = np.random.default_rng(0).normal(size=(4, 30))
    S = hash_rows(X, kernel="core_rbf", gamma=gamma, n_hashes=n_hashes, scheme=scheme, seed=3)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    angles = np.sqrt(gamma) * unit @ directions(S.recipe.asdict(), np.arange(30))
    numbers = stream(3, Purpose.PHASE, 0, n_hashes) >> np.uint64(40)
    expected = np.sqrt(2) * np.cos(angles + 2 * np.pi * numbers / 2**24)
    # angles of single precision, sums of 30 terms; then a half
    angle_error = 2**-24 * (30 * np.sqrt(gamma) * 5 + np.abs(angles) + 2 * np.pi)
    assert (np.abs(S.weights - expected) <= np.sqrt(2) * angle_error + 2**-11 + 1e-6).all()


def test_gamma_matters_and_the_locations_are_core1_s():
    X = np.random.default_rng(0).normal(size=(4, 30))
    plain = hash_rows(X, kernel="core1")
    two, three = (hash_rows(X, kernel="core_rbf", gamma=gamma) for gamma in (2, 3))
    np.testing.assert_array_equal(plain.codes, two.codes)
    np.testing.assert_array_equal(plain.codes, three.codes)
    assert not np.allclose(two.weights, three.weights)
    with pytest.raises(ck.errors.RecipeMismatch, match="gamma"):
        two.estimate(three)


def test_minima_are_the_table_s():
    X = sparse.random_array((5, 70), density=0.2, format="csr", rng=np.random.default_rng(0))
    for scheme in ("circulant", "independent"):
        recipe = ck.Recipe("resemblance", 200, None, scheme, seed=3, n_columns=70)
        banks = recipe.sketch.tables.banks
        locations = np.hstack(
            [
                [table[s : s + banks.width] for s in starts_in(banks, bank, 70)]
                for bank, table in enumerate(banks.tables)
            ]
        )[:, :200]
        assert all(sorted(column) == list(range(70)) for column in locations.T)
        expected = [locations[X[[row]].indices].min(axis=0) for row in range(5)]
        S = hash_rows(X, kernel="resemblance", n_hashes=200, n_bits=None, scheme=scheme, seed=3)
        np.testing.assert_array_equal(S.codes, expected)


def sieving_from(length):
    """The sketch whose rows go through the sieve from this length on."""

    class Sieving(Circulant):
        def make_tables(self):
            tables = super().make_tables()
            return tables._replace(banks=tables.banks._replace(sieve_length=length))

    return Sieving


@pytest.mark.parametrize("n_columns", [64, 65, 100, 513, 784, 5000, 2**16])
@pytest.mark.parametrize("n_hashes", [1, 63, 513, 1300])
def test_slices_and_sieve_give_the_same(n_columns, n_hashes):
    """Slice by slice or through the sieve: the same codes and the same values behind them."""
    rng = np.random.default_rng(n_columns)
    lengths = [1, 2, 40, n_columns // 3, n_columns]
    columns = [np.sort(rng.choice(n_columns, length, replace=False)) for length in lengths]
    indptr = np.cumsum([0, *lengths])
    values = rng.normal(size=indptr[-1])
    X = compact_rows(values, np.concatenate(columns), indptr, n_columns)
    recipe = ck.Recipe("core2", n_hashes, None, n_columns=n_columns, seed=7)
    sieved, sliced = (
        signatures(X, recipe, sketch=sieving_from(length)(recipe)) for length in (1, 2**62)
    )
    assert_equal(sieved, sliced)


def test_random_numbers_are_standard():
    numbers = random_numbers().astype(float)
    assert numbers.mean() == pytest.approx(0, abs=1e-7)
    assert numbers.var() == pytest.approx(1, abs=1e-6)
    assert (numbers**4).mean() == pytest.approx(3, rel=1e-3)


def golden_rows(n_columns):
    columns = np.array([0, 5, 9, 5, 9, 60, n_columns - 1])
    values = np.array([1.0, 2.0, -3.0, 0.5, 4.0, 1.0, 2.0])
    return compact_rows(values, columns, [0, 3, 7, 7], n_columns)


# kernel, scheme, columns and other fields; first codes of the second row, a checksum of all codes,
# and the sum of the magnitudes of all weights
GOLDEN = [
    (
        "resemblance",
        "circulant",
        50_000,
        {"n_bits": 16, "seed": 2**63},
        [15752, 11973, 25722, 4533],
        2915756064,
        None,
    ),
    (
        "resemblance",
        "circulant",
        2**40,
        {"n_bits": None},
        [12969, 2310, 13491, 2307],
        2607483835,
        None,
    ),
    (
        "resemblance",
        "circulant",
        2**40,
        {"n_hashes": 1500, "n_bits": None},
        [12969, 2310, 13491, 2307],
        1631274929,
        None,
    ),
    ("core1", "circulant", 100, {}, [8, 18, 28, 16], 1912333454, 141.514),
    ("core1", "circulant", 100, {"n_hashes": 1000}, [8, 18, 28, 16], 927550815, 1595.908),
    ("core1", "circulant", 2**40, {}, [169, 6, 179, 3], 673913934, 147.979),
    ("core1", "independent", 100, {}, [30, 32, 7, 17], 438594993, 147.235),
    ("core1", "independent", 2**40, {}, [77, 234, 255, 76], 4037201404, 171.988),
    ("core2", "circulant", 100, {}, [8, 18, 28, 16], 1912333454, 172.65),
    (
        "core2",
        "circulant",
        2**40,
        {"n_bits": None},
        [12969, 2310, 13491, 2307],
        2607483835,
        171.002,
    ),
    (
        "core2",
        "circulant",
        2**40,
        {"n_hashes": 1500, "n_bits": None},
        [12969, 2310, 13491, 2307],
        1631274929,
        2616.048,
    ),
    ("core2", "independent", 100, {}, [30, 32, 7, 17], 438594993, 169.005),
    ("core2", "independent", 2**40, {}, [77, 234, 255, 76], 4037201404, 170.698),
    ("core_rbf", "circulant", 100, {}, [8, 18, 28, 16], 1912333454, 177.617),
    ("core_rbf", "circulant", 2**40, {}, [169, 6, 179, 3], 673913934, 177.26),
    ("core_rbf", "independent", 100, {}, [30, 32, 7, 17], 438594993, 180.352),
    ("core_rbf", "independent", 2**40, {}, [77, 234, 255, 76], 4037201404, 173.025),
    (
        "core_rbf",
        "circulant",
        70_000,
        {"n_bits": 16, "gamma": 5.5},
        [22614, 2310, 13491, 2307],
        3196965202,
        178.162,
    ),
]


@pytest.mark.parametrize(
    ("kernel", "scheme", "n_columns", "fields", "first_codes", "checksum", "total"), GOLDEN
)
def test_golden_vectors(kernel, scheme, n_columns, fields, first_codes, checksum, total):
    fields = {"n_hashes": 100, "seed": 42, **fields}
    S = hash_rows(golden_rows(n_columns), kernel=kernel, scheme=scheme, **fields)
    assert S.codes[1, :4].tolist() == first_codes
    assert zlib.crc32(S.codes.astype(f"<u{S.codes.itemsize}").tobytes()) == checksum
    if total is not None:
        assert np.abs(S.weights).sum(dtype=float) == pytest.approx(total, rel=1e-4)


GOLDEN_LONG_ROW = ([0, 4, 3, 5, 0, 0, 0, 1, 2, 1], 2614494100)
GOLDEN_WEIGHT = 861.109


def test_golden_long_row():
    """A row that goes through the sieve, in two banks."""
    X = sparse.csr_array(np.where(np.arange(784) % 4, 0.0, np.arange(784) + 1.0)[None])
    recipe = ck.Recipe("core2", 1000, 8, seed=42, n_columns=784)
    banks = recipe.sketch.tables.banks
    assert X.nnz >= banks.sieve_length
    assert len(banks.tables) == 2
    S = signatures(X, recipe)
    found = S.codes[0, ::100].tolist(), zlib.crc32(S.codes.tobytes())
    assert found == GOLDEN_LONG_ROW
    assert np.abs(S.weights).sum(dtype=float) == pytest.approx(GOLDEN_WEIGHT, rel=1e-4)


@pytest.mark.parametrize("n_rows", [1, 2, 7, 100, 5000])
@pytest.mark.parametrize("n_hashes", [1, 300, 2**21])
@pytest.mark.parametrize("length", [0, 3, 10_000])
def test_blocks_cover_each_row_once(n_rows, n_hashes, length):
    cuts = cut_rows(np.arange(n_rows + 1) * length, n_hashes, 1 << 17)
    assert (cuts[0], cuts[-1]) == (0, n_rows)
    assert (np.diff(cuts) > 0).all()
    assert (np.diff(cuts) * length < (1 << 17) + length).all() or length == 0


@pytest.mark.parametrize("kernel", KERNELS)
def test_flawed_blocks_among_others(kernel):
    """Stored zeros, unsorted and duplicate columns here and there, in small blocks."""
    rng = np.random.default_rng(0)
    clean = sparse.random_array((400, 300), density=0.1, rng=rng, format="csr")
    flawed = clean.copy()
    for row in range(0, 400, 37):
        span = slice(flawed.indptr[row], flawed.indptr[row + 1])
        flawed.indices[span], flawed.data[span] = (
            flawed.indices[span][::-1].copy(), flawed.data[span][::-1].copy(),
        )  # fmt: skip
    flawed = sparse.csr_array((flawed.data, flawed.indices, flawed.indptr), shape=clean.shape)
    whole = hash_rows(clean, kernel=kernel)
    for n_jobs in (1, 3):
        options = {"block_nonzeros": 200}
        assert_equal(whole, hash_rows(flawed, n_jobs, options=options, kernel=kernel))
        assert_equal(whole, hash_rows(clean.toarray(), n_jobs, kernel=kernel))
        assert_equal(whole, hash_rows(clean.astype(np.float64), n_jobs, kernel=kernel))
    flawed.indices[-1] = 300
    with pytest.raises(DataError, match=r"has the column .*, outside 0 to 299"):
        hash_rows(flawed, kernel=kernel)
