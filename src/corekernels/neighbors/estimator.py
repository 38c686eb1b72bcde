"""CoRENeighbors: the most similar rows in the space of a CoRE kernel."""

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.arguments import Array, PathLike, require_choice, require_count, seed_of
from .._core.escaping import html_table
from .._core.forks import ForkLock
from .._core.validation import clean_rows
from ..errors import ParameterError
from ..io.provenance import Origin
from ..kernel_table import exact_kernel
from .duplicates.in_memory import find_duplicates
from .duplicates.result import NearDuplicates
from .searches import Searches
from .snapshot import Snapshot, read_index, write_index
from .store import as_ids, check_ids, make_store, require_number, require_recall
from .tuning import METHOD_NAMES, choose


class CoRENeighbors(Searches):
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
    kernel : str
        What similar means: any kernel of `gram_chunks`.
    n_neighbors : int
        Neighbours per query unless it says otherwise; the method is tuned to it.
    method : {"auto", "exact", "graph", "inverted", "lsh"}
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
        self._lock = ForkLock()
        return self

    def _wanted(self) -> tuple[str, float, int]:
        """Method, recall and neighbours that are asked for."""
        require_choice("method", self.method, METHOD_NAMES)
        n_neighbors = require_count("n_neighbors", self.n_neighbors)
        return self.method, require_recall(self.recall), n_neighbors

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
        least = require_number("threshold", threshold, most=1.0)
        return find_duplicates(self._snapshot, least, self.seed_, self.n_jobs)

    def add(self, X: Any, ids: Any = None) -> "CoRENeighbors":
        """Put more rows into the index, under new ids.

        None means those after the highest; where ids are strings, they have to be given.
        """
        rows = clean_rows(self._fitted_matrix(X), n_jobs=self.n_jobs)
        with self._lock:
            snapshot = self._snapshot
            numbers = check_ids(ids, len(rows), snapshot.ids[snapshot.alive > 0])
            if len(rows):
                self._snapshot = self._settled(snapshot.with_rows(rows, numbers, self.n_jobs))
        return self

    def remove(self, ids: Any) -> "CoRENeighbors":
        """Take rows out of the index by their ids."""
        check_is_fitted(self)
        numbers = np.unique(as_ids([ids] if isinstance(ids, str) else np.atleast_1d(ids)))
        with self._lock:
            snapshot = self._snapshot
            living = np.flatnonzero(snapshot.alive)
            known = snapshot.ids[living]
            same_kind = (numbers.dtype == object) == (known.dtype == object)
            strange = numbers[~np.isin(numbers, known)] if same_kind else numbers
            if len(strange):
                raise ParameterError(
                    f"ids: {strange[0]!s} is not in the index; `ids_` lists those that are."
                )
            if len(numbers):
                gone = living[np.isin(known, numbers)]
                self._snapshot = self._settled(snapshot.without(gone))
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
