"""Advice: whether CoRE kernels help on the rows at hand, before anything large is run."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold

from .._core.arguments import require_count, seed_of
from .._core.progress import progress_bar
from .._core.types import Array
from .._core.validation import as_matrix
from ..errors import DataError, ParameterError
from ..kernel_table import HASHED_KERNELS
from ..linear.labels import check_labels
from .trials import Candidate, Trials, unit_rows

_LEAST_STANDARD_ERRORS = 2.0  # by which a gain must exceed zero
_LEAST_GAIN = 0.005  # in accuracy
_LEAST_SHARE = 0.8  # of the largest gain, which a cheaper candidate must keep
_COST_ORDER = {"hashed": 0, "both": 1, "exact": 2}  # from cheap to expensive


@dataclass(frozen=True)
class Advice:
    """What `advise` found.

    Attributes
    ----------
    candidates : tuple of Candidate
        The linear model first.
    best : Candidate
        What to use.
    helps : bool
        Whether CoRE kernels beat the linear model clearly.
    sentence : str
        What to do and what to expect of it.
    n_rows, n_classes, n_folds : int
        What it rests on.
    notes : tuple of str
        What was left out.
    """

    candidates: tuple[Candidate, ...]
    best: Candidate
    helps: bool
    sentence: str
    n_rows: int
    n_classes: int
    n_folds: int
    notes: tuple[str, ...]


def advise(
    X: Any,
    y: Any,
    *,
    n_rows: int = 2000,
    sizes: Sequence[int] = (256, 1024, 4096),
    cv: int = 5,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool | None = None,
) -> Advice:
    """Compare ways to learn on a sample of the rows, and say which to use.

    By cross-validation, each candidate with the best of a few C: a linear model on unit rows;
    exact resemblance, CoRE 1 and CoRE 2 kernels; the better CoRE kernel hashed, in several
    sizes; and linear and hashed features side by side. All use the same folds, so that gains
    are compared fold by fold. It takes about a minute.

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
        Folds. Classes with fewer rows in the sample are left out.
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
    >>> advice = ck.advise(X, y, n_rows=500, sizes=[256])
    >>> [candidate.kind for candidate in advice.candidates]
    ['linear', 'exact', 'exact', 'exact', 'hashed', 'both']
    """
    matrix = as_matrix(X)
    labels = check_labels(y, matrix.shape[0])
    n_folds = require_count("cv", cv)
    if n_folds < 2:
        raise ParameterError(f"cv: got {cv!r}; give 2 folds or more.")
    seed = seed_of(random_state)
    sizes = [require_count("sizes", size) for size in sizes]
    if not sizes:
        raise ParameterError("sizes: got none; give at least one number of hashes.")
    rows, notes = _sample(labels, require_count("n_rows", n_rows), n_folds, seed)
    unit = unit_rows(matrix[rows])
    labels = labels[rows]
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(labels, labels))
    n_trials = 1 + len(HASHED_KERNELS) + len(sizes) + 1
    with (
        warnings.catch_warnings(),
        progress_bar(n_trials, "advice", "candidates", progress) as bar,
    ):
        warnings.simplefilter("ignore", ConvergenceWarning)  # ranks are settled long before
        trials = Trials(unit, labels, folds, seed, n_jobs, bar)
        trials.linear()
        for kernel in HASHED_KERNELS.values():
            trials.exact(kernel)
        best_core = trials.best_core()
        for size in sizes:
            trials.hashed(best_core, size)
        trials.both(best_core, min(sizes))
    found = trials.candidates
    best, helps = _choice(found)
    return Advice(
        tuple(found), best, helps, _sentence(found, best, helps), len(labels),
        len(np.unique(labels)), n_folds, tuple(notes),
    )  # fmt: skip


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


def _choice(found: list[Candidate]) -> tuple[Candidate, bool]:
    """What to use, and whether it beats the linear model: the cheapest with most of the gain."""
    clear = [c for c in found if c.gain > max(_LEAST_GAIN, _LEAST_STANDARD_ERRORS * c.gain_error)]
    if not clear:
        return found[0], False
    top = max(clear, key=lambda candidate: candidate.gain)
    enough = [c for c in clear if c.gain >= _LEAST_SHARE * top.gain]
    return min(enough, key=lambda c: (_COST_ORDER[c.kind], c.n_hashes or 0)), True


def _sentence(found: list[Candidate], best: Candidate, helps: bool) -> str:
    linear = found[0]
    if not helps:
        top = max(found[1:], key=lambda candidate: candidate.accuracy)
        return (
            f"CoRE brings nothing here: use a linear model ({linear.accuracy:.1%}); the best other "
            f"way, {top.name}, has {top.accuracy:.1%}, a difference of {_points(top)}."
        )
    use = {
        "hashed": f"CoREClassifier({best.kernel!r}, n_hashes={best.n_hashes}, C={best.C:g})",
        "both": f"linear and {best.kernel} features with {best.n_hashes} hashes side by side",
        "exact": f"SVC(kernel=corekernels.{best.kernel}, C={best.C:g}), or more hashes than here",
    }[best.kind]
    top = max(found, key=lambda candidate: candidate.accuracy)
    more = "" if top is best else f"; the best was {top.name}, with {top.accuracy:.1%}"
    return (
        f"Use {use}: expect {best.accuracy:.1%} where a linear model has {linear.accuracy:.1%}, "
        f"a gain of {_points(best)}{more}."
    )


def _points(candidate: Candidate) -> str:
    return f"{100 * candidate.gain:.1f} ± {100 * candidate.gain_error:.1f} points"
