"""Training sets: rows merged and ordered by what they hold."""

import numpy as np
import pytest

from corekernels.linear.coefficients import Packed, pack
from corekernels.linear.problem import TrainingSet

ROWS = [3, 1, 3, 0, 3, 5, 1]  # of the signatures


@pytest.fixture
def packed(S):
    return pack(S[ROWS])


def learned(training):
    """For each row that is learned from: which it is, its target and its weight."""
    rows = training.rows
    which, targets = np.array(ROWS)[rows], training.targets[rows]
    return sorted(zip(which, targets, training.row_weights[rows], strict=True))


@pytest.mark.parametrize("kind", [int, float])
def test_equal_rows_with_equal_targets_are_merged(packed, kind):
    targets = np.array([0, 1, 0, 0, 1, 1, 1]).astype(kind)
    weights = np.array([1.0, 2, 4, 8, 16, 0, 64])
    training = TrainingSet.of(packed, targets, weights, None)
    assert learned(training) == [(0, 0, 8), (1, 1, 66), (3, 0, 5), (3, 1, 16)]
    np.testing.assert_array_equal(training.sample_weight, weights)


def test_subsets_start_from_the_weights_given(packed):
    targets, weights = np.zeros(7, int), np.array([1.0, 2, 4, 8, 16, 32, 64])
    training = TrainingSet.of(packed, targets, weights, None)
    assert learned(training.subset(np.array([4, 0, 6]))) == [(1, 0, 64), (3, 0, 17)]


def test_order_depends_on_contents_alone(S):
    targets, weights = np.arange(50) % 3, np.ones(50)
    order = np.random.default_rng(0).permutation(50)
    one = TrainingSet.of(pack(S[:50]), targets, weights, None)
    other = TrainingSet.of(pack(S[:50][order]), targets[order], weights, None)
    np.testing.assert_array_equal(order[other.rows], one.rows)


def test_rows_of_equal_digest_are_compared(packed):
    """Digests are hashes: different rows may share one."""
    targets, weights = np.zeros(7, int), np.ones(7)
    same = np.zeros(7, np.uint64)
    training = TrainingSet(packed, np.arange(7), np.arange(8), weights, targets, weights, same)
    found = training.subset(np.array([0, 2, 1, 3]))
    assert sorted(found.rows.tolist()) == [0, 1, 3]
    again = training.subset(np.array([3, 1, 2, 0]))
    which = np.array(ROWS)
    np.testing.assert_array_equal(which[again.rows], which[found.rows])


def test_equal_rows_of_different_targets_follow_one_another(packed):
    training = TrainingSet.of(packed, np.array([0, 1, 1, 0, 2, 1, 0]), np.ones(7), None)
    groups = np.split(np.array(ROWS)[training.rows], training.starts[1:-1])
    assert sorted(map(list, groups)) == [[0], [1, 1], [3, 3, 3], [5]]


def test_an_empty_row_is_not_the_row_of_the_least_codes():
    codes = np.zeros((2, 4), np.uint8)
    codes[1, 0] = 1
    scales = np.array([0, 0.5], np.float32)
    packed = Packed(codes, None, scales, np.array([0, 1]), 2)
    assert len(np.unique(packed.digests(None))) == 2
