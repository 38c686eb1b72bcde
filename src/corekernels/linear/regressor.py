"""HashedLinearRegressor: signatures and numbers in, numbers out."""

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from .._core.arguments import require_positive
from .._core.estimator import keep_parameters, require_some_rows
from .._core.validation import read_only
from ..errors import DataError
from ..signatures import Signatures
from .labels import check_values, check_weights
from .losses import Loss, loss_of
from .model import HashedLinearModel
from .problem import Block
from .rows import TrainingSet, pack

_MOST_VALUE = 1e30


class HashedLinearRegressor(RegressorMixin, HashedLinearModel):
    """Ridge regression on signatures, without expanding them.

    It finds the weight vector w and the bias b that minimise

        1/2 (w . w + b^2) + C sum_i c_i (w . x_i + s b + m - y_i)^2,

    where x_i is row i of `Signatures.to_csr()`, c_i its weight, s the `intercept_scaling` and
    m the median of y (0 without an intercept), by the methods of `HashedLinearClassifier`.

    Parameters
    ----------
    loss : "squared_error" or Loss
        Another loss stands in the place of the square: `docs/extending.md` writes Huber's.
    C : float
        Weight of the errors against the length of w: 1 / (2 alpha) of a ridge.
    tol, max_iter, fit_intercept, intercept_scaling, solver, random_state, n_jobs
        As in `HashedLinearClassifier`.

    Attributes
    ----------
    intercept_ : float
    coef_ : ndarray of shape (n_features,), float32
        Expanded on request, in the order of the columns of `Signatures.to_csr`.
    n_iter_ : int
        Passes over the rows.
    dual_gap_ : float
        Duality gap over objective.
    n_rows_ : int
        Rows learned from.

    Examples
    --------
    >>> import corekernels as ck
    >>> X, y = [[1.0, 0], [0, 1]], [3.0, 5.0]
    >>> S = ck.CoREHasher(n_hashes=64, random_state=0).fit(X).sketch(X)
    >>> ck.linear.HashedLinearRegressor(C=100, random_state=0).fit(S, y).predict(S).round(1)
    array([3., 5.])
    """

    def __init__(
        self, loss: str | Loss = "squared_error", *, C: float = 3.0, tol: float = 1e-5,
        max_iter: int = 1000, fit_intercept: bool = True, intercept_scaling: float = 1.0,
        solver: str = "auto", random_state: Any = None, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        keep_parameters(locals())

    def fit(self, S: Signatures, y: Any, sample_weight: Any = None) -> "HashedLinearRegressor":
        """Learn from signatures S with values y, and weights of the rows if given."""
        C, options = require_positive("C", self.C), self._options()
        scaling = require_positive("intercept_scaling", self.intercept_scaling)
        loss = loss_of(self.loss, "values")
        packed = pack(S, self.n_jobs)
        require_some_rows(len(S))
        weights = check_weights(sample_weight, len(S))
        values = check_values(y, len(S))
        training = TrainingSet.of(packed, values, weights, self.n_jobs)
        middle = _median(values, weights) if self.fit_intercept else 0.0
        _require_range(values - middle)
        block = Block(
            loss,
            read_only(training.rows),
            read_only((values - middle)[:, None]),
            read_only(training.row_weights),
            np.full((2, 1), C),
            scaling * bool(self.fit_intercept),
        )
        self.dual_gap_ = float(self._learn(training, lambda _: [block], S.recipe, options)[0])
        self._coefficients.intercepts[:] += middle
        return self

    def predict(self, S: Signatures) -> npt.NDArray[np.float64]:
        """The value of each row."""
        check_is_fitted(self)
        return self._coefficients.scores(S, self.n_jobs)[:, 0]

    @property
    def coef_(self) -> npt.NDArray[np.float32]:
        """The weight vector, expanded on request, with the columns of `Signatures.to_csr`."""
        return super().coef_[0]

    @property
    def intercept_(self) -> float:
        """What is added to the scores."""
        check_is_fitted(self)
        return float(self._coefficients.intercepts[0])


def _require_range(values: npt.NDArray[np.float64]) -> None:
    """Refuse values whose coefficients would not fit single precision."""
    most = np.abs(values).max(initial=0.0)
    if most > 0 and not 1 / _MOST_VALUE <= most <= _MOST_VALUE:
        raise DataError(
            f"y: the largest difference from the median (without intercept: from 0) is {most:.1e}, "
            f"not between {1 / _MOST_VALUE:.0e} and {_MOST_VALUE:.0e}; multiply y by a constant."
        )


def _median(values: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> float:
    """The (lower) weighted median: one of the values, the same for weights and repetitions."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(total, total[-1] / 2)])
