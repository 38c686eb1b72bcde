"""What can be asked of an index, in scikit-learn's shapes."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._core.arguments import Array, require_choice, require_count
from .._core.estimator import RowsEstimator, require_some_rows
from .._core.validation import Rows, as_matrix, clean_rows
from ..errors import DataError
from ..recipe import DEFAULT_KERNEL
from .snapshot import Snapshot
from .store import require_number
from .tuning import AUTO

MODES = ("connectivity", "distance")


@dataclass(frozen=True)
class RecallCheck:
    """An index beside exact search, on the same queries.

    Attributes
    ----------
    queries : int
    recall : float
        Share of the true nearest rows among those found, ties counted as equal.
    seconds, exact_seconds : float
        Time that the index and that exact search took.

    Examples
    --------
    >>> import corekernels as ck
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> found = ck.CoRENeighbors(random_state=0).fit(X[:1000]).check_recall(X[1000:1100])
    >>> found.queries, found.recall
    (100, 1.0)
    """

    queries: int
    recall: float
    seconds: float
    exact_seconds: float

    @property
    def times_faster(self) -> float:
        """How many times faster than exact search the index was."""
        return self.exact_seconds / max(self.seconds, 1e-9)


class IndexEstimator(RowsEstimator):
    """An estimator with the parameters of an index; `CoRENeighbors` says what they mean."""

    def __init__(
        self, kernel: str = DEFAULT_KERNEL, n_neighbors: int = 10, *, method: str = AUTO,
        recall: float = 0.95, n_jobs: int | None = None, random_state: Any = None,
        gamma: float | None = None,
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.n_neighbors = n_neighbors
        self.method = method
        self.recall = recall
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.gamma = gamma


class Searches(IndexEstimator):
    """Queries over the snapshot of an index."""

    _snapshot: Snapshot

    def kneighbors(
        self, X: Any = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> Any:
        """Distances 1 - K and ids of the nearest rows, nearest first.

        Without X the rows of the index are the queries, none its own neighbour. With fewer
        rows than n_neighbors all are given.

        Returns
        -------
        distances, ids : ndarrays of shape (n_queries, n_neighbors); ids only, if
        `return_distance` is false.
        """
        snapshot, keys, positions = self._nearest(X, n_neighbors)
        ids = snapshot.ids[positions]
        return (1 - keys, ids) if return_distance else ids

    def radius_neighbors(
        self, X: Any = None, radius: float = 0.5, return_distance: bool = True,
        sort_results: bool = True,
    ) -> Any:  # fmt: skip
        """Distances and ids of all rows within a distance, nearest first; always exact.

        Returns
        -------
        distances, ids : arrays of one array per query.
        """
        snapshot, found = self._within(X, radius)
        distances, ids = np.empty((2, len(found)), dtype=object)
        for q, (keys, positions) in enumerate(found):
            distances[q], ids[q] = 1 - keys, snapshot.ids[positions]
        return (distances, ids) if return_distance else ids

    def kneighbors_graph(
        self, X: Any = None, n_neighbors: int | None = None, mode: str = "connectivity"
    ) -> sparse.csr_matrix:
        """The nearest rows as a sparse matrix: a one, or the distance, for each neighbour.

        Column j stands for the j-th row of the index, the one with id `ids_[j]`.
        """
        require_choice("mode", mode, MODES)
        snapshot, keys, positions = self._nearest(X, n_neighbors)
        lengths = np.full(len(keys), keys.shape[1])
        return _as_graph(snapshot, keys.ravel(), positions.ravel(), lengths, mode)

    def radius_neighbors_graph(
        self, X: Any = None, radius: float = 0.5, mode: str = "connectivity",
        sort_results: bool = True,
    ) -> sparse.csr_matrix:  # fmt: skip
        """All rows within a distance as a sparse matrix, as `kneighbors_graph`; always exact."""
        require_choice("mode", mode, MODES)
        snapshot, found = self._within(X, radius)
        lengths = np.array([len(keys) for keys, _ in found])
        keys, positions = map(np.concatenate, zip(*found, strict=True))
        return _as_graph(snapshot, keys, positions, lengths, mode)

    def check_recall(self, X: Any, n_neighbors: int | None = None) -> RecallCheck:
        """Recall of the index on queries of one's own, and its time, beside exact search.

        Examples
        --------
        >>> import corekernels as ck
        >>> from sklearn.datasets import load_digits
        >>> X, _ = load_digits(return_X_y=True)
        >>> ck.CoRENeighbors(random_state=0).fit(X[:1000]).check_recall(X[1000:1200]).recall
        1.0
        """
        wanted = self.n_neighbors if n_neighbors is None else n_neighbors
        as_matrix(X)  # None is no query here
        snapshot, rows, _ = self._queries(X)
        require_some_rows(len(rows))
        n_kept = min(require_count("n_neighbors", wanted), snapshot.n_alive)
        keys, seconds = [], []
        for exact in (False, True):
            # the first search of a process loads loops, the first exact one sorts rows
            snapshot.nearest(rows.block(0, 1), n_kept, self.n_jobs, exact=exact)
            start = time.perf_counter()
            keys.append(snapshot.nearest(rows, n_kept, self.n_jobs, exact=exact).keys)
            seconds.append(time.perf_counter() - start)
        recall = float((keys[0] >= keys[1][:, -1:]).mean())
        return RecallCheck(len(rows), recall, seconds[0], seconds[1])

    def _queries(self, X: Any) -> tuple[Snapshot, Rows, Array | None]:
        """The index as it is now, the queries, and which rows of it they are, if they are."""
        check_is_fitted(self)
        snapshot = self._snapshot
        if snapshot.n_alive == 0:
            raise DataError("the index is empty: all its rows were removed; add some.")
        if X is not None:
            return snapshot, clean_rows(self._fitted_matrix(X), n_jobs=self.n_jobs), None
        store, own = snapshot.living()
        return snapshot, store.rows(self.n_jobs), own

    def _within(self, X: Any, radius: float) -> tuple[Snapshot, list[tuple[Array, Array]]]:
        """Kernel values and positions of all rows within a distance, for each query."""
        least = 1 - require_number("radius", radius)
        snapshot, rows, own = self._queries(X)
        found = snapshot.within(rows, least, self.n_jobs)
        if own is not None:
            others = [positions != own[q] for q, (_, positions) in enumerate(found)]
            pairs = zip(found, others, strict=True)
            found = [(keys[other], positions[other]) for (keys, positions), other in pairs]
        return snapshot, found

    def _nearest(self, X: Any, n_neighbors: int | None) -> tuple[Snapshot, Array, Array]:
        wanted = self.n_neighbors if n_neighbors is None else n_neighbors
        n_wanted = require_count("n_neighbors", wanted)
        snapshot, rows, own = self._queries(X)
        n_kept = min(n_wanted + (own is not None), snapshot.n_alive)
        heaps = snapshot.nearest(rows, n_kept, self.n_jobs)
        if own is None:
            return snapshot, heaps.keys, heaps.rows
        mine = heaps.rows == own[:, None]
        mine[~mine.any(axis=1), -1] = True  # crowded out by others just as near
        shape = (len(own), n_kept - 1)
        return snapshot, heaps.keys[~mine].reshape(shape), heaps.rows[~mine].reshape(shape)


def _as_graph(
    snapshot: Snapshot, keys: Array, positions: Array, lengths: Array, mode: str
) -> sparse.csr_matrix:
    """Neighbours of queries as rows of a sparse matrix over the living rows of an index.

    A matrix, not an array, as scikit-learn gives one and UMAP takes no other.
    """
    columns = (np.cumsum(snapshot.alive, dtype=np.int64) - 1)[positions]
    data = np.ones(len(keys)) if mode == "connectivity" else 1 - keys
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    shape = (len(lengths), snapshot.n_alive)
    return sparse.csr_matrix((data, columns, indptr), shape=shape)
