"""The path over C: one descent after another, each from where the last one ended."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import check_cv
from tqdm import tqdm

from .._core.arguments import require_positive
from .._core.threads import run_blocks
from ..errors import DataError, ParameterError, RecipeMismatch
from ..recipe import Recipe
from ..signatures import Signatures
from .classifier import (
    HashedLinearClassifier,
    check_options,
    check_problem,
    read_lesson,
    warn_unless_converged,
)
from .descent import Outcome, State
from .extrapolation import foresee
from .labels import check_labels, encode_labels
from .one_vs_rest import Lesson, as_planes, learn, make_lesson
from .planes import Packed, Planes, lane_blocks, pack

Array = npt.NDArray[Any]

_ROUNDING = 1e-12  # of a mean over folds, in which their order can show


@dataclass(frozen=True)
class CPath:
    """Accuracies along C, and the model at the best of them.

    Attributes
    ----------
    Cs : ndarray of shape (n,)
        As given.
    scores : ndarray of shape (n, n_folds)
        Accuracy for each C on each fold; one fold if there was a validation set.
    mean, standard_error : ndarrays of shape (n,)
        Over the folds (NaN for one fold); for a validation set, the binomial standard error.
    n_iter : ndarray of shape (n, n_folds)
        Sweeps each descent took.
    best_C : float
        The C of the highest mean; the smallest of several.
    best_model : HashedLinearClassifier
        Fitted with `best_C` on all rows of S.
    """

    Cs: npt.NDArray[np.float64]
    scores: npt.NDArray[np.float64]
    standard_error: npt.NDArray[np.float64]
    n_iter: npt.NDArray[np.int64]
    best_C: float
    best_model: HashedLinearClassifier

    @property
    def mean(self) -> npt.NDArray[np.float64]:
        """Mean accuracy for each C."""
        means: npt.NDArray[np.float64] = self.scores.mean(axis=1)
        return means


def c_path(
    S: Signatures,
    y: Any,
    Cs: Any,
    *,
    model: HashedLinearClassifier | None = None,
    cv: Any = 5,
    validation: tuple[Signatures, Any] | None = None,
    sample_weight: Any = None,
    path_tol: float = 1e-2,
    progress: bool | None = None,
) -> CPath:
    """Accuracies over a range of C, by cross-validation or on a validation set.

    From the smallest C to the largest, each descent starts from where the two solutions
    before it point.

    Parameters
    ----------
    S : Signatures
    y : array-like
        Labels.
    Cs : array-like
        Values of C, in any order.
    model : HashedLinearClassifier, optional
        Everything but C; the default one if None.
    cv : int, splitter or iterable
        Folds, as scikit-learn's `cross_val_score` takes them (an integer: stratified).
        Folds are lists of rows: signatures are not copied.
    validation : (Signatures, labels), optional
        Rows to score on, instead of folds.
    sample_weight : array-like, optional
        Weights of the rows in training; scores count every row once.
    path_tol : float
        Accuracies are read once every plane is certain to be within the root of `path_tol`,
        times its length, of the best one: the default means a tenth. (The duality gap is then
        at most `path_tol` |w|^2 / 2. A descent also ends at the model's own `tol`.) That moves
        accuracies by about a fifth of their standard error and by half of it at most, as
        measured on M-Rotate (20,000 rows to score, `benchmarks/learning.py`) and on
        digits, with each loss and kernel. The best model goes on to its own `tol`.
    progress : bool, optional
        Whether to show a progress bar; None means where there is a terminal.

    Returns
    -------
    CPath

    Examples
    --------
    >>> import corekernels as ck
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> S = ck.CoREHasher(n_hashes=256, random_state=0).fit(X).sketch(X)
    >>> model = ck.linear.HashedLinearClassifier(random_state=0)
    >>> path = ck.linear.c_path(S[:1000], y[:1000], [0.01, 0.1, 1], model=model, cv=3)
    >>> path.scores.shape, round(path.best_model.score(S[1000:], y[1000:]), 2)
    ((3, 3), 0.94)
    """
    model = clone(HashedLinearClassifier() if model is None else model)
    values = np.array([require_positive("Cs", C) for C in np.ravel(Cs).tolist()])
    if not len(values):
        raise ParameterError("Cs: got no value; give at least one C.")
    check_problem(model)
    options = check_options(model)
    loosely = {**options, "plane_tol": require_positive("path_tol", path_tol)}
    classes, lesson = read_lesson(model, S, y, sample_weight)
    judges = _judges(S, check_labels(y, len(S)), classes, lesson, cv, validation, model.n_jobs)
    model.set_params(random_state=options["seed"])  # drawn once, for folds and refit alike
    bar = tqdm(total=len(values) * len(judges), disable=None if progress is None else not progress)
    # One block of planes is one thread's work; then several folds can go on at once.
    several = len(judges) > 1 and len(lane_blocks(lesson.n_planes)) == 1
    outer, inner = (model.n_jobs, 1) if several else (1, model.n_jobs)
    walks = run_blocks(
        lambda judge: _walk(model, np.sort(values), judge, S.recipe, loosely, inner, bar),
        judges,
        outer,
    )
    bar.close()
    place = np.searchsorted(np.sort(values), values)
    scores = np.stack([walk.scores for walk in walks], axis=1)[place]
    n_iter = np.stack([walk.n_iter for walk in walks], axis=1)[place]
    warn_unless_converged([outcome for walk in walks for outcome in walk.outcomes], loosely)
    means = scores.mean(axis=1)
    best_C = float(values[means >= means.max() - _ROUNDING].min())
    best = model.set_params(C=best_C)
    if validation is None:
        errors = np.full(len(values), np.nan)
        if len(judges) > 1:
            errors = scores.std(axis=1, ddof=1) / np.sqrt(len(judges))
        best.fit(S, y, sample_weight)
    else:
        errors = np.sqrt(means * (1 - means) / len(validation[0]))
        loss, C, intercept = check_problem(best)
        blocks = lesson.blocks(loss, C, intercept)
        states, outcomes = learn(lesson, blocks, walks[0].best, model.n_jobs, **options)
        warn_unless_converged(outcomes, options)
        best._take(classes, as_planes(S.recipe, states, intercept), len(S), outcomes)
    return CPath(values, scores, errors, n_iter, best_C, best)


@dataclass(frozen=True)
class _Judge:
    """Rows to learn from, and how to tell the accuracy of what was learned.

    `final` says that the best model is to go on from what these rows have taught.
    """

    lesson: Lesson
    accuracy: Callable[[Planes, int | None], float]
    final: bool


@dataclass
class _Walk:
    """One path from the smallest C to the largest."""

    scores: list[float]
    n_iter: list[int]
    outcomes: list[Outcome]
    best: list[State]


def _walk(
    model: HashedLinearClassifier, Cs: Array, judge: _Judge, recipe: Recipe,
    options: dict[str, Any], n_jobs: int | None, bar: Any,
) -> _Walk:  # fmt: skip
    loss, _, intercept = check_problem(model)
    lesson = judge.lesson
    states, before, best = (
        [State.zero(lesson.packed, len(lanes)) for lanes in lane_blocks(lesson.n_planes)]
        for _ in range(3)
    )
    walk = _Walk([], [], [], best)
    for C in Cs:
        blocks = lesson.blocks(loss, float(C), intercept)
        starts = zip(blocks, states, before, strict=True)
        run_blocks(lambda start: foresee(*start), starts, n_jobs)
        states, outcomes = learn(lesson, blocks, states, n_jobs, **options)
        score = judge.accuracy(as_planes(recipe, states, intercept), n_jobs)
        if judge.final and score > max(walk.scores, default=-1.0):
            for state, copy in zip(states, walk.best, strict=True):
                copy.take(state)
        walk.scores.append(score)
        walk.n_iter.append(max(outcome.n_iter for outcome in outcomes))
        walk.outcomes.extend(outcomes)
        bar.update()
    return walk


def _judges(
    S: Signatures, labels: Array, classes: Array, lesson: Lesson, cv: Any, validation: Any,
    n_jobs: int | None,
) -> list[_Judge]:  # fmt: skip
    def against(packed: Packed, rows: Array, truth: Array) -> Callable[[Planes, int | None], float]:
        def accuracy(planes: Planes, n_jobs: int | None) -> float:
            return _accuracy(planes.scores_of(packed, rows, n_jobs), classes, truth)

        return accuracy

    if validation is not None:
        others, truth = validation[0], check_labels(validation[1], len(validation[0]))
        packed = pack(others, n_jobs)
        if not len(packed):
            raise DataError("validation: has no rows; give some to score on, or folds (cv).")
        if others.recipe != S.recipe:
            raise RecipeMismatch(S.recipe, others.recipe)
        return [_Judge(lesson, against(packed, np.arange(len(packed)), truth), True)]
    numbers, weights = encode_labels(labels, classes), lesson.given_weights
    digests = lesson.packed.digests(n_jobs)
    return [
        _Judge(
            make_lesson(lesson.packed, numbers, weights, lesson.class_weights, train, digests),
            against(lesson.packed, test, labels[test]),
            False,
        )
        for train, test in _folds(cv, labels)
    ]


def _folds(cv: Any, labels: Array) -> list[tuple[Array, Array]]:
    """Rows to learn from and rows to score on, for each fold."""
    rows = np.arange(len(labels))
    try:
        splits = check_cv(cv, labels, classifier=True).split(rows, labels)
        folds = [(rows[np.asarray(train)], rows[np.asarray(test)]) for train, test in splits]
    except (ValueError, IndexError, TypeError) as error:
        raise ParameterError(f"cv: {error}") from error
    if not folds or not all(len(part) for fold in folds for part in fold):
        raise ParameterError("cv: there is no fold, or one without rows; give at least one.")
    return folds


def _accuracy(scores: Array, classes: Array, truth: Array) -> float:
    best = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
    return float((classes[best.astype(int)] == truth).mean())
