import os
import re
import time
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.model_selection import RepeatedStratifiedKFold

import corekernels as ck
from corekernels._core.progress import progress_bar
from corekernels.advice.learners import Learner, Learners, sampled_rows, with_kernel_matrix
from corekernels.advice.result import Confusion
from corekernels.advice.trials import Trials, affordable_rows
from corekernels.advice.verdict import _advice
from corekernels.errors import DataError, ParameterError
from corekernels.kernel_table import HASHED_KERNELS
from reproduction import datasets

FEW = {"n_rows": 300, "sizes": (32,), "cv": 3, "repeats": 1, "time_limit": 1000}


def blobs(n=300, seed=0):
    """Classes a plane tells apart, in rows whose columns are all noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    X = 0.02 * rng.random((n, 200)) * (rng.random((n, 200)) < 0.1)
    X[np.arange(n), y] += 1 + rng.random(n)
    return X, y


def test_where_all_are_equal_the_cheapest_is_taken():
    advice = ck.advise(*blobs(), **FEW)
    assert (advice.verdict, advice.helps) == ("close", False)
    assert advice.best.kind == "linear"
    assert advice.sentence.startswith("Too close to call")
    assert "For many rows linear is the cheapest" in advice.sentence


def crossed(n=200, seed=0):
    """Classes by whether two blocks of columns agree, which no plane sees."""
    rng = np.random.default_rng(seed)
    halves = rng.integers(0, 2, (n, 2))
    X = np.zeros((n, 40))
    for row, (first, second) in enumerate(halves):
        X[row, 10 * first + rng.permutation(10)[:6]] = 1 + rng.random(6)
        X[row, 20 + 10 * second + rng.permutation(10)[:6]] = 1 + rng.random(6)
    return X, halves[:, 0] ^ halves[:, 1]


def test_it_says_what_to_use_where_planes_do_not_help():
    advice = ck.advise(*crossed(), **{**FEW, "n_rows": 200, "sizes": (256,)})
    assert advice.candidates[0].score < 0.8
    assert advice.best.kind != "linear"
    assert advice.best.gain > advice.best.gain_margin > 0
    assert advice.best.name in advice.sentence
    assert "no time" not in str(advice)


class Scripted(Trials):
    """Trials of learners whose pipelines are lists of the scores they reach, fold by fold."""

    def _fit_and_score(self, pipeline, fold, n_rows):
        return next(pipeline[-1].scores), np.zeros(len(fold[1]), int)


def learner(name, kind, scores, n_hashes=0):
    pilot = [0.5]
    model = SimpleNamespace(scores=iter([*pilot, *scores]), n_hashes=n_hashes)
    return Learner(name, kind, ([model],))


def advice_on(*learners, n_folds=5):
    fold = (np.arange(400), np.arange(2))
    rows = Learners(np.zeros((400, 1)), np.arange(400) % 2, False, 0, None)
    with progress_bar(9, "", "", False) as bar:
        trials = Scripted(rows, [[fold] * n_folds] * 3, 1000, len(learners), bar)
        for one in learners:
            trials.try_out(one)
        trials.repeat()
    return _advice(trials, [])


def noisy(mean, seed, spread=0.01):
    return mean + spread * np.random.default_rng(seed).normal(size=15)


def test_verdicts():
    def linear():
        return learner("linear", "linear", noisy(0.8, 0))

    many = learner("many hashes", "hashed", noisy(0.9, 1), 1024)
    few = learner("few hashes", "hashed", noisy(0.897, 2), 256)
    clear = advice_on(linear(), many, few)
    assert (clear.verdict, clear.best.name) == ("core", "few hashes")  # within error of the best
    assert clear.sentence.startswith("Use few hashes: expect 89.")
    worse = advice_on(linear(), learner("exact", "exact", noisy(0.7, 1)))
    assert (worse.verdict, worse.best.name) == ("other", "linear")
    assert worse.sentence.startswith("CoRE brings nothing here: use linear (79.")
    boosted = advice_on(
        linear(),
        learner("hashes", "hashed", noisy(0.9, 1), 64),
        learner("trees", "boosting", noisy(0.95, 2)),
    )
    assert (boosted.verdict, boosted.best.name) == ("other", "trees")
    close = advice_on(
        learner("linear", "linear", noisy(0.80, 0, 0.03)),
        learner("hashes", "hashed", noisy(0.805, 1, 0.03), 64),
    )
    assert (close.verdict, close.best.name, close.helps) == ("close", "linear", False)


@pytest.mark.parametrize(("gaussian", "best"), [(0.9, "exact"), (0.904, "Gaussian SVM")])
def test_of_kernel_machines_the_better_is_taken(gaussian, best):
    advice = advice_on(
        learner("linear", "linear", noisy(0.8, 0)),
        learner("exact", "exact", noisy(0.902, 1, 1e-4)),
        learner("Gaussian SVM", "gaussian", noisy(gaussian, 2, 1e-4)),
    )
    assert (advice.verdict, advice.best.name) == ("close", best)


def test_the_hopeless_are_dropped_and_named():
    """What was dropped is never advised, however wide its interval of two folds."""
    hopeless = learner("hopeless", "hashed", [0.1, 0.68], 64)
    exact = learner("exact", "exact", noisy(0.8, 0))
    advice = advice_on(learner("linear", "linear", noisy(0.6, 0)), exact, hopeless)
    assert advice.notes == ("hopeless was far behind after 2 folds",)
    assert [round(candidate.score, 2) for candidate in advice.candidates] == [0.60, 0.80, 0.39]
    assert advice.best.name == "exact"


def test_confused_classes():
    """Rows 0 and 1, of classes 0 and 1, are tested in each of five folds; 0 is predicted always."""
    advice = advice_on(learner("linear", "linear", noisy(0.8, 0)))
    assert advice.confused == (Confusion(1, 0, 5, 5),)


@pytest.mark.parametrize("seed", range(6))
def test_near_ties_never_flip_between_opposite_verdicts(seed):
    """As on short texts in 43 classes: differences of half a point, folds that scatter by two."""
    advice = advice_on(
        learner("linear", "linear", noisy(0.470, seed, 0.02)),
        learner("hashes", "hashed", noisy(0.475, seed + 100, 0.02), 64),
    )
    assert advice.verdict == "close"


def test_intervals_cover():
    """Means over repeated folds of overlapping training sets: 95 % of intervals hold the truth."""
    rng = np.random.default_rng(0)
    n, n_folds, rounds, runs, covered = 100, 5, 3, 400, 0
    with progress_bar(1, "", "", False) as bar:
        trials = Trials(None, [[(np.arange(1), np.arange(1))] * n_folds] * rounds, 1, 1, bar)
    for _ in range(runs):
        values = rng.normal(size=n)  # the score of a fold is its mean: all rounds use these rows
        scores = [
            part.mean()
            for _ in range(rounds)
            for part in np.split(values[rng.permutation(n)], n_folds)
        ]
        mean, margin = trials.interval(np.array(scores))
        covered += abs(mean) <= margin
    assert covered >= runs * (0.95 - 3 * np.sqrt(0.95 * 0.05 / runs))


def test_what_is_compared():
    X, y = crossed(300)
    X = np.hstack([X, 0.1 * np.eye(300)])
    advice = ck.advise(sparse.csr_array(X), y, **{**FEW, "sizes": (32, 128)})
    kinds = [c.kind for c in advice.candidates]
    assert kinds == [
        "linear", *["exact"] * len(HASHED_KERNELS), "hashed", "both", "gaussian", "fourier",
        "boosting", "hashed",
    ]  # fmt: skip
    assert (advice.n_rows, advice.n_classes, advice.n_folds) == (300, 2, 3)
    lines = str(advice).splitlines()
    ranked = sorted(advice.candidates, key=lambda candidate: -candidate.score)
    assert [line.split("  ")[0] for line in lines[1 : 1 + len(kinds)]] == [c.name for c in ranked]
    assert advice.sentence in lines
    assert str(advice).endswith(advice.best.code)
    assert repr(advice) == str(advice)


def test_figures_are_those_of_the_estimators():
    """Each candidate's pipeline, run by anybody on the same folds, gives the figure."""
    X, y = crossed(300)
    advice = ck.advise(X, y, **FEW)
    rng = np.random.default_rng(0)
    splitter = RepeatedStratifiedKFold(n_splits=3, n_repeats=1, random_state=0)
    folds = [(rng.permutation(train), test) for train, test in splitter.split(X, y)]
    for candidate in advice.candidates:
        if "far behind" in str(advice.notes) and candidate.name in str(advice.notes):
            continue
        scores = [
            clone(candidate.estimator).fit(X[train], y[train]).score(X[test], y[test])
            for train, test in folds
        ]
        assert candidate.score == pytest.approx(np.mean(scores), abs=1e-12)


