"""Held-out queries: what the true neighbours are, and which share of them a source finds."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.threads import row_blocks, run_blocks
from .._core.validation import Rows, read_only
from .._loops.search.pairs import rerank
from .candidates.exact import Exact
from .heaps import Heaps
from .store import Store, make_queries

Array = npt.NDArray[Any]
Offer = Callable[[Rows, Array, int, Heaps], None]

MOST_QUERIES = 512
_BLOCK_QUERIES = 64
_SIGMAS = 1.645  # the promise holds with 95 % confidence over the choice of the sample


@dataclass(frozen=True)
class Probe:
    """A sample of the rows, taken out of the index as queries, and their exact neighbours."""

    order: Array  # all rows at random; the sample comes last
    n_sample: int
    rows: Rows
    alive: Array
    truth: Heaps
    n_jobs: int | None

    @property
    def rest(self) -> Array:
        """The rows that stay in the index."""
        return self.order[: len(self.order) - self.n_sample]

    @property
    def sample(self) -> Array:
        """The rows that are queries."""
        return self.order[len(self.order) - self.n_sample :]

    @property
    def last_similarity(self) -> float:
        """The typical kernel value of the last neighbour wanted."""
        return float(np.median(self.truth.keys[:, -1]))

    def search(self, offer: Offer, n_kept: int) -> Heaps:
        """What a source finds for the sample, sorted."""
        heaps = Heaps.empty(len(self.rows), n_kept)

        def work(block: tuple[int, int]) -> None:
            offer(self.rows.block(*block), self.alive, 0, heaps.block(*block))

        run_blocks(work, row_blocks(0, len(self.rows), _BLOCK_QUERIES), self.n_jobs)
        heaps.sort()
        return heaps

    def recall(self, offer: Offer) -> tuple[float, float]:
        """Share of the true neighbours found, ties counted as equal, and what it surely is."""
        n_kept = self.truth.keys.shape[1]
        found = self.search(offer, n_kept).keys >= self.truth.keys[:, -1:]
        shares = found.mean(axis=1)
        # one more query that finds nothing: no sample, however good, proves a recall of 1
        widened = np.append(shares, 0.0)
        error = widened.std() / np.sqrt(len(widened))
        return float(shares.mean()), float(shares.mean() - _SIGMAS * error)

    def resemblances(self, store: Store) -> tuple[Array, Array]:
        """R and kernel value of each query and true neighbour, in no particular order."""
        other = replace(store, kernel="resemblance")
        heaps = Heaps.empty(len(self.rows), self.truth.keys.shape[1])
        queries = make_queries(self.rows, other)
        for q in range(len(queries)):
            for i, row in enumerate(self.truth.rows[q]):
                rerank(
                    other.code, *queries.block(q, q + 1).arrays(),
                    other.indptr, other.columns, other.values, other.squares, other.bits,
                    self.alive, 0, np.array([[row]], np.int32), np.zeros(other.width),
                    *Heaps(heaps.sizes[:1] * 0, heaps.keys[q : q + 1, i : i + 1],
                           heaps.rows[q : q + 1, i : i + 1]).arrays(),
                )  # fmt: skip
        return heaps.keys, self.truth.keys


def make_probe(store: Store, n_neighbors: int, seed: int, n_jobs: int | None) -> Probe:
    """A sample of up to a quarter of the rows, answered by exact search."""
    n = len(store)
    order = np.random.default_rng(seed).permutation(n)
    n_sample = max(1, min(MOST_QUERIES, n // 4))
    sample = order[n - n_sample :]
    alive = np.ones(n, np.uint8)
    alive[sample] = 0
    rows = store.take(sample).rows()
    n_kept = max(1, min(n_neighbors, n - n_sample))
    probe = Probe(order, n_sample, rows, read_only(alive), Heaps.empty(0, n_kept), n_jobs)
    return replace(probe, truth=probe.search(Exact(store).offer, n_kept))
