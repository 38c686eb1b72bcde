"""The estimators are unbiased, and scatter as the formulas say.

Seeds are fixed and tolerances are five standard errors, from theory or, where that is larger, from
the scatter of the repetitions.
"""

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import binom, chi2
from sklearn.utils.random import sample_without_replacement

import corekernels as ck
from corekernels import theory
from support import oracles
from support.rows import compact_rows

pytestmark = pytest.mark.no_cover  # the lines are those of test_contract; tracing takes time

N_BITS = (1, 2, 4, 8, 16, None)
N_HASHES = 512


def make_pair(n_columns, f1, f2, a):
    """Two rows with a shared columns; heavy-tailed values of both signs."""
    rng = np.random.default_rng(n_columns + f1)
    union = f1 + f2 - a
    values = np.zeros((2, union))
    values[0, :f1] = rng.lognormal(size=f1) * rng.choice([-1, 1, 1], f1)
    values[1, f1 - a :] = rng.lognormal(size=f2)
    values[1, f1 - a : f1] += values[0, f1 - a : f1]
    row, place = np.nonzero(values)
    columns = rng.permutation(sample_without_replacement(n_columns, union, random_state=f1))
    X = sparse.csr_array((values[row, place], (row, columns[place])), shape=(2, n_columns))
    return compact_rows(X.data, X.indices, X.indptr, n_columns)


PAIRS = {
    "dense-ish": make_pair(784, 150, 160, 90),
    "sparse": make_pair(50_000, 100, 100, 40),
    "one nonzero": make_pair(784, 1, 1, 0),
    "the same nonzero": make_pair(784, 1, 1, 1),
    "more columns than tables": make_pair(10**6, 60, 80, 40),
    "long rows of those": make_pair(10**7, 3000, 4000, 2000),
    "short rows of those": make_pair(2**40, 3, 4, 2),
    "fewer columns than bits": make_pair(20, 8, 10, 5),
}


def variance(recipe, X):
    """The formula for the variance of one estimate by k independent hashes."""
    kept, columns = np.unique(X.indices, return_inverse=True)
    u, v = sparse.csr_array((X.data, columns, X.indptr), shape=(2, len(kept))).toarray()
    pair = theory.Pair.of(u, v)
    chance = recipe.sketch.aliasing(pair.f1, pair.f2)
    k = recipe.n_hashes
    return recipe.entry.variance(pair, k, chance=chance)


def sketches(X, kernel, scheme, repeats, n_hashes=N_HASHES):
    for seed in range(repeats):
        hasher = ck.CoREHasher(
            kernel, n_hashes, n_bits=None, scheme=scheme, random_state=seed, n_jobs=1
        )
        yield hasher.fit(X).sketch(X)


def estimates(X, kernel, scheme, repeats):
    """For each number of bits the estimates of all repetitions, and the recipe."""
    results = {}
    for whole in sketches(X, kernel, scheme, repeats):
        for n_bits in N_BITS:
            S = whole if n_bits is None else whole.narrow(n_bits)
            value = S.estimate_pairs(0, 1, return_std=False)[0]
            results.setdefault(n_bits, (S.recipe, []))[1].append(value)
    return {n_bits: (recipe, np.array(values)) for n_bits, (recipe, values) in results.items()}


of_every_kind = pytest.mark.parametrize("kernel", ["resemblance", "core2", "core1", "core_rbf"])


@pytest.mark.parametrize("scheme", ["circulant", "independent"])
@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
@of_every_kind
def test_unbiased_at_every_number_of_bits(pair, kernel, scheme):
    repeats = 10
    exact = getattr(ck, kernel)(pair)[0, 1]
    for recipe, values in estimates(pair, kernel, scheme, repeats).values():
        spread = max(values.var(ddof=1), variance(recipe, pair))
        # where nothing is random, weights are 1 and only the estimate is rounded, by 1e-6 at most
        assert abs(values.mean() - exact) <= 5 * np.sqrt(spread / repeats) + 1e-6, recipe


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS.keys())
@pytest.mark.parametrize("kernel", ["core1", "core_rbf"])
def test_unbiased_with_rounded_weights(pair, kernel):
    repeats = 40
    exact = getattr(ck, kernel)(pair)[0, 1]
    wholes = list(sketches(pair, kernel, "circulant", repeats))
    for n_bits, weight_bits in ((4, 4), (1, 4), (8, 8)):
        rounded = [S.narrow(n_bits, weight_bits=weight_bits) for S in wholes]
        values = np.array([S.estimate_pairs(0, 1, return_std=False)[0] for S in rounded])
        recipe = rounded[0].recipe
        factor = recipe.weight_rounding.variance_factor
        spread = max(values.var(ddof=1), factor * variance(recipe, pair))
        assert abs(values.mean() - exact) <= 5 * np.sqrt(spread / repeats) + 1e-6, recipe


@pytest.mark.parametrize("pair", ["dense-ish", "sparse", "more columns than tables"])
@of_every_kind
def test_variance_is_the_formula_s(pair, kernel):
    """Independent hashes meet it, circulant ones do not exceed it."""
    repeats = 100
    pair = PAIRS[pair]
    # a sample variance of n values scatters by sqrt((kurtosis - 1) / n): 2 / n near normal, which
    # a mean over 256 hashes is
    slack = 5 * np.sqrt(2 / repeats)
    ratios = []
    for scheme in ("independent", "circulant"):
        found = list(sketches(pair, kernel, scheme, repeats, n_hashes=256))
        values = [S.estimate_pairs(0, 1, return_std=False)[0] for S in found]
        ratios.append(np.var(values, ddof=1) / variance(found[0].recipe, pair))
    independent, circulant = ratios
    assert independent == pytest.approx(1, abs=slack)
    assert circulant <= 1 + slack


