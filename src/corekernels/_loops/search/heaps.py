"""Heaps of fixed size: the best rows seen so far, ranked by key, ties by lower row number."""

from typing import NamedTuple

import numpy as np

from ..blocks import taken
from ..compilation import inlined_loop, inner_loop, loop

NO_KEY = -2.0  # of a place in a heap that is not filled: below every kernel value
NO_ROW = -1


class Heaps(NamedTuple):
    """One heap per query: `sizes[q]` kernel values and row numbers, the worst on top."""

    sizes: np.ndarray
    keys: np.ndarray
    rows: np.ndarray

    @classmethod
    def empty(cls, n_queries: int, n_kept: int) -> "Heaps":
        """Room for n_kept rows per query."""
        return cls(
            np.zeros(n_queries, np.int64),
            np.full((n_queries, n_kept), NO_KEY),
            np.full((n_queries, n_kept), NO_ROW, np.int64),
        )

    def block(self, start: int, stop: int) -> "Heaps":
        """The heaps of queries start to stop, without a copy."""
        return Heaps(self.sizes[start:stop], self.keys[start:stop], self.rows[start:stop])


@inner_loop
def worse(key, row, other_key, other_row):
    """Whether (key, row) ranks behind the other."""
    return key < other_key or (key == other_key and row > other_row)


@inlined_loop
def push(key, row, size, keys, rows):
    """Put a row into a heap of at most len(keys), the worst on top; gives the new size."""
    if size < keys.shape[0]:
        i = size
        while i > 0:
            parent = (i - 1) >> 1
            if not worse(key, row, keys[parent], rows[parent]):
                break
            keys[i], rows[i] = keys[parent], rows[parent]
            i = parent
        keys[i], rows[i] = key, row
        return size + 1
    if size > 0 and worse(keys[0], rows[0], key, row):
        _replace_top(key, row, size, keys, rows)
    return size


@inner_loop
def _replace_top(key, row, size, keys, rows):
    """Replace the worst row of a heap."""
    i = 0
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and worse(keys[child + 1], rows[child + 1], keys[child], rows[child]):
            child += 1
        if not worse(keys[child], rows[child], key, row):
            break
        keys[i], rows[i] = keys[child], rows[child]
        i = child
    keys[i], rows[i] = key, row


@loop
def sort_heaps(blocks, n_blocks, heaps):
    """Turn heaps into lists, the best first."""
    for start, stop in taken(blocks, n_blocks):
        for q in range(start, stop):
            keys, rows = heaps.keys[q], heaps.rows[q]
            for last in range(heaps.sizes[q] - 1, 0, -1):
                key, row = keys[last], rows[last]
                keys[last], rows[last] = keys[0], rows[0]
                _replace_top(key, row, last, keys, rows)
