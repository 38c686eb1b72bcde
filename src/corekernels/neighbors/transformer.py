"""CoRENeighborsTransformer: rows in, a sparse graph of their neighbours out."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from .._core.arguments import require_choice
from .._core.estimator import RowsEstimator, keep_parameters
from ..recipe import DEFAULT_KERNEL
from .estimator import CoRENeighbors
from .snapshot import MODES
from .tuning import AUTO


class CoRENeighborsTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, RowsEstimator):
    """The nearest rows as a graph, for estimators with `metric="precomputed"`, UMAP and others.

    Parameters
    ----------
    mode : {"distance", "connectivity"}
        Distances 1 - K, ascending in each row: `n_neighbors` + 1 of them, one to spare for
        estimators that count a row as its own neighbour. Or ones, `n_neighbors` per row.
    symmetric : bool
        Whether `fit_transform` also links each neighbour back to the row whose neighbour it is.
        `transform` of other rows never does.
    kernel, n_neighbors, method, recall, n_jobs, random_state, gamma
        As in `CoRENeighbors`.

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

    def __init__(
        self, kernel: str = DEFAULT_KERNEL, n_neighbors: int = 10, *, mode: str = "distance",
        symmetric: bool = False, method: Any = AUTO, recall: float = 0.95,
        n_jobs: int | None = None, random_state: Any = None, gamma: float | None = None,
    ) -> None:  # fmt: skip
        keep_parameters(locals())

    def fit(self, X: Any, y: Any = None) -> "CoRENeighborsTransformer":
        """Index the rows of X."""
        require_choice("mode", self.mode, MODES)
        self._fitting_matrix(X)
        parameters = self.get_params(deep=False)
        del parameters["mode"], parameters["symmetric"]
        self.index_ = CoRENeighbors(**parameters).fit(X)
        self.n_samples_fit_ = self._n_features_out = self.index_.n_samples_fit_
        return self

    def transform(self, X: Any) -> sparse.csr_matrix:
        """The graph of the nearest rows fitted, of shape (n_queries, `n_samples_fit_`)."""
        self._fitted_matrix(X)
        n_neighbors = self.n_neighbors + (self.mode == "distance")
        return self.index_.kneighbors_graph(X, n_neighbors, self.mode)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> sparse.csr_matrix:
        """Index the rows of X; the graph of them."""
        graph = self.fit(X, y).transform(X)
        return _with_links_back(graph) if self.symmetric else graph


def _with_links_back(graph: sparse.csr_matrix) -> sparse.csr_matrix:
    """A square graph and its transpose together; values ascend in each row.

    Zeros are distances too, so sums of matrices, which drop them, would not do.
    """
    n = graph.shape[0]
    rows = np.repeat(np.arange(n), np.diff(graph.indptr))
    places = np.concatenate([rows * n + graph.indices, graph.indices.astype(np.int64) * n + rows])
    places, first = np.unique(places, return_index=True)
    values = np.tile(graph.data, 2)[first]
    order = np.lexsort((values, places // n))
    indptr = np.searchsorted(places, np.arange(n + 1) * n)
    return sparse.csr_matrix((values[order], places[order] % n, indptr), shape=graph.shape)
