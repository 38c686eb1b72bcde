"""The path over C: one descent after another, each started from the solutions before it."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.model_selection import check_cv

from .._core.arguments import Array, require_positive
from .._core.progress import progress_bar
from .._core.threads import run_blocks
from .._loops.learning.descent import Solution
from ..errors import DataError, ParameterError, RecipeMismatch
from ..recipe import Recipe
from ..signatures import Signatures
from .classifier import HashedLinearClassifier
from .coefficients import Coefficients, codes_in_use, lane_blocks
from .descent import extrapolate, solve, zero_solution
from .labels import check_labels
from .model import warn_of_gaps
from .problem import OneVsRest, Options, Outcome
from .rows import TrainingSet, require_signatures

_ROUNDING = 1e-12  # of a mean over folds, whose last digits depend on their order


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
        Sweeps over the rows that each descent took.
    best_C : float
        The C of the highest mean; the smallest of several.
    best_model : HashedLinearClassifier
        Fitted with `best_C` on all rows of S.

    Examples
    --------
    >>> import corekernels as ck
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> S = ck.CoREHasher(n_hashes=64, random_state=0).fit(X).sketch(X[:400])
    >>> model = ck.linear.HashedLinearClassifier(random_state=0)
    >>> path = ck.linear.c_path(S, y[:400], [0.01, 1], model=model, cv=2)
    >>> path.best_C, path.mean.round(2)
    (1.0, array([0.79, 0.86]))
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
        return self.scores.mean(axis=1)


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

    From the smallest C to the largest, each descent starts from an extrapolation of the two
    solutions before it.

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
        Accuracies are read once every weight vector is certain to be within the root of `path_tol`,
        times its length, of the best one: the default means a tenth. (The duality gap is then
        at most `path_tol` w.w / 2. A descent also ends at the model's own `tol`.) That moves
        accuracies by about a fifth of their standard error and by half of it at most, as
        measured on M-Rotate (20,000 rows to score, `benchmarks/learning.py`) and on
        digits, with each loss and kernel. The best model goes on to its own `tol`.
    progress : bool, optional
        As for `gram_to_file`.

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
    if not isinstance(model, HashedLinearClassifier):
        raise ParameterError(
            f"model: got {type(model).__name__}; give a HashedLinearClassifier, or take "
            "GridSearchCV over C."
        )
    values = np.array([require_positive("Cs", C) for C in np.ravel(Cs).tolist()])
    if not len(values):
        raise ParameterError("Cs: got no value; give at least one C.")
    options = model._options()
    loose = replace(options, coef_tol=require_positive("path_tol", path_tol))
    classes, problem, training = model._read(S, y, sample_weight)
    if validation is None:
        folds = _cross_validation(cv, training, S, check_labels(y, len(S)))
    else:
        folds = [_held_out(validation, training, S.recipe)]
    # One block of problems is one thread's work; then several folds can be worked on at once.
    several = len(folds) > 1 and len(lane_blocks(problem.n_problems)) == 1
    outer, inner = (model.n_jobs, 1) if several else (1, model.n_jobs)
    ascending = np.sort(values)
    with progress_bar(len(values) * len(folds), "path over C", "fits", progress) as bar:
        paths = run_blocks(
            lambda fold: _follow(
                fold, problem, classes, S.recipe, ascending, loose, validation is not None, inner,
                bar,
            ),
            folds,
            outer,
        )  # fmt: skip
    place = np.searchsorted(ascending, values)
    scores = np.stack([path.scores for path in paths], axis=1)[place]
    n_iter = np.stack([path.n_iter for path in paths], axis=1)[place]
    outcomes = [outcome for path in paths for outcome in path.outcomes]
    if not all(outcome.converged for outcome in outcomes):
        warn_of_gaps(outcomes, loose, training.conflicting_weight, stacklevel=3)
    means = scores.mean(axis=1)
    best_C = float(values[means >= means.max() - _ROUNDING].min())
    model.set_params(C=best_C, random_state=options.seed[0])
    model.dual_gap_ = model._learn(
        training, lambda width: problem.blocks(training, best_C, width), S.recipe, options,
        paths[0].best,
    )  # fmt: skip
    model.classes_ = classes
    errors = _standard_errors(scores, None if validation is None else len(validation[0]))
    return CPath(values, scores, errors, n_iter, best_C, model)


class _Fold(NamedTuple):
    """A training set, and rows to score what is learned from it on."""

    training: TrainingSet
    S: Signatures  # those of the rows to score on, and perhaps of others
    rows: npt.NDArray[np.int64] | None  # their numbers in S; None: all
    labels: Array

    def accuracy(self, coefficients: Coefficients, classes: Array, n_jobs: int | None) -> float:
        """Share of the rows to score on that get their own label."""
        scores = coefficients.scores(self.S, n_jobs, self.rows)
        best = scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
        return float((classes[best.astype(int)] == self.labels).mean())


def _cross_validation(cv: Any, training: TrainingSet, S: Signatures, labels: Array) -> list[_Fold]:
    """The folds of a training set; `cv` as scikit-learn takes it."""
    rows = np.arange(len(labels))
    if isinstance(cv, int) and cv < 2:
        raise ParameterError(f"cv: got {cv!r}; give 2 folds or more.")
    try:
        splits = check_cv(cv, labels, classifier=True).split(rows, labels)
        parts = [(rows[np.asarray(train)], rows[np.asarray(test)]) for train, test in splits]
    except (ValueError, IndexError, TypeError) as error:
        raise ParameterError(f"cv: {error}") from error
    if not parts or not all(len(part) for pair in parts for part in pair):
        raise ParameterError("cv: there is no fold, or one without rows; give at least one.")
    return [_Fold(training.subset(train), S, test, labels[test]) for train, test in parts]


def _held_out(validation: tuple[Signatures, Any], training: TrainingSet, recipe: Recipe) -> _Fold:
    """The fold that learns from all rows and is scored on a validation set."""
    S, y = validation
    labels = check_labels(y, len(S))
    require_signatures(S)
    if not len(S):
        raise DataError("validation: has no rows; give some to score on, or folds (cv).")
    if S.recipe != recipe:
        raise RecipeMismatch(recipe, S.recipe)
    return _Fold(training, S, None, labels)


def _standard_errors(scores: Array, n_scored: int | None) -> npt.NDArray[np.float64]:
    """Of the mean accuracies: over the folds, or binomial if so many rows were scored once."""
    n_folds = scores.shape[1]
    if n_scored is not None:
        means = scores.mean(axis=1)
        return np.sqrt(means * (1 - means) / n_scored)
    if n_folds == 1:
        return np.full(len(scores), np.nan)
    return scores.std(axis=1, ddof=1) / np.sqrt(n_folds)


class _FoldPath(NamedTuple):
    """Results of one fold, for each C in ascending order."""

    scores: list[float]
    n_iter: list[int]
    outcomes: list[Outcome]
    best: list[Solution] | None  # that of the highest score, if kept


def _follow(
    fold: _Fold, problem: OneVsRest, classes: Array, recipe: Recipe, Cs: Array, options: Options,
    keeps_best: bool, n_jobs: int | None, bar: Any,
) -> _FoldPath:  # fmt: skip
    """Solve the problems of a fold at each C, and score each solution."""
    packed, lanes = fold.training.packed, lane_blocks(problem.n_problems)
    solutions, before, best = (
        [zero_solution(packed, len(block)) for block in lanes] for _ in range(3)
    )
    path = _FoldPath([], [], [], best if keeps_best else None)
    for C in Cs:
        blocks = problem.blocks(fold.training, float(C))
        starts = zip(blocks, solutions, before, strict=True)
        run_blocks(lambda start: extrapolate(*start), starts, n_jobs)
        _, outcomes = solve(packed, blocks, options, n_jobs, solutions)
        coefficients = Coefficients.of(recipe, solutions, problem.intercept)
        score = fold.accuracy(coefficients, classes, n_jobs)
        if keeps_best and score > max(path.scores, default=-1.0):
            for solution, kept in zip(solutions, best, strict=True):
                _copy(solution, kept)
        path.scores.append(score)
        path.n_iter.append(max(outcome.n_iter for outcome in outcomes))
        path.outcomes.extend(outcomes)
        bar.update()
    return path


def _copy(solution: Solution, out: Solution) -> None:
    """Copy a solution into another, of whose coefficients few may be in memory."""
    out.duals[:], out.biases[:] = solution.duals, solution.biases
    used = codes_in_use(solution.coef, out.coef)
    out.coef[used] = solution.coef[used]
