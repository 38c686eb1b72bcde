import itertools

import numpy as np
import pytest

import corekernels as ck
from corekernels import theory
from corekernels.kernel_table import KERNELS
from corekernels.theory.aliasing import _exact_alias


def test_a_pair_is_described_by_the_kernels_own_numbers():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, (2, 60)) * rng.normal(size=(2, 60))
    pair = theory.Pair.of(*X)
    assert pair.rho == pytest.approx(ck.correlation(*X))
    assert pytest.approx(ck.resemblance(*X)) == pair.R
    assert KERNELS["core1"].value(pair) == pytest.approx(ck.core1(*X))
    assert KERNELS["core2"].value(pair) == pytest.approx(ck.core2(*X))


def test_binary_rows_make_core2_the_resemblance():
    f1, f2, a = np.array([3, 10, 400]), np.array([5, 10, 2]), np.array([2, 10, 1])
    pairs = theory.Pair(a / np.sqrt(f1 * f2), f1, f2, a)
    np.testing.assert_allclose(KERNELS["core2"].value(pairs), pairs.R)


def test_dense_rows_make_core1_the_correlation():
    assert KERNELS["core1"].value(theory.Pair(0.3, 7, 7, 7)) == 0.3


def all_placements(n, f1, f2, a, b):
    """Pr{codes equal}, by counting every way to place the union's columns."""
    union = f1 + f2 - a
    hits = total = 0
    for places in itertools.permutations(range(n), union):
        hits += min(places[:f1]) % 2**b == min(places[f1 - a :]) % 2**b
        total += 1
    return hits / total


@pytest.mark.parametrize(
    ("n", "f1", "f2"), [(6, 1, 1), (6, 2, 3), (6, 3, 3), (7, 2, 2), (5, 4, 3), (4, 4, 2)]
)
@pytest.mark.parametrize("b", [1, 2, 3])
def test_collisions_are_exact_at_the_least_and_the_most_overlap(n, f1, f2, b):
    for a in (max(0, f1 + f2 - n), min(f1, f2)):
        p = theory.aliasing(f1, f2, n, b).collision_probability(a / (f1 + f2 - a))
        assert p == pytest.approx(all_placements(n, f1, f2, a, b), abs=1e-12)


