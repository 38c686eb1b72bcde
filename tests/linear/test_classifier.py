"""HashedLinearClassifier: LIBLINEAR on the expanded rows is the oracle."""

import pickle
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import corekernels as ck
from corekernels.errors import DataError, ParameterError, RecipeMismatch
from corekernels.linear import HashedLinearClassifier
from corekernels.linear.losses import loss_names
from support import objectives

N_TRAIN = 600
KERNELS = ("core1", "core2", "resemblance")
# loss, C, number of classes, whether there are weights, kernel, n_bits
GRID = list(product(loss_names("classes"), (0.1, 5.0), (2, 10), (False, True), KERNELS, (2, 8, 10)))


def reference(loss, C, X, y, classes, class_weight, sample_weight):
    """LIBLINEAR's weight vectors: one for two classes, else one for each against the rest."""
    if loss != "log_loss":
        model = LinearSVC(
            loss=loss, C=C, class_weight=class_weight, tol=1e-7, max_iter=10**6, dual=True
        ).fit(X, y, sample_weight)
        return model.coef_, model.intercept_
    positive = classes[1:] if len(classes) == 2 else classes
    weight = class_weight or dict.fromkeys(classes, 1.0)
    models = []
    for label in positive:
        rest = weight[classes[0]] if len(classes) == 2 else 1.0
        models.append(
            LogisticRegression(
                solver="liblinear", C=C, tol=1e-8, class_weight={True: weight[label], False: rest}
            ).fit(X, y == label, sample_weight)
        )
    return np.vstack([m.coef_ for m in models]), np.concatenate([m.intercept_ for m in models])


def compare_with_liblinear(digits, loss, C, n_classes, weighted, kernel, n_bits):
    X, y = digits
    y = y if n_classes == 10 else np.where(y < 5, "low", "other")
    classes = np.unique(y)
    S = ck.CoREHasher(kernel, 128, n_bits=n_bits, random_state=1).fit(X).sketch(X)
    train, test = slice(0, N_TRAIN), slice(N_TRAIN, None)
    sample_weight, class_weight = None, None
    if weighted:
        sample_weight = np.random.default_rng(0).integers(0, 4, N_TRAIN).astype(float)
        class_weight = {label: 0.5 + 0.25 * i for i, label in enumerate(classes.tolist())}
    model = HashedLinearClassifier(
        loss, C=C, class_weight=class_weight, random_state=0, max_iter=50_000
    ).fit(S[train], y[train], sample_weight)
    expanded = S.to_csr().astype(np.float64)
    coef, intercept = reference(
        loss, C, expanded[train], y[train], classes, class_weight, sample_weight
    )
    for plane, label in enumerate(classes[1:] if n_classes == 2 else classes):
        signs = np.where(y[train] == label, 1.0, -1.0)
        costs = C * (np.ones(N_TRAIN) if sample_weight is None else sample_weight)
        if class_weight is not None:
            rest = class_weight[classes[0]] if n_classes == 2 else 1.0
            costs = costs * np.where(signs > 0, class_weight[label], rest)
        mine, theirs = (
            objectives.primal(loss, np.append(w, b), expanded[train] @ w + b, signs, costs)
            for w, b in (
                (model.coef_[plane].astype(np.float64), model.intercept_[plane]),
                (coef[plane], intercept[plane]),
            )
        )
        assert mine <= theirs * (1 + 1e-4)
    scores = expanded[test] @ coef.T + intercept
    best = (scores[:, 0] > 0).astype(int) if n_classes == 2 else scores.argmax(axis=1)
    assert (model.predict(S[test]) == classes[best]).mean() >= 0.995


@pytest.mark.parametrize("case", GRID[::11], ids=str)
def test_same_optimum_as_liblinear(digits, case):
    compare_with_liblinear(digits, *case)


@pytest.mark.slow
@pytest.mark.parametrize("case", GRID, ids=str)
def test_same_optimum_as_liblinear_over_the_whole_grid(digits, case):
    compare_with_liblinear(digits, *case)


