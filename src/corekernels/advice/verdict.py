"""Advice: whether CoRE kernels help on the rows at hand, before anything large is run."""

import math
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from .._core.arguments import (
    Array,
    require_choice,
    require_count,
    require_positive,
    seed_of,
)
from .._core.progress import progress_bar
from .._core.validation import as_matrix
from ..errors import DataError, ParameterError
from ..kernel_table import HASHED_KERNELS
from ..linear.labels import check_labels, check_values
from .learners import Core, Learners, final_model, sampled_rows
from .result import KINDS, Advice, Candidate, Confusion
from .trials import Fold, Trial, Trials

DEFAULT_SIZES = (256, 1024, 4096)  # numbers of hashes
TASKS = ("classification", "regression")
_MOST_CONFUSED = 10
_RARE = 5  # rows with the same value: fewer make no class
_LEAST_GAIN = 0.005  # in accuracy or R²: less is no reason to take what is more expensive


def advise(
    X: Any,
    y: Any,
    *,
    task: str | None = None,
    n_rows: int = 2000,
    sizes: Sequence[int] = DEFAULT_SIZES,
    cv: int = 5,
    repeats: int = 3,
    time_limit: float = 60.0,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Advice:
    """Compare ways to learn on a sample of the rows, and say which to use.

    By cross-validation, all on the same folds, each as a competent user would run it: a linear
    model (on columns of one scale, TF-IDF weights if the rows count words, and on rows of length
    one: the better); a Gaussian SVM; gradient boosting on the values as they are (on 256 columns
    if there are more); ridge regression on random Fourier features; exact CoRE kernels, the best
    of them hashed in several sizes, and beside the linear features. In dense rows CoRE kernels see
    the columns as splines. Settings are chosen on the first round of folds, whose other rounds
    only see what may still be the best.

    The advice is the cheapest candidate within the error of the best. Cheaper means cheaper for
    many rows: linear, then hashed by its size, then kernel machines, of which the best is taken.

    Parameters
    ----------
    X : {array-like, sparse matrix}
    y : array-like
        Labels, or numbers to predict.
    task : {"classification", "regression"}, optional
        None: regression if y holds numbers with a fraction, or floats most of which occur seldom.
        Integers are classes.
    n_rows : int
        Rows of the sample, drawn class by class.
    sizes : sequence of int
        Numbers of hashes to try.
    cv : int
        Folds of a round. Classes with fewer rows in the sample are left out.
    repeats : int
        Rounds of folds.
    time_limit : float
        Seconds, compiling apart. What would take longer learns from fewer rows or is left out, and
        the notes say what.
    random_state : int, RandomState instance or None
    n_jobs : int, optional
        Threads; None means all cores.
    progress : bool, optional
        Whether to show a progress bar; None means where there is a terminal.

    Examples
    --------
    >>> import corekernels as ck
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> advice = ck.advise(X, y, n_rows=200, sizes=[64], cv=2, repeats=1, time_limit=5)
    >>> advice.candidates[0].kind, advice.verdict in ("core", "other", "close")
    ('linear', True)
    """
    matrix = as_matrix(X)
    n_folds, repeats = require_count("cv", cv), require_count("repeats", repeats)
    if n_folds < 2:
        raise ParameterError(f"cv: got {cv!r}; give 2 folds or more.")
    is_regression = _is_regression(y, task)
    y = (check_values if is_regression else check_labels)(y, matrix.shape[0])
    time_limit, seed = require_positive("time_limit", time_limit), seed_of(random_state)
    sizes = sorted(require_count("sizes", size) for size in sizes)
    if not sizes:
        raise ParameterError("sizes: got none; give at least one number of hashes.")
    draw = _sample_values if is_regression else _sample_classes
    rows, notes = draw(y, require_count("n_rows", n_rows), n_folds, seed)
    learners = Learners(sampled_rows(matrix, rows), y[rows], is_regression, seed, n_jobs)
    cores = learners.cores()
    n_learners = len(cores) + len(sizes) + 5
    with (
        warnings.catch_warnings(),
        progress_bar(n_learners + repeats - 1, "advice", "candidates", progress) as bar,
    ):
        warnings.simplefilter("ignore")  # of learners: ranks are settled before they converge
        learners.compile_loops()
        rounds = _rounds(learners, n_folds, repeats)
        trials = Trials(learners, rounds, time_limit, n_learners, bar)
        trials.try_out(learners.linear())
        best = _best_core(cores, [trials.try_out(learners.exact(core)) for core in cores])
        for size in sizes[:-1]:
            trials.try_out(learners.hashed(best, size))
        trials.try_out(learners.both(best, sizes[0]))
        trials.try_out(learners.gaussian())
        trials.try_out(learners.fourier())
        trials.try_out(learners.boosting())
        trials.try_out(learners.hashed(best, sizes[-1]))  # with many classes it takes the longest
        trials.repeat()
    return _advice(trials, notes)


def _is_regression(y: Any, task: str | None) -> bool:
    if task is not None:
        return require_choice("task", task, TASKS) == "regression"
    values = np.asarray(y)
    if values.dtype.kind != "f" or values.ndim != 1:
        return False
    return bool((values != np.floor(values)).any()) or _most_are_rare(values)


def _most_are_rare(values: Array) -> bool:
    """Whether most of the different values occur too seldom to be classes."""
    counts = np.unique(values, return_counts=True)[1]
    return bool((counts < _RARE).mean() > 0.5)


def _rounds(learners: Learners, n_folds: int, repeats: int) -> list[list[Fold]]:
    """Folds of each round; their rows are in random order, so that a few stand for all."""
    kind = RepeatedKFold if learners.is_regression else RepeatedStratifiedKFold
    splitter = kind(n_splits=n_folds, n_repeats=repeats, random_state=learners.short_seed)
    rng = np.random.default_rng(learners.seed)
    folds = [
        (rng.permutation(train), test) for train, test in splitter.split(learners.y, learners.y)
    ]
    return [folds[start : start + n_folds] for start in range(0, len(folds), n_folds)]


def _best_core(cores: Sequence[Core], exact: Sequence[Trial | None]) -> Core:
    """The kernel that does best exactly computed, of those that see values, and its gamma."""
    best, best_score = cores[0], -math.inf  # if there was no time for any
    for core, trial in zip(cores, exact, strict=True):
        if trial and trial.mean > best_score and HASHED_KERNELS[core.kernel].uses_values:
            keywords = getattr(final_model(trial.pipeline).kernel, "keywords", {})
            best, best_score = core._replace(**keywords), trial.mean
    return best


def _sample_values(y: Array, n_rows: int, n_folds: int, seed: int) -> tuple[Array, list[str]]:
    """Row numbers of a sample, and what was left out."""
    if len(y) < 2 * n_folds:
        raise DataError(
            f"y: {len(y)} rows are too few for {n_folds} folds; give {2 * n_folds} or a smaller cv."
        )
    if n_rows >= len(y):
        return np.arange(len(y)), []
    rows = np.random.default_rng(seed).permutation(len(y))[: max(n_rows, 2 * n_folds)]
    return np.sort(rows), [f"judged on a sample of {len(rows)} rows"]


def _sample_classes(labels: Array, n_rows: int, n_folds: int, seed: int) -> tuple[Array, list[str]]:
    """Row numbers of a sample drawn class by class, and what was left out."""
    rng = np.random.default_rng(seed)
    classes, numbers, counts = np.unique(labels, return_inverse=True, return_counts=True)
    share = min(1.0, n_rows / len(labels))
    chosen, dropped = [], 0
    for number, count in enumerate(counts):
        size = round(count * share)
        if min(size, count) < n_folds:
            dropped += 1
            continue
        members = np.flatnonzero(numbers == number)
        chosen.append(rng.permutation(members)[:size])
    if len(chosen) < 2:
        raise DataError(
            f"y: fewer than two of its {len(classes)} classes have {n_folds} rows in a sample of "
            f"{min(n_rows, len(labels))}; give more rows or a smaller cv."
        )
    notes = [f"{dropped} classes with fewer than {n_folds} rows left out"] if dropped else []
    if share < 1:
        notes.append(f"judged on a sample of {sum(map(len, chosen))} rows")
    if labels.dtype.kind in "iuf" and _most_are_rare(labels):
        notes.append(
            "most values of y occur once or seldom: to predict numbers, say task='regression'"
        )
    return np.sort(np.concatenate(chosen)), notes


def _advice(trials: Trials, notes: list[str]) -> Advice:
    y, is_regression = trials.learners.y, trials.learners.is_regression
    candidates = {trial: _candidate(trial, trials) for trial in trials.trials}
    best = _cheapest_of_the_best(trials)
    is_core = candidates[best].is_core
    rivals = [trial for trial in candidates if candidates[trial].is_core != is_core]
    rival = max(rivals, key=lambda trial: trial.mean) if rivals else best
    difference, margin = trials.difference(best, rival)
    clear = difference > max(_LEAST_GAIN, margin)
    advice = Advice(
        tuple(candidates.values()),
        candidates[best],
        verdict="close" if not clear else "core" if is_core else "other",
        sentence="",
        metric="R²" if is_regression else "accuracy",
        n_rows=len(y),
        n_classes=0 if is_regression else len(np.unique(y)),
        n_folds=max(len(trial.scores) for trial in trials.trials),
        notes=(*notes, *trials.notes),
        confused=() if is_regression else _confused(trials, best),
    )
    return replace(advice, sentence=_sentence(advice, candidates[rival], difference, margin))


def _confused(trials: Trials, best: Trial) -> tuple[Confusion, ...]:
    """The pairs of classes that are confused most often in the first round."""
    y, folds = trials.learners.y, trials.rounds[0]
    tests = [test for (_, test), _ in zip(folds, best.predicted, strict=False)]
    actual = y[np.concatenate(tests)].tolist()
    predicted = np.concatenate(best.predicted[: len(tests)]).tolist()
    pairs, sizes = Counter(zip(actual, predicted, strict=True)), Counter(actual)
    wrong = [(pair, count) for pair, count in pairs.most_common() if pair[0] != pair[1]]
    return tuple(Confusion(*pair, count, sizes[pair[0]]) for pair, count in wrong[:_MOST_CONFUSED])


def _candidate(trial: Trial, trials: Trials) -> Candidate:
    name = trial.learner.name
    if trial.n_rows < trials.n_train:
        name += f", from {trial.n_rows} of {trials.n_train} rows"
    return Candidate(
        name, trial.learner.kind, trial.pipeline, *trials.interval(trial.scores),
        *trials.difference(trial, trials.trials[0]), trial.seconds,
    )  # fmt: skip


def _cost(trial: Trial) -> tuple[int, int, float]:
    """What the cheapest has the least of; of kernel machines it is the one with the best score."""
    kind = trial.learner.kind
    rank = list(KINDS).index(kind) if KINDS[kind].growth == 1 else len(KINDS)
    return rank, getattr(final_model(trial.pipeline), "n_hashes", 0), -trial.mean


def _cheapest_of_the_best(trials: Trials) -> Trial:
    """The cheapest whose distance to the best is no more than half a point or its own error."""
    whole = [
        trial for trial in trials.trials if len(trial.scores) >= len(trials.rounds[0])
    ]  # not dropped
    top = max(whole, key=lambda trial: trial.mean)

    def is_as_good(trial: Trial) -> bool:
        difference, margin = trials.difference(top, trial)
        return trial is top or difference <= max(_LEAST_GAIN, margin / 2)

    return min(filter(is_as_good, whole), key=_cost)


def _sentence(advice: Advice, rival: Candidate, difference: float, margin: float) -> str:
    best, score = advice.best, advice.percent
    basis = f"by {advice.n_folds} folds on {advice.n_rows:,} rows"
    gap = advice.points(difference, margin)
    if advice.verdict == "core":
        return (
            f"Use {best.name}: expect {score(best.score)} where the best without CoRE, "
            f"{rival.name}, has {score(rival.score)}, a gain of {gap}, {basis}."
        )
    if advice.verdict == "other":
        return (
            f"CoRE brings nothing here: use {best.name} ({score(best.score)}); the best with CoRE, "
            f"{rival.name}, has {score(rival.score)}, {gap} less, {basis}."
        )
    return (
        f"Too close to call: {best.name} has {score(best.score)}, {rival.name} "
        f"{score(rival.score)}, a difference of {gap}, {basis}. For many rows {best.name} is the "
        "cheapest within the error of the best: take it."
    )