@pytest.mark.parametrize("task", ["classification", "regression"])
@pytest.mark.parametrize("kind", ["table", "sparse", "counts", "dense"])
def test_code_makes_the_estimator(kind, task):
    """What is printed is Python that makes an equal pipeline."""
    rng = np.random.default_rng(0)
    X = rng.random((120, 150 if kind == "sparse" else 1200 if kind == "counts" else 5)) + 0.1
    if kind != "dense":
        X *= rng.random(X.shape) < (0.1 if kind in ("sparse", "counts") else 0.7)
    X = sparse.csr_array(np.ceil(10 * X) if kind == "counts" else X)
    y = np.arange(120) % 2 + (rng.random(120) if task == "regression" else 0)
    advice = ck.advise(X, y, **{**FEW, "n_rows": 120, "sizes": (16,), "cv": 2})
    assert advice.metric == ("R²" if task == "regression" else "accuracy")
    assert any("splines" in c.name for c in advice.candidates) == (kind in ("table", "dense"))
    for candidate in advice.candidates:
        names = {}
        exec(candidate.code, names)
        made = clone(names["model"]).fit(X, y).predict(X)
        again = clone(candidate.estimator).fit(X, y).predict(X)
        assert np.array_equal(made, again), candidate.code


def test_regression_is_told_by_the_values():
    X, y = load_diabetes(return_X_y=True)  # whole numbers as floats, most of which occur seldom
    few = {"n_rows": 200, "sizes": [32], "cv": 2, "repeats": 1}
    advice = ck.advise(X, y, **few)
    assert (advice.metric, advice.n_classes, advice.confused) == ("R²", 0, ())
    assert 0.3 < advice.best.score < 0.6
    assert "R²" in str(advice)
    labels = ck.advise(X, y.astype(int), **few)
    assert labels.metric == "accuracy"
    assert any("task='regression'" in note for note in labels.notes)
    assert ck.advise(X, y.astype(int), task="regression", **few).metric == "R²"


