"""CoRERegressor: raw rows in, numbers out."""

from typing import Any

from sklearn.base import RegressorMixin

from ._core.arguments import Array
from ._core.estimator import keep_parameters
from .errors import ParameterError
from .linear.core_model import REGRESSOR, CoREModel
from .linear.losses import Loss
from .linear.regressor import HashedLinearRegressor
from .recipe import Recipe


class CoRERegressor(RegressorMixin, CoREModel):
    """Ridge regression on hashed rows: kernel ridge regression at linear cost.

    The hash turns each row into `n_hashes` pairs of a code and a weight (`CoREHasher`); the
    linear model learns from the pairs as they are (`linear.HashedLinearRegressor`, which says
    what it minimises). Rows count by their directions: CoRE kernels do not see the length of a
    row.

    The standard errors of this package are of estimated kernel values, not of predictions: there is
    no `return_std`, as a Gaussian process has it.

    Parameters
    ----------
    kernel, n_hashes, n_bits, scheme, gamma, weight_bits
        As in `CoREHasher`; n_bits from 1 to 16. Numbers take more hashes than classes do.
    loss : "squared_error" or linear.Loss
        What an error costs.
    C : float
        Weight of the errors against the smoothness of the solution: 1 / (2 alpha) of a ridge.
    tol, max_iter, solver, random_state, n_jobs
        As in `CoREClassifier`.

    Attributes
    ----------
    linear_ : HashedLinearRegressor
        What was learned from the signatures.
    dual_gap_ : float
        Duality gap over objective; not there after `load`.
    n_features_in_, feature_names_in_, recipe_, n_iter_, provenance_
        As in `CoREClassifier`.

    Examples
    --------
    >>> import corekernels as ck
    >>> rows, values = [[1.0, 0], [0, 1]], [3.0, 5.0]
    >>> model = ck.CoRERegressor(n_hashes=64, C=100, random_state=0).fit(rows, values)
    >>> model.predict([[2.0, 0], [0, 7]]).round(1)
    array([3., 5.])
    """

    linear_: HashedLinearRegressor

    _linear_type = HashedLinearRegressor
    _file_kind = REGRESSOR

    def __init__(
        self, kernel: str = Recipe.kernel, n_hashes: int = 4096, *,
        n_bits: int | None = Recipe.n_bits, loss: str | Loss = "squared_error", C: float = 3.0,
        scheme: str = Recipe.scheme, gamma: float | None = None,
        weight_bits: int = Recipe.weight_bits, tol: float = 1e-5, max_iter: int = 1000,
        solver: str = "auto", random_state: Any = None, n_jobs: int | None = None,
    ) -> None:  # fmt: skip
        keep_parameters(locals())

    def predict(self, X: Any, return_std: bool = False) -> Array:
        """The value of each row; `return_std` is refused, as there is no distribution of values."""
        if return_std:
            raise ParameterError(
                "return_std: a ridge regression predicts values without error bars (those of "
                "`Signatures` are of kernel values); for intervals of predictions, resample "
                "(BaggingRegressor) or take GaussianProcessRegressor(kernel=...)."
            )
        return super().predict(X)
