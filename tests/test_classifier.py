"""CoREClassifier: scikit-learn's conventions, the way from rows to labels."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import corekernels as ck
from corekernels.errors import DataError, ParameterError, RecipeMismatch


@pytest.fixture(scope="module")
def digits():
    return load_digits(return_X_y=True)


# Some checks weigh classes a thousand to one, which takes more sweeps than their few rows merit
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        ck.CoREClassifier(),
        ck.CoREClassifier("core2", 64, loss="log_loss", n_bits=4),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([ck.CoREClassifier("core_rbf", 64, n_bits=4, weight_bits=4)])
def test_scikit_learn_checks_with_rounded_weights(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def several():
    """Rows with up to three labels each, two of which depend on each other; the last is never."""
    rng = np.random.default_rng(0)
    Y = rng.random((300, 4)) < (0.5, 0.4, 0.3, 0)
    Y[:, 2] &= Y[:, 0]
    X = rng.random((300, 30)) * (rng.random((300, 30)) < 0.2)
    for label in range(4):
        X[Y[:, label], 5 * label : 5 * label + 5] += 1
    return X, Y.astype(int)


@pytest.mark.parametrize("loss", ["squared_hinge", "log_loss"])
def test_several_labels_per_row_are_those_of_a_classifier_each(several, loss, tmp_path):
    X, Y = several
    options = {"n_hashes": 64, "loss": loss, "tol": 1e-6, "random_state": 0}
    model = ck.CoREClassifier(**options).fit(X[:200], Y[:200])
    assert model.multilabel_
    np.testing.assert_array_equal(model.classes_, np.arange(4))
    scores, found = model.decision_function(X[200:]), model.predict(X[200:])
    for label in range(3):
        alone = ck.CoREClassifier(**options).fit(X[:200], Y[:200, label])
        # both are solutions of the same problem, up to their gaps
        np.testing.assert_allclose(scores[:, label], alone.decision_function(X[200:]), atol=0.01)
    assert not found[:, 3].any()
    assert (found == Y[200:]).mean() > 0.9
    assert model.score(X[200:], Y[200:]) == (found == Y[200:]).all(axis=1).mean()
    if loss == "log_loss":
        np.testing.assert_allclose(model.predict_proba(X[200:]), expit(scores))
        np.testing.assert_allclose(np.exp(model.predict_log_proba(X[200:])), expit(scores))
    model.save(tmp_path / "model")
    again = ck.load_model(tmp_path / "model")
    assert again.multilabel_
    np.testing.assert_array_equal(again.predict(X[200:]), found)
    for same in (sparse.csr_array(Y[:200]), Y[:200].tolist(), Y[:200].astype(bool)):
        other = ck.CoREClassifier(**options).fit(X[:200], same)
        np.testing.assert_array_equal(other.decision_function(X[200:]), scores)


def test_two_labels_per_row_are_not_two_classes(several, tmp_path):
    X, Y = several
    model = ck.CoREClassifier(n_hashes=64, random_state=0).fit(X, Y[:, :2])
    assert model.predict(X).shape == model.decision_function(X).shape == (300, 2)
    model.save(tmp_path / "model")
    assert ck.load_model(tmp_path / "model").predict(X).shape == (300, 2)
    model.fit(X, Y[:, 0])
    assert not model.multilabel_
    assert model.predict(X).shape == (300,)


def test_what_is_refused_of_several_labels(several):
    X, Y = several
    model = ck.CoREClassifier(n_hashes=16, random_state=0)
    with pytest.raises(DataError, match=r"y: has 4 columns that hold other values .* wrap the est"):
        model.fit(X, 2 * Y)
    with pytest.raises(DataError, match="y: has 299 rows of labels for 300 rows"):
        model.fit(X, Y[1:])
    with pytest.raises(DataError, match="several labels per row are learned by `fit` only"):
        model.partial_fit(X, Y, classes=[0, 1])
    with pytest.raises(ParameterError, match="class_weight: got 'balanced'; where rows have sev"):
        ck.CoREClassifier(class_weight="balanced").fit(X, Y)
    model.fit(X, Y)
    with pytest.raises(DataError, match="several labels per row are learned by `fit` only"):
        model.partial_fit(X, Y[:, 0])
    S = model.sketch(X)
    with pytest.raises(DataError, match="y: has 4 columns, but one label per row is wanted here"):
        ck.linear.c_path(S, Y, [1.0])
    with pytest.raises(DataError, match="model: was learned from several labels per row"):
        ck.files.predict(model, None, "out")


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
    whole.partial_fit(X[1000:1100], y[1000:1100])
    for found in (whole, whole.linear_):  # those of the fit no longer hold
        assert not hasattr(found, "n_iter_")
        assert not hasattr(found, "dual_gap_")


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


def test_without_probabilities_the_error_says_what_has_them(digits):
    X, y = digits
    model = ck.CoREClassifier(n_hashes=16, random_state=0).fit(X[:100], y[:100])
    assert not hasattr(model, "predict_proba")
    for name in ("predict_proba", "predict_log_proba"):
        with pytest.raises(AttributeError, match=r'loss="log_loss", or calibrate.*Calibrated'):
            getattr(model, name)
    assert ck.CoREClassifier.predict_proba.__doc__.startswith("Probability of each class")


def test_a_grid_of_kernels_and_gammas_is_shown_as_a_list(digits):
    X, y = digits
    with pytest.raises(ParameterError, match=r'list of grids: \[\{"kernel": \["core1"\]\}, \{"ker'):
        ck.CoREClassifier("core1", gamma=1.0).fit(X, y)


def test_a_column_of_text_is_named():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"a": [1.0, 2], "town": ["1", "Bonn"]})
    model = ck.CoREClassifier(n_hashes=16)
    with pytest.raises(DataError, match=r"X: column 'town' holds text \('Bonn' in row 1\)"):
        model.fit(frame, [0, 1])
    with pytest.raises(DataError, match=r"X: column 'town' holds text \('Bonn' in row 1\)"):
        model.fit(frame.astype({"town": "category"}), [0, 1])
    with pytest.raises(DataError, match=r"X: column 1 holds text \('x' in row 0\)"):
        model.fit([[1.0, "x"], [2.0, 3.0]], [0, 1])


def test_numbers_to_predict_are_for_the_regressor(digits):
    with pytest.raises(DataError, match="learn numbers: CoRERegressor"):
        ck.CoREClassifier(n_hashes=16).fit(digits[0][:10], np.linspace(0, 1, 10))
