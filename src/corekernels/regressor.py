"""CoRERegressor: raw rows in, numbers out."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ._core.arguments import require_positive
from ._core.validation import as_matrix, read_only
from .errors import DataError
from .linear.classifier import check_options, warn_unless_converged
from .linear.descent import Block
from .linear.labels import check_values, check_weights
from .linear.one_vs_rest import as_planes, learn, make_lesson
from .linear.planes import pack
from .recipe import Recipe
from .signatures import sketch


class CoRERegressor(RegressorMixin, BaseEstimator):
    """Ridge regression on hashed rows: kernel ridge regression at linear cost.

    With x_i the unit rows that `CoREHasher` makes and m the median of y, it minimises

        1/2 (|w|^2 + b^2) + C sum_i c_i (w . x_i + b + m - y_i)^2

    by the same descent, on the same packed codes, as `CoREClassifier`. Rows count by their
    directions: CoRE kernels do not see the length of a row.

    Parameters
    ----------
    kernel, n_hashes, n_bits, scheme, projection
        As in `CoREHasher`; n_bits from 1 to 16.
    C : float
        Weight of the errors against the smoothness of the solution: 1 / (2 alpha) of a ridge.
    tol, max_iter, random_state, n_jobs
        As in `CoREClassifier`.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray, if X had names
    recipe_ : Recipe
    n_iter_ : int
    dual_gap_ : float
        Duality gap over objective.

    Examples
    --------
    >>> import corekernels as ck
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ck.CoRERegressor(n_hashes=2048, random_state=0).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 1)
    0.8
    """

    def __init__(
        self,
        kernel: str = "core1",
        n_hashes: int = 1024,
        *,
        n_bits: int = 8,
        C: float = 1.0,
        scheme: str = "circulant",
        projection: str = "gaussian",
        tol: float = 1e-5,
        max_iter: int = 1000,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_hashes = n_hashes
        self.n_bits = n_bits
        self.C = C
        self.scheme = scheme
        self.projection = projection
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "CoRERegressor":
        """Hash the rows of X once and learn their values y, with weights if given."""
        matrix = as_matrix(X)
        validate_data(self, X, skip_check_array=True)
        if matrix.shape[0] == 0:
            raise DataError("X: Found array with 0 sample(s) while a minimum of 1 is required.")
        options = check_options(self)
        C = require_positive("C", self.C)
        values = check_values(y, matrix.shape[0])
        weights = check_weights(sample_weight, matrix.shape[0])
        self.recipe_ = Recipe(
            kernel=self.kernel,
            n_hashes=self.n_hashes,
            n_bits=self.n_bits,
            scheme=self.scheme,
            projection=self.projection,
            seed=options["seed"],
            n_columns=matrix.shape[1],
        )
        packed = pack(sketch(matrix, self.recipe_, self.n_jobs), self.n_jobs)
        numbers = np.unique(values, return_inverse=True)[1]
        rows, digests = np.arange(len(packed)), packed.digests(self.n_jobs)
        lesson = make_lesson(packed, numbers, weights, np.ones(2), rows, digests)
        middle = _median(values, weights)
        block = Block(
            "squared_error",
            read_only(lesson.rows),
            read_only((values - middle)[:, None]),
            read_only(lesson.row_weights),
            np.full((2, 1), C),
            1.0,
        )
        states, outcomes = learn(lesson, [block], None, self.n_jobs, **options)
        warn_unless_converged(outcomes, options)
        self._planes = as_planes(self.recipe_, states, 1.0)
        self._planes.intercepts[:] += middle
        self.n_iter_ = outcomes[0].n_iter
        self.dual_gap_ = float(outcomes[0].relative_gaps[0])
        return self

    def predict(self, X: Any) -> npt.NDArray[np.float64]:
        """The value of each row."""
        check_is_fitted(self)
        matrix = as_matrix(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        S = sketch(matrix, self.recipe_, self.n_jobs)
        return self._planes.scores(S, self.n_jobs)[:, 0]

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_planes")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _median(values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> float:
    """The (lower) weighted median: one of the values, the same for weights and repetitions."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, total[-1] / 2)])
