"""Learning from signatures: LIBLINEAR on the expanded rows is the oracle."""

import pickle
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import corekernels as ck
from corekernels._loops.learning import descent, losses, packed
from corekernels.errors import DataError, ParameterError, RecipeMismatch
from corekernels.linear import HashedLinearClassifier, c_path
from corekernels.linear.classifier import check_options, check_problem, read_lesson
from corekernels.linear.one_vs_rest import as_planes, learn

N_TRAIN = 600
LOSSES = ("squared_hinge", "hinge", "log_loss")
KERNELS = ("core1", "core2", "resemblance")
# loss, C, number of classes, whether there are weights, kernel, n_bits
GRID = list(product(LOSSES, (0.1, 5.0), (2, 10), (False, True), KERNELS, (2, 8, 10)))


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    X[7] = 0  # an empty row
    return X, y


@pytest.fixture(scope="module")
def S(digits):
    return ck.CoREHasher(n_hashes=128, random_state=0).fit(digits[0]).sketch(digits[0])


def objective(loss, X, signs, costs, coef, intercept):
    """The primal problem, as LIBLINEAR states it, for one plane."""
    margins = signs * (X @ coef.astype(np.float64) + intercept)
    short = np.maximum(0, 1 - margins)
    value = {"squared_hinge": short**2, "hinge": short, "log_loss": np.logaddexp(0, -margins)}[loss]
    return 0.5 * (coef.astype(np.float64) @ coef + intercept**2) + costs @ value


def reference(loss, C, X, y, classes, class_weight, sample_weight):
    """LIBLINEAR's planes: one for two classes, else one for each against the rest."""
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
        arguments = loss, expanded[train], signs, costs
        mine = objective(*arguments, model.coef_[plane], model.intercept_[plane])
        theirs = objective(*arguments, coef[plane], intercept[plane])
        assert mine <= theirs * (1 + 1e-4)
    scores = expanded[test] @ coef.T + intercept
    best = (scores[:, 0] > 0).astype(int) if n_classes == 2 else scores.argmax(axis=1)
    assert (model.predict(S[test]) == classes[best]).mean() >= 0.995


@pytest.mark.parametrize("case", GRID[::7], ids=str)
def test_same_optimum_as_liblinear(digits, case):
    compare_with_liblinear(digits, *case)


@pytest.mark.slow
@pytest.mark.parametrize("case", GRID, ids=str)
def test_same_optimum_as_liblinear_over_the_whole_grid(digits, case):
    compare_with_liblinear(digits, *case)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("tol", [1e-2, 1e-4, 1e-6])
def test_gap_is_below_the_tolerance(digits, S, loss, tol):
    """The gap once more, in double precision, from the coefficients and the dual variables."""
    y = digits[1]
    model = HashedLinearClassifier(loss, C=2.0, tol=tol, max_iter=20_000, random_state=0)
    classes, lesson = read_lesson(model, S, y, None)
    problem = check_problem(model)
    states, outcomes = learn(lesson, lesson.blocks(*problem), None, None, **check_options(model))
    planes = as_planes(S.recipe, states, problem[2])
    duals = np.concatenate([state.duals for state in states], axis=1)
    reported = np.concatenate([outcome.relative_gaps for outcome in outcomes])
    X = S.to_csr().astype(np.float64)
    for plane, label in enumerate(classes):
        signs, a, C = np.where(y == label, 1.0, -1.0), duals[:, plane], 2.0
        coef, intercept = planes.coefficients()[plane], planes.intercepts[plane]
        primal = objective(loss, X, signs, np.full(len(y), C), coef, intercept)
        w, b = X.T @ (signs * a), signs @ a
        assert a.min() >= 0
        if loss == "squared_hinge":
            dual = a.sum() - (a**2).sum() / (4 * C)
        elif loss == "hinge":
            assert a.max() <= C
            dual = a.sum()
        else:
            dual = -(a * np.log(a / C) + (C - a) * np.log1p(-a / C)).sum()
        gap = (primal - dual + 0.5 * (w @ w + b * b)) / primal
        assert gap <= tol * 1.01
        assert gap == pytest.approx(reported[plane], rel=0.02, abs=2e-7)


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


def test_more_planes_than_lanes(S):
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


