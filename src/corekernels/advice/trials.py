"""Ways to learn, cross-validated on the same rows and folds."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.preprocessing import normalize
from sklearn.svm import SVC, LinearSVC

from .._core.validation import clean_rows
from ..kernels import core1, core2, resemblance
from ..linear import HashedLinearClassifier, c_path
from ..recipe import Recipe
from ..signatures import sketch

Array = npt.NDArray[Any]
Folds = list[tuple[Array, Array]]

EXACT = {"resemblance": resemblance, "core1": core1, "core2": core2}

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
            "linear", "linear", None, None, _LINEAR_CS, lambda Cs: self._linear_on(self.unit, Cs)
        )

    def exact(self, kernel: str) -> None:
        def scores(Cs: Sequence[float]) -> Array:
            K = EXACT[kernel](self.unit, n_jobs=self.n_jobs).astype(np.float64)
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
        tried = [c.C for c in self.candidates if c.kind == "hashed"]
        Cs = tried[:1] or _HASHED_CS  # what is best for one size is about best for the others
        self._try(name, "hashed", kernel, n_hashes, Cs, scores)

    def both(self, kernel: str, n_hashes: int) -> None:
        def scores(Cs: Sequence[float]) -> Array:
            expanded = self._sketch(kernel, n_hashes).to_csr()
            return self._linear_on(sparse.hstack([self.unit, expanded], format="csr"), Cs)

        name = f"linear + {kernel}, {n_hashes} hashes"
        self._try(name, "both", kernel, n_hashes, _BOTH_CS, scores)

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
            )
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


def unit_rows(matrix: Any) -> sparse.csr_array:
    """Rows of length one over the columns in use, numbered as LIBLINEAR wants them: in 32 bits."""
    rows = clean_rows(matrix)
    columns, indices = np.unique(rows.indices, return_inverse=True)
    shape = (len(rows), max(1, len(columns)))
    arrays = rows.data.astype(np.float64), indices.astype(np.int32), rows.indptr.astype(np.int32)
    return sparse.csr_array(normalize(sparse.csr_array(arrays, shape=shape)))


def _error(folds: Array) -> float:
    """Standard error of a mean over folds."""
    return float(folds.std(ddof=1) / math.sqrt(len(folds))) if len(folds) > 1 else math.nan
