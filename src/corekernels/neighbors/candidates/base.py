"""What every search method is: it finds rows for queries over one store, and lives in a file.

Most methods propose candidates, which the exact kernel then ranks: what comes back is always
scored exactly. Methods differ in which rows they miss.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from ..._core.arguments import Array
from ..._core.memory import common_size, working_memory
from ..._core.team import Team
from ..._core.threads import row_blocks
from ..._core.validation import Rows, read_only
from ..._loops.search.pairs import Heaps, Queries, rerank, sort_heaps
from ...io.provenance import require_fit
from ...kernel_table import Kernel
from ..store import Store, make_queries

if TYPE_CHECKING:
    from ..tuning import Tuning
    from .exact import Exact

# nanoseconds on a server core, as `benchmarks/search.py` measures them; only ratios matter
LIST_STEP = 3.0
RANKED_ROW = 200.0
BLOCK_QUERIES = 8  # that a thread answers at a time
_SORTED_ROWS = 1 << 13  # of answers that it sorts at a time
_PORTION_QUERIES = 1 << 14  # whose candidates are held together


@dataclass(frozen=True)
class Tuned:
    """A search method with the settings found for it: why these, and the recall to expect.

    Examples
    --------
    >>> from dataclasses import fields
    >>> from corekernels.neighbors import Tuned
    >>> [field.name for field in fields(Tuned)]
    ['method', 'reason', 'recall']
    """

    method: "SearchMethod"
    reason: str
    recall: float


@dataclass(eq=False)
class SearchMethod(ABC):
    """A way to find the nearest rows of a store: an object per index, with its settings.

    One of your own is a dataclass whose fields are its settings, which are numbers, and the arrays
    it has built: a file holds both. It goes where a name would go: `CoRENeighbors(method=Mine)`.

    Examples
    --------
    >>> from corekernels.neighbors import CandidateMethod, SearchMethod
    >>> issubclass(CandidateMethod, SearchMethod)
    True
    """

    name: ClassVar[str]
    is_exact: ClassVar[bool] = False  # whether it misses no row, so that nothing is to be tuned

    store: Store
    n_wanted: int = field(default=0, kw_only=True)  # neighbours that the settings were found for
    exact_search: "Exact | None" = field(default=None, kw_only=True)

    @abstractmethod
    def search(
        self, team: Team, rows: Rows, alive: Array, first_row: int, heaps: Heaps,
        spare: float = 1.0,
    ) -> None:  # fmt: skip
        """Push the rows found for each query into its heap.

        `alive` and the row numbers in the heaps count the first stored row as `first_row`.
        `spare` says how many times more candidates than usual are wanted.
        """

    @property
    def exact(self) -> "Exact":
        """The exact search over the same rows."""
        from .exact import Exact

        if self.exact_search is None:
            self.exact_search = Exact(self.store)
        return self.exact_search

    @property
    @abstractmethod
    def cost(self) -> float:
        """What a query costs, in nanoseconds, roughly.

        It is counted, not timed, so that the same data and seed always give the same index.
        """

    @abstractmethod
    def grown(self, store: Store, n_jobs: int | None) -> "SearchMethod":
        """The same method over a store that begins with the rows of this one."""

    @classmethod
    @abstractmethod
    def tune(cls, tuning: "Tuning") -> Tuned | None:
        """The cheapest settings that reach the recall within the budget; None if there are none.

        What shows early that there are none should be looked at first.
        """

    @classmethod
    def serves(cls, kernel: Kernel) -> bool:
        """Whether it finds rows that are near by this kernel."""
        return kernel.for_loops is not None and kernel.unit_rows

    @classmethod
    def is_worth_trying(cls, exact: "Exact") -> bool:
        """Whether `auto` should tune it for the rows of an exact search."""
        return False

    def with_settings(self, **changes: Any) -> Self:
        """The same method with other settings, over the same rows."""
        return replace(self, exact_search=self.exact, **changes)

    @classmethod
    def _parts(cls) -> list[tuple[str, Any]]:
        """Names and types of the fields that a method adds."""
        shared = [field.name for field in fields(SearchMethod)]
        return [(field.name, field.type) for field in fields(cls) if field.name not in shared]

    def arrays(self) -> dict[str, Array]:
        """The arrays that it has built."""
        return {name: getattr(self, name) for name, kind in self._parts() if kind is Array}

    def settings(self) -> dict[str, Any]:
        """The numbers that it was built with."""
        return {name: getattr(self, name) for name, kind in self._parts() if kind is not Array}

    @classmethod
    def restored(
        cls, store: Store, n_wanted: int, settings: dict[str, Any], arrays: dict[str, Array]
    ) -> Self:
        """The method that a file describes; a ValueError unless its parts fit together."""
        parts: dict[str, Any] = {
            name: read_only(arrays[name]) if kind is Array else _setting(settings[name], kind, name)
            for name, kind in cls._parts()
        }
        method = cls(store, n_wanted=n_wanted, **parts)
        method.require_whole()
        return method

    def require_whole(self) -> None:
        """Raise a ValueError if a search could leave the arrays: they may come from a file."""
        return None

    def _kept(self) -> Iterable[Array]:
        """The arrays that it keeps beside the rows."""
        return self.arrays().values()

    @property
    def nbytes(self) -> int:
        """Bytes beyond the rows themselves."""
        return sum(array.nbytes for array in self._kept()) + self.store.bits.nbytes


class CandidateMethod(SearchMethod):
    """A search method that proposes candidates; the exact kernel decides among them.

    Where it proposes fewer rows than are wanted, the exact search answers that query instead.

    Examples
    --------
    >>> from corekernels.neighbors import CandidateMethod
    >>> sorted(CandidateMethod.__abstractmethods__)  # what one of your own has to say
    ['candidates', 'cost', 'grown', 'tune']
    """

    @abstractmethod
    def candidates(
        self, team: Team, rows: Rows, queries: Queries, alive: Array, factor: float
    ) -> Array:
        """Rows of the store for each query, the likeliest first, -1 for none.

        Rows that are not alive may be among them, and count for nothing. `factor` says how many
        times more neighbours are wanted than `n_wanted`.
        """

    def room(self, rows: Rows, n_kept: int, factor: float) -> Array:
        """An array for `n_kept` candidates of each query, or `factor` times as many."""
        n_together = min(len(self.store), math.ceil(n_kept * factor))
        return np.empty((len(rows), n_together), np.int32)

    def search(
        self, team: Team, rows: Rows, alive: Array, first_row: int, heaps: Heaps,
        spare: float = 1.0,
    ) -> None:  # fmt: skip
        """Push the candidates of each query into its heap, empty so far, by exact kernel values."""
        store = self.store
        queries = make_queries(rows, store, team)
        n_kept = heaps.keys.shape[1]
        factor = spare * max(1.0, n_kept / self.n_wanted)
        living = alive[first_row : first_row + len(store)]
        candidates = self.candidates(team, rows, queries, living, factor)
        both = store.kernel.for_loops, queries, store.stored_rows
        with working_memory(np.zeros, common_size(store.width)) as rooms:
            team.run(
                rerank, lambda: (*both, alive, first_row, candidates, next(rooms), heaps),
                len(rows), BLOCK_QUERIES,
            )  # fmt: skip
        if min(heaps.sizes.tolist()) == n_kept:  # NumPy's minimum takes longer for one query
            return
        short = np.flatnonzero(heaps.sizes < min(n_kept, int(np.count_nonzero(living))))
        if len(short):
            found = Heaps.empty(len(short), n_kept)
            self.exact.search(team, rows.take(short), alive, first_row, found)
            for target, source in zip(heaps, found, strict=True):
                target[short] = source


def search_all(
    methods: Sequence[tuple[SearchMethod, int, float]], rows: Rows, alive: Array, n_kept: int,
    n_jobs: int | None,
) -> Heaps:  # fmt: skip
    """What methods find for all queries together, sorted.

    Each method comes with the number of its first row, and with how many times more candidates
    than usual are wanted of it.
    """
    heaps = Heaps.empty(len(rows), n_kept)
    team, alive = Team(n_jobs), read_only(alive)
    for block in row_blocks(0, len(rows), _PORTION_QUERIES):
        some, found = rows.block(*block), heaps.block(*block)
        for method, first_row, spare in methods:
            method.search(team, some, alive, first_row, found, spare)
    team.run(sort_heaps, (heaps,), len(rows), max(1, _SORTED_ROWS // max(1, n_kept)))
    return heaps


def _setting(value: Any, kind: type, name: str) -> Any:
    """A number of a file that must be of the kind asked for; an integer will do for a float."""
    fits = isinstance(value, int | float if kind is float else kind)
    require_fit(fits and (kind is bool or not isinstance(value, bool)), f"{name} is {value!r}")
    return kind(value)