def test_more_than_two_to_the_31_slots(tmp_path):
    """Files with holes are as long as they say: rows and planes lie beyond 2^31 elements."""
    n, k, far = 2**20 + 3, 2051, 2**20 + 1
    codes = np.memmap(tmp_path / "codes", np.uint8, "w+", shape=(n, k))
    weights = np.memmap(tmp_path / "weights", np.float16, "w+", shape=(n, k))
    rng = np.random.default_rng(0)
    codes[far], weights[far] = rng.integers(0, 256, k), rng.normal(size=k)
    assert far * k > 2**31
    planes = np.memmap(tmp_path / "planes", np.float32, "w+", shape=(2**16, 4100, 8))
    assert planes[-1].size * (2**16 - 1) > 2**31
    near = np.zeros((256, k, 8), np.float32)
    scales = np.ones(n, np.float32)
    targets = np.ones((n, 2), np.int8)
    outputs = np.empty((2, 2)), np.empty(2), np.empty(2)
    halves, numbers = weights.view(np.uint16), np.empty(k, np.float32)
    duals, biases = np.zeros((n, 2)), np.zeros(2)
    assert descent.sweep(
        losses.SQUARED_HINGE, codes, halves, numbers, scales, np.array([far]), targets, np.ones(n),
        np.ones((2, 2)), 0.0, np.ones(2, np.bool_), np.array([[-np.inf] * 2, [np.inf] * 2]),
        np.zeros(n, np.uint8), duals, near, biases, *outputs,
    )  # fmt: skip
    expected = weights[far] * np.float32(duals[far, 0])
    np.testing.assert_allclose(near[codes[far], np.arange(k), 0], expected, rtol=1e-5)
    out = np.empty((1, 2))
    data = codes, halves, scales, np.array([far]), numbers
    packed.score_rows(*data, near, None, 2, np.zeros(2), out)
    assert out[0, 0] == pytest.approx(float(weights[far].astype(float) @ expected), rel=1e-4)

    last = np.full((1, 4100), 2**16 - 1, np.uint16)
    steps = np.arange(8, dtype=np.float32)
    packed.add_row(last, None, 0, None, 0, steps, planes)
    np.testing.assert_array_equal(planes[-1], np.tile(steps, (4100, 1)))
    out, one = np.empty((1, 8)), np.ones(1, np.float32)
    packed.score_rows(last, None, one, np.array([0]), None, planes, None, 8, np.zeros(8), out)
    np.testing.assert_array_equal(out[0], 4100 * steps)


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
    S = ck.Signatures(recipe, codes, None, np.full(n, 9), None)
    assert S.codes.size > 2**31
    model = HashedLinearClassifier(C=0.01, tol=0.5, max_iter=3, random_state=0)
    model.fit(S, y)
    assert model.score(S[-5000:], y[-5000:]) > 0.99


def test_stream_ends_near_the_batch_solution(digits):
    """One pass in ten batches costs three points of accuracy, within the error of paired scores."""
    X, y = digits
    S = ck.CoREHasher(n_hashes=512, random_state=0).fit(X).sketch(X)
    for loss in LOSSES:
        whole = HashedLinearClassifier(loss, random_state=0).fit(S[:1000], y[:1000])
        stream = HashedLinearClassifier(loss, random_state=0)
        for start in range(0, 1000, 100):
            part = slice(start, start + 100)
            stream.partial_fit(S[part], y[part], classes=range(10) if start == 0 else None)
        differ = (stream.predict(S[1000:]) != whole.predict(S[1000:])).mean()
        error = np.sqrt(differ / len(y[1000:]))
        cost = whole.score(S[1000:], y[1000:]) - stream.score(S[1000:], y[1000:])
        assert cost <= 0.03 + 5 * error
        assert differ < 0.1


def test_stream_of_one_batch_is_the_batch_solution(digits, S):
    y = digits[1]
    stream = HashedLinearClassifier(C=0.1, random_state=0).partial_fit(S, y, classes=range(10))
    whole = HashedLinearClassifier(C=0.1, random_state=0).fit(S, y)
    difference = np.linalg.norm(stream.coef_ - whole.coef_) / np.linalg.norm(whole.coef_)
    assert difference < 0.05


