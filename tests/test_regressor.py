"""CoRERegressor: scikit-learn's conventions, the way from rows to numbers."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

import corekernels as ck
from corekernels.errors import DataError, ParameterError, RecipeMismatch


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([ck.CoRERegressor(), ck.CoRERegressor("core2", 256, n_bits=4)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_is_hasher_and_learner_in_one(digits):
    X, y = digits
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    parameters = {"C": 2.0, "tol": 1e-6, "random_state": 3}
    model = ck.CoRERegressor("core2", 128, n_bits=4, **parameters)
    model.fit(sparse.csr_array(X), y, weights)
    hasher = ck.CoREHasher("core2", 128, n_bits=4, random_state=3).fit(X)
    assert model.recipe_ == hasher.recipe_
    S = hasher.sketch(X)
    linear = ck.linear.HashedLinearRegressor(**parameters).fit(S, y, weights)
    np.testing.assert_array_equal(model.predict(X), linear.predict(S))
    assert (model.n_iter_, model.dual_gap_) == (linear.n_iter_, linear.dual_gap_)
    hashed_before = ck.CoRERegressor("core2", 128, n_bits=4, **parameters)
    hashed_before.fit_signatures(S, y, weights)
    np.testing.assert_array_equal(hashed_before.predict(X), model.predict(X))
    with pytest.raises(RecipeMismatch, match="n_hashes 64 and 128"):
        hashed_before.set_params(n_hashes=64).fit_signatures(S, y)


def test_errors(digits):
    X, y = digits
    with pytest.raises(DataError, match="y: has 3 values for 1797 rows"):
        ck.CoRERegressor(n_hashes=8).fit(X, y[:3])
    with pytest.raises(DataError, match="y: row 5 contains NaN or infinity"):
        ck.CoRERegressor(n_hashes=8).fit(X, np.where(np.arange(len(y)) == 5, np.nan, y))
    with pytest.raises(ParameterError, match="C: got 0"):
        ck.CoRERegressor(n_hashes=8, C=0).fit(X, y)
    with pytest.raises(ParameterError, match="choose n_bits from 1 to 16"):
        ck.CoRERegressor(n_hashes=8, n_bits=None).fit(X, y)


def test_there_are_no_error_bars_of_predictions():
    model = ck.CoRERegressor(n_hashes=16, random_state=0).fit([[1.0, 0], [0, 1]], [3.0, 5.0])
    with pytest.raises(ParameterError, match=r"return_std: .* of kernel values"):
        model.predict([[1.0, 0]], return_std=True)
