"""Candidates: ways to learn, cross-validated on the same rows and folds."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.svm import SVC, LinearSVC

from .._core.types import Array
from .._core.validation import clean_rows
from .._exact.gram import Formula, Gram
from ..kernel_table import Kernel, exact_kernel
from ..linear import HashedLinearClassifier, c_path
from ..recipe import Recipe
from ..signatures import Signatures, sketch

Folds = list[tuple[Array, Array]]

_LINEAR_CS = (0.1, 1.0, 10.0)
_EXACT_CS = (1.0, 10.0, 100.0)
_HASHED_CS = (0.1, 1.0, 10.0)
_BOTH_CS = (0.1, 1.0)


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


class Trials:
    """Candidates on the same rows and folds; `bar` shows which is being tried."""

    def __init__(
        self, unit: sparse.csr_array, labels: Array, folds: Folds, seed: int, n_jobs: int | None,
        bar: Any,
    ) -> None:  # fmt: skip
        self.unit, self.labels, self.folds = unit, labels, folds
        self.seed, self.n_jobs, self.bar = seed, n_jobs, bar
        self.candidates: list[Candidate] = []
        self._baseline: Array = np.empty(0)

    def linear(self) -> None:
        """Try a linear model; to be tried first, since gains are counted from it."""

        def scores(Cs: Sequence[float]) -> Array:
            return self._linear_scores(self.unit, Cs)

        self._try("linear", "linear", None, None, _LINEAR_CS, scores)

    def exact(self, kernel: Kernel) -> None:
        """Try a kernel machine with an exact kernel."""

        def scores(Cs: Sequence[float]) -> Array:
            K = Gram(self.unit, None, Formula(kernel), self.n_jobs).whole()
            return np.array([[self._svc_score(K, C, *fold) for fold in self.folds] for C in Cs])

        self._try(f"{kernel.name}, exact", "exact", kernel.name, None, _EXACT_CS, scores)

    def best_core(self) -> str:
        """The kernel that did best, exactly computed, of those that see values; first of equals."""
        cores = [
            c for c in self.candidates if c.kind == "exact" and exact_kernel(c.kernel).uses_values
        ]
        return str(max(cores, key=lambda candidate: candidate.accuracy).kernel)

    def hashed(self, kernel: str, n_hashes: int) -> None:
        """Try a linear model on hashed rows."""

        def scores(Cs: Sequence[float]) -> Array:
            model = HashedLinearClassifier(
                random_state=self.seed, tol=1e-3, max_iter=100, n_jobs=self.n_jobs
            )
            S = self._sketch(kernel, n_hashes)
            return c_path(S, self.labels, Cs, model=model, cv=self.folds, progress=False).scores

        tried = [c.C for c in self.candidates if c.kind == "hashed"]
        Cs = tried[:1] or _HASHED_CS  # what is best for one size is about best for the others
        self._try(f"{kernel}, {n_hashes} hashes", "hashed", kernel, n_hashes, Cs, scores)

    def both(self, kernel: str, n_hashes: int) -> None:
        """Try a linear model on rows and hashed rows side by side."""

        def scores(Cs: Sequence[float]) -> Array:
            expanded = self._sketch(kernel, n_hashes).to_csr()
            return self._linear_scores(sparse.hstack([self.unit, expanded], format="csr"), Cs)

        name = f"linear + {kernel}, {n_hashes} hashes"
        self._try(name, "both", kernel, n_hashes, _BOTH_CS, scores)

    def _try(
        self, name: str, kind: str, kernel: str | None, n_hashes: int | None,
        Cs: Sequence[float], scores: Callable[[Sequence[float]], Array],
    ) -> None:  # fmt: skip
        """Add a candidate, with the best C by `scores`: accuracies for each C and fold."""
        self.bar.set_description(name)
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
                _standard_error(folds),
                float(gains.mean()),
                _standard_error(gains),
                time.perf_counter() - start,
            )
        )
        self.bar.update()

    def _sketch(self, kernel: str, n_hashes: int) -> Signatures:
        recipe = Recipe(kernel, n_hashes, seed=self.seed, n_columns=self.unit.shape[1])
        return sketch(self.unit, recipe, self.n_jobs)

    def _linear_scores(self, X: Any, Cs: Sequence[float]) -> Array:
        def score(C: float, train: Array, test: Array) -> float:
            model = LinearSVC(C=C, tol=1e-3, random_state=self.seed)
            model.fit(X[train], self.labels[train])
            return float(model.score(X[test], self.labels[test]))

        return np.array([[score(C, *fold) for fold in self.folds] for C in Cs])

    def _svc_score(self, K: Array, C: float, train: Array, test: Array) -> float:
        model = SVC(kernel="precomputed", C=C, tol=1e-2)
        model.fit(K[np.ix_(train, train)], self.labels[train])
        return float(model.score(K[np.ix_(test, train)], self.labels[test]))


def unit_rows(matrix: Any) -> sparse.csr_array:
    """Rows of length one over the columns in use, numbered as LIBLINEAR wants them: in 32 bits."""
    rows = clean_rows(matrix)
    columns, indices = np.unique(rows.indices, return_inverse=True)
    shape = (len(rows), max(1, len(columns)))
    arrays = rows.data.astype(np.float64), indices.astype(np.int32), rows.indptr.astype(np.int32)
    return sparse.csr_array(normalize(sparse.csr_array(arrays, shape=shape)))


def _standard_error(folds: Array) -> float:
    """Standard error of a mean over folds."""
    return float(folds.std(ddof=1) / math.sqrt(len(folds))) if len(folds) > 1 else math.nan
