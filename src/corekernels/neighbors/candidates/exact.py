"""Exact search: every row is looked at, most of them only through their support.

Few columns: supports are bit sets, and since K1 <= R (and K2 <= sqrt(f1 f2) / (f1 + f2 - a))
most rows are ruled out by their length alone or by a few popcounts. Many columns: inverted
lists touch only the rows that share a column with the query.
"""

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._core.validation import Rows, read_only
from ..._loops.search.postings import invert, offer_all
from ..._loops.search.scan import scan
from ..heaps import Heaps
from ..store import Store, make_queries

Array = npt.NDArray[Any]

# a step along a list over a word of a bit set, in time
_WORDS_PER_STEP = 2.0


class Exact:
    """The oracle, and the right choice for few rows."""

    method = "exact"

    def __init__(self, store: Store) -> None:
        self.store = store
        self.scans = uses_bits(store)

    def offer(
        self, rows: Rows, alive: Array, first_row: int, heaps: Heaps, spare: float = 1.0
    ) -> None:
        """Offer all rows of the store that are alive to the queries' heaps."""
        store = self.store
        queries = make_queries(rows, store)
        dense = np.zeros(store.width)
        stored = (store.indptr, store.columns, store.values, store.squares)
        if self.scans:
            scan(
                store.code, *queries.arrays(), *stored, *self._by_length,
                alive, first_row, dense, *heaps.arrays(),
            )  # fmt: skip
            return
        n = len(store)
        offer_all(
            store.code, *queries.arrays()[:-1], *stored, *self.lists, alive, first_row, dense,
            np.zeros(n), np.zeros(n, np.int32), np.empty(n + 1, np.int32), *heaps.arrays(),
        )  # fmt: skip

    @property
    def exact(self) -> "Exact":
        """Itself."""
        return self

    @property
    def nbytes(self) -> int:
        """Bytes beyond the rows themselves."""
        arrays = self._by_length if self.scans else self.lists
        return sum(array.nbytes for array in arrays)

    def grown(self, store: Store, n_jobs: int | None) -> "Exact":
        """The exact search over other rows."""
        return Exact(store)

    rebuilt = grown

    def arrays(self) -> dict[str, Array]:
        """Nothing that a file has to hold beside the store."""
        return {}

    def about(self) -> dict[str, Any]:
        """No knobs."""
        return {}

    @cached_property
    def _by_length(self) -> tuple[Array, Array, Array]:
        lengths = self.store.lengths
        order = np.argsort(lengths, kind="stable")
        return (
            read_only(order, np.int32),
            read_only(lengths[order], np.int64),
            read_only(self.store.bits[order]),
        )

    @cached_property
    def lists(self) -> tuple[Array, Array, Array]:
        """Inverted lists: heads by column, rows, values."""
        return inverted_lists(self.store, self.store.values)


def inverted_lists(store: Store, values: Array) -> tuple[Array, Array, Array]:
    """For each column of a store the rows that have it, with values: heads, rows, values."""
    heads = np.zeros(store.width + 1, np.int64)
    rows = np.empty(len(store.columns), np.int32)
    listed = np.empty(len(store.columns), values.dtype)
    invert(store.indptr, store.columns, values, heads, rows, listed)
    return read_only(heads), read_only(rows), read_only(listed)


def uses_bits(store: Store) -> bool:
    """Whether bit sets rule rows out faster than lists find them, for queries like the rows."""
    if store.bits.shape[1] == 0:
        return False
    frequencies = np.bincount(store.columns, minlength=store.width).astype(float)
    steps = np.square(frequencies).sum() / max(1, len(store))
    return bool(steps * _WORDS_PER_STEP > len(store) * store.bits.shape[1])
