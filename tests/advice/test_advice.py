import os
import time

import numpy as np
import pytest
from scipy import sparse

import corekernels as ck
from corekernels._core.progress import progress_bar
from corekernels.advice.learners import Learner, Result, Sample, Settings, unit_rows
from corekernels.advice.result import Confusion
from corekernels.advice.trials import Trials
from corekernels.advice.verdict import _advice, _call
from corekernels.errors import DataError, ParameterError
from corekernels.kernel_table import HASHED_KERNELS
from reproduction import datasets

FEW = {"n_rows": 300, "sizes": (32, 128), "cv": 3, "repeats": 1, "time_limit": 1000}


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
    assert "Take the one cheaper for many rows, linear: one fit took " in advice.sentence


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
    assert advice.candidates[0].accuracy < 0.8
    assert advice.best.kind != "linear"
    assert advice.best.gain > advice.best.gain_margin > 0
    assert _call(advice.best) in advice.sentence
    assert "no time" not in str(advice)


def scripted(scores):
    """A learner that reaches these accuracies, fold by fold."""
    left = iter(scores)
    return lambda settings: lambda train, test: Result(next(left), np.zeros(len(test), int))


def learner(name, kind, scores, n_hashes=None):
    kernel = "core1" if kind in ("hashed", "exact", "both") else None
    return Learner(name, kind, (Settings(1.0),), scripted(scores), 1e6, kernel, n_hashes)


def advice_on(*learners, n_folds=5):
    fold = (np.arange(4), np.arange(2))
    with progress_bar(9, "", "", False) as bar:
        trials = Trials([[fold] * n_folds] * 3, 1000, bar)
        for one in learners:
            trials.try_out(one)
        trials.repeat()
    return _advice(trials, np.arange(10) % 2, [])


def noisy(mean, seed, spread=0.01):
    return mean + spread * np.random.default_rng(seed).normal(size=15)


def test_verdicts():
    linear = learner("linear", "linear", noisy(0.8, 0))
    many = learner("many hashes", "hashed", noisy(0.9, 1), 1024)
    few = learner("few hashes", "hashed", noisy(0.895, 2), 256)
    clear = advice_on(linear, many, few)
    assert (clear.verdict, clear.best.name) == ("core", "few hashes")  # keeps most of the gain
    assert clear.sentence.startswith("Use CoREClassifier('core1', n_hashes=256, C=1): expect 89.")
    assert "1 MB" in clear.sentence
    worse = advice_on(
        learner("linear", "linear", noisy(0.8, 0)), learner("exact", "exact", noisy(0.7, 1))
    )
    assert (worse.verdict, worse.best.name) == ("other", "linear")
    assert worse.sentence.startswith("CoRE brings nothing here: use linear (79.")
    boosted = advice_on(
        learner("linear", "linear", noisy(0.8, 0)),
        learner("hashes", "hashed", noisy(0.9, 1), 64),
        learner("trees", "boosting", noisy(0.95, 2)),
    )
    assert (boosted.verdict, boosted.best.name) == ("other", "trees")
    close = advice_on(
        learner("linear", "linear", noisy(0.80, 0, 0.03)),
        learner("hashes", "hashed", noisy(0.81, 1, 0.03), 64),
    )
    assert (close.verdict, close.best.name, close.helps) == ("close", "linear", False)
    # the best of the others is more accurate, but not clearly, and CoRE no better than the plane
    none_better = advice_on(
        learner("linear", "linear", 3 * [0.9, 0.94, 0.92, 0.9, 0.94]),
        learner("core1, 64 hashes", "hashed", 3 * [0.9, 0.94, 0.92, 0.9, 0.94], 64),
        learner("Gaussian SVM", "gaussian", 3 * [0.96, 0.91, 0.96, 0.92, 0.93]),
    )
    assert (none_better.verdict, none_better.best.name) == ("close", "linear")
    assert "linear has 92.0%, core1, 64 hashes 92.0%" in none_better.sentence


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
    assert (advice.verdict, advice.best.name) == ("close", "linear")