def test_stream_goes_on_after_fit(digits, S):
    y = digits[1]
    model = HashedLinearClassifier(random_state=0).fit(S[:800], y[:800])
    before = model.score(S[1000:], y[1000:])
    model.partial_fit(S[800:1000], y[800:1000])
    assert model.score(S[1000:], y[1000:]) >= before - 0.01
    with pytest.raises(DataError, match="row 3 has the label 12"):
        model.partial_fit(S[:4], [0, 1, 2, 12])


def test_c_path(digits, S):
    y = digits[1]
    Cs = [1.0, 0.01, 0.1]
    model = HashedLinearClassifier(random_state=0)
    path = c_path(S[:1200], y[:1200], Cs, model=model, validation=(S[1200:], y[1200:]))
    for C, score in zip(Cs, path.mean, strict=True):
        cold = clone(model).set_params(C=C).fit(S[:1200], y[:1200])
        assert score == pytest.approx(cold.score(S[1200:], y[1200:]), abs=0.01)
    assert path.best_C == Cs[path.mean.argmax()]
    assert path.best_model.dual_gap_.max() <= model.tol
    best = clone(model).set_params(C=path.best_C).fit(S[:1200], y[:1200])
    assert (best.predict(S) == path.best_model.predict(S)).mean() > 0.995
    p = path.mean
    np.testing.assert_allclose(path.standard_error, np.sqrt(p * (1 - p) / (len(S) - 1200)))


def test_c_path_takes_folds_as_scikit_learn_does(digits, S):
    y = digits[1]
    model = HashedLinearClassifier(random_state=0)
    rows = np.arange(300)
    parts = [(rows[rows % 3 != part], rows[rows % 3 == part]) for part in range(3)]
    paths = [
        c_path(S[:300], y[:300], [0.1, 1], model=model, cv=cv)
        for cv in (
            parts,
            [(train.tolist(), test.tolist()) for train, test in parts],
            [(np.isin(rows, train), np.isin(rows, test)) for train, test in parts],
        )
    ]
    for path in paths[1:]:
        np.testing.assert_array_equal(path.scores, paths[0].scores)
    one = c_path(S[:300], y[:300], [0.1, 1], model=model, cv=parts[:1])
    np.testing.assert_array_equal(one.scores[:, 0], paths[0].scores[:, 0])
    assert np.isnan(one.standard_error).all()
    for cv in ([], [(rows, rows[:0])], [([0, 1], [900])]):
        with pytest.raises(ParameterError, match="cv: "):
            c_path(S[:300], y[:300], [1.0], model=model, cv=cv)
    with pytest.raises(DataError, match="validation: has no rows"):
        c_path(S[:300], y[:300], [1.0], model=model, validation=(S[:0], y[:0]))


def test_c_path_takes_the_smallest_of_equal_Cs(digits, S):
    """Rows that any C tells apart, so that all accuracies are 1, whatever their order in a mean."""
    y = (digits[1][:300] == 0).astype(int)
    path = c_path(S[:300], y, [1.0, 0.1, 1.0, 10], cv=5)
    best = path.mean.max()
    assert path.best_C == min(C for C, mean in zip(path.Cs, path.mean, strict=True) if mean == best)
    np.testing.assert_array_equal(path.scores[0], path.scores[2])


@pytest.mark.parametrize("loss", LOSSES)
def test_c_path_reads_accuracies_that_have_settled(digits, S, loss):
    """Within one standard error of the solution's own; half of one is the largest ever measured."""
    y = digits[1]
    model = HashedLinearClassifier(loss, random_state=0, tol=1e-4, max_iter=5000)
    loose, tight = (
        c_path(S[:900], y[:900], np.geomspace(0.02, 2, 5), model=model,
               validation=(S[900:], y[900:]), path_tol=path_tol)
        for path_tol in (1e-2, 1e-6)
    )  # fmt: skip
    assert (abs(loose.mean - tight.mean) <= tight.standard_error).all()
    assert loose.n_iter.sum() < tight.n_iter.sum()
    assert loose.best_model.dual_gap_.max() <= model.tol


