"""Rows that pairs connect, directly or by way of other rows."""

import numpy as np
from scipy import sparse

from ..._core.arguments import Array


def connected_rows(pairs: Array) -> tuple[Array, Array]:
    """The rows of pairs (n_pairs, 2), ascending, and for each the number of its component."""
    rows, places = np.unique(pairs, return_inverse=True)
    left, right = places.reshape(-1, 2).T
    links = sparse.coo_array((np.ones(len(left)), (left, right)), shape=(len(rows), len(rows)))
    _, labels = sparse.csgraph.connected_components(links, directed=False)
    return rows, labels


def spanning_forest(pairs: Array) -> Array:
    """The fewest pairs that connect the same rows: the first row of a component with each other.

    There are fewer than rows that have a pair, however many pairs are given.

    >>> spanning_forest(np.array([[4, 7], [1, 2], [7, 9], [4, 9]])).tolist()
    [[1, 2], [4, 7], [4, 9]]
    """
    if not len(pairs):
        return np.empty((0, 2), np.int64)
    rows, labels = connected_rows(pairs)
    _, firsts = np.unique(labels, return_index=True)
    heads = rows[firsts[labels]]
    is_other = heads != rows
    return np.stack([heads[is_other], rows[is_other]], axis=1)
