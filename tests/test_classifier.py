"""CoREClassifier: scikit-learn's conventions, the way from rows to labels."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import corekernels as ck
from corekernels.errors import DataError, RecipeMismatch


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


# Some checks weigh classes a thousand to one, which takes more sweeps than their few rows merit
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [ck.CoREClassifier(), ck.CoREClassifier("core2", 64, loss="log_loss", n_bits=4)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_comes_close_to_the_kernel_machine(digits):
    X, y = digits
    model = ck.CoREClassifier(n_hashes=4096, random_state=0).fit(X[:1000], y[:1000])
    exact = SVC(kernel=ck.core1, C=10).fit(X[:1000], y[:1000])
    assert model.score(X[1000:], y[1000:]) >= exact.score(X[1000:], y[1000:]) - 0.02


def test_is_hasher_and_learner_in_one(digits):
    X, y = digits
    model = ck.CoREClassifier("core2", 64, n_bits=4, random_state=3).fit(sparse.csr_array(X), y)
    hasher = ck.CoREHasher("core2", 64, n_bits=4, random_state=3).fit(X)
    assert model.recipe_ == hasher.recipe_
    linear = ck.linear.HashedLinearClassifier(random_state=3).fit(hasher.sketch(X), y)
    np.testing.assert_array_equal(
        model.decision_function(X), linear.decision_function(model.sketch(X))
    )


def test_learns_from_signatures_of_its_own_recipe_alone(digits):
    X, y = digits
    model = ck.CoREClassifier(n_hashes=32, random_state=3)
    S = ck.CoREHasher(n_hashes=32, random_state=3).fit(X).sketch(X)
    np.testing.assert_array_equal(
        model.fit_signatures(S, y).decision_function(X),
        ck.CoREClassifier(n_hashes=32, random_state=3).fit(X, y).decision_function(X),
    )
    with pytest.raises(RecipeMismatch, match="n_hashes 16 and 32"):
        model.set_params(n_hashes=16).fit_signatures(S, y)
    with pytest.raises(DataError, match="got ndarray; pass Signatures"):
        model.fit_signatures(X, y)


def test_what_is_known_of_the_fit(digits):
    X, y = digits[0][:300], digits[1][:300]
    model = ck.CoREClassifier(n_hashes=32, random_state=0)
    for name in ("classes_", "n_iter_", "dual_gap_"):
        assert not hasattr(model, name)
    model.partial_fit(X, y, np.arange(10))
    assert model.provenance_ == []
    assert not hasattr(model, "n_iter_")
    model.fit(X, y)
    assert model.n_iter_ == model.linear_.n_iter_
    assert model.dual_gap_.shape == (10,)


def test_stream(digits):
    """One pass in batches against all rows at once: within two standard errors of the gap."""
    order = np.random.default_rng(0).permutation(len(digits[1]))
    X, y = digits[0][order], digits[1][order]
    model = ck.CoREClassifier(n_hashes=512, random_state=0)
    for part in np.array_split(np.arange(1000), 10):
        model.partial_fit(X[part], y[part], classes=np.arange(10))
    whole = ck.CoREClassifier(n_hashes=512, random_state=0).fit(X[:1000], y[:1000])
    miss = 1 - whole.score(X[1000:], y[1000:])
    gap = whole.score(X[1000:], y[1000:]) - model.score(X[1000:], y[1000:])
    assert gap <= 2 * np.sqrt(2 * miss * (1 - miss) / len(X[1000:]))
    with pytest.raises(DataError, match="row 0 has the label 10"):
        model.partial_fit(X[:1], [10])


def test_a_stream_keeps_its_recipe(digits):
    X, y, *_ = digits
    model = ck.CoREClassifier(n_hashes=64, random_state=0).partial_fit(X, y, np.unique(y))
    with pytest.raises(RecipeMismatch, match="n_hashes 64 and 32"):
        model.set_params(n_hashes=32).partial_fit(X, y)
    model.set_params(n_hashes=64, C=2.0).partial_fit(X, y)


def test_grid_search_and_calibration(digits):
    X, y = digits[0][:300], digits[1][:300]
    grid = {"kernel": ["core1", "resemblance"], "n_hashes": [32, 64], "C": [0.1, 1]}
    search = GridSearchCV(ck.CoREClassifier(random_state=0), grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.6
    calibrated = CalibratedClassifierCV(ck.CoREClassifier(n_hashes=64, random_state=0), cv=2)
    np.testing.assert_allclose(calibrated.fit(X, y).predict_proba(X).sum(axis=1), 1)


def test_probabilities_only_with_the_log_loss(digits):
    X, y = digits
    assert not hasattr(ck.CoREClassifier(), "predict_proba")
    model = ck.CoREClassifier(n_hashes=256, loss="log_loss", C=10, random_state=0).fit(X, y)
    probabilities = model.predict_proba(X)
    assert (probabilities.argmax(axis=1) == model.predict(X)).all()
    assert probabilities[np.arange(len(y)), y].mean() > 0.6