def test_result_does_not_depend_on_threads_or_on_the_order_of_rows(digits, S):
    y = digits[1]
    models = [
        HashedLinearClassifier(random_state=0, n_jobs=n_jobs).fit(S, y) for n_jobs in (1, 2, 5)
    ]
    order = np.random.default_rng(0).permutation(len(S))
    models.append(HashedLinearClassifier(random_state=0).fit(S[order], y[order]))
    for model in models[1:]:
        np.testing.assert_array_equal(model.coef_, models[0].coef_)
        np.testing.assert_array_equal(model.intercept_, models[0].intercept_)
    scores = models[0].decision_function(S)
    np.testing.assert_array_equal(models[1].decision_function(S), scores)
    assert (
        HashedLinearClassifier(random_state=1).fit(S, y).coef_.tolist() != models[0].coef_.tolist()
    )


def test_scores_are_those_of_the_coefficients(digits, S):
    for y in (digits[1], digits[1] % 2):
        model = HashedLinearClassifier("log_loss", random_state=0).fit(S[:300], y[:300])
        scores = S.to_csr() @ model.coef_.T.astype(np.float64) + model.intercept_
        found = model.decision_function(S)
        np.testing.assert_allclose(found.reshape(len(S), -1), scores, atol=1e-5)
        probabilities = model.predict_proba(S)
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        np.testing.assert_array_equal(
            model.classes_[probabilities.argmax(axis=1)], model.predict(S)
        )


def test_more_classes_than_lanes(S):
    y = np.arange(len(S)) % 19
    model = HashedLinearClassifier(random_state=0, tol=1e-2).fit(S, y)
    assert model.coef_.shape == (19, S.recipe.n_features)
    assert model.dual_gap_.shape == (19,)
    assert model.dual_gap_.max() <= 1e-2


def test_intercept(digits, S):
    y = digits[1]
    without = HashedLinearClassifier(fit_intercept=False, random_state=0).fit(S, y)
    assert not without.intercept_.any()
    scaled = HashedLinearClassifier(intercept_scaling=3.0, random_state=0).fit(S, y)
    oracle = LinearSVC(intercept_scaling=3.0, tol=1e-6).fit(S.to_csr().astype(np.float64), y)
    np.testing.assert_allclose(scaled.intercept_, oracle.intercept_, atol=2e-3)


def test_memory_mapped_signatures(digits, S, tmp_path):
    S.save(tmp_path / "rows.safetensors")
    mapped = ck.Signatures.load(tmp_path / "rows.safetensors")
    assert not mapped.codes.flags.owndata
    model = HashedLinearClassifier(random_state=0).fit(mapped, digits[1])
    again = HashedLinearClassifier(random_state=0).fit(S, digits[1])
    np.testing.assert_array_equal(model.coef_, again.coef_)
    np.testing.assert_array_equal(model.predict(mapped), again.predict(S))


@pytest.mark.slow
def test_learning_from_more_than_two_to_the_31_slots(tmp_path):
    recipe = ck.Recipe(kernel="resemblance", n_hashes=1024, n_columns=784)
    n = 2**21 + 2**10
    codes = np.memmap(tmp_path / "codes", np.uint8, "w+", shape=(n, 1024))
    y = np.arange(n) % 2
    rng = np.random.default_rng(0)
    for start in range(0, n, 2**16):
        part = codes[start : start + 2**16]
        part[:] = rng.geometric(0.2, part.shape).astype(np.uint8)
        part[:, 0] = y[start : start + 2**16]  # one slot tells the class
        part[:, 1:16] = y[start : start + 2**16, None]
    S = ck.Signatures.from_arrays(recipe, {"codes": codes, "lengths": np.full(n, 9)})
    assert S.codes.size > 2**31
    model = HashedLinearClassifier(C=0.01, tol=0.5, max_iter=3, random_state=0)
    model.fit(S, y)
    assert model.score(S[-5000:], y[-5000:]) > 0.99


def test_weights_are_repetitions(digits, S):
    y = digits[1]
    times = np.random.default_rng(0).integers(0, 3, 400)
    weighted = HashedLinearClassifier(random_state=0).fit(S[:400], y[:400], times)
    rows = np.repeat(np.arange(400), times)
    repeated = HashedLinearClassifier(random_state=0).fit(S[rows], y[rows])
    np.testing.assert_array_equal(weighted.coef_, repeated.coef_)


