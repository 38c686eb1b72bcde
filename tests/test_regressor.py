import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import Ridge
from sklearn.utils.estimator_checks import parametrize_with_checks

from corekernels import CoREHasher, CoRERegressor
from corekernels.errors import DataError, ParameterError


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([CoRERegressor(n_hashes=256)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_same_optimum_as_a_ridge():
    X, y = load_digits(return_X_y=True)
    weights = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    model = CoRERegressor("core2", 128, C=2.0, tol=1e-7, random_state=0).fit(X, y, weights)
    rows = CoREHasher("core2", 128, random_state=0).fit(X).transform(X).astype(np.float64)
    rows = np.column_stack([rows.toarray(), np.ones(len(y))])
    middle = np.median(np.repeat(y, weights.astype(int)))
    ridge = Ridge(alpha=1 / 4, fit_intercept=False, solver="cholesky", tol=1e-10)
    ridge.fit(rows, y - middle, weights)
    np.testing.assert_allclose(model.predict(X), ridge.predict(rows) + middle, atol=5e-3)
    assert model.dual_gap_ <= 1e-7


def test_errors():
    X, y = load_digits(return_X_y=True)
    with pytest.raises(DataError, match="y: has 3 values for 1797 rows"):
        CoRERegressor().fit(X, y[:3])
    with pytest.raises(DataError, match="y: row 5 contains NaN or infinity"):
        CoRERegressor().fit(X, np.where(np.arange(len(y)) == 5, np.nan, y))
    with pytest.raises(ParameterError, match="C: got 0"):
        CoRERegressor(C=0).fit(X, y)
