"""Held-out queries: their true neighbours, and the share of them that a method finds."""

from dataclasses import dataclass, replace

import numpy as np

from .._core.types import Array
from .._core.validation import Rows, read_only
from .._loops.search.heaps import Heaps
from ..kernel_table import RESEMBLANCE
from .candidates.base import SearchMethod, search_all
from .candidates.exact import Exact
from .store import Store, make_queries

MOST_QUERIES = 512
_BLOCK_QUERIES = 64
_Z = 1.645  # normal quantile of a one-sided confidence of 95 %


@dataclass(frozen=True)
class HeldOut:
    """A sample of the rows, taken out of the index as queries, and their exact neighbours."""

    rest: Array  # the rows that stay in the index, in random order
    sample: Array  # the rows that are queries
    rows: Rows
    alive: Array
    truth: Heaps
    n_jobs: int | None

    def search(self, method: SearchMethod, n_kept: int) -> Heaps:
        """What a method finds for the sample, sorted."""
        one = [(method, 0, 1.0)]
        return search_all(one, self.rows, self.alive, n_kept, self.n_jobs, _BLOCK_QUERIES)

    def recall(self, method: SearchMethod) -> tuple[float, float]:
        """Share of the true neighbours found, ties counted as equal; its lower confidence bound.

        The bound is one-sided, of 95 % confidence over the choice of the sample.
        """
        n_kept = self.truth.keys.shape[1]
        found = self.search(method, n_kept).keys >= self.truth.keys[:, -1:]
        shares = found.mean(axis=1)
        # one more query that finds nothing: no sample, however good, proves a recall of 1
        widened = np.append(shares, 0.0)
        error = widened.std() / np.sqrt(len(widened))
        return float(shares.mean()), float(shares.mean() - _Z * error)

    def resemblances(self, store: Store) -> tuple[Array, Array]:
        """R and kernel value of each query and true neighbour."""
        supports = replace(store, kernel=RESEMBLANCE.name)
        queries, rows = make_queries(self.rows, supports), self.truth.rows
        ends = np.arange(len(self.rows) + 1) * rows.shape[1]
        R = supports.kernel_values(queries, ends, rows.ravel().astype(np.int32), -1.0)
        return R.reshape(rows.shape), self.truth.keys


def hold_out(store: Store, n_neighbors: int, seed: int, n_jobs: int | None) -> HeldOut:
    """A sample of up to a quarter of the rows, answered by exact search."""
    n = len(store)
    n_rest = n - max(1, min(MOST_QUERIES, n // 4))
    rest, sample = np.split(np.random.default_rng(seed).permutation(n), [n_rest])
    alive = np.ones(n, np.uint8)
    alive[sample] = 0
    rows, n_kept = store.take(sample).rows(), max(1, min(n_neighbors, n_rest))
    held_out = HeldOut(rest, sample, rows, read_only(alive), Heaps.empty(0, n_kept), n_jobs)
    return replace(held_out, truth=held_out.search(Exact(store), n_kept))
