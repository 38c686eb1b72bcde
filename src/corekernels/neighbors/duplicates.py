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

from .._loops.pairs import pairs_at_least
from .._threads import row_blocks, run_blocks
from .._validation import Rows, read_only
from .meetings import N_TABLES, Meetings, TablePlan, TooManyPairs, plan_tables
from .snapshot import Snapshot
from .store import Store, make_queries

Array = npt.NDArray[Any]

FEW_ROWS = 4096
_MOST_PAIRS = 1 << 26  # of which tables may propose; beyond, they tell too little
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

    def redundant(self) -> Array:
        """Ids of all rows but the first of each group, ascending: those to drop."""
        rest = [group[1:] for group in self.groups()]
        return np.sort(np.concatenate(rest)) if rest else np.empty(0, np.int64)


def find_duplicates(
    snapshot: Snapshot, threshold: float, seed: int, n_jobs: int | None
) -> NearDuplicates:
    """All pairs of living rows with K >= threshold."""
    store, living = snapshot.living()
    ids = snapshot.ids[living]
    plan = plan_tables(store.kernel, threshold) if len(store) > FEW_ROWS else None
    found = None if plan is None else _by_tables(store, threshold, plan, seed, n_jobs)
    missed = 0.0 if plan is None or found is None else plan.missed
    left, right, keys = found or _by_search(snapshot, store, living, threshold, n_jobs)
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
) -> tuple[Array, Array, Array] | None:
    """None where nearly all rows meet."""
    rows = store.rows()
    met = Meetings(len(store), _MOST_PAIRS)
    keys, some = plan.keys(rows, seed, n_jobs), np.flatnonzero(store.lengths)
    try:
        for table in range(N_TABLES):
            met.add_table(keys[some, table], some)
        right, left = np.divmod(met.pairs(), len(store))
    except TooManyPairs:
        return None
    order = np.argsort(left, kind="stable")
    left, right = left[order], right[order]
    values = kernel_of_pairs(rows, store, left, right, threshold, n_jobs)
    good = values >= threshold
    return left[good], right[good], values[good]


def kernel_of_pairs(
    rows: Rows, store: Store, left: Array, right: Array, threshold: float, n_jobs: int | None
) -> Array:
    """Kernel values of row left[p] and stored row right[p]; -2 where below the threshold.

    `left` ascends.
    """
    queries = make_queries(rows, store)
    ends = np.searchsorted(left, np.arange(len(rows) + 1))
    out = np.empty(len(left))

    def work(block: tuple[int, int]) -> None:
        start, stop = block
        first, last = ends[start], ends[stop]
        if first < last:
            pairs_at_least(
                threshold, store.code, *queries.block(start, stop).arrays(),
                store.indptr, store.columns, store.values, store.squares, store.bits,
                read_only(ends[start : stop + 1] - first), read_only(right[first:last]),
                np.zeros(store.width), out[first:last],
            )  # fmt: skip

    run_blocks(work, row_blocks(0, len(rows), _BLOCK_ROWS), n_jobs)
    return out
