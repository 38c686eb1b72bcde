"""Near-duplicate pairs: hash tables find them, the kernel decides.

Rows above a threshold meet in one of 64 tables with a probability that `meetings` states. For
few rows, and for thresholds at which tables tell too little, every row is looked up by exact
search instead, and nothing is missed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..._core.threads import row_blocks, run_blocks
from ..._core.validation import Rows, read_only
from ..._loops.search.buckets import fill_tables, gather_all
from ..._loops.search.pairs import pairs_at_least
from ..snapshot import Snapshot
from ..store import Queries, Store, make_queries
from .collisions import N_TABLES, TablePlan, key_ranks, plan_tables

Array = npt.NDArray[Any]

FEW_ROWS = 4096
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
        """Connected rows, as arrays of ids, ascending: keep one of each to be rid of duplicates."""
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


def find_duplicates(
    snapshot: Snapshot, threshold: float, seed: int, n_jobs: int | None
) -> NearDuplicates:
    """All pairs of living rows with K >= threshold."""
    store, living = snapshot.living()
    ids = snapshot.ids[living]
    plan = plan_tables(store.kernel, threshold) if len(store) > FEW_ROWS else None
    if plan is None:
        left, right, keys = _by_search(snapshot, store, living, threshold, n_jobs)
    else:
        left, right, keys = _by_tables(store, threshold, plan, seed, n_jobs)
    missed = 0.0 if plan is None else plan.missed
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
    store: Store, threshold: float, plan: TablePlan, seed: int, n_jobs: int | None
) -> tuple[Array, Array, Array]:
    rows, n_rows = store.rows(), len(store)
    numbers = read_only(key_ranks(plan.keys(rows, seed, n_jobs)))
    heads = np.zeros((N_TABLES, n_rows + 1), np.int32)
    sorted_rows = np.empty((N_TABLES, n_rows), np.int32)
    fill_tables(numbers, heads, sorted_rows)
    tables = read_only(heads), read_only(sorted_rows)
    queries, lengths = make_queries(rows, store), read_only(store.lengths)

    def work(block: tuple[int, int]) -> tuple[Array, Array, Array]:
        start, stop = block
        seen = np.zeros(n_rows, np.int64)
        ends = np.zeros(stop - start + 1, np.int64)
        met = np.empty(1 << 14, np.int32)
        while True:
            needed = gather_all(start, numbers[start:stop], lengths, *tables, seen, ends, met)
            if needed <= len(met):
                break
            met = np.empty(needed, np.int32)
        keys = _score(store, queries.block(start, stop), ends, met[:needed], threshold)
        left = np.repeat(np.arange(start, stop), np.diff(ends))
        good = keys >= threshold
        return left[good], met[:needed][good].astype(np.int64), keys[good]

    parts = run_blocks(work, row_blocks(0, n_rows, _BLOCK_ROWS), n_jobs)
    return tuple(np.concatenate(column) for column in zip(*parts, strict=True))  # type: ignore[return-value]


def kernel_of_pairs(
    rows: Rows, store: Store, left: Array, right: Array, threshold: float, n_jobs: int | None
) -> Array:
    """Kernel values of row left[p] and stored row right[p]; -2 where below the threshold.

    `left` ascends.
    """
    queries = make_queries(rows, store)
    ends = np.searchsorted(left, np.arange(len(rows) + 1))
    candidates = right.astype(np.int32)
    out = np.empty(len(left))

    def work(block: tuple[int, int]) -> None:
        start, stop = block
        first, last = ends[start], ends[stop]
        if first < last:
            mine = ends[start : stop + 1] - first
            out[first:last] = _score(
                store, queries.block(start, stop), mine, candidates[first:last], threshold
            )

    run_blocks(work, row_blocks(0, len(rows), _BLOCK_ROWS), n_jobs)
    return out


def _score(store: Store, queries: Queries, ends: Array, met: Array, threshold: float) -> Array:
    out = np.empty(len(met))
    pairs_at_least(
        threshold, store.code, *queries.arrays(),
        store.indptr, store.columns, store.values, store.squares, store.bits,
        ends, met, np.zeros(store.width), out,
    )  # fmt: skip
    return out
