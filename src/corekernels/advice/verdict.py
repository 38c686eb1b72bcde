"""Advice: whether CoRE kernels help on the rows at hand, before anything large is run."""

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import RepeatedStratifiedKFold

from .._core.arguments import Array, require_count, require_positive, seed_of, short_seed
from .._core.progress import progress_bar
from .._core.validation import as_matrix
from ..errors import DataError, ParameterError
from ..kernel_table import HASHED_KERNELS, exact_kernel
from ..linear.labels import check_labels
from .learners import Sample, unit_rows
from .result import Advice, Candidate, Confusion
from .trials import Folds, Trial, Trials

DEFAULT_SIZES = (256, 1024, 4096)  # numbers of hashes
_MOST_CONFUSED = 10
_LEAST_GAIN = 0.005  # in accuracy: less is no reason to take what is more expensive
_LOST_SHARE = 0.2  # of the gain over the linear model, which a cheaper candidate may lose
# from cheap to expensive for many rows, whatever the clock said of the sample: the advice must not
# depend on what else runs
_COST_ORDER = ("linear", "hashed", "both", "fourier", "boosting", "gaussian", "exact")


def advise(
    X: Any,
    y: Any,
    *,
    n_rows: int = 2000,
    sizes: Sequence[int] = DEFAULT_SIZES,
    cv: int = 5,
    repeats: int = 3,
    time_limit: float = 120.0,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Advice:
    """Compare ways to learn on a sample of the rows, and say which to use.

    By cross-validation: a linear model on unit rows; kernel machines with the exact kernels, with
    exp(-gamma (1 - K)) of CoRE 1 and CoRE 2, and with a Gaussian kernel; the best of the kernels
    that can be hashed in several sizes, and beside the linear features; gradient boosting (on the
    256 heaviest columns if there are more); logistic regression on random Fourier features, as
    many as take about the time of the second size of hashes (counted from the numbers of rows,
    nonzeros, columns and classes, with measured costs). Settings are chosen on the first round of
    folds; all learners see the same folds.

    The advice is the cheapest candidate that keeps 80 % of the gain, with CoRE kernels or without,
    whichever is better beyond the 95 % interval of the difference; the cheaper one if neither is.
    CoRE that gains less than half a point over the linear model is compared with that one.
    Cheaper means cheaper for many rows: linear, then hashed by its size, then exact kernels.

    Parameters
    ----------
    X : {array-like, sparse matrix}
    y : array-like
        Labels.
    n_rows : int
        Rows of the sample, drawn class by class.
    sizes : sequence of int
        Numbers of hashes to try.
    cv : int
        Folds of a round. Classes with fewer rows in the sample are left out.
    repeats : int
        Rounds of folds.
    time_limit : float
        Seconds, compiling apart. What would take longer is left out, and the notes say what.
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
    >>> advice = ck.advise(X, y, n_rows=100, sizes=[64], cv=2, repeats=1, time_limit=1)
    >>> advice.candidates[0].kind, advice.verdict in ("core", "other", "close")
    ('linear', True)
    """
    matrix = as_matrix(X)
    labels = check_labels(y, matrix.shape[0])
    n_folds, repeats = require_count("cv", cv), require_count("repeats", repeats)
    if n_folds < 2:
        raise ParameterError(f"cv: got {cv!r}; give 2 folds or more.")
    time_limit, seed = require_positive("time_limit", time_limit), seed_of(random_state)
    sizes = sorted(require_count("sizes", size) for size in sizes)
    if not sizes:
        raise ParameterError("sizes: got none; give at least one number of hashes.")
    rows, notes = _sample(labels, require_count("n_rows", n_rows), n_folds, seed)
    sample = Sample(unit_rows(matrix[rows]), labels[rows], seed, n_jobs)
    values = [kernel for kernel in HASHED_KERNELS.values() if kernel.uses_values]
    plain = [kernel for kernel in values if kernel.gamma is None]
    n_steps = 1 + len(HASHED_KERNELS) + len(plain) + 1 + len(sizes) + 1 + 2 + repeats - 1
    with (
        warnings.catch_warnings(),
        progress_bar(n_steps, "advice", "candidates", progress) as bar,
    ):
        warnings.simplefilter("ignore", ConvergenceWarning)  # ranks are settled long before
        sample.compile_loops()
        trials = Trials(_rounds(sample.labels, n_folds, repeats, seed), time_limit, bar)
        trials.try_out(sample.linear())
        exact = {name: trials.try_out(sample.exact(k)) for name, k in HASHED_KERNELS.items()}
        kernel, gamma = _best_kernel(exact)
        for size in sizes[:2]:
            trials.try_out(sample.hashed(kernel, gamma, size))
        trials.try_out(sample.both(kernel, gamma, sizes[0]))
        trials.try_out(sample.gaussian())
        trials.try_out(sample.fourier(sizes[min(1, len(sizes) - 1)]))
        for one in plain:
            trials.try_out(sample.exponential(one))
        trials.try_out(sample.boosting())
        for size in sizes[2:]:  # last: with many classes they may take more time than all others
            trials.try_out(sample.hashed(kernel, gamma, size))
        trials.repeat()
    return _advice(trials, sample.labels, notes)


def _rounds(labels: Array, n_folds: int, repeats: int, seed: int) -> list[Folds]:
    splitter = RepeatedStratifiedKFold(
        n_splits=n_folds, n_repeats=repeats, random_state=short_seed(seed)
    )
    folds = list(splitter.split(labels, labels))
    return [folds[start : start + n_folds] for start in range(0, len(folds), n_folds)]


def _best_kernel(exact: dict[str, Trial | None]) -> tuple[str, float | None]:
    """The kernel, of those that see values, that did best exactly computed, and its gamma."""
    tried = {
        name: trial for name, trial in exact.items() if trial and exact_kernel(name).uses_values
    }
    if not tried:  # no time
        return next(iter(exact)), None
    name = max(tried, key=lambda name: tried[name].scores.mean())
    return name, tried[name].settings.gamma


def _sample(labels: Array, n_rows: int, n_folds: int, seed: int) -> tuple[Array, list[str]]:
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
    return np.sort(np.concatenate(chosen)), notes


def _advice(trials: Trials, labels: Array, notes: list[str]) -> Advice:
    found = [_candidate(trial, trials) for trial in trials.trials]
    scores = {c.name: trial.scores for c, trial in zip(found, trials.trials, strict=True)}
    without = _cheapest_of_the_best([c for c in found if not c.is_core])
    cores = [c for c in found if c.is_core]
    core = _cheapest_of_the_best(cores) if cores else without
    difference, margin, verdict = _compared(core, without, scores, trials)
    if verdict == "close" and core.gain <= _LEAST_GAIN:  # no better than linear, its cheapest rival
        without = found[0]
        difference, margin, verdict = _compared(core, without, scores, trials)
    best = {"core": core, "other": without, "close": min(core, without, key=_cost)}[verdict]
    rival = without if best is core else core
    sentence = _sentence(verdict, best, rival, f"{100 * abs(difference):.1f} ± {100 * margin:.1f}")
    first = trials.trials[0].scores
    tested = np.concatenate([test for _, test in trials.rounds[0]])
    confused = _confused(labels[tested], trials.trials[found.index(best)].predicted)
    return Advice(
        tuple(found), best, verdict, sentence, len(labels), len(np.unique(labels)), len(first),
        (*notes, *trials.notes), confused,
    )  # fmt: skip


def _compared(
    core: Candidate, without: Candidate, scores: dict[str, Array], trials: Trials
) -> tuple[float, float, str]:
    """The gain of `core` over `without`, half of its 95 % interval, and the verdict."""
    difference, margin = trials.interval(scores[core.name] - scores[without.name])
    clear = abs(difference) > max(_LEAST_GAIN, margin)
    verdict = "close" if not clear else "core" if difference > 0 else "other"
    return difference, margin, verdict


def _confused(actual: Array, predicted: Array) -> tuple[Confusion, ...]:
    """The pairs of classes that are confused most often."""
    pairs = Counter(zip(actual.tolist(), predicted.tolist(), strict=True))
    sizes = Counter(actual.tolist())
    wrong = [(pair, count) for pair, count in pairs.most_common() if pair[0] != pair[1]]
    return tuple(Confusion(*pair, count, sizes[pair[0]]) for pair, count in wrong[:_MOST_CONFUSED])


def _candidate(trial: Trial, trials: Trials) -> Candidate:
    learner = trial.learner
    baseline = trials.trials[0].scores
    return Candidate(
        learner.name, learner.kind, learner.kernel, learner.n_hashes, *trial.settings,
        *trials.interval(trial.scores), *trials.interval(trial.scores - baseline), trial.seconds,
        learner.n_bytes,
    )  # fmt: skip


def _cost(candidate: Candidate) -> tuple[int, int]:
    return _COST_ORDER.index(candidate.kind), candidate.n_hashes or 0


def _cheapest_of_the_best(found: Sequence[Candidate]) -> Candidate:
    """The cheapest that loses little of what the most accurate gains over the linear model."""
    top = max(found, key=lambda candidate: candidate.accuracy)
    lost = max(_LEAST_GAIN, _LOST_SHARE * top.gain)
    return min((c for c in found if c.accuracy >= top.accuracy - lost), key=_cost)


def _sentence(verdict: str, best: Candidate, rival: Candidate, difference: str) -> str:
    costs = f"one fit took {best.cost}; that of the other {rival.cost}"
    if verdict == "core":
        return (
            f"Use {_call(best)}: expect {best.accuracy:.1%} where the best without CoRE, "
            f"{rival.name}, has {rival.accuracy:.1%}, a gain of {difference} points; {costs}."
        )
    if verdict == "other":
        return (
            f"CoRE brings nothing here: use {best.name} ({best.accuracy:.1%}); the best with CoRE, "
            f"{rival.name}, has {rival.accuracy:.1%}, {difference} points less; {costs}."
        )
    return (
        f"Too close to call: {best.name} has {best.accuracy:.1%}, {rival.name} "
        f"{rival.accuracy:.1%}, a difference of {difference} points. Take the one "
        f"cheaper for many rows, {_call(best)}: {costs}."
    )


def _call(candidate: Candidate) -> str:
    """The candidate as one would write it in Python, where that is short."""
    kernel, C, gamma = candidate.kernel, candidate.C, candidate.gamma
    if candidate.kind == "hashed":
        option = "" if gamma is None else f", gamma={gamma:g}"
        return f"CoREClassifier({kernel!r}, n_hashes={candidate.n_hashes}{option}, C={C:g})"
    if candidate.kind == "both":
        return f"linear and {kernel} features with {candidate.n_hashes} hashes side by side"
    if candidate.kind == "exact":
        function = f"corekernels.{kernel}"
        function = function if gamma is None else f"partial({function}, gamma={gamma:g})"
        return f"SVC(kernel={function}, C={C:g}), or more hashes than here"
    return candidate.name
