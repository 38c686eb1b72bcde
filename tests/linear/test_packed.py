"""Signatures as the loops take them."""

import numpy as np
import pytest

import corekernels as ck
from corekernels.errors import DataError
from corekernels.linear.rows import TrainingSet, pack


def test_weights_that_are_not_finite_are_refused(S):
    weights = S.weights.copy()
    weights[5, 3] = np.inf
    with pytest.raises(DataError, match="row 5 holds a weight that is not finite"):
        pack(S.with_arrays(weights=weights))


@pytest.mark.parametrize("kernel", ["core1", "resemblance"])
def test_equal_rows_have_equal_digests(digits, kernel):
    X = digits[0][[0, 7, 0, 1, 7]]
    packed = pack(ck.CoREHasher(kernel, 64, random_state=0).fit(X).sketch(X))
    found = TrainingSet.of(packed, np.zeros(5), np.ones(5), 2).digests
    assert found[0] == found[2]
    assert found[1] == found[4]
    assert len(np.unique(found)) == 3
