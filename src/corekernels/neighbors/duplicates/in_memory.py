"""Near-duplicate pairs of the rows of an index: hash tables find them, the kernel decides.

For few rows, and for thresholds at which tables are of no use, every row is looked up by exact
search instead, and nothing is missed.
"""

import numpy as np

from ..._core.arguments import Array
from ..._core.team import Step, Team
from ..._core.validation import Rows, read_only
from ..._loops.rows import Blocks
from ..._loops.search.similar import Found, PairScratch, similar_pairs
from ..candidates.lsh import fill_tables
from ..snapshot import Snapshot
from ..store import Store, make_queries
from .result import NearDuplicates
from .tables import TablePlan, key_numbers, plan_tables

FEW_ROWS = 4096
_BLOCK_ROWS = 16  # that a thread looks up at a time
_FIRST_ROOM = 1 << 14


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
    order = np.lexsort((right, left))
    pairs = np.stack([ids[left[order]], ids[right[order]]], axis=1)
    return NearDuplicates(pairs, keys[order], 0.0 if plan is None else plan.missed)


def _by_search(
    snapshot: Snapshot, store: Store, living: Array, threshold: float, n_jobs: int | None
) -> tuple[Array, Array, Array]:
    found = snapshot.within(store.rows(n_jobs), threshold, n_jobs)
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
    rows, n_rows = store.rows(n_jobs), len(store)
    found: list[list[Found]] = []  # one for each thread
    team = Team(n_jobs)
    numbers = read_only(key_numbers(team, plan.keys(team, rows, seed)))
    tables = fill_tables(team, numbers, n_rows)
    queries = make_queries(rows, store, team)
    task = threshold, store.kernel.for_loops, queries, store.stored_rows, numbers, tables

    def make_step(blocks: Blocks) -> Step:
        mine, scratch = [Found.new(_FIRST_ROOM)], PairScratch.new(n_rows, store.width)
        found.append(mine)

        def step(n_blocks: int) -> bool:
            more: bool = similar_pairs(blocks, n_blocks, *task, scratch, mine[0])
            if mine[0].is_short:
                mine[0] = mine[0].grown()
            return more

        return step

    team.share(make_step, n_rows, _BLOCK_ROWS)
    parts = zip(*(mine.pairs() for (mine,) in found), strict=True)
    return tuple(np.concatenate(column) for column in parts)  # type: ignore[return-value]


def kernel_of_pairs(
    rows: Rows, store: Store, left: Array, right: Array, threshold: float, n_jobs: int | None
) -> Array:
    """Kernel values of row left[p] and stored row right[p]; -inf where below the threshold.

    `left` ascends.
    """
    ends = np.searchsorted(left, np.arange(len(rows) + 1))
    team = Team(n_jobs)
    queries = make_queries(rows, store, team)
    return store.kernel_values(team, queries, ends, right.astype(np.int32), threshold)
