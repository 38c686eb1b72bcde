"""Indexes whose inner parts a test chooses."""

from dataclasses import replace

import corekernels as ck
from corekernels.neighbors.candidates import Exact
from corekernels.neighbors.candidates.exact import COUNTS, LISTS, SCAN


def exact_index(X, kernel="core1", n_neighbors=10, *, way, **options):
    """An index that searches exactly: by bit sets of rows, inverted lists, or counts of columns."""
    index = ck.CoRENeighbors(kernel, n_neighbors, method="exact", **options).fit(X)
    store = index._snapshot.main.store
    if (way == SCAN and not store.bits.shape[1]) or (way == COUNTS and store.kernel.uses_values):
        way = LISTS  # many columns have no bit sets
    index._snapshot = replace(index._snapshot, main=Exact(store, way))
    return index


def with_short_tail(index, tail_rows):
    """The same index, in which added rows are linked in as soon as there are this many."""
    index._snapshot = replace(index._snapshot, tail_rows=tail_rows)
    return index
