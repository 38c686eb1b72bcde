"""What all estimators that take rows share."""

from collections.abc import Mapping
from html import escape
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from ..errors import DataError
from .validation import as_matrix

SITE = "https://corekernels.readthedocs.io/en/stable"
_ROOMS = ("linear", "text")  # whose estimators are public there, not at the top

# colours of the notebook itself, whatever its theme
_TABLE = (
    "border-collapse:collapse;margin:.4em 0;font-variant-numeric:tabular-nums;"
    "border-top:1px solid;border-bottom:1px solid"
)
_CAPTION = "text-align:left;font-weight:600;padding:.2em 0;color:inherit"
_NAME = "text-align:left;font-weight:400;opacity:.75;padding:.1em 1.2em .1em 0;vertical-align:top"
_VALUE = "text-align:left;padding:.1em 0"


def html_table(title: str, facts: Mapping[str, Any]) -> str:
    """Names and values as a small table; values that are None are left out.

    >>> html_table("A <thing>", {"rows": 1000, "left out": None}).count("<tr>")
    1
    """
    rows = "".join(
        f'<tr><th scope="row" style="{_NAME}">{escape(name)}</th>'
        f'<td style="{_VALUE}">{escape(_text(value))}</td></tr>'
        for name, value in facts.items()
        if value is not None
    )
    caption = f'<caption style="{_CAPTION}">{escape(title)}</caption>'
    return f'<table style="{_TABLE}">{caption}<tbody>{rows}</tbody></table>'


def _text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int):
        return f"{value:.4g}" if isinstance(value, float) else str(value)
    return f"{value:,}"


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


def parameters_for_file(model: BaseEstimator, seed: int, gamma: float | None) -> dict[str, Any]:
    """The parameters of an estimator with the seed and the gamma that were used."""
    parameters: dict[str, Any] = model.get_params(deep=False)
    return parameters | {"random_state": seed, "gamma": gamma}


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