@pytest.mark.parametrize("loss", LOSSES)
def test_planes_are_as_near_as_their_tolerance_says(digits, S, loss):
    """The objective grows by half the squared distance at least, so the gap bounds the distance."""
    model = HashedLinearClassifier(loss, C=0.5, tol=1e-6, max_iter=20_000, random_state=0)
    _, lesson = read_lesson(model, S, digits[1], None)
    problem, options = check_problem(model), check_options(model)
    near, best = (
        as_planes(S.recipe, learn(lesson, lesson.blocks(*problem), None, None, **some)[0], 1.0)
        for some in ({**options, "plane_tol": 0.01}, options)
    )
    found, exact = (np.c_[p.coefficients(), p.intercepts].astype(float) for p in (near, best))
    distances = np.linalg.norm(found - exact, axis=1) / np.linalg.norm(found, axis=1)
    # A gap of 1e-6 of the objective, itself at most 100 times |w|^2 / 2, is a distance of 0.01.
    assert distances.max() <= 0.1 + 0.01


@pytest.mark.parametrize("n_classes", [2, 10])
def test_c_path_by_folds_does_not_depend_on_threads(digits, S, n_classes):
    y = digits[1] % n_classes
    paths = [
        c_path(S, y, [0.01, 0.1], cv=3, model=HashedLinearClassifier(random_state=0, n_jobs=n_jobs))
        for n_jobs in (1, 2)
    ]
    assert paths[0].scores.shape == (2, 3)
    np.testing.assert_array_equal(paths[0].scores, paths[1].scores)
    np.testing.assert_array_equal(paths[0].best_model.coef_, paths[1].best_model.coef_)


def test_streams_are_scored_as_they_are_after_each_batch(digits, S):
    """Scoring keeps a copy of the planes, which more learning must not leave behind."""
    y = digits[1]
    model = HashedLinearClassifier(random_state=0)
    model.partial_fit(S[:300], y[:300], classes=np.arange(10))
    before = model.decision_function(S)
    model.partial_fit(S[300:600], y[300:600])
    after = model.decision_function(S)
    fresh = pickle.loads(pickle.dumps(model))
    assert len(pickle.dumps(fresh)) == len(pickle.dumps(model))
    np.testing.assert_array_equal(after, fresh.decision_function(S))
    assert (before != after).any()


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
    with pytest.raises(DataError, match="y: has 5 labels for 1797 rows; give one label a row"):
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
    with pytest.raises(ParameterError, match="Cs: got no value"):
        c_path(S, y, [])
    with pytest.raises(ParameterError, match="Cs: got -1"):
        c_path(S, y, [1, -1])


def test_streams_are_checked(digits, S):
    X, y = digits
    model = HashedLinearClassifier()
    with pytest.raises(ParameterError, match="classes: None in the first call"):
        model.partial_fit(S, y)
    with pytest.raises(ParameterError, match='"balanced" needs all rows at once'):
        HashedLinearClassifier(class_weight="balanced").partial_fit(S, y, range(10))
    with pytest.raises(DataError, match="row 4 has the label 4, not one of the classes"):
        model.partial_fit(S, y, classes=range(4))
    model.partial_fit(S, y, classes=range(10))
    with pytest.raises(ParameterError, match="classes: not those of the first call"):
        model.partial_fit(S, y, classes=range(11))
    other = ck.CoREHasher(n_hashes=128, random_state=5).fit(X).sketch(X)
    with pytest.raises(RecipeMismatch):
        model.partial_fit(other, y)


def test_warning_says_what_to_change(digits, S):
    model = HashedLinearClassifier(C=100, max_iter=2)
    with pytest.warns(
        ConvergenceWarning, match=r"max_iter=2 sweeps.*raise max_iter or tol, or low"
    ):
        model.fit(S, digits[1])
    assert model.dual_gap_.max() > model.tol
    with pytest.warns(ConvergenceWarning, match=r"for (path_)?tol=.*raise max_iter or (path_)?tol"):
        c_path(S, digits[1], [100], model=model, validation=(S, digits[1]))


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


def test_codes_that_no_hasher_makes_are_refused(S, digits):
    narrow = S.narrow(4)
    broken = replace(narrow, codes=np.full_like(narrow.codes, 16))
    with pytest.raises(DataError, match="a code is 16, which 4 bits do not hold"):
        HashedLinearClassifier().fit(broken, digits[1])
