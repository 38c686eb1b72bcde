"""Ways to learn that `advise` compares: each with a few settings to choose from."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from .._core.arguments import Array, short_seed
from .._core.validation import clean_rows
from .._exact import Formula, Gram
from ..kernel_table import CORRELATION, Kernel, exact_kernel
from ..linear import HashedLinearClassifier
from ..linear.coefficients import lane_blocks, number_of_planes
from ..recipe import DEFAULT_KERNEL, Recipe
from ..signatures import Signatures, sketch


class Result(NamedTuple):
    """What a learner predicted for test rows, and the share that was right."""

    accuracy: float
    predicted: Array


Score = Callable[[Array, Array], Result]  # on test rows, learned from training rows

BOOSTED_COLUMNS = 256  # that gradient boosting sees at most
_BOOSTED_TREES = 1000  # over all classes
_FEWEST_FEATURES = 64
# nanoseconds on a server core, per row and hash or feature; only ratios matter
_HASH, _SWEEPS = 12.0, 38.0  # the sweeps per block of eight classes
_COSINE, _PRODUCT, _STEPS = 20.0, 0.3, 7.0  # the product per nonzero, the steps per class
_DIRECTION = 20.0  # of a feature in one column
_GAP, _MOST_SWEEPS = 1e-2, 30  # of hashed learners: the accuracy is settled by then
_CACHE_BYTES = 200e6  # of scikit-learn's SVC


class Settings(NamedTuple):
    """What is chosen by cross-validation."""

    C: float | None = None
    gamma: float | None = None


_LINEAR = tuple(map(Settings, (0.1, 1.0, 10.0)))
_PLAIN = tuple(map(Settings, (1.0, 10.0, 100.0)))  # of exact kernels
_SIDE_BY_SIDE = tuple(map(Settings, (0.1, 1.0)))
_WITH_GAMMA = tuple(Settings(10.0, gamma) for gamma in (1.0, 2.0, 4.0))
_FOURIER = tuple(Settings(10.0, gamma) for gamma in (1.0, 4.0))


@dataclass(frozen=True)
class Learner:
    """One way to learn; `kind` and `n_bytes` are those of `result.Candidate`."""

    name: str
    kind: str
    settings: tuple[Settings, ...]  # to choose from
    prepare: Callable[[Settings], Score]  # does what is done once for all folds
    n_bytes: float
    kernel: str | None = None
    n_hashes: int | None = None


@dataclass(frozen=True)
class Sample:
    """The rows that learners are tried on: of length one, with their labels."""

    unit: sparse.csr_array
    labels: Array
    seed: int
    n_jobs: int | None

    @property
    def short_seed(self) -> int:
        """The seed of scikit-learn's learners."""
        return short_seed(self.seed)

    def compile_loops(self) -> None:
        """Hash and learn a little, so that no learner's time includes compiling."""
        everything = np.arange(len(self.labels))
        small = self.hashed(DEFAULT_KERNEL, None, 16)
        small.prepare(small.settings[0])(everything, everything)

    def linear(self) -> Learner:
        """A linear SVM."""

        def prepare(settings: Settings) -> Score:
            return self._score(lambda: self._linear_svm(settings), self.unit)

        return Learner("linear", "linear", _LINEAR, prepare, 8.0 * self.unit.shape[1])

    def exact(self, kernel: Kernel) -> Learner:
        """A kernel SVM with an exact kernel."""
        settings = _PLAIN if kernel.gamma is None else _WITH_GAMMA

        def formula(settings: Settings) -> Formula:
            return Formula(exact_kernel(kernel.name, settings.gamma))

        return self._kernel_svm(f"{kernel.name}, exact", "exact", kernel, settings, formula)

    def exponential(self, kernel: Kernel) -> Learner:
        """A kernel SVM with exp(-gamma (1 - K))."""
        name, formula = f"exponential {kernel.name}, exact", _exponential(kernel)
        return self._kernel_svm(name, "exact", kernel, _WITH_GAMMA, formula)

    def gaussian(self) -> Learner:
        """An SVM with a Gaussian kernel, which is the exponential of the correlation."""
        formula = _exponential(CORRELATION)
        return self._kernel_svm("Gaussian SVM", "gaussian", CORRELATION, _WITH_GAMMA, formula)

    def hashed(self, kernel: str, gamma: float | None, n_hashes: int) -> Learner:
        """A linear SVM on hashed rows."""

        def prepare(settings: Settings) -> Score:
            S = self._sketch(kernel, gamma, n_hashes)
            make = partial(
                HashedLinearClassifier, C=settings.C or 1.0, random_state=self.seed, tol=_GAP,
                max_iter=_MOST_SWEEPS, n_jobs=self.n_jobs,
            )  # fmt: skip
            return self._score(make, S)

        n_bytes = len(self.labels) * self._recipe(kernel, gamma, n_hashes).bytes_per_row
        settings = tuple(s._replace(gamma=gamma) for s in _LINEAR)
        name = f"{kernel}, {n_hashes} hashes"
        return Learner(name, "hashed", settings, prepare, n_bytes, kernel, n_hashes)

    def both(self, kernel: str, gamma: float | None, n_hashes: int) -> Learner:
        """A linear SVM on rows and hashed rows side by side."""

        def prepare(settings: Settings) -> Score:
            expanded = self._sketch(kernel, gamma, n_hashes).to_csr(n_jobs=self.n_jobs)
            X = sparse.hstack([self.unit, expanded], format="csr")
            return self._score(lambda: self._linear_svm(settings), X)

        settings = tuple(s._replace(gamma=gamma) for s in _SIDE_BY_SIDE)
        name, n_bytes = f"linear + {kernel}, {n_hashes} hashes", 12.0 * len(self.labels) * n_hashes
        return Learner(name, "both", settings, prepare, n_bytes, kernel, n_hashes)

    def fourier(self, n_hashes: int) -> Learner:
        """Logistic regression on random Fourier features that take as long as so many hashes."""
        n_features = max(_FEWEST_FEATURES, self._features_in_the_time_of(n_hashes))

        def prepare(settings: Settings) -> Score:
            # unit rows: 1 - rho is half the squared distance
            sampler = RBFSampler(
                gamma=(settings.gamma or 0) / 2,
                n_components=n_features,
                random_state=self.short_seed,
            )
            X = sampler.fit_transform(self.unit).astype(np.float32)
            return self._score(partial(LogisticRegression, C=settings.C, tol=1e-3), X)

        name, n_bytes = f"{n_features} Fourier features", 4.0 * len(self.labels) * n_features
        return Learner(name, "fourier", _FOURIER, prepare, n_bytes)

    def _features_in_the_time_of(self, n_hashes: int) -> int:
        """Fourier features that are made and learned in the time of so many hashes, about.

        It is counted, not timed, so that the advice does not depend on what else runs.
        """
        n_rows, n_columns = self.unit.shape
        n_classes = len(np.unique(self.labels))
        n_planes = number_of_planes(n_classes, several_labels=False)
        ours = _HASH + _SWEEPS * len(lane_blocks(n_planes))
        theirs = _COSINE + _PRODUCT * self.unit.nnz / n_rows + _STEPS * n_planes
        theirs += _DIRECTION * n_columns / n_rows
        return int(n_hashes * ours / theirs)

    def boosting(self) -> Learner:
        """Gradient boosting, on the columns with the largest sums of squares if they are many."""
        n_columns = self.unit.shape[1]
        sums = np.asarray(self.unit.multiply(self.unit).sum(axis=0)).ravel()
        kept = np.sort(np.argsort(-sums, kind="stable")[:BOOSTED_COLUMNS])
        n_trees = max(10, min(100, _BOOSTED_TREES // len(np.unique(self.labels))))

        def prepare(settings: Settings) -> Score:
            make = partial(
                HistGradientBoostingClassifier, max_iter=n_trees, random_state=self.short_seed
            )
            score = self._score(make, self.unit[:, kept].toarray())

            def score_by_one_thread(train: Array, test: Array) -> Result:
                # many short parallel regions: where other processes are busy, threads of OpenMP
                # that wait for each other take hundreds of times as long as one thread alone
                with threadpool_limits(1, user_api="openmp"):
                    return score(train, test)

            return score_by_one_thread

        name = "gradient boosting"
        if len(kept) < n_columns:
            name += f", {len(kept)} of {n_columns:,} columns"
        n_bytes = 9.0 * len(self.labels) * len(kept)
        return Learner(name, "boosting", (Settings(),), prepare, n_bytes)

    def _kernel_svm(
        self, name: str, kind: str, kernel: Kernel, settings: tuple[Settings, ...],
        formula: Callable[[Settings], Formula],
    ) -> Learner:  # fmt: skip
        def prepare(settings: Settings) -> Score:
            K = Gram(self.unit, None, formula(settings), self.n_jobs).whole()

            def score(train: Array, test: Array) -> Result:
                model = SVC(kernel="precomputed", C=settings.C, tol=1e-2)
                model.fit(K[np.ix_(train, train)], self.labels[train])
                return self._result(model.predict(K[np.ix_(test, train)]), test)

            return score

        n_bytes = 8.0 * len(self.labels) ** 2
        if kind == "gaussian":  # scikit-learn computes it as it goes, and keeps a part
            n_bytes = min(n_bytes, _CACHE_BYTES)
        return Learner(name, kind, settings, prepare, n_bytes, kernel.name)

    def _score(self, make: Callable[[], Any], X: Any) -> Score:
        def score(train: Array, test: Array) -> Result:
            model = make().fit(X[train], self.labels[train])
            return self._result(model.predict(X[test]), test)

        return score

    def _result(self, predicted: Array, test: Array) -> Result:
        return Result(float(np.mean(predicted == self.labels[test])), predicted)

    def _linear_svm(self, settings: Settings) -> LinearSVC:
        return LinearSVC(C=settings.C, tol=1e-3, random_state=self.short_seed)

    def _recipe(self, kernel: str, gamma: float | None, n_hashes: int) -> Recipe:
        n_columns = self.unit.shape[1]
        return Recipe(kernel, n_hashes, seed=self.seed, n_columns=n_columns, gamma=gamma)

    def _sketch(self, kernel: str, gamma: float | None, n_hashes: int) -> Signatures:
        return sketch(self.unit, self._recipe(kernel, gamma, n_hashes), self.n_jobs)


def _exponential(kernel: Kernel) -> Callable[[Settings], Formula]:
    return lambda settings: Formula(kernel, settings.gamma)


def unit_rows(matrix: Any) -> sparse.csr_array:
    """Rows of length one over the columns in use, numbered as LIBLINEAR wants them: in 32 bits."""
    rows = clean_rows(matrix)
    columns, indices = np.unique(rows.indices, return_inverse=True)
    shape = (len(rows), max(1, len(columns)))
    arrays = rows.data.astype(np.float64), indices.astype(np.int32), rows.indptr.astype(np.int32)
    return sparse.csr_array(normalize(sparse.csr_array(arrays, shape=shape)))