@pytest.mark.parametrize(("f1", "f2"), [(150, 160), (100, 300), (3, 40), (1, 1)])
@pytest.mark.parametrize("b", [1, 4, 8])
def test_collisions_with_few_locations_by_simulation(f1, f2, b):
    """784 places, an overlap between the extremes, 20,000 drawings."""
    rng = np.random.default_rng(f1)
    n, draws, a = 784, 20_000, min(f1, f2) // 2
    hits = 0
    for _ in range(draws // 2000):
        ranks = np.argsort(rng.random((2000, n)), axis=1)[:, : f1 + f2 - a]
        hits += np.sum(ranks[:, :f1].min(axis=1) % 2**b == ranks[:, f1 - a :].min(axis=1) % 2**b)
    p = theory.aliasing(f1, f2, n, b).collision_probability(a / (f1 + f2 - a))
    assert abs(hits / draws - p) <= 5 * np.sqrt(max(p * (1 - p), 1e-5) / draws) + 1e-4


@pytest.mark.parametrize(("n", "off"), [(8, 0.02), (16, 0.01), (64, 0.002)])
def test_between_the_overlaps_resemblance_is_off_by_little(n, off):
    """The line of `aliasing` stands for a curve, here summed up exactly for one bit."""
    for f1, f2 in ((2, 2), (5, 5), (3, 6), (n // 2 - 1, n // 2)):
        chance = theory.aliasing(f1, f2, n, 1)
        a = np.arange(max(0, f1 + f2 - n), min(f1, f2) + 1)
        R = a / (f1 + f2 - a)
        by_chance = (
            _exact_alias(f - a, np.full(len(a), other), n, 1) for f, other in ((f1, f2), (f2, f1))
        )
        estimated = (R + sum(by_chance) - chance.C1) / (1 - chance.C2)
        assert np.abs(estimated - R).max() <= off


def test_collisions_with_many_locations_reach_the_limit():
    chance = theory.aliasing(np.array([1, 100, 5000]), 200, 2**32, 4)
    np.testing.assert_allclose(chance.C1, 1 / 16, rtol=1e-4)
    np.testing.assert_allclose(chance.C2, 1 / 16, rtol=1e-4)
    whole = theory.aliasing(3, 5, 100, None)
    assert (whole.C1, whole.C2) == (0, 0)


def test_variances_with_whole_locations_are_the_paper_s():
    pair, k = theory.Pair(rho=0.6, f1=7, f2=6, a=3), 50
    rho, R = 0.6, 0.3
    paper = ((1 + 2 * rho**2) * R - rho**2 * R**2) / k
    assert theory.variance_core1(pair, k) == pytest.approx(paper)
    assert theory.variance_resemblance(pair, k) == pytest.approx(R * (1 - R) / k)
    # binary rows: core2 is the resemblance, and so is its variance
    f1, f2, a = 30, 20, 10
    binary = theory.Pair(a / np.sqrt(f1 * f2), f1, f2, a, shared_squares=a / (f1 * f2))
    assert theory.variance_core2(binary, k) == pytest.approx(theory.variance_resemblance(binary, k))


def test_aliasing_of_all_pairs_is_that_of_each():
    """Computed once for each two lengths, given in any shapes that broadcast."""
    f = np.array([1, 5, 30, 5, 64, 1])
    each = [[theory.aliasing(f1, f2, 64, 3) for f2 in f] for f1 in f]
    for name in ("C1", "C2", "first", "second"):
        expected = [[getattr(pair, name) for pair in line] for line in each]
        for shapes in ((f[:, None], f), (np.repeat(f, 6).reshape(6, 6), np.tile(f, (6, 1)))):
            found = getattr(theory.aliasing(*shapes, 64, 3), name)
            np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("n", "f1", "f2", "a"),
    [(6, 3, 4, 1), (6, 3, 4, 3), (6, 2, 2, 2), (6, 4, 4, 2), (7, 4, 5, 2), (7, 4, 5, 4)],
)
@pytest.mark.parametrize("b", [1, 2])
def test_estimates_at_the_least_and_the_most_overlap_are_exact_over_all_permutations(
    n, f1, f2, a, b
):
    """Every permutation is a slot once, so that only rounding to halves is left, 2^-11 each."""
    places = np.array(list(itertools.permutations(range(n))))
    X = np.zeros((2, n))
    X[0, :f1], X[1, f1 - a : f1 - a + f2] = 1.0 + np.arange(f1), 2.0 + np.arange(f2) % 3
    X /= np.linalg.norm(X, axis=1)[:, None]
    lengths = np.array([f1, f2])
    first = np.array([np.where(row, places, n).argmin(axis=1) for row in X])
    codes = np.array([places[np.arange(len(places)), column] for column in first]) % 2**b
    weights = {
        "resemblance": None,
        "core1": np.outer([1.0, X[0] @ X[1]], np.ones(len(places))),
        "core2": np.take_along_axis(X, first, axis=1) * np.sqrt(lengths)[:, None],
    }
    for kernel, w in weights.items():
        recipe = ck.Recipe(kernel, len(places), b, scheme="independent", n_columns=n)
        arrays = {"codes": codes.astype(np.uint8), "lengths": lengths, "sums": X.sum(axis=1)}
        if w is not None:
            arrays["weights"] = w.astype(np.float16)
        S = ck.Signatures.from_arrays(recipe, arrays)
        exact = getattr(ck, kernel)(X)[0, 1]
        # CoRE 2 takes for every overlap what values add by chance at the least one
        off = 2**-10 if kernel != "core2" or a == max(0, f1 + f2 - n) else 0.02
        assert S.estimate_pairs(0, 1)[0][0] == pytest.approx(exact, abs=off)
        assert S.estimate()[0, 1] == pytest.approx(exact, abs=off)