def test_settings_are_chosen_on_the_first_round_and_rivals_are_repeated():
    X, y = blobs(120)
    advice = ck.advise(X, y, **{**FEW, "repeats": 2, "sizes": (16,)})
    assert advice.n_folds == 6
    assert all(c.margin >= 0 for c in advice.candidates)


def test_time_is_bounded_and_what_is_left_out_is_named():
    X, y = blobs(150)
    advice = ck.advise(X, y, **{**FEW, "time_limit": 1e-6, "repeats": 2})
    assert [c.kind for c in advice.candidates] == ["linear"]
    assert advice.best.kind == "linear"
    assert "no time for core1, exact" in advice.notes
    assert advice.notes[-1] == "no time for more than 1 of 2 rounds"


def test_learners_that_take_too_long_learn_from_fewer_rows():
    class Slow(Trials):
        def _fit_and_score(self, pipeline, fold, n_rows):
            time.sleep(1e-4 * min(n_rows, len(fold[0])))
            return 0.5, np.zeros(len(fold[1]), int)

    fold = (np.arange(4000), np.arange(2))
    rows = Learners(np.zeros((4000, 1)), np.arange(4000) % 2, False, 0, None)
    slow = Learner("slow", "hashed", ([SimpleNamespace(n_hashes=1)],) * 4)
    with progress_bar(9, "", "", False) as bar:
        trials = Slow(rows, [[fold] * 5], 1.0, 1, bar)
        start = time.perf_counter()
        trials.try_out(slow)
    assert time.perf_counter() - start < 3.0  # of 5.6 s for all
    assert re.fullmatch(r"slow learned from \d+ rows only, for lack of time", trials.notes[0])
    assert trials.notes[1] == "slow was tried with 1 of 4 settings, for lack of time"
    assert re.fullmatch(r"slow, from \d+ of 4000 rows", _advice(trials, []).best.name)


def test_what_takes_the_same_time_for_any_number_of_rows_learns_from_all():
    class Steady(Trials):
        def _fit_and_score(self, pipeline, fold, n_rows):
            time.sleep(0.05)
            return 0.5, np.zeros(len(fold[1]), int)

    fold = (np.arange(1600), np.arange(2))
    rows = Learners(np.zeros((1600, 1)), np.arange(1600) % 2, False, 0, None)
    with progress_bar(9, "", "", False) as bar:
        trial = Steady(rows, [[fold] * 5], 1.0, 1, bar).try_out(
            Learner("steady", "boosting", ([SimpleNamespace()],))
        )
    assert trial.n_rows == 1600


