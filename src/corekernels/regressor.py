"""CoRERegressor: raw rows in, numbers out."""

from typing import Any

from sklearn.base import RegressorMixin

from .linear.core_model import CoREModel
from .linear.model_file import REGRESSOR
from .linear.regressor import HashedLinearRegressor
from .recipe import (
    DEFAULT_BITS,
    DEFAULT_HASHES,
    DEFAULT_KERNEL,
    DEFAULT_PROJECTION,
    DEFAULT_SCHEME,
    DEFAULT_WEIGHT_BITS,
)


class CoRERegressor(RegressorMixin, CoREModel):
    """Ridge regression on hashed rows: kernel ridge regression at linear cost.

    The hash turns each row into `n_hashes` pairs of a code and a weight (`CoREHasher`); the
    linear model learns from the pairs as they are (`linear.HashedLinearRegressor`, which says
    what it minimises). Rows count by their directions: CoRE kernels do not see the length of a
    row.

    Parameters
    ----------
    kernel, n_hashes, n_bits, scheme, projection, gamma, weight_bits
        As in `CoREHasher`; n_bits from 1 to 16.
    C : float
        Weight of the errors against the smoothness of the solution: 1 / (2 alpha) of a ridge.
    tol, max_iter, solver, random_state, n_jobs
        As in `CoREClassifier`.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray, if X had names
    recipe_ : Recipe
        How rows are hashed.
    linear_ : HashedLinearRegressor
        What was learned from the signatures.
    n_iter_ : int
        Passes over the rows; not there after `load`.
    dual_gap_ : float
        Duality gap over objective; not there after `load`.
    provenance_ : list of io.Origin
        Where the rows came from, as far as the file the model was loaded from says.

    Examples
    --------
    >>> import corekernels as ck
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ck.CoRERegressor(n_hashes=2048, random_state=0).fit(X[:1000], y[:1000])
    >>> round(model.score(X[1000:], y[1000:]), 1)
    0.8
    """

    linear_: HashedLinearRegressor

    _linear_type = HashedLinearRegressor
    _file_kind = REGRESSOR

    def __init__(
        self,
        kernel: str = DEFAULT_KERNEL,
        n_hashes: int = DEFAULT_HASHES,
        *,
        n_bits: int | None = DEFAULT_BITS,
        C: float = 1.0,
        scheme: str = DEFAULT_SCHEME,
        projection: str = DEFAULT_PROJECTION,
        gamma: float | None = None,
        weight_bits: int = DEFAULT_WEIGHT_BITS,
        tol: float = 1e-5,
        max_iter: int = 1000,
        solver: str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_hashes = n_hashes
        self.n_bits = n_bits
        self.C = C
        self.scheme = scheme
        self.projection = projection
        self.gamma = gamma
        self.weight_bits = weight_bits
        self.tol = tol
        self.max_iter = max_iter
        self.solver = solver
        self.random_state = random_state
        self.n_jobs = n_jobs
