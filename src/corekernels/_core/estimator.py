"""What all estimators that take rows share."""

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ..errors import DataError
from .validation import as_matrix

SITE = "https://corekernels.readthedocs.io/en/stable"
_ROOMS = ("linear", "text")  # whose estimators are public there, not at the top


class DocumentationLink:
    """What makes scikit-learn's display of an estimator link to its page of the documentation."""

    _doc_link_module = "corekernels"
    _doc_link_template = SITE + "/api/generated/{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        package, room = type(self).__module__.split(".")[:2]
        public = f"{package}.{room}" if room in _ROOMS else package
        return {"name": f"{public}.{type(self).__name__}"}


def require_some_rows(n_rows: int) -> None:
    """Refuse a matrix without rows, in the words scikit-learn's checks look for."""
    if n_rows == 0:
        raise DataError("X: Found array with 0 sample(s) while a minimum of 1 is required.")


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
