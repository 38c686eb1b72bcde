"""Slots that depend on each other: formulas against simulations of the schemes, in plain NumPy.

A sample variance of n nearly normal values scatters by sqrt(2 / n); tolerances are five times that.
"""

import numpy as np
import pytest

import corekernels as ck
from corekernels.theory import Pair, variance_resemblance
from corekernels.theory.dependence import (
    binning_change,
    circulant_change,
    offset_change,
    two_ended_change,
)

DRAWS = 4000
SLACK = 5 * np.sqrt(2 / DRAWS)


def shared_first(values, f1, f2, a):
    """Whether the least of the union's values, on the last axis, belongs to a shared column."""
    first = values[..., : f1 + f2 - a].argmin(axis=-1)
    return (first >= f1 - a) & (first < f1)


@pytest.mark.parametrize(("n", "f1", "f2", "a"), [(30, 20, 22, 15), (30, 6, 7, 3), (12, 3, 4, 2)])
def test_variance_of_circulant_hashing(n, f1, f2, a):
    rng = np.random.default_rng(n + f1)
    positions, locations = (np.argsort(rng.random((DRAWS, n)), axis=1) for _ in range(2))
    k = n - 2
    share = np.zeros(DRAWS)
    for slot in range(k):
        values = np.take_along_axis(locations, (positions + slot) % n, axis=1)
        share += shared_first(values, f1, f2, a) / k
    pair = Pair(0.0, f1, f2, a)
    change = circulant_change(pair.union, n, k)
    assert share.var() == pytest.approx((1 + change) * variance_resemblance(pair, k), rel=SLACK)


@pytest.mark.parametrize(("f1", "f2", "a"), [(1, 2, 1), (2, 2, 1), (3, 4, 2), (9, 9, 6)])
def test_variance_where_positions_serve_two_slots(f1, f2, a):
    """The minimum and the maximum of each position; starts are a quarter of the contract's."""
    rng = np.random.default_rng(f1)
    n_starts, n_positions, union = 256, 100, f1 + f2 - a
    starts = rng.integers(0, n_starts, (DRAWS, union))
    tables = rng.random((DRAWS, union, n_positions))
    for i in range(union):
        for j in range(i):  # columns of equal start have the same numbers
            tables[starts[:, i] == starts[:, j], i] = tables[starts[:, i] == starts[:, j], j]
    values = ((tables + rng.random((DRAWS, union, 1))) % 1).transpose(0, 2, 1)
    low, top = (shared_first(some, f1, f2, a).mean(axis=1) for some in (values, 1 - values))
    pair = Pair(0.0, f1, f2, a)
    change = offset_change(union, 4 * n_positions)
    assert low.var() == pytest.approx(
        (1 + change) * variance_resemblance(pair, n_positions), rel=SLACK
    )
    change = two_ended_change(union, 4 * n_positions, 1.0)
    expected = (1 + change) * variance_resemblance(pair, 2 * n_positions)
    assert ((low + top) / 2).var() == pytest.approx(expected, rel=SLACK, abs=1e-12)


@pytest.mark.parametrize(("f1", "f2", "a"), [(3, 4, 2), (9, 9, 6), (40, 30, 20), (200, 150, 50)])
def test_variance_where_columns_fall_into_slots(f1, f2, a):
    """Each column falls into one of 20 slots, of which 15 are used; others are independent."""
    rng = np.random.default_rng(f1)
    n_slots, width, union = 15, 20, f1 + f2 - a
    values = 1 + rng.random((DRAWS, n_slots, union))
    slots = rng.integers(0, width, (DRAWS, union))
    for slot in range(n_slots):
        values[:, slot] -= slots == slot  # first come those that fall into it
    share = shared_first(values, f1, f2, a).mean(axis=1)
    change = binning_change(union, width, n_slots, 0.0)
    expected = (1 + change) * variance_resemblance(Pair(0.0, f1, f2, a), n_slots)
    assert share.var() == pytest.approx(expected, rel=SLACK)


def test_all_shifts_of_full_rows_leave_no_variance():
    X = np.ones((2, 40))
    X[0, :10], X[1, 30:] = 0, 0
    S = ck.CoREHasher("resemblance", 80, random_state=0).fit(X).sketch(X)
    estimate, error = S.estimate_pairs(0, 1)
    assert estimate[0] == pytest.approx(0.5)
    assert error[0] < 1 / 80
    independent = ck.Recipe("resemblance", 80, scheme="independent", n_columns=40)
    assert independent.sketch.variance_change(40) == 0


def test_a_plan_for_dense_rows_asks_for_fewer_hashes():
    few, many = (
        ck.plan(0.03, kernel="resemblance", n_bits=None, n_columns=n, length=600, R=0.7).n_hashes
        for n in (784, 2**20)
    )
    independent = 0.7 * 0.3 * (1.96 / 0.03) ** 2
    assert few < many < independent
    # rows that together fill all columns, and as many hashes: nothing is left to chance
    sure = ck.plan(1e-9, kernel="resemblance", n_bits=None, n_columns=64, length=48, R=0.5)
    assert sure.n_hashes == 64