def test_intervals_cover():
    """Means over repeated folds of overlapping training sets: 95 % of intervals hold the truth."""
    rng = np.random.default_rng(0)
    n, n_folds, rounds, runs, covered = 100, 5, 3, 400, 0
    with progress_bar(1, "", "", False) as bar:
        trials = Trials([[(np.arange(1), np.arange(1))] * n_folds] * rounds, 1, bar)
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
    advice = ck.advise(sparse.csr_array(X), y, **FEW)
    kinds = [c.kind for c in advice.candidates]
    n_exact = len(HASHED_KERNELS)
    assert kinds == [
        "linear", *["exact"] * n_exact, "hashed", "hashed", "both", "gaussian", "fourier",
        "exact", "exact", "boosting",
    ]  # fmt: skip
    assert (advice.n_rows, advice.n_classes, advice.n_folds) == (300, 2, 3)
    by_name = {c.name: c for c in advice.candidates}
    assert by_name["core_rbf, exact"].gamma in (1, 2, 4)
    again = ck.advise(X, y, **FEW)
    assert [c.accuracy for c in again.candidates] == [c.accuracy for c in advice.candidates]
    lines = str(advice).splitlines()
    assert [line.split("  ")[0] for line in lines[1 : 1 + len(kinds)]] == [*by_name]
    assert lines[-1] == advice.sentence
    assert repr(advice) == str(advice)


def test_settings_are_chosen_on_the_first_round_and_all_are_repeated():
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


def test_settings_that_take_too_long_are_left_out_and_named():
    def prepare(settings):
        def score(train, test):
            time.sleep(0.001 if settings.C == 1 else 0.2)
            return Result(0.5, np.zeros(len(test), int))

        return score

    settings = (Settings(1.0), Settings(10.0), Settings(100.0))
    slow = Learner("slow", "hashed", settings, prepare, 1e6, "core1", 16)
    with progress_bar(9, "", "", False) as bar:
        trials = Trials([[(np.arange(4), np.arange(2))] * 5], 0.6, bar)
        trials.try_out(learner("linear", "linear", [0.5] * 5))
        start = time.perf_counter()
        trial = trials.try_out(slow)
    assert time.perf_counter() - start < 1.0  # of 2 s for all
    assert trial.settings.C == 1
    assert trials.notes == ["no time for more than 1 of 3 settings of slow"]


def test_boosting_says_how_many_columns_it_sees():
    X = sparse.random_array((60, 900), density=0.1, rng=np.random.default_rng(0), format="csr")
    sample = Sample(unit_rows(X), np.arange(60) % 2, 0, None)
    boosting = sample.boosting()
    assert boosting.name == f"gradient boosting, 256 of {sample.unit.shape[1]} columns"
    assert 0 <= boosting.prepare(Settings())(np.arange(40), np.arange(40, 60)).accuracy <= 1


def test_fourier_features_are_fewer_where_they_cost_more():
    """Wide rows take more random numbers per feature, many classes more steps: not so hashes."""

    def features(n_columns, n_classes, n_hashes=1024):
        X = sparse.random_array((400, n_columns), density=20 / n_columns, format="csr", rng=0)
        sample = Sample(unit_rows(X), np.arange(400) % n_classes, 0, None)
        name = sample.fourier(n_hashes).name
        assert name.endswith(" Fourier features")
        return int(name.split()[0])

    assert 300 < features(100, 8) < 3000
    assert features(5000, 8) < features(100, 8) / 2
    assert features(100, 8) < features(100, 4)
    assert abs(features(100, 8, 2048) - 2 * features(100, 8)) <= 1
    assert features(5000, 2, 16) == 64


def test_progress_names_the_candidates(capsys):
    X, y = crossed(120)
    advice = ck.advise(X, y, **FEW, progress=True)
    shown = capsys.readouterr().err
    places = [shown.index(f"\r{candidate.name}:") for candidate in advice.candidates]
    assert places == sorted(places)
    assert f"{len(places) - 1}/{len(places)}" in shown
    ck.advise(X, y, **FEW, progress=False)
    assert capsys.readouterr().err == ""


def test_samples_are_bounded_and_rare_classes_named():
    X, y = blobs(900)
    y = y.copy()
    y[:2] = 9
    advice = ck.advise(X, y, **FEW)
    assert advice.n_rows <= 300
    assert advice.n_classes == 3
    assert advice.notes == (
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
    advice = ck.advise(wide, np.array(["a", "b", "c"])[y], **few)
    assert "boosting" in [candidate.kind for candidate in advice.candidates]
    plain = ck.advise(X, y, **{**few, "time_limit": 1e-6})  # the first, which is always tried
    assert advice.candidates[0].accuracy == plain.candidates[0].accuracy


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
    assert advice.best.accuracy > 0.9
    news = datasets.load("20news")
    advice = ck.advise(news.X_train, news.y_train)
    assert not advice.helps
