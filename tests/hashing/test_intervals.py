"""Intervals of 1.96 standard errors cover as often as `estimate_pairs` says, and are not too wide.

A small version of `benchmarks/intervals.py`. Seeds are fixed. Coverage may fall below the promised
92 % by what binomial theory allows with a probability of 1e-6.
"""

import numpy as np
import pytest
from scipy.stats import binom

import corekernels as ck
from support.rows import compact_rows

pytestmark = pytest.mark.no_cover  # the lines are those of test_contract; tracing takes time

N_PAIRS, N_SEEDS = 25, 12
N = N_PAIRS * N_SEEDS
PROMISED = 0.92

# columns, nonzeros per row, columns in common, whether values are heavy-tailed
FAMILIES = {
    "dense": (200, 140, 110, False),
    "sparse": (2000, 60, 30, False),
    "wide": (10**6, 60, 30, False),
    "fewer nonzeros than hashes": (2000, 15, 8, False),
    "heavy-tailed": (2000, 200, 100, True),
    "few columns": (10, 6, 3, False),
}


def make_pairs(n_columns, length, common, is_heavy):
    """Rows 2 i and 2 i + 1 are a pair."""
    rng = np.random.default_rng(0)
    union = 2 * length - common
    columns, values = [], []
    for _ in range(N_PAIRS):
        drawn = rng.choice(n_columns, union, replace=False)
        both = np.ceil(rng.pareto(0.8, union)) if is_heavy else rng.lognormal(0, 0.5, union)
        for mine in (slice(None, length), slice(-length, None)):
            order = np.argsort(drawn[mine])
            columns.append(drawn[mine][order])
            values.append((both[mine] * rng.uniform(0.5, 1.5, length))[order])
    indptr = np.arange(0, 2 * N_PAIRS * length + 1, length)
    return compact_rows(np.concatenate(values), np.concatenate(columns), indptr, n_columns)


@pytest.mark.parametrize("kernel", ["resemblance", "core1", "core2", "core_rbf"])
@pytest.mark.parametrize("scheme", ["circulant", "independent"])
@pytest.mark.parametrize("family", FAMILIES)
def test_intervals_cover(family, scheme, kernel):
    X = make_pairs(*FAMILIES[family])
    i = np.arange(0, len(X.indptr) - 1, 2)
    exact = np.diagonal(getattr(ck, kernel)(X[::2], X[1::2]))
    distances = {(1, None): [], (8, None): []}
    if kernel in ("core1", "core_rbf"):
        distances[4, 4] = []  # bits of locations and of rounded weights
    for seed in range(N_SEEDS):
        S = ck.CoREHasher(kernel, 128, scheme=scheme, random_state=seed, n_jobs=1).fit(X).sketch(X)
        for bits, found in distances.items():
            estimate, error = S.narrow(*bits).estimate_pairs(i, i + 1)
            found.append((estimate - exact) / error)
    for bits, found in distances.items():
        covered = np.sum(np.abs(found) <= 1.96)
        assert covered >= binom.ppf(1e-6, N, PROMISED), bits
        # a mean of squared normal numbers is 1, with a variance of 2 / N; estimates of one seed
        # depend on each other, of which half the pairs is a cautious account
        if family != "heavy-tailed" or kernel != "core2":  # that interval is wide on purpose
            assert np.mean(np.square(found)) >= 1 - 5 * np.sqrt(2 / (N / 2)), bits
