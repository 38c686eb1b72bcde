"""The text of the contract and the code say the same: an implementation of the text alone."""

import numpy as np
import pytest

import corekernels as ck
from corekernels._core.validation import as_matrix
from corekernels.signatures import sketch
from support.contract import hash_row
from support.rows import compact_rows

pytestmark = pytest.mark.no_cover  # the lines are those of test_contract; tracing takes time

KERNELS = ("resemblance", "core1", "core2")
SCHEMES = ("circulant", "independent")


def some_rows(n_columns, rng):
    """Rows of many lengths, an empty one among them, with values of several magnitudes."""
    lengths = [0, 1, 2, 5, 20, 63, 64, 65, 300, 2000]
    rows = [rng.choice(n_columns, min(n, n_columns), replace=False) for n in lengths if n < 2**20]
    indptr = np.cumsum([0, *map(len, rows)])
    values = rng.normal(size=indptr[-1]) * 10.0 ** rng.integers(-6, 7, indptr[-1])
    values[indptr[3] : indptr[4]] = 1.0
    X = compact_rows(values, np.concatenate(rows), indptr, n_columns)
    X.sort_indices()
    return X


def check(X, **fields):
    recipe = ck.Recipe(n_columns=X.shape[1], **fields)
    S = sketch(as_matrix(X), recipe)
    for row in range(X.shape[0]):
        some = slice(X.indptr[row], X.indptr[row + 1])
        columns, values = X.indices[some].astype(np.int64), X.data[some]
        codes, weights = hash_row(recipe.asdict(), columns, values)
        np.testing.assert_array_equal(S.codes[row], codes)
        assert S.lengths[row] == len(columns)
        if recipe.kernel == "core2":
            np.testing.assert_array_equal(S.weights[row], weights)
        if recipe.kernel == "core1":
            # f terms below 5 of a sum of squares 1, in single precision, then one half's rounding
            rounding = 2.0**-24 * np.sqrt(len(columns)) * 5
            found = S.weights[row].astype(np.float64)
            assert (np.abs(found - weights) <= 2.0**-11 * np.abs(weights) + rounding).all()


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("n_columns", [1, 10, 63, 1000, 65_536, 65_537, 2**40])
def test_kernels_and_schemes(kernel, scheme, n_columns):
    rng = np.random.default_rng(n_columns)
    n_hashes = 40 if scheme == "independent" else 130
    check(some_rows(n_columns, rng), kernel=kernel, scheme=scheme, n_hashes=n_hashes, seed=5)


@pytest.mark.parametrize(
    ("n_columns", "n_hashes"), [(63, 64), (63, 200), (100, 1000), (10**6, 1100)]
)
@pytest.mark.parametrize("kernel", KERNELS)
def test_several_banks(kernel, n_columns, n_hashes):
    X = some_rows(n_columns, np.random.default_rng(1))[:8]
    check(X, kernel=kernel, n_hashes=n_hashes, n_bits=None, seed=3)


def test_equal_locations_are_told_apart_by_values():
    """Of 1,500 columns some share the first location of a slot that is left to slices.

    Values of both signs, and many of them equal.
    """
    rng = np.random.default_rng(6)
    columns = np.sort(rng.choice(10**7, (8, 1500), replace=False), axis=1)
    values = rng.choice([-2.0, -1.0, 1.0, 3.0], columns.size)
    indptr = np.arange(0, columns.size + 1, 1500)
    X = compact_rows(values, columns.ravel(), indptr, 10**7)
    check(X, kernel="core2", n_hashes=1024, n_bits=None)


def test_many_banks():
    X = some_rows(20, np.random.default_rng(2))[:6]
    check(X, kernel="core1", n_hashes=70_000, n_bits=4, seed=1)


def test_few_bits():
    X = some_rows(500, np.random.default_rng(3))
    for scheme in SCHEMES:
        check(X, kernel="core1", scheme=scheme, n_hashes=48, n_bits=1)


@pytest.mark.parametrize("kernel", ["resemblance", "core2"])
@pytest.mark.parametrize("n_hashes", [70, 600])
def test_long_rows_of_many_columns(kernel, n_hashes):
    """Ranks decide all slots, or leave a few groups of slots, or a few slots of each, to slices."""
    rng = np.random.default_rng(4)
    lengths = [1300, 2000, 60_000]
    rows = [np.sort(rng.choice(10**7, length, replace=False)) for length in lengths]
    indptr = np.cumsum([0, *lengths])
    X = compact_rows(rng.random(indptr[-1]), np.concatenate(rows), indptr, 10**7)
    check(X, kernel=kernel, n_hashes=n_hashes, n_bits=None)


def test_entries_of_a_large_table_are_mixed():
    X = some_rows(65_000, np.random.default_rng(5))[:7]
    for kernel in KERNELS:
        check(X, kernel=kernel, scheme="independent", n_hashes=65, seed=9)
