"""CoRENeighborsTransformer: rows in, a sparse graph of distances out."""

from typing import Any

from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from .estimator import CoRENeighbors
from .searches import IndexEstimator


class CoRENeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, IndexEstimator):
    """Distances 1 - K to the nearest rows, for estimators with `metric="precomputed"`.

    Each row of the result holds `n_neighbors` + 1 distances, one to spare for estimators
    that count a row as its own neighbour, in ascending order. Parameters are those of
    `CoRENeighbors`.

    Attributes
    ----------
    index_ : CoRENeighbors
        The index of the rows fitted.
    n_samples_fit_ : int
        Number of them: the columns of the result.

    Examples
    --------
    >>> import corekernels as ck
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> X, y = load_digits(return_X_y=True)
    >>> model = make_pipeline(
    ...     ck.CoRENeighborsTransformer(n_neighbors=5),
    ...     KNeighborsClassifier(5, metric="precomputed"),
    ... )
    >>> round(model.fit(X[:1000], y[:1000]).score(X[1000:], y[1000:]), 2)
    0.94
    """

    def fit(self, X: Any, y: Any = None) -> "CoRENeighborsTransformer":
        """Index the rows of X."""
        self._fitting_matrix(X)
        self.index_ = CoRENeighbors(**self.get_params(deep=False)).fit(X)
        self.n_samples_fit_ = self._n_features_out = self.index_.n_samples_fit_
        return self

    def transform(self, X: Any) -> sparse.csr_array:
        """Distances to the nearest rows fitted, as a sparse matrix (n_queries, n_samples_fit_)."""
        self._fitted_matrix(X)
        return self.index_.kneighbors_graph(X, self.n_neighbors + 1, "distance")
