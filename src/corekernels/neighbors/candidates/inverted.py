"""Candidates from truncated inverted lists, for sparse text.

Where similarities are tiny, neither a graph nor a hash table tells the nearest rows from the
rest; but a few rare and heavy columns of the query do. Only their lists are read.
"""

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._core.validation import Rows, read_only
from ..._loops.rows import unit_values
from ..._loops.search.postings import gather_best
from ..store import Queries, Store
from .base import Source
from .exact import inverted_lists

Array = npt.NDArray[Any]

SHARES = (0.125, 0.25, 0.375, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)  # steps a row
KEPT = (50, 100, 200, 400)  # rows ranked again


class Inverted(Source):
    """The most telling columns of a query, read until a budget is spent."""

    method = "inverted"

    def __init__(self, store: Store, n_wanted: int, share: float, n_kept: int) -> None:
        super().__init__(store, n_wanted)
        self.share, self.n_kept = share, n_kept
        self.lengths = read_only(store.lengths, np.int32)

    def with_knobs(self, share: float, n_kept: int) -> "Inverted":
        """The same lists, read to another depth."""
        other = Inverted(self.store, self.n_wanted, share, n_kept)
        other.lists, other.exact = self.lists, self.exact
        return other

    def grown(self, store: Store, n_jobs: int | None) -> "Inverted":
        """Lists of more rows, read to the same depth."""
        return Inverted(store, self.n_wanted, self.share, self.n_kept)

    @cached_property
    def lists(self) -> tuple[Array, Array, Array]:
        """Inverted lists of the unit rows: heads by column, rows, values."""
        units = np.empty(self.store.values.shape, np.float32)
        unit_values(self.store.indptr, read_only(self.store.values), units)
        return inverted_lists(self.store, read_only(units))

    def candidates(self, rows: Rows, queries: Queries, factor: float) -> Array:
        """The rows that the columns read speak for most."""
        store = self.store
        n = len(store)
        out = np.empty((len(rows), min(n, int(np.ceil(self.n_kept * factor)))), np.int32)
        gather_best(
            store.code, int(self.share * factor * n), *queries.arrays()[:-1],
            self.lengths, *self.lists, np.zeros((n, 2), np.float32), np.empty(n + 1, np.int32), out,
        )  # fmt: skip
        return out

    def arrays(self) -> dict[str, Array]:
        """Nothing: the lists are made from the store."""
        return {}

    @property
    def nbytes(self) -> int:
        """Bytes of the lists."""
        return sum(array.nbytes for array in self.lists)

    def about(self) -> dict[str, Any]:
        """The knobs."""
        return {"share": self.share, "n_kept": self.n_kept}

    @classmethod
    def restored(
        cls, store: Store, n_wanted: int, about: dict[str, Any], arrays: dict[str, Array]
    ) -> "Inverted":
        """The source of a file."""
        return cls(store, n_wanted, float(about["share"]), int(about["n_kept"]))

    def check(self) -> None:
        """Raise a ValueError unless the knobs make sense."""
        if not 0 < self.share < np.inf or self.n_kept < 1:
            raise ValueError("the knobs of the lists are out of range")
