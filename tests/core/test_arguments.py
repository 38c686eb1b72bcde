"""Seeds among the arguments."""

import numpy as np
import pytest

import corekernels as ck
from corekernels._core.arguments import seed_of, short_seed
from corekernels.errors import ParameterError

X, y = np.eye(4), [0, 1, 0, 1]
ESTIMATORS = [
    ck.CoREHasher(n_hashes=4),
    ck.CoREClassifier(n_hashes=4),
    ck.CoRERegressor(n_hashes=4),
    ck.CoRENeighbors(),
    ck.CoRENeighborsTransformer(n_neighbors=1),
    ck.linear.HashedLinearClassifier(),
    ck.linear.HashedLinearRegressor(),
]


def test_what_may_be_a_seed():
    assert seed_of(0) == 0
    assert seed_of(np.int32(7)) == 7
    assert seed_of(2**64 - 1) == 2**64 - 1
    assert seed_of(np.random.RandomState(0)) == seed_of(np.random.RandomState(0))
    for wrong in (-1, 2**64, np.int64(-5)):
        with pytest.raises(ParameterError, match=rf"random_state: got {wrong}; give an integer"):
            seed_of(wrong)
    for wrong in ("abc", 1.5, [1]):
        with pytest.raises(ParameterError, match="random_state: got"):
            seed_of(wrong)


def test_seeds_for_scikit_learn():
    assert [short_seed(seed) for seed in (0, 7, 2**32 - 1)] == [0, 7, 2**32 - 1]
    wide = [short_seed(seed << 32) for seed in range(1, 5)]
    assert len(set(wide)) == 4
    assert 0 <= short_seed(2**64 - 1) < 2**32


@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_every_estimator_refuses_a_negative_seed(model):
    rows = X
    if type(model).__name__.startswith("Hashed"):
        rows = ck.CoREHasher(n_hashes=4, n_bits=2, random_state=0).fit(X).sketch(X)
    with pytest.raises(ParameterError, match="random_state: got -1; give an integer from 0"):
        model.set_params(random_state=-1).fit(rows, y)
    model.set_params(random_state=2**64 - 1).fit(rows, y)
