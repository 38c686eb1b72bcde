"""HashedLinearRegressor: scikit-learn's ridge on the expanded rows is the oracle."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import Ridge

import corekernels as ck
from corekernels.errors import DataError, ParameterError, RecipeMismatch
from corekernels.linear import HashedLinearRegressor

C = 2.0


@pytest.mark.parametrize("constant", [0.0, 1.0, 3.0])
def test_same_optimum_as_a_ridge(digits, S, constant):
    """The objective grows by half the squared distance at least, so the gap bounds the distance."""
    y, S, tol = digits[1][:500] * 0.5, S[:500], 1e-7
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = HashedLinearRegressor(
        C=C, tol=tol, fit_intercept=constant > 0, intercept_scaling=constant or 1.0, random_state=0
    ).fit(S, y, weights)
    middle = np.median(np.repeat(y, weights.astype(int))) if constant else 0.0
    rows = np.column_stack([S.to_csr().toarray(), np.full(len(y), constant)]).astype(np.float64)
    ridge = Ridge(alpha=1 / (2 * C), fit_intercept=False, solver="cholesky")
    ridge.fit(rows, y - middle, weights)
    objective = 0.5 * ridge.coef_ @ ridge.coef_
    objective += C * (weights * (y - middle - rows @ ridge.coef_) ** 2).sum()
    assert model.dual_gap_ <= tol
    # 1e-5 for sums of k products in single precision
    distance = np.sqrt(2 * tol * objective) + 1e-5 * np.linalg.norm(ridge.coef_)
    bias = (model.intercept_ - middle) / (constant or 1.0)
    assert np.linalg.norm(np.append(model.coef_, bias) - ridge.coef_) <= distance
    lengths = np.linalg.norm(rows, axis=1)
    assert (abs(model.predict(S) - middle - ridge.predict(rows)) <= lengths * distance).all()
    if not constant:
        assert model.intercept_ == 0


def test_predictions_are_those_of_the_coefficients(digits, S):
    model = HashedLinearRegressor(random_state=0).fit(S[:300], digits[1][:300])
    assert model.coef_.shape == (S.recipe.n_features,)
    expected = S.to_csr() @ model.coef_.astype(np.float64) + model.intercept_
    np.testing.assert_allclose(model.predict(S), expected, atol=1e-5 * np.linalg.norm(model.coef_))


def test_weights_are_repetitions_and_order_does_not_count(digits, S):
    y = digits[1]
    times = np.random.default_rng(0).integers(0, 3, 400)
    weighted = HashedLinearRegressor(random_state=0).fit(S[:400], y[:400], times)
    rows = np.random.default_rng(1).permutation(np.repeat(np.arange(400), times))
    repeated = HashedLinearRegressor(random_state=0, n_jobs=1).fit(S[rows], y[rows])
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)
    assert weighted.intercept_ == repeated.intercept_


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"C": 0}, "C: got 0; give a number above 0"),
        ({"tol": -1}, "tol: got -1"),
        ({"max_iter": 0}, "max_iter: got 0"),
        ({"intercept_scaling": 0}, "intercept_scaling: got 0"),
        ({"n_jobs": 0}, "n_jobs: got 0"),
    ],
)
def test_parameters_are_checked(digits, S, change, message):
    with pytest.raises(ParameterError, match=message):
        HashedLinearRegressor(**change).fit(S, digits[1])


def test_data_are_checked(digits, S):
    X, y = digits
    model = HashedLinearRegressor()
    with pytest.raises(NotFittedError):
        model.predict(S)
    with pytest.raises(DataError, match="y: has 5 values for 1797 rows; give one value per row"):
        model.fit(S, y[:5])
    with pytest.raises(DataError, match=r"got ndarray; pass Signatures.*CoRERegressor"):
        model.fit(X, y)
    other = ck.CoREHasher(n_hashes=128, random_state=5).fit(X).sketch(X)
    with pytest.raises(RecipeMismatch, match="recipes differ in seed 0 and 5"):
        model.fit(S, y).predict(other)


def test_warning_says_what_to_change(digits, S):
    with pytest.warns(ConvergenceWarning, match=r"max_iter=1.*raise max_iter or tol"):
        HashedLinearRegressor(C=100, max_iter=1).fit(S, digits[1])


def test_conventions(digits, S):
    model = HashedLinearRegressor(C=3.0, tol=1e-3, random_state=0)
    assert clone(model).get_params() == model.get_params()
    assert vars(model) == model.get_params()
    assert model.fit(S, digits[1]) is model
    assert model.n_rows_ == len(S)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(S), model.predict(S))
    assert not model.__sklearn_tags__().input_tags.two_d_array
    assert is_regressor(model)
