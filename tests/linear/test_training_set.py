"""Training sets: rows merged and ordered by what they hold."""

import numpy as np
import pytest

from corekernels.linear.rows import Packed, TrainingSet, pack

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


def test_the_weight_of_equal_rows_of_different_targets(packed):
    targets, weights = np.array([0, 1, 1, 0, 2, 1, 0]), np.array([1.0, 2, 4, 8, 16, 32, 64])
    training = TrainingSet.of(packed, targets, weights, None)
    assert training.conflicting_weight == 66  # row 1; row 3: 21
    assert training.subset(np.array([0, 3, 5])).conflicting_weight == 0


def test_an_empty_row_is_not_the_row_of_the_least_codes():
    codes = np.zeros((2, 4), np.uint8)
    packed = Packed(codes, None, np.array([0, 0.5], np.float32), 2)
    assert len(np.unique(TrainingSet.of(packed, np.zeros(2), np.ones(2), None).digests)) == 2
