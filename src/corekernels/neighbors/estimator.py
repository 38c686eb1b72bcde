"""CoRENeighbors: the most similar rows in the space of a CoRE kernel."""

import time
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from .._core.arguments import Array, PathLike, require_choice, require_count, seed_of
from .._core.escaping import html_table
from .._core.estimator import RowsEstimator, keep_parameters, require_some_rows
from .._core.forks import ForkLock
from .._core.validation import Rows, as_matrix, clean_rows, one_clean_row
from ..errors import DataError, ParameterError
from ..io.provenance import Origin
from ..kernel_table import exact_kernel
from ..recipe import DEFAULT_KERNEL
from ..text.frequencies import InverseDocumentFrequency
from .candidates import SearchMethod
from .duplicates.candidates import plan_tables
from .duplicates.result import NearDuplicates
from .duplicates.search import Criterion, near_duplicate_rows
from .snapshot import MODES, Snapshot, read_index, write_index
from .store import check_ids, make_store, require_number, require_recall
from .tuning import AUTO, RecallCheck, choose, method_of


class CoRENeighbors(RowsEstimator):
    """Nearest rows by kernel value, at a recall the user states.

    A search method proposes candidates and the exact kernel ranks them: whatever the method,
    rows come back ranked by their true kernel values, ties in order of arrival (by lower
    index), and scored by the distance 1 - K. Methods differ in which rows they miss:

    - "exact" misses none. Supports rule most rows out before any inner product.
    - "graph" searches a navigable graph over 512-bit sketches of the rows.
    - "inverted" reads the lists of the most selective columns of a query: for sparse text.
    - "lsh" keeps hash tables keyed by minwise locations: the paper's suggestion.
    - "auto" looks at the rows, tunes a method to the recall on held-out rows, and takes the
      exact search where nothing else is much cheaper at that recall.

    A method that cannot reach the recall is replaced by the exact search, with a warning; one
    that reaches it, but at several times the cost of the exact search, is kept, with a warning.

    Parameters
    ----------
    kernel : str or Kernel
        What similar means: any kernel of `gram`. With "inner_product" rows are taken as they are.
        Kernels of your own are searched exactly.
    n_neighbors : int
        Neighbours per query unless it says otherwise; the method is tuned to it.
    method : {"auto", "exact", "graph", "inverted", "lsh"} or SearchMethod
        Where candidates come from; a class of your own too.
    recall : float in (0, 1]
        Wanted share of the true nearest rows among those found, on average over queries
        like the rows.
    n_jobs : int, optional
        Threads; None means all cores. Never changes the result.
    random_state : int, RandomState instance or None
        Seed of the hashes, the graph and the held-out sample.
    gamma : float, optional
        Parameter of the kernel, if it has one; its default if None.

    Attributes
    ----------
    method_ : str
        The method in use.
    reason_ : str
        Why it was chosen, and its settings.
    estimated_recall_ : float
        Its recall on held-out rows, when it was last tuned.
    ids_ : ndarray
        Ids of the rows in the index, in order of arrival: integers, or strings as objects.
    n_samples_fit_ : int
        Number of rows in the index.
    names_ : list of str or None
        What rows are called in results, by their ids, if they came with names.
    frequencies_ : text.InverseDocumentFrequency or None
        What weighed the rows, and weighs queries, if documents were indexed by rarity of words.
    documents_ : dict or None
        Where the documents lie that were indexed, if they were, for passages of them in results.
    n_features_in_ : int

    Notes
    -----
    Asking for more neighbours than there are rows gives all rows. `radius_neighbors` is
    always exact. `add` and `remove` may be called while other threads search: a search sees
    the index before or after a change, never between. Rows added are found exactly until
    they are many enough to be put into the method's own index. If rows have doubled by then, or a
    quarter of the method's rows was removed, method and settings are chosen anew, as by `fit`:
    that call takes as long as one, and may change `method_`, `reason_` and `estimated_recall_`.

    Examples
    --------
    >>> import corekernels as ck
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> index = ck.CoRENeighbors(n_neighbors=3, random_state=0).fit(X)
    >>> index.method_, index.reason_
    ('exact', 'exact search: 1797 rows are few')
    >>> distances, found = index.kneighbors(X[:1])
    >>> distances.round(3), found, y[found]
    (array([[0.   , 0.057, 0.085]]), array([[   0, 1167, 1236]]), array([[0, 0, 0]]))
    """

    def __init__(
        self, kernel: str = DEFAULT_KERNEL, n_neighbors: int = 10, *, method: Any = AUTO,
        recall: float = 0.95, n_jobs: int | None = None, random_state: Any = None,
        gamma: float | None = None,
    ) -> None:  # fmt: skip
        keep_parameters(locals())

    def fit(self, X: Any, y: Any = None, *, ids: Any = None) -> "CoRENeighbors":
        """Index the rows of X, under ids 0, 1, 2, ... or the integers or strings given."""
        kernel = exact_kernel(self.kernel, self.gamma)
        wanted = self._wanted()
        rows = clean_rows(self._fitting_matrix(X), n_jobs=self.n_jobs)
        numbers = check_ids(ids, len(rows))
        seed = seed_of(self.random_state)
        store = make_store(rows, kernel, self.n_jobs)
        choice = choose(store, *wanted, seed, self.n_jobs)
        if choice.falls_short:
            warnings.warn(choice.reason, UserWarning, stacklevel=2)
        self.seed_ = seed
        self._snapshot = Snapshot.begin(choice, numbers)
        self.provenance_: list[Origin] = []
        self.names_: list[str] | None = None
        self.frequencies_: InverseDocumentFrequency | None = None
        self.documents_: dict[str, Any] | None = None
        self._lock = ForkLock()
        return self

    def _wanted(self) -> tuple[type[SearchMethod] | None, float, int]:
        """Method, recall and neighbours that are asked for."""
        n_neighbors = require_count("n_neighbors", self.n_neighbors)
        return method_of(self.method), require_recall(self.recall), n_neighbors

    def _fitted(self, name: str) -> Snapshot:
        """The index as it is now, for an attribute of that name."""
        if not hasattr(self, "_snapshot"):
            raise AttributeError(f"{name}: the index is not fitted yet")
        return self._snapshot

    @property
    def method_(self) -> str:
        """The method in use."""
        return self._fitted("method_").main.name

    @property
    def reason_(self) -> str:
        """Why it was chosen, and its settings."""
        return self._fitted("reason_").reason

    @property
    def estimated_recall_(self) -> float:
        """Its recall on held-out rows, when it was last tuned."""
        return self._fitted("estimated_recall_").recall

    @property
    def ids_(self) -> Array:
        """Ids of the rows in the index, in order of arrival."""
        snapshot = self._fitted("ids_")
        return snapshot.ids[snapshot.alive > 0]

    @property
    def n_samples_fit_(self) -> int:
        """Number of rows in the index."""
        return len(self.ids_)

    @property
    def nbytes(self) -> int:
        """Bytes of the index: rows, ids and what its method keeps."""
        return self._fitted("nbytes").nbytes

    def _repr_html_inner(self) -> str:
        """scikit-learn's display and, once fitted, what is in the index."""
        return str(super()._repr_html_inner()) + self._contents()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += self._contents()
        return bundle

    def _contents(self) -> str:
        if not hasattr(self, "_snapshot"):
            return ""
        facts = {
            "rows": self.n_samples_fit_, "columns": int(self.n_features_in_),
            "method": self.method_, "because": self.reason_,
            "recall on held-out rows": float(self.estimated_recall_),
        }  # fmt: skip
        return html_table("Index", facts)

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
        snapshot, neighbours = self._within(X, radius)
        distances, ids = np.empty((2, len(neighbours)), dtype=object)
        for q, (keys, positions) in enumerate(neighbours):
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
        return snapshot.graph(keys.ravel(), positions.ravel(), lengths, mode)

    def radius_neighbors_graph(
        self, X: Any = None, radius: float = 0.5, mode: str = "connectivity",
        sort_results: bool = True,
    ) -> sparse.csr_matrix:  # fmt: skip
        """All rows within a distance as a sparse matrix, as `kneighbors_graph`; always exact."""
        require_choice("mode", mode, MODES)
        snapshot, neighbours = self._within(X, radius)
        lengths = np.array([len(keys) for keys, _ in neighbours])
        keys, positions = map(np.concatenate, zip(*neighbours, strict=True))
        return snapshot.graph(keys, positions, lengths, mode)

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
        as_matrix(X)  # None is no query here
        snapshot, rows, _ = self._queries(X)
        require_some_rows(len(rows))
        n_kept = min(self._count(n_neighbors), snapshot.n_alive)
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
        if not hasattr(self, "_snapshot"):
            check_is_fitted(self)  # takes longer than a search
        snapshot: Snapshot = self._snapshot
        if snapshot.n_alive == 0:
            raise DataError("the index is empty: all its rows were removed; add some.")
        if X is None:
            store, own = snapshot.living()
            return snapshot, store.rows(self.n_jobs), own
        named = hasattr(self, "feature_names_in_")
        rows = None if named else one_clean_row(X, self.n_features_in_)
        if rows is None:
            rows = clean_rows(self._fitted_matrix(X), n_jobs=self.n_jobs)
        return snapshot, rows, None

    def _count(self, n_neighbors: int | None) -> int:
        """Neighbours per query: those asked for, or as many as the index is tuned to."""
        count = self.n_neighbors if n_neighbors is None else n_neighbors
        return require_count("n_neighbors", count)

    def _within(self, X: Any, radius: float) -> tuple[Snapshot, list[tuple[Array, Array]]]:
        """Kernel values and positions of all rows within a distance, for each query."""
        least = 1 - require_number("radius", radius)
        snapshot, rows, own = self._queries(X)
        neighbours = snapshot.within(rows, least, self.n_jobs)
        if own is not None:
            others = [places != one for (_, places), one in zip(neighbours, own, strict=True)]
            neighbours = [
                (f[0][other], f[1][other]) for f, other in zip(neighbours, others, strict=True)
            ]
        return snapshot, neighbours

    def _nearest(self, X: Any, n_neighbors: int | None) -> tuple[Snapshot, Array, Array]:
        n_neighbors = self._count(n_neighbors)
        snapshot, rows, own = self._queries(X)
        n_kept = min(n_neighbors + (own is not None), snapshot.n_alive)
        heaps = snapshot.nearest(rows, n_kept, self.n_jobs)
        if own is None:
            return snapshot, heaps.keys, heaps.rows
        is_own = heaps.rows == own[:, None]
        is_own[~is_own.any(axis=1), -1] = True  # crowded out by others just as near
        shape = (len(own), n_kept - 1)
        return snapshot, heaps.keys[~is_own].reshape(shape), heaps.rows[~is_own].reshape(shape)

    def near_duplicates(self, threshold: float) -> NearDuplicates:
        """All pairs of rows with K >= threshold; see `NearDuplicates`.

        Examples
        --------
        >>> import corekernels as ck
        >>> X = [[1.0, 2, 0, 0], [1, 2, 0, 0], [0, 0, 3, 0], [1, 2.1, 0, 0]]
        >>> found = ck.CoRENeighbors().fit(X).near_duplicates(0.9)
        >>> found.pairs.tolist(), found.expected_missed
        ([[0, 1], [0, 3], [1, 3]], 0.0)
        >>> found.groups()
        [array([0, 1, 3])]
        """
        check_is_fitted(self)
        kernel = self._snapshot.main.store.kernel
        if not kernel.unit_diagonal:
            raise ParameterError(
                f"kernel: near-duplicates have a kernel value near 1, but {kernel.name} of equal "
                "rows can be any number; use radius_neighbors, or an index of another kernel."
            )
        least = require_number("threshold", threshold, most=1.0)
        store, living = self._snapshot.living()
        criterion = Criterion(kernel, least, self.seed_, plan_tables(kernel, least))
        ids = self._snapshot.ids[living]
        return near_duplicate_rows(store.rows(self.n_jobs), ids, criterion, self.n_jobs)

    def add(self, X: Any, ids: Any = None) -> Array:
        """Put more rows into the index; gives their ids.

        None means ids after the highest; where ids are strings, they have to be given.

        Examples
        --------
        >>> import corekernels as ck
        >>> index = ck.CoRENeighbors().fit([[1.0, 0, 2], [0, 1, 0]])
        >>> index.add([[0.0, 0, 1], [1, 1, 1]])
        array([2, 3])
        """
        rows = clean_rows(self._fitted_matrix(X), n_jobs=self.n_jobs)
        with self._lock:
            snapshot = self._snapshot
            numbers = check_ids(ids, len(rows), snapshot.ids[snapshot.alive > 0])
            if len(rows):
                self._snapshot = self._settled(snapshot.with_rows(rows, numbers, self.n_jobs))
        return numbers.copy()

    def remove(self, ids: Any) -> "CoRENeighbors":
        """Take rows out of the index by their ids."""
        check_is_fitted(self)
        with self._lock:
            gone = self._snapshot.positions_of(ids)
            if len(gone):
                self._snapshot = self._settled(self._snapshot.without(gone))
        return self

    def update(self, ids: Any, X: Any) -> "CoRENeighbors":
        """Put other rows in the place of those with these ids, which become the last of `ids_`.

        A search sees all of the old rows or all of the new ones.

        Examples
        --------
        >>> import corekernels as ck
        >>> index = ck.CoRENeighbors().fit([[1.0, 0, 2], [0, 1, 0]])
        >>> index.update([0], [[0.0, 5, 1]]).kneighbors([[0.0, 5, 1]], 1)
        (array([[0.]]), array([[0]]))
        """
        rows = clean_rows(self._fitted_matrix(X), n_jobs=self.n_jobs)
        numbers = check_ids([ids] if isinstance(ids, str) else np.atleast_1d(ids), len(rows))
        with self._lock:
            gone = self._snapshot.positions_of(numbers)
            if len(gone):
                others = self._snapshot.without(gone)
                self._snapshot = self._settled(others.with_rows(rows, numbers, self.n_jobs))
        return self

    def _settled(self, snapshot: Snapshot) -> Snapshot:
        """The same rows, and the method chosen anew, as by `fit`, if they have outgrown it."""
        if not snapshot.is_outgrown:
            return snapshot.settled(self.n_jobs)
        store, living = snapshot.living()
        choice = choose(store, *self._wanted(), self.seed_, self.n_jobs)
        if choice.falls_short:
            warnings.warn(choice.reason, UserWarning, stacklevel=3)
        return Snapshot.begin(choice, snapshot.ids[living], snapshot.tail_rows)

    def save(self, path: PathLike, *, provenance: Iterable[Origin] | None = None) -> None:
        """Write the index to a safetensors file, whole or not at all.

        `provenance` may say where the rows came from; an index that was loaded keeps its own,
        `provenance_`.
        """
        check_is_fitted(self)
        kept = self.provenance_ if provenance is None else provenance
        write_index(path, self, self._snapshot, kept)

    @classmethod
    def load(cls, path: PathLike, *, mmap: bool = True) -> "CoRENeighbors":
        """An index from a file that `save` wrote, memory-mapped unless told otherwise.

        Examples
        --------
        >>> import corekernels as ck
        >>> index = ck.CoRENeighbors(random_state=0).fit([[1.0, 0, 2], [0, 1, 0]])
        >>> index.save("rows.safetensors")
        >>> again = ck.CoRENeighbors.load("rows.safetensors", mmap=False)
        >>> again.kneighbors([[1.0, 0, 1]], 1, return_distance=False)
        array([[0]])
        """
        model, snapshot = read_index(path, cls, mmap=mmap)
        model._snapshot = snapshot
        model._lock = ForkLock()
        return model

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = dict(super().__getstate__())  # a copy: this index goes on
        state.pop("_lock", None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if hasattr(self, "_snapshot"):
            self._lock = ForkLock()

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_snapshot")