def test_balanced_classes(digits, S):
    y = (digits[1] == 3).astype(int)
    counts = np.bincount(y)
    by_hand = {label: len(y) / (2 * counts[label]) for label in (0, 1)}
    models = [
        HashedLinearClassifier(class_weight=weight, random_state=0).fit(S, y)
        for weight in ("balanced", by_hand)
    ]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"loss": "modified_huber"}, ParameterError, "loss: got 'modified_huber'; choose one of"),
        ({"C": 0}, ParameterError, "C: got 0; give a number above 0"),
        ({"C": -1.0}, ParameterError, "C: got -1.0"),
        ({"C": np.nan}, ParameterError, "C: got nan"),
        ({"tol": 0}, ParameterError, "tol: got 0"),
        ({"max_iter": 0}, ParameterError, "max_iter: got 0; give 1 or more"),
        ({"max_iter": 1.5}, ParameterError, "max_iter: got 1.5; give an integer"),
        ({"intercept_scaling": -2}, ParameterError, "intercept_scaling: got -2"),
        ({"class_weight": "even"}, ParameterError, "class_weight: got 'even'; give None"),
        ({"class_weight": {77: 1.0}}, ParameterError, "class_weight: names the class 77"),
        ({"class_weight": {1: -1.0}}, ParameterError, "class_weight: class 1 has -1.0"),
        ({"n_jobs": 0}, ParameterError, "n_jobs: got 0"),
    ],
)
def test_parameters_are_checked(digits, S, change, error, message):
    with pytest.raises(error, match=message):
        HashedLinearClassifier(**change).fit(S, digits[1])


def test_data_are_checked(digits, S):
    X, y = digits
    model = HashedLinearClassifier()
    with pytest.raises(NotFittedError):
        model.predict(S)
    with pytest.raises(DataError, match=r"one class only \(4\).*at least two classes"):
        model.fit(S, np.full(len(S), 4))
    with pytest.raises(DataError, match="y: has 5 labels for 1797 rows; give one label per row"):
        model.fit(S, y[:5])
    with pytest.raises(DataError, match=r"sample_weight: row 2 has the weight -1\.0"):
        model.fit(S, y, np.where(np.arange(len(S)) == 2, -1, 1))
    with pytest.raises(DataError, match=r"sample_weight: has shape \(3,\) for 1797 rows"):
        model.fit(S, y, np.ones(3))
    with pytest.raises(DataError, match="every weight is zero"):
        model.fit(S, y, np.zeros(len(S)))
    with pytest.raises(DataError, match=r"got ndarray; pass Signatures.*CoREClassifier"):
        model.fit(X, y)
    with pytest.raises(ParameterError, match="choose n_bits from 1 to 16"):
        model.fit(ck.CoREHasher(n_hashes=8, n_bits=None).fit(X).sketch(X), y)
    with pytest.raises(AttributeError):
        model.fit(S, y).predict_proba(S)
    other = ck.CoREHasher(n_hashes=128, random_state=5).fit(X).sketch(X)
    with pytest.raises(RecipeMismatch, match="recipes differ in seed 0 and 5"):
        model.predict(other)
    with pytest.raises(DataError, match="got ndarray; pass Signatures"):
        model.predict(X)


def test_warning_says_what_to_change(digits, S):
    model = HashedLinearClassifier(C=100, max_iter=2)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2.*raise max_iter or tol, or low"):
        model.fit(S, digits[1])
    assert model.dual_gap_.max() > model.tol


def test_conventions(digits, S):
    """By hand: scikit-learn's own checks fit arrays, and say so of an estimator that takes none."""
    model = HashedLinearClassifier("hinge", C=3.0, tol=1e-3, class_weight={1: 2.0}, random_state=0)
    assert clone(model).get_params() == model.get_params()
    assert "C=3.0" in repr(model)
    assert vars(model) == model.get_params()
    assert model.fit(S, digits[1]) is model
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(S), model.predict(S))
    assert set(vars(clone(model))) == set(model.get_params())
    assert not model.__sklearn_tags__().input_tags.two_d_array
    assert is_classifier(model)
