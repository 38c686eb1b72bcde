"""What every source of candidates shares: candidates, then the exact kernel decides.

A source proposes rows; `offer` ranks them by the kernel itself, so that what comes back is
always scored exactly. Where a source proposes fewer rows than are wanted, the exact search
answers that query instead.
"""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ..._core.validation import Rows
from ..._loops.search.pairs import rerank
from ..heaps import Heaps
from ..store import Queries, Store, make_queries
from .exact import Exact

Array = npt.NDArray[Any]


class Source(ABC):
    """Candidates for queries over one store, and all that a file needs to bring it back."""

    method: ClassVar[str]

    def __init__(self, store: Store, n_wanted: int) -> None:
        self.store = store
        self.n_wanted = n_wanted  # neighbours that the knobs were set for

    @abstractmethod
    def candidates(self, rows: Rows, queries: Queries, factor: float) -> Array:
        """Rows of the store for each query, the likeliest first, -1 for none.

        `factor` says how many times more neighbours are wanted than `n_wanted`.
        """

    @abstractmethod
    def grown(self, store: Store, n_jobs: int | None) -> "Source":
        """The source of a store that begins with the rows of this one."""

    def rebuilt(self, store: Store, n_jobs: int | None) -> "Source":
        """The source of any other store, with the same knobs."""
        return self.grown(store, n_jobs)

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """What a file has to hold, beside the store."""

    @abstractmethod
    def about(self) -> dict[str, Any]:
        """The same, as JSON."""

    def check(self) -> None:
        """Raise a ValueError unless the arrays of a file fit together."""
        return None

    @property
    def nbytes(self) -> int:
        """Bytes beyond the rows themselves."""
        return sum(array.nbytes for array in self.arrays().values()) + self.store.bits.nbytes

    @cached_property
    def exact(self) -> Exact:
        """The exact search over the same rows."""
        return Exact(self.store)

    def offer(
        self, rows: Rows, alive: Array, first_row: int, heaps: Heaps, spare: float = 1.0
    ) -> None:
        """Offer the candidates of each query to its heap, `spare` times as many as usual."""
        store = self.store
        queries = make_queries(rows, store)
        factor = spare * max(1.0, heaps.keys.shape[1] / self.n_wanted)
        before = heaps.sizes.copy()
        candidates = self.candidates(rows, queries, factor)
        rerank(
            store.code, *queries.arrays(),
            store.indptr, store.columns, store.values, store.squares, store.bits,
            alive, first_row, candidates, np.zeros(store.width), *heaps.arrays(),
        )  # fmt: skip
        living = int(np.count_nonzero(alive[first_row : first_row + len(store)]))
        wanted = np.minimum(heaps.keys.shape[1], before + living)
        for q in np.flatnonzero(heaps.sizes < wanted).tolist():
            heaps.sizes[q] = 0
            self.exact.offer(rows.block(q, q + 1), alive, first_row, heaps.block(q, q + 1))
