"""CoREClassifier: scikit-learn's conventions, the model file, the road from rows to labels."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import corekernels as ck
from corekernels.errors import DataError, FileError, ParameterError, RecipeMismatch
from corekernels.io import load_arrays, save_arrays


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


LABELS = {
    "strings": np.array(["zero", "one", "zwei", "drei", "четыре", "五"]),
    "objects": np.array(list("abcdef"), dtype=object),
    "integers": np.arange(6) - 3,
    "two": np.array(["no", "yes"] * 3),
    "truths": np.array([False, True] * 3),
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS.keys())
def test_save_and_load(digits, labels, tmp_path):
    X, y = digits[0][:400], labels[digits[1][:400] % 6]
    frame = pd.DataFrame(X, columns=[f"pixel {i}" for i in range(64)])
    weight = {labels[0].item() if labels.dtype != object else labels[0]: 2.0}
    model = ck.CoREClassifier(
        n_hashes=32, n_bits=4, loss="log_loss", class_weight=weight, random_state=0
    ).fit(frame, y)
    path = tmp_path / "model.safetensors"
    model.save(path)
    again = ck.CoREClassifier.load(path)
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert again.predict(frame).dtype == model.predict(frame).dtype
    assert again.get_params() == model.get_params()
    assert again.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    again.partial_fit(frame, y)
    assert [child.name for child in tmp_path.iterdir()] == ["model.safetensors"]


def test_what_a_file_cannot_hold(digits, tmp_path):
    X, y = digits[0][:100], digits[1][:100]
    model = ck.CoREClassifier(n_hashes=8, random_state=np.random.RandomState(0)).fit(X, y)
    model.save(tmp_path / "model")  # the seed that was drawn is what counts
    assert ck.CoREClassifier.load(tmp_path / "model").random_state == model.recipe_.seed
    model.set_params(class_weight=[(1, 2)], C=1 + 2j)
    with pytest.raises(ParameterError, match="of type complex, which a file cannot hold"):
        model.save(tmp_path / "model")


def test_damaged_model_files(digits, tmp_path):
    X, y = digits[0][:100], digits[1][:100]
    path = tmp_path / "model.safetensors"
    ck.CoREClassifier(n_hashes=8, random_state=0).fit(X, y).save(path)
    arrays, about = load_arrays(path, "classifier", 1, mmap=False)

    def refused(arrays, about, message):
        save_arrays(tmp_path / "bad", "classifier", 1, arrays, about)
        with pytest.raises(FileError, match=message):
            ck.CoREClassifier.load(tmp_path / "bad")

    refused({**arrays, "planes": arrays["planes"][:3]}, about, "do not fit its recipe and classes")
    refused({**arrays, "planes": arrays["planes"] * np.nan}, about, "not finite")
    refused({"planes": arrays["planes"]}, about, "damaged or unknown")
    refused(arrays, {**about, "classes": about["classes"][:5]}, "do not fit")
    refused(arrays, {**about, "class_type": "nonsense"}, "damaged or unknown")
    refused(arrays, {**about, "parameters": {"secret": 1}}, "damaged or unknown")
    refused(arrays, {**about, "recipe": {}}, "damaged or unknown")
    with pytest.raises(FileError, match="does not exist"):
        ck.CoREClassifier.load(tmp_path / "nothing")
