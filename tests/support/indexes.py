"""Indexes whose inner parts a test chooses."""

from dataclasses import replace

import corekernels as ck
from corekernels.neighbors.candidates import Exact


def exact_index(X, kernel="core1", n_neighbors=10, *, scans, **options):
    """An index that searches exactly: by scanning bit sets, or by walking inverted lists."""
    index = ck.CoRENeighbors(kernel, n_neighbors, method="exact", **options).fit(X)
    store = index._snapshot.main.store
    scans = scans and store.bits.shape[1] > 0  # many columns have no bit sets
    index._snapshot = replace(index._snapshot, main=Exact(store, scans))
    return index


def with_short_tail(index, tail_rows):
    """The same index, in which added rows are linked in as soon as there are this many."""
    index._snapshot = replace(index._snapshot, tail_rows=tail_rows)
    return index