@pytest.mark.parametrize("length", [10_000, 100_000, 1_000_000])
def test_rows_longer_than_there_are_locations(length):
    """The line that takes chance collisions out is off by 0.008 at most (`aliasing_with_ties`)."""
    columns = np.concatenate([np.arange(length), np.arange(length // 2, length // 2 + length)])
    indptr = np.array([0, length, 2 * length])
    X = sparse.csr_array((np.ones(2 * length), 1000 * columns, indptr), shape=(2, 2**40))
    k, repeats, R = 512, 6, 1 / 3
    for n_bits in (8, None):
        found = [
            ck.CoREHasher("resemblance", k, n_bits=n_bits, random_state=seed)
            .fit(X)
            .sketch(X)
            .estimate_pairs(0, 1, return_std=False)[0]
            for seed in range(repeats)
        ]
        assert abs(np.mean(found) - R) <= 5 * np.sqrt(R * (1 - R) / (k * repeats)) + 0.008


@pytest.mark.parametrize("scheme", ["circulant", "independent"])
def test_locations_collide_with_the_resemblance(scheme):
    pair = PAIRS["dense-ish"]
    R = ck.resemblance(pair)[0, 1]
    shares = [np.mean(S.codes[0] == S.codes[1]) for S in sketches(pair, "core1", scheme, 15)]
    spread = max(np.var(shares, ddof=1), R * (1 - R) / N_HASHES)
    assert abs(np.mean(shares) - R) <= 5 * np.sqrt(spread / 15)


@pytest.mark.parametrize("scheme", ["circulant", "independent"])
def test_locations_and_projections_are_independent(scheme):
    """The mean product of projections is the same where locations agree and where not."""
    pair = PAIRS["dense-ish"]
    gaps = []
    for S in sketches(pair, "core1", scheme, 20):
        equal = S.codes[0] == S.codes[1]
        products = np.multiply(*S.weights.astype(float))
        gaps.append(products[equal].mean() - products[~equal].mean())
    assert abs(np.mean(gaps)) <= 5 * np.std(gaps, ddof=1) / np.sqrt(20)


@pytest.mark.parametrize("kernel", ["resemblance", "core1", "core2", "core_rbf"])
@pytest.mark.parametrize("n_bits", [1, 8, None])
def test_standard_errors_cover(kernel, n_bits):
    """Among many pairs, about 95 % lie within two standard errors, and none far off."""
    rng = np.random.default_rng(0)
    X = rng.poisson(0.3, (150, 300)) * rng.normal(1, 1, (150, 300))
    S = ck.CoREHasher(kernel, 512, n_bits=n_bits, scheme="independent", random_state=0)
    i, j = np.triu_indices(150, 1)
    estimate, error = S.fit(X).sketch(X).estimate_pairs(i, j)
    distance = np.abs(estimate - getattr(ck, kernel)(X)[i, j]) / error
    assert 0.93 <= np.mean(distance < 2) <= 0.99
    assert distance.max() < 8


def test_errors_of_core2_allow_for_columns_that_no_slot_shows():
    """Each pair has one column with most of both norms; of 64 slots few have it, or none."""
    rng = np.random.default_rng(0)
    n_pairs, n_columns = 150, 5000
    X = np.zeros((2 * n_pairs, n_columns))
    for pair in range(n_pairs):
        columns = rng.permutation(n_columns)[:400]
        X[2 * pair, columns[:300]] = 1
        X[2 * pair + 1, columns[100:]] = 1
        X[2 * pair : 2 * pair + 2, columns[200]] = rng.uniform(30, 90, 2)
    i = np.arange(0, 2 * n_pairs, 2)
    S = ck.CoREHasher("core2", 64, random_state=0).fit(X).sketch(X)
    estimate, error = S.estimate_pairs(i, i + 1)
    covered = np.abs(estimate - ck.core2(X)[i, i + 1]) <= 1.96 * error
    assert covered.sum() >= binom.ppf(1e-6, n_pairs, 0.92)


def test_empty_rows_are_known_exactly():
    X = sparse.csr_array(np.array([[0.0, 0], [1, 2]]))
    for kernel in ("resemblance", "core1", "core2", "core_rbf"):
        S = ck.CoREHasher(kernel, 16, n_bits=1, random_state=0).fit(X).sketch(X)
        np.testing.assert_array_equal(S.estimate()[0], 0)
        estimate, error = S.estimate_pairs([0, 0], [0, 1])
        np.testing.assert_array_equal(estimate, 0)
        np.testing.assert_array_equal(error, 0)


@pytest.mark.parametrize("n_columns", [784, 4096, 65_536])
def test_projections_of_full_rows_of_one_sign(n_columns):
    """Such rows show any number that slots repeat."""
    rng = np.random.default_rng(0)
    X = np.vstack([np.ones(n_columns), rng.uniform(0.5, 1.5, n_columns)])
    rho = oracles.correlation(X, X)[0, 1]
    k, n_seeds = 512, 12
    products = np.empty((n_seeds, 3))
    for seed in range(n_seeds):
        w = ck.CoREHasher("core1", k, random_state=seed).fit(X).sketch(X).weights
        w = w.astype(float)
        products[seed] = (w[0] @ w[0] / k, w[1] @ w[1] / k, w[0] @ w[1] / k)
    error = np.sqrt(np.array([2, 2, 1 + rho**2]) / (k * n_seeds))
    assert (np.abs(products.mean(axis=0) - [1, 1, rho]) <= 5 * error).all()
    spread = products.var(axis=0, ddof=1) / (n_seeds * error**2)
    assert (spread <= chi2.ppf(1 - 1e-6, n_seeds - 1) / (n_seeds - 1)).all()
