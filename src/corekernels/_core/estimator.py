"""What all estimators that take rows share."""

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ..errors import DataError, DenseRowsWarning
from .validation import as_matrix

SITE = "https://corekernels.readthedocs.io/en/stable"
DENSE = 0.9  # share of nonzeros above which CoRE kernels see nothing in the rows themselves
_MANY_ROWS, _LOOKED_AT = 100, 1000
_ROOMS = ("linear", "text")  # whose estimators are public there, not at the top


class DocumentationLink:
    """What makes scikit-learn's display of an estimator link to its page of the documentation."""

    _doc_link_module = "corekernels"
    _doc_link_template = SITE + "/api/generated/{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        package, room = type(self).__module__.split(".")[:2]
        public = f"{package}.{room}" if room in _ROOMS else package
        return {"name": f"{public}.{type(self).__name__}"}


def keep_parameters(arguments: dict[str, Any]) -> None:
    """Set the arguments of an estimator's constructor, its `locals()`, as attributes."""
    vars(arguments["self"]).update({name: arguments[name] for name in arguments if name != "self"})


def require_some_rows(n_rows: int) -> None:
    """Refuse a matrix without rows, in the words scikit-learn's checks look for."""
    if n_rows == 0:
        raise DataError("X: Found array with 0 sample(s) while a minimum of 1 is required.")


def warn_of_dense_rows(matrix: Any, kernel: str) -> None:
    """Say once per fit that most values are nonzero, and what to do; few rows prove nothing."""
    n_rows, n_columns = matrix.shape
    if n_rows < _MANY_ROWS or not n_columns:
        return
    if sparse.issparse(matrix):
        share = matrix.nnz / (n_rows * n_columns)
    else:
        share = np.count_nonzero(matrix[:_LOOKED_AT]) / (min(n_rows, _LOOKED_AT) * n_columns)
    if share > DENSE:
        warnings.warn(
            f"X: {share:.0%} of the values are nonzero, and {kernel} sees little but the cosine "
            "where all are; for tables put make_pipeline(MinMaxScaler(), SplineTransformer("
            'n_knots=8, sparse_output=True)) of scikit-learn before it, with kernel="core_rbf" and '
            "gamma=4.",
            DenseRowsWarning,
            stacklevel=5,
        )


class RowsEstimator(DocumentationLink, BaseEstimator):
    """An estimator of rows, dense or sparse: how they come in, and how it is tagged."""

    def _fitting_matrix(self, X: Any) -> Any:
        """The matrix behind X, whose columns are noted as those of the fitted estimator."""
        matrix = as_matrix(X)
        validate_data(self, X, skip_check_array=True)
        require_some_rows(matrix.shape[0])
        return matrix

    def _fitted_matrix(self, X: Any) -> Any:
        """The matrix behind X, which must have the columns of the rows fitted."""
        check_is_fitted(self)
        matrix = as_matrix(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        return matrix

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
