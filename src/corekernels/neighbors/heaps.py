"""The rows kept so far for a block of queries."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._loops.search.heaps import sort_heaps

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Heaps:
    """One heap a query: `sizes[q]` kernel values and row numbers, the worst on top."""

    sizes: Array
    keys: Array
    rows: Array

    @classmethod
    def empty(cls, n_queries: int, n_kept: int) -> "Heaps":
        """Room for n_kept rows a query."""
        return cls(
            np.zeros(n_queries, np.int64),
            np.full((n_queries, n_kept), -2.0),
            np.full((n_queries, n_kept), -1, np.int64),
        )

    def block(self, start: int, stop: int) -> "Heaps":
        """The heaps of queries start to stop, without a copy."""
        return Heaps(self.sizes[start:stop], self.keys[start:stop], self.rows[start:stop])

    def arrays(self) -> tuple[Array, Array, Array]:
        """The arrays in the order the loops take them."""
        return self.sizes, self.keys, self.rows

    def sort(self) -> None:
        """Turn the heaps into lists, the best first."""
        sort_heaps(*self.arrays())
