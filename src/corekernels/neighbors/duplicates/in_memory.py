"""Near-duplicate pairs of the rows of an index: hash tables find them, the kernel decides.

For few rows, and for thresholds at which tables are of no use, every row is looked up by exact
search instead, and nothing is missed.
"""

import numpy as np

from ..._core.threads import row_blocks, run_blocks
from ..._core.types import Array
from ..._core.validation import Rows, read_only
from ..._loops.search.buckets import later_collisions
from ..candidates.lsh import fill_tables
from ..snapshot import Snapshot
from ..store import Store, make_queries
from .result import NearDuplicates
from .tables import TablePlan, key_ranks, plan_tables

FEW_ROWS = 4096
_BLOCK_ROWS = 256
_FIRST_ROOM = 1 << 14


def find_duplicates(
    snapshot: Snapshot, threshold: float, seed: int, n_jobs: int | None, few_rows: int = FEW_ROWS
) -> NearDuplicates:
    """All pairs of living rows with K >= threshold."""
    store, living = snapshot.living()
    ids = snapshot.ids[living]
    plan = plan_tables(store.kernel, threshold) if len(store) > few_rows else None
    if plan is None:
        left, right, keys = _by_search(snapshot, store, living, threshold, n_jobs)
    else:
        left, right, keys = _by_tables(store, threshold, plan, seed, n_jobs)
    order = np.lexsort((right, left))
    pairs = np.stack([ids[left[order]], ids[right[order]]], axis=1)
    return NearDuplicates(pairs, keys[order], 0.0 if plan is None else plan.missed)


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
    tables = fill_tables(numbers, n_rows)
    queries, lengths = make_queries(rows, store), read_only(store.lengths)

    def work(block: tuple[int, int]) -> tuple[Array, Array, Array]:
        start, stop = block
        seen = np.zeros(n_rows, np.int64)
        ends = np.zeros(stop - start + 1, np.int64)
        later = np.empty(_FIRST_ROOM, np.int32)
        while True:
            mine = numbers[start:stop]
            needed = later_collisions(start, mine, lengths, tables, seen, ends, later)
            if needed <= len(later):
                break
            later = np.empty(needed, np.int32)
        later = later[:needed]
        keys = store.kernel_values(queries.block(start, stop), ends, later, threshold)
        left = np.repeat(np.arange(start, stop), np.diff(ends))
        similar = keys >= threshold
        return left[similar], later[similar].astype(np.int64), keys[similar]

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
            block_queries, some = queries.block(start, stop), candidates[first:last]
            out[first:last] = store.kernel_values(block_queries, mine, some, threshold)

    run_blocks(work, row_blocks(0, len(rows), _BLOCK_ROWS), n_jobs)
    return out