@pytest.mark.parametrize("is_sparse", [False, True])
def test_gaussian_svms_are_computed_by_the_matrix_of_their_kernel(is_sparse):
    X, y = crossed(150)
    X = sparse.csr_array(X) if is_sparse else X
    learners = Learners(X, y, False, 0, None), Learners(X, y + X.sum(axis=1), True, 0, None)
    for one in learners:
        for pipeline in one.gaussian().pipelines:
            fast = with_kernel_matrix(pipeline).fit(X[:100], one.y[:100]).predict(X[100:])
            plain = clone(pipeline).fit(X[:100], one.y[:100]).predict(X[100:])
            assert fast == pytest.approx(plain, rel=1e-6)


def test_affordable_rows():
    assert affordable_rows(10, 1, 200, 1000, 1) == 1000
    assert affordable_rows(3, 1, 200, 1000, 1) == 490
    assert affordable_rows(3, 1, 200, 1000, 2) == 343
    assert affordable_rows(0, 1, 200, 1000, 1) < 50


def test_boosting_says_how_many_columns_it_sees():
    X = sparse.random_array((60, 900), density=0.1, rng=np.random.default_rng(0), format="csr")
    y = np.arange(60) % 2
    X = sampled_rows(X, np.arange(60))
    boosting = Learners(X, y, False, 0, None).boosting()
    assert boosting.name == f"gradient boosting, 256 of {X.shape[1]} columns"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert set(boosting.pipelines[0].fit(X, y).predict(X)) <= {0, 1}


def test_progress_names_the_candidates(capsys):
    X, y = crossed(120)
    advice = ck.advise(X, y, **FEW, progress=True)
    shown = capsys.readouterr().err
    places = [shown.index(f"\r{candidate.name}:") for candidate in advice.candidates]
    assert places == sorted(places)
    ck.advise(X, y, **FEW, progress=False)
    assert capsys.readouterr().err == ""


def test_samples_are_bounded_and_rare_classes_named():
    X, y = blobs(900)
    y = y.copy()
    y[:2] = 9
    advice = ck.advise(X, y, **FEW)
    assert advice.n_rows <= 300
    assert advice.n_classes == 3
    assert advice.notes[:2] == (
        "1 classes with fewer than 3 rows left out",
        f"judged on a sample of {advice.n_rows} rows",
    )


def test_column_numbers_may_be_huge_and_labels_strings():
    X, y = blobs(150)
    wide = sparse.coo_array(X)
    wide = sparse.csr_array(
        (wide.data, (wide.row.astype(np.int64), wide.col.astype(np.int64) * 2**33)),
        shape=(150, 2**41),
    )
    few = {**FEW, "sizes": (16,), "cv": 2}
    labels = np.array(["a", "b", "c"])[y]
    advice = ck.advise(wide, labels, **few)
    assert "boosting" in [candidate.kind for candidate in advice.candidates]
    few["time_limit"] = 1e-6  # the first alone, which is always tried
    pairs = zip(
        ck.advise(wide, labels, **few).candidates, ck.advise(X, y, **few).candidates, strict=True
    )
    assert all(one.score == other.score for one, other in pairs)


def test_seeds_of_64_bits():
    X, y = blobs(60)
    few = {"n_rows": 60, "sizes": [16], "cv": 2, "repeats": 1}
    found = [ck.advise(X, y, **few, random_state=seed) for seed in (2**32, 2**64 - 1)]
    assert all(len(advice.candidates) > 5 for advice in found)


def test_errors():
    X, y = blobs(30)
    with pytest.raises(DataError, match="one label per row"):
        ck.advise(X, y[:-1])
    with pytest.raises(DataError, match="fewer than two of its 3 classes have 50 rows"):
        ck.advise(X, y, cv=50)
    with pytest.raises(ParameterError, match="n_rows"):
        ck.advise(X, y, n_rows=0)
    with pytest.raises(ParameterError, match="sizes: got 0"):
        ck.advise(X, y, sizes=[16, 0])
    with pytest.raises(ParameterError, match="sizes: got none"):
        ck.advise(X, y, sizes=[])


@pytest.mark.slow
@pytest.mark.skipif("COREKERNELS_DATA" not in os.environ, reason="needs COREKERNELS_DATA")
def test_on_real_data():
    images, digits = datasets.mnist()
    advice = ck.advise(images.reshape(len(images), -1), digits)
    assert advice.helps
    assert advice.best.gain > 0.03
    assert advice.best.score > 0.9
    news = datasets.load("20news")
    advice = ck.advise(news.X_train, news.y_train)
    assert not advice.helps
