"""Near-duplicate pairs: hash tables find them, the kernel decides.

For core1 and resemblance R >= K, so rows of K >= t meet in one of T tables of m slots with
probability at least 1 - (1 - t^m)^T. For core2, where R may be small, and for few rows, every
row is looked up by exact search instead, and nothing is missed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .. import theory
from .._loops.buckets import gather_all
from .._loops.pairs import pairs_at_least
from .._threads import row_blocks, run_blocks
from .._validation import read_only
from .lsh import Tables
from .snapshot import Snapshot
from .store import Store, make_queries

Array = npt.NDArray[Any]

_FEW_ROWS = 4096
_RECALL = 0.999
_TABLES = 64
_MOST_SLOTS = 32
_LEAST_SLOTS = 3
_BLOCK_ROWS = 256


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
        """Connected rows, as arrays of ids: keep one of each to be rid of duplicates."""
        if not len(self.pairs):
            return []
        ids, places = np.unique(self.pairs, return_inverse=True)
        left, right = places.reshape(-1, 2).T
        links = sparse.coo_array((np.ones(len(left)), (left, right)), shape=(len(ids), len(ids)))
        _, labels = sparse.csgraph.connected_components(links, directed=False)
        order = np.argsort(labels, kind="stable")
        return np.split(ids[order], np.flatnonzero(np.diff(labels[order])) + 1)


def find_duplicates(
    snapshot: Snapshot, threshold: float, seed: int, n_jobs: int | None
) -> NearDuplicates:
    """All pairs of living rows with K >= threshold."""
    store, living = snapshot.living()
    ids = snapshot.ids[living]
    n_slots = 0
    if store.kernel != "core2" and len(store) > _FEW_ROWS and 0 < threshold < 1:
        n_slots = theory.slots_allowed(threshold, _TABLES, _RECALL)
    if n_slots < _LEAST_SLOTS:
        left, right, keys = _by_search(snapshot, store, living, threshold, n_jobs)
        missed = 0.0
    else:
        n_slots = min(n_slots, _MOST_SLOTS)
        left, right, keys = _by_tables(store, threshold, n_slots, seed, n_jobs)
        missed = theory.miss_rate(threshold, n_slots, _TABLES)
    order = np.lexsort((right, left))
    pairs = np.stack([ids[left[order]], ids[right[order]]], axis=1)
    return NearDuplicates(pairs, keys[order], missed)


def _by_search(
    snapshot: Snapshot, store: Store, living: Array, threshold: float, n_jobs: int | None
) -> tuple[Array, Array, Array]:
    found = snapshot.within(store.rows(), threshold, n_jobs)
    lengths = [len(keys) for keys, _ in found]
    left = np.repeat(np.arange(len(found)), lengths)
    keys = np.concatenate([keys for keys, _ in found]) if found else np.empty(0)
    right = np.concatenate([rows for _, rows in found]) if found else np.empty(0, np.int64)
    right = np.searchsorted(living, right)
    once = left < right
    return left[once], right[once], keys[once]


def _by_tables(
    store: Store, threshold: float, n_slots: int, seed: int, n_jobs: int | None
) -> tuple[Array, Array, Array]:
    tables = Tables.build(store, 1, n_slots, _TABLES, False, 1, seed, n_jobs)
    numbers = read_only(tables.numbers(store.rows(), n_jobs))
    queries = make_queries(store.rows(), store)
    lengths = read_only(store.lengths)

    def work(block: tuple[int, int]) -> tuple[Array, Array, Array]:
        start, stop = block
        seen = np.zeros(len(store), np.int64)
        ends = np.zeros(stop - start + 1, np.int64)
        size = 1 << 14
        while True:
            met = np.empty(size, np.int32)
            needed = gather_all(
                start, numbers[start:stop], lengths, tables.heads, tables.rows, seen, ends, met
            )
            if needed <= size:
                break
            size = int(needed)
        keys = np.empty(ends[-1])
        pairs_at_least(
            threshold, store.code, *queries.block(start, stop).arrays(),
            store.indptr, store.columns, store.values, store.squares, store.bits,
            ends, met, np.zeros(store.width), keys,
        )  # fmt: skip
        left = np.repeat(np.arange(start, stop), np.diff(ends))
        good = keys >= threshold
        return left[good], met[: ends[-1]][good].astype(np.int64), keys[good]

    parts = run_blocks(work, row_blocks(0, len(store), _BLOCK_ROWS), n_jobs)
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))  # type: ignore[return-value]
