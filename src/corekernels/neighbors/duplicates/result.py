"""Near-duplicates as they are found: pairs, their kernel values, groups."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..._core.types import Array


@dataclass(frozen=True)
class NearDuplicates:
    """Pairs of rows above a threshold.

    Attributes
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        Ids; in each pair the row that came first is first.
    similarities : ndarray of shape (n_pairs,)
        Exact kernel values.
    expected_missed : float
        Largest expected share of pairs not found: that at the threshold itself.
    """

    pairs: Array
    similarities: Array
    expected_missed: float

    def groups(self) -> list[Array]:
        """Connected rows, as arrays of ids, ascending: keep one of each to drop duplicates."""
        if not len(self.pairs):
            return []
        ids, places = np.unique(self.pairs, return_inverse=True)
        left, right = places.reshape(-1, 2).T
        links = sparse.coo_array((np.ones(len(left)), (left, right)), shape=(len(ids), len(ids)))
        _, labels = sparse.csgraph.connected_components(links, directed=False)
        order = np.argsort(labels, kind="stable")
        return np.split(ids[order], np.flatnonzero(np.diff(labels[order])) + 1)

    def redundant(self) -> Array:
        """Ids of all rows but that of the smallest id of each group: those to drop."""
        rest = [group[1:] for group in self.groups()]
        return np.sort(np.concatenate(rest)) if rest else np.empty(0, np.int64)


@dataclass(frozen=True)
class FileDuplicates(NearDuplicates):
    """Near-duplicates among the rows of a file; ids are row numbers, from 0.

    Attributes
    ----------
    rows : int
        Rows of the file.
    copies : int
        Rows equal to an earlier one in every column and value.
    """

    rows: int
    copies: int
