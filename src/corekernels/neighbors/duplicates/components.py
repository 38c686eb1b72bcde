"""Rows that pairs connect, directly or by way of other rows."""

import numpy as np

from ..._core.arguments import Array
from ..._core.validation import read_only
from ..._loops.search import duplicates as loops


def connected_rows(pairs: Array) -> tuple[Array, Array]:
    """The rows of pairs (n_pairs, 2), ascending, and the place of the first of their component."""
    rows, places = np.unique(pairs, return_inverse=True)
    left, right = (read_only(side, np.int64) for side in places.reshape(-1, 2).T)
    heads = np.arange(len(rows))
    loops.connect(left, right, heads)
    return rows, heads


def spanning_forest(pairs: Array) -> Array:
    """The fewest pairs that connect the same rows: the first row of a component with each other.

    There are fewer than rows that have a pair, however many pairs are given.

    >>> spanning_forest(np.array([[4, 7], [1, 2], [7, 9], [4, 9]])).tolist()
    [[1, 2], [4, 7], [4, 9]]
    """
    rows, heads = connected_rows(pairs)
    others = np.flatnonzero(heads != np.arange(len(rows)))
    others = others[np.argsort(heads[others], kind="stable")]
    return np.stack([rows[heads[others]], rows[others]], axis=1)
