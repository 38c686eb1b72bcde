"""Advice: whether CoRE kernels help on the rows at hand, before anything large is run."""

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import normalize
from sklearn.svm import SVC, LinearSVC

from ._c_path import c_path
from ._hashed_linear import HashedLinearClassifier
from ._labels import check_labels, require_count, seed_of
from ._sketch import sketch
from ._validation import as_matrix, clean_rows
from .errors import DataError
from .kernels import core1, core2, resemblance
from .recipe import Recipe

Array = npt.NDArray[Any]
Folds = list[tuple[Array, Array]]

LINEAR = "linear"
_EXACT = {"resemblance": resemblance, "core1": core1, "core2": core2}
_LINEAR_CS = (0.1, 1.0, 10.0)
_EXACT_CS = (1.0, 10.0, 100.0)
_HASHED_CS = (0.01, 0.1, 1.0)
_CLEAR = 2.0  # standard errors that a gain must have
_WORTH = 0.005  # accuracy that a gain must bring


@dataclass(frozen=True)
class Candidate:
    """One way to learn, cross-validated.

    Attributes
    ----------
    name : str
        As in "core1, exact" or "core1, 1024 hashes".
    kind : {"linear", "exact", "hashed", "both"}
        "both" is linear and hashed side by side.
    kernel : str or None
    n_hashes : int or None
    C : float
        The best of the few that were tried.
    accuracy, standard_error : float
        Mean over the folds, and its standard error.
    gain, gain_error : float
        Accuracy above that of the linear model, fold by fold, and its standard error.
    seconds : float
    """

    name: str
    kind: str
    kernel: str | None
    n_hashes: int | None
    C: float
    accuracy: float
    standard_error: float
    gain: float
    gain_error: float
    seconds: float


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
    progress: Callable[[str], None] | None = None,
) -> Advice:
    """Compare ways to learn on a sample of the rows, and say which to use.

    By cross-validation, each way with the best of three C: a linear model on unit rows; exact
    resemblance, CoRE 1 and CoRE 2 kernels; the better CoRE kernel hashed, in several sizes;
    and linear and hashed features side by side. All use the same folds, so that gains are
    compared fold by fold. It takes about a minute.

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
    progress : callable, optional
        Called with the name of each way before it is tried.

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
    rows, notes = _sampled(labels, require_count("n_rows", n_rows), n_folds, random_state)
    clean = clean_rows(matrix[rows])
    unit = normalize(
        sparse.csr_array((clean.data, clean.indices, clean.indptr), (len(clean), clean.n_columns))
    )
    labels = labels[rows]
    seed = seed_of(random_state)
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(labels, labels))
    trials = _Trials(unit, labels, folds, seed, n_jobs, progress or (lambda name: None))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # ranks are settled long before
        trials.linear()
        for kernel in _EXACT:
            trials.exact(kernel)
        kernel = trials.better_core()
        for size in sizes:
            trials.hashed(kernel, require_count("sizes", size))
        trials.both(kernel, min(sizes))
    found = trials.candidates
    best, helps = _choice(found)
    return Advice(
        tuple(found), best, helps, _sentence(found, best, helps), len(labels),
        len(np.unique(labels)), n_folds, tuple(notes),
    )  # fmt: skip


class _Trials:
    """Candidates on the same rows and folds."""

    def __init__(
        self, unit: Any, labels: Array, folds: Folds, seed: int, n_jobs: int | None,
        progress: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.unit, self.labels, self.folds = unit, labels, folds
        self.seed, self.n_jobs, self.progress = seed, n_jobs, progress
        self.candidates: list[Candidate] = []
        self._baseline: Array = np.empty(0)

    def linear(self) -> None:
        self._try(
            LINEAR, "linear", None, None, _LINEAR_CS, lambda Cs: self._linear_on(self.unit, Cs)
        )

    def exact(self, kernel: str) -> None:
        def scores(Cs: Sequence[float]) -> Array:
            K = _EXACT[kernel](self.unit, n_jobs=self.n_jobs).astype(np.float64)
            return np.array([[self._svc(K, C, *fold) for fold in self.folds] for C in Cs])

        self._try(f"{kernel}, exact", "exact", kernel, None, _EXACT_CS, scores)

    def hashed(self, kernel: str, n_hashes: int) -> None:
        def scores(Cs: Sequence[float]) -> Array:
            model = HashedLinearClassifier(
                random_state=self.seed, tol=1e-3, max_iter=100, n_jobs=self.n_jobs
            )
            S = self._sketch(kernel, n_hashes)
            found: Array = c_path(
                S, self.labels, Cs, model=model, cv=self.folds, progress=False
            ).scores
            return found

        name = f"{kernel}, {n_hashes} hashes"
        self._try(name, "hashed", kernel, n_hashes, _HASHED_CS, scores)

    def both(self, kernel: str, n_hashes: int) -> None:
        def scores(Cs: Sequence[float]) -> Array:
            expanded = self._sketch(kernel, n_hashes).to_csr()
            return self._linear_on(sparse.hstack([self.unit, expanded], format="csr"), Cs)

        name = f"linear + {kernel}, {n_hashes} hashes"
        self._try(name, "both", kernel, n_hashes, (0.1, 1.0), scores)

    def better_core(self) -> str:
        """The CoRE kernel that did better, exactly computed; the first of equals."""
        cores = [c for c in self.candidates if c.kind == "exact" and c.kernel != "resemblance"]
        return str(max(cores, key=lambda candidate: candidate.accuracy).kernel)

    def _try(
        self, name: str, kind: str, kernel: str | None, n_hashes: int | None,
        Cs: Sequence[float], scores: Callable[[Sequence[float]], Array],
    ) -> None:  # fmt: skip
        self.progress(name)
        start = time.perf_counter()
        table = scores(Cs)
        best = int(table.mean(axis=1).argmax())
        folds = table[best]
        if kind == "linear":
            self._baseline = folds
        gains = folds - self._baseline
        self.candidates.append(
            Candidate(
                name,
                kind,
                kernel,
                n_hashes,
                Cs[best],
                float(folds.mean()),
                _error(folds),
                float(gains.mean()),
                _error(gains),
                time.perf_counter() - start,
            )  # fmt: skip
        )

    def _sketch(self, kernel: str, n_hashes: int) -> Any:
        recipe = Recipe(kernel, n_hashes, seed=self.seed, n_columns=self.unit.shape[1])
        return sketch(self.unit, recipe, self.n_jobs)

    def _linear_on(self, X: Any, Cs: Sequence[float]) -> Array:
        def score(C: float, train: Array, test: Array) -> float:
            model = LinearSVC(C=C, tol=1e-3, random_state=self.seed)
            model.fit(X[train], self.labels[train])
            return float(model.score(X[test], self.labels[test]))

        return np.array([[score(C, *fold) for fold in self.folds] for C in Cs])

    def _svc(self, K: Array, C: float, train: Array, test: Array) -> float:
        model = SVC(kernel="precomputed", C=C, tol=1e-2)
        model.fit(K[np.ix_(train, train)], self.labels[train])
        return float(model.score(K[np.ix_(test, train)], self.labels[test]))


def _sampled(
    labels: Array, n_rows: int, n_folds: int, random_state: Any
) -> tuple[Array, list[str]]:
    """Row numbers of a sample drawn class by class, and what was left out."""
    rng = np.random.default_rng(seed_of(random_state))
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
        notes.append(f"a sample of {sum(map(len, chosen))} of {len(labels)} rows")
    return np.sort(np.concatenate(chosen)), notes


def _choice(found: list[Candidate]) -> tuple[Candidate, bool]:
    """What to use: the cheapest way that is as good as the best, to within its error."""
    clear = [c for c in found if c.gain > max(_WORTH, _CLEAR * c.gain_error)]
    if not clear:
        return found[0], False
    top = max(clear, key=lambda candidate: candidate.accuracy)
    enough = [c for c in clear if c.accuracy >= top.accuracy - max(_WORTH, top.standard_error)]
    order = {"hashed": 0, "both": 1, "exact": 2}
    return min(enough, key=lambda c: (order[c.kind], c.n_hashes or 0)), True


def _sentence(found: list[Candidate], best: Candidate, helps: bool) -> str:
    linear = found[0]
    if not helps:
        top = max(found[1:], key=lambda candidate: candidate.accuracy)
        return (
            f"CoRE brings nothing here: use a linear model ({linear.accuracy:.1%}); the best other "
            f"way, {top.name}, has {top.accuracy:.1%}, a difference of {_points(top)}."
        )
    use = {
        "hashed": f"CoREClassifier({best.kernel!r}, n_hashes={best.n_hashes})",
        "both": f"linear and {best.kernel} features with {best.n_hashes} hashes side by side",
        "exact": f"SVC(kernel=corekernels.{best.kernel}), or more hashes than were tried here",
    }[best.kind]
    return (
        f"Use {use}: expect {best.accuracy:.1%} where a linear model has {linear.accuracy:.1%}, "
        f"a gain of {_points(best)}."
    )


def _points(candidate: Candidate) -> str:
    return f"{100 * candidate.gain:.1f} ± {100 * candidate.gain_error:.1f} points"


def _error(folds: Array) -> float:
    """Standard error of a mean over folds."""
    return float(folds.std(ddof=1) / math.sqrt(len(folds))) if len(folds) > 1 else math.nan
