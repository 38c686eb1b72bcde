"""Ways to learn that `advise` compares: scikit-learn pipelines, as a competent user runs them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from operator import methodcaller
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.feature_selection import SelectKBest, f_classif, f_regression
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    SplineTransformer,
    StandardScaler,
)
from sklearn.svm import SVC, SVR, LinearSVC

from .. import kernels
from .._core.arguments import Array, short_seed
from .._core.estimator import DENSE
from .._core.validation import clean_rows
from ..classifier import CoREClassifier
from ..hasher import CoREHasher
from ..kernel_table import HASHED_KERNELS
from ..regressor import CoRERegressor

BOOSTED_COLUMNS = 256  # that gradient boosting sees at most
_TABLE = 0.5, 128  # rows with more nonzeros, or with at most so many columns, are tables
_COUNTED_COLUMNS = 1000  # rows of counts with at least so many columns are counts of words
_BOOSTED_TREES = 1000  # over all classes
_N_FOURIER = 1024
# the usual value first: where time is short, the others are not tried
_CORE_CS, _BOTH_CS = (1.0, 10.0), (1.0, 0.1)
_CORE_RBF_GAMMAS, _SPLINE_GAMMAS = (1.0, 2.0, 4.0), (4.0, 8.0)
_WIDTHS = (1.0, 0.25, 4.0)  # times "scale", scikit-learn's rule for the gamma of Gaussian kernels
_SVM_CS = (10.0, 1.0)

Steps = tuple[Any, ...]  # transformers


class Learner(NamedTuple):
    """One way to learn."""

    name: str
    kind: str  # as of `Candidate`
    pipelines: tuple[Any, ...]  # the settings to choose from


class Core(NamedTuple):
    """A CoRE kernel and what stands before it."""

    steps: Steps
    kernel: str
    gamma: float | None = None

    @property
    def are_splines(self) -> bool:
        """Whether it sees columns as splines."""
        return any(isinstance(step, SplineTransformer) for step in self.steps)

    @property
    def name(self) -> str:
        """What it is called in names of learners."""
        return f"{self.kernel} on splines" if self.are_splines else self.kernel


@dataclass(frozen=True)
class Learners:
    """The learners that suit a sample of rows."""

    X: Any  # array or CSR array
    y: Array
    is_regression: bool
    seed: int
    n_jobs: int | None

    @cached_property
    def density(self) -> float:
        """The share of values that are not 0."""
        n_nonzeros = self.X.nnz if sparse.issparse(self.X) else np.count_nonzero(self.X)
        return float(n_nonzeros / max(1, self.X.shape[0] * self.X.shape[1]))

    @cached_property
    def is_table(self) -> bool:
        """Whether columns can be centred."""
        share, n_columns = _TABLE
        return self.density > share or self.X.shape[1] <= n_columns

    @cached_property
    def counts_words(self) -> bool:
        """Whether the rows look like counts of words."""
        if self.is_table or self.X.shape[1] < _COUNTED_COLUMNS:
            return False
        values = self.X.data if sparse.issparse(self.X) else self.X
        return bool(values.min(initial=0) >= 0 and (values == np.floor(values)).all())

    @property
    def to_table(self) -> Steps:
        """What makes an array of rows that are sparse."""
        return (FunctionTransformer(methodcaller("toarray")),) if sparse.issparse(self.X) else ()

    @property
    def scaled(self) -> Steps:
        """Columns on a common scale."""
        return (*self.to_table, StandardScaler()) if self.is_table else (MaxAbsScaler(),)

    @property
    def rows_themselves(self) -> Steps:
        """What CoRE kernels take: rows as they are, or TF-IDF weights if they count words."""
        return (TfidfTransformer(sublinear_tf=True),) if self.counts_words else ()

    @property
    def splines(self) -> Steps:
        """Each column as values of a few splines, most of which are 0."""
        spline = SplineTransformer(n_knots=8, extrapolation="constant", sparse_output=True)
        return (*self.to_table, MinMaxScaler(), spline)

    def compile_loops(self) -> None:
        """Hash and learn a little, so that no learner's time includes compiling."""
        few = np.unique(self.y, return_index=True)[1][:50]  # of each class, if there are classes
        for steps in self.core_steps():
            X = make_pipeline(*steps, FunctionTransformer()).fit_transform(self.X[few])
            for name, kernel in HASHED_KERNELS.items():
                if kernel.uses_values:
                    getattr(kernels, name)(X)
                    self._hashed_model(Core(steps, name), 16, 1.0).fit(X, self.y[few])

    def core_steps(self) -> list[Steps]:
        """What stands before CoRE kernels, to choose from."""
        if self.density > DENSE:
            return [self.splines]
        return [self.rows_themselves, self.splines] if self.is_table else [self.rows_themselves]

    def cores(self) -> list[Core]:
        """CoRE kernels to compare; as splines they see values only."""
        return [
            Core(steps, name)
            for steps in self.core_steps()
            for name, kernel in HASHED_KERNELS.items()
            if kernel.uses_values or steps == self.rows_themselves
        ]

    def linear(self) -> Learner:
        """A linear model."""
        models = [self._linear_model(C) for C in (1.0, 0.1, 10.0)]
        if not self.is_regression:  # better with many classes
            logistic = [LogisticRegression(C=C, tol=1e-3, max_iter=300) for C in (1.0, 10.0)]
            models = [models[0], *logistic, *models[1:]]
        pipelines = [
            make_pipeline(*steps, model) for model in models for steps in self._usual_steps()
        ]
        return Learner("linear", "linear", tuple(pipelines))

    def exact(self, core: Core) -> Learner:
        """A kernel machine with an exact kernel."""
        function = getattr(kernels, core.kernel)
        functions = [function]
        if HASHED_KERNELS[core.kernel].gamma is not None:
            gammas = _SPLINE_GAMMAS if core.are_splines else _CORE_RBF_GAMMAS
            functions = [partial(function, gamma=gamma) for gamma in gammas]
        pipelines = [
            make_pipeline(*core.steps, self._svm(C=C, kernel=function))
            for function, C in product(functions, _SVM_CS)
        ]
        return Learner(f"{core.name}, exact", "exact", tuple(pipelines))

    def hashed(self, core: Core, n_hashes: int) -> Learner:
        """A linear model on hashed rows."""
        pipelines = [
            make_pipeline(*core.steps, self._hashed_model(core, n_hashes, C)) for C in _CORE_CS
        ]
        return Learner(f"{core.name}, {n_hashes} hashes", "hashed", tuple(pipelines))

    def both(self, core: Core, n_hashes: int) -> Learner:
        """A linear model on rows and hashed rows side by side."""
        hasher = CoREHasher(core.kernel, n_hashes, gamma=core.gamma, random_state=self.short_seed)
        beside = make_pipeline(*self._features())
        features = make_union(beside, make_pipeline(*core.steps, hasher))
        pipelines = [make_pipeline(features, self._linear_model(C)) for C in _BOTH_CS]
        name = f"linear + {core.name}, {n_hashes} hashes"
        return Learner(name, "both", tuple(pipelines))

    def gaussian(self) -> Learner:
        """A support vector machine with a Gaussian kernel."""
        pipelines = [
            make_pipeline(*steps, self._svm(C=C, gamma=gamma))
            for steps in self._usual_steps()
            for gamma, C in product(self._gammas(steps), _SVM_CS)
        ]
        return Learner("Gaussian SVM", "gaussian", tuple(pipelines))

    def fourier(self) -> Learner:
        """Ridge regression on random Fourier features."""
        steps = self._features()
        model = Ridge if self.is_regression else RidgeClassifier
        pipelines = []
        for gamma in self._gammas(steps):
            sampler = RBFSampler(gamma=gamma, n_components=_N_FOURIER, random_state=self.short_seed)
            pipelines.append(make_pipeline(*steps, sampler, model(alpha=0.1)))
        return Learner(f"{_N_FOURIER} Fourier features", "fourier", tuple(pipelines))

    def boosting(self) -> Learner:
        """Gradient boosting, on the columns that tell most if they are many."""
        n_columns, name = self.X.shape[1], "gradient boosting"
        chosen: Steps = ()
        if n_columns > BOOSTED_COLUMNS:
            score = f_regression if self.is_regression else f_classif
            chosen = (SelectKBest(score, k=BOOSTED_COLUMNS),)
            name += f", {BOOSTED_COLUMNS} of {n_columns:,} columns"
        n_outputs = 1 if self.is_regression else len(np.unique(self.y))
        n_trees = max(10, min(100, _BOOSTED_TREES // n_outputs))
        models = HistGradientBoostingRegressor, HistGradientBoostingClassifier
        model = models[not self.is_regression](max_iter=n_trees, random_state=self.short_seed)
        return Learner(name, "boosting", (make_pipeline(*chosen, *self.to_table, model),))

    @property
    def short_seed(self) -> int:
        """The seed of scikit-learn's estimators."""
        return short_seed(self.seed)

    def _usual_steps(self) -> list[Steps]:
        """Columns of one scale, or weights of words, and rows of one length."""
        return [self.rows_themselves or self.scaled, (Normalizer(),)]

    def _features(self) -> Steps:
        return self.scaled if self.is_table else (*self.rows_themselves, Normalizer())

    def _gammas(self, steps: Steps) -> list[float]:
        """Widths of Gaussian kernels around scikit-learn's "scale", which depends on the rows."""
        X = make_pipeline(*steps).fit_transform(self.X)
        mean = X.mean()
        squares = X.multiply(X) if sparse.issparse(X) else X * X
        variance = float(squares.mean() - mean**2)
        scale = 1 / (X.shape[1] * variance) if variance > 0 else 1.0
        return [float(f"{width * scale:.2g}") for width in _WIDTHS]

    def _linear_model(self, C: float) -> Any:
        if self.is_regression:
            return Ridge(alpha=1 / C)
        return LinearSVC(C=C, tol=1e-3, random_state=self.short_seed)

    def _svm(self, **parameters: Any) -> Any:
        if not self.is_regression:
            return SVC(**parameters)
        return TransformedTargetRegressor(SVR(**parameters), transformer=StandardScaler())

    def _hashed_model(self, core: Core, n_hashes: int, C: float) -> Any:
        model = CoRERegressor if self.is_regression else CoREClassifier
        return model(
            core.kernel, n_hashes, gamma=core.gamma, C=C, random_state=self.short_seed,
            n_jobs=self.n_jobs,
        )  # fmt: skip


def final_model(pipeline: Any) -> Any:
    """The model at the end of a pipeline."""
    model = pipeline[-1]
    return getattr(model, "regressor", model)


def with_kernel_matrix(pipeline: Any) -> Any:
    """An unfitted copy that predicts the same, a Gaussian SVM from the matrix of its kernel.

    Products of matrices make it in up to a fiftieth of the time that LIBSVM takes pair by pair.
    """
    copy = clone(pipeline)
    model = final_model(copy)
    if getattr(model, "kernel", None) == "rbf":
        model.set_params(kernel=partial(rbf_kernel, gamma=model.gamma))
    return copy


def sampled_rows(matrix: Any, rows: Sequence[int] | Array) -> Any:
    """Some rows of what `as_matrix` gave, finite; sparse ones over the columns in use.

    LIBLINEAR and LIBSVM want the numbers of columns in 32 bits.
    """
    chosen = matrix[rows]
    sample = clean_rows(chosen)
    if not sparse.issparse(chosen):
        return np.ascontiguousarray(chosen, dtype=sample.data.dtype)
    columns, indices = np.unique(sample.indices, return_inverse=True)
    shape = len(sample), max(1, len(columns))
    arrays = sample.data.copy(), indices.astype(np.int32), sample.indptr.astype(np.int32)
    return sparse.csr_array(arrays, shape=shape)
