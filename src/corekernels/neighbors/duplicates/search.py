"""The search itself: copies, candidates and their kernel values, for rows that are in memory.

Rows are told from copies by their digests. Candidates are all pairs where rows are few, rows that
share a key of a hash table otherwise; where no table tells enough, exact search finds the pairs.
The exact kernel decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..._core.arguments import Array, require_positive, seed_of
from ..._core.progress import Steps, progress_bar
from ..._core.validation import Rows
from ...errors import ParameterError
from ...kernel_table import CONTAINMENT, Kernel, duplicates_kernel
from .candidates import (
    TablePlan,
    containment_pairs,
    missed_share,
    plan_tables,
    sampled_columns,
    table_pairs,
)
from .copies import Copies, find_copies, pairs_with_copies
from .result import NearDuplicates, too_many
from .rows import Pairs, RowStore, row_digests, rows_to_keep, similar_pairs

_FEW_ROWS = 2048  # of which all pairs may be compared
_FEW_STEPS = 1 << 28  # along the columns of all pairs: half a second
_BYTES_PER_PAIR = 40  # while candidates are gathered
_UNLIMITED_BYTES = 1e15
KEY_BYTES = 9 * 64  # per row, of all tables, while they are sorted


@dataclass(frozen=True)
class Criterion:
    """What pairs must reach, and the hash tables that find them, if any can."""

    kernel: Kernel
    threshold: float
    seed: int
    tables: TablePlan | None

    @classmethod
    def of(
        cls, kernel: str, threshold: float, seed: int = 0, gamma: float | None = None
    ) -> "Criterion":
        """The criterion of checked arguments."""
        entry = duplicates_kernel(kernel, gamma)
        least = require_positive("threshold", threshold)
        if least > 1:
            raise ParameterError(f"threshold: got {threshold!r}; no kernel value exceeds 1.")
        return cls(entry, least, seed_of(seed, "seed"), plan_tables(entry, least))

    @property
    def is_containment(self) -> bool:
        """Whether pairs are found by samples of columns."""
        return self.kernel is CONTAINMENT


def find_in_memory(
    name: str, parts: Sequence[Rows], digests: Array, criterion: Criterion, *,
    boundary: int | None, all_pairs: bool, most_pairs: int, n_bytes: float, n_jobs: int | None,
    steps: Steps,
) -> NearDuplicates:  # fmt: skip
    """The pairs among rows; with a boundary, of rows from there on with those before."""
    store, n_rows = RowStore.in_memory(parts), len(digests)
    lengths = np.concatenate([np.empty(0, np.int64), *(part.lengths for part in parts)])
    rows = np.arange(n_rows)
    copies = Copies(rows[:0], rows[:0])
    if criterion.threshold > 0:
        rows = np.flatnonzero(lengths)  # empty rows are like nothing, not even each other
        copies = find_copies(digests[rows], rows, boundary)
    own = np.setdiff1d(rows, copies.rows, assume_unique=True)
    kernel, threshold, found = criterion.kernel, criterion.threshold, list[Pairs]()
    n_steps = len(own) * int(lengths[own].sum())
    few = len(own) <= _FEW_ROWS and n_steps <= _FEW_STEPS and kernel.for_loops is not None
    missed, portions = 0.0, iter(list[Array]())
    if criterion.is_containment:
        missed = missed_share(threshold)
        is_first = np.zeros(n_rows, bool)
        is_first[own] = True
        samples = np.concatenate([sampled_columns(part, criterion.seed) for part in parts])
        firsts = np.cumsum([0, *map(len, parts)]).tolist()
        numbered = zip(firsts, parts, strict=False)
        contained = containment_pairs(numbered, samples, lengths, is_first, threshold, boundary)
        portions = iter([contained])
    elif few:
        portions = iter([_all_pairs(own, n_rows, boundary)])
    elif criterion.tables is None or kernel.for_loops is None:
        found.append(_by_exact_search(store.take(own), own, criterion, boundary, n_jobs))
    else:
        missed = criterion.tables.missed
        keys = _keys(store, own, criterion, n_jobs, steps)
        most = max(1, int(n_bytes / _BYTES_PER_PAIR))
        portions = table_pairs(keys, own, n_rows, boundary, most)
    with progress_bar(len(own), "comparing", "rows", steps):
        n_found = 0
        for pairs in portions:
            left, right = np.divmod(pairs, max(1, n_rows))
            found.append(similar_pairs(store, left, right, kernel, threshold, n_bytes, n_jobs))
            n_found += len(found[-1].left)
            if n_found > most_pairs:
                raise too_many(name, most_pairs)
    every = pairs_with_copies(
        Pairs.joined(found), copies, most_pairs, all_pairs=all_pairs, within_sets=boundary is None
    )
    if every is None:
        raise too_many(name, most_pairs)
    left, right, values = every
    if boundary is not None:
        left, right = right - boundary, left
    order = np.lexsort((right, left))
    both, values = np.stack([left[order], right[order]], axis=1), values[order]
    if boundary is None:
        return NearDuplicates(both, values, missed, n_rows, len(copies.rows))
    return NearDuplicates(both, values, missed, n_rows - boundary, len(copies.rows), boundary)


def _all_pairs(rows: Array, n_rows: int, boundary: int | None) -> Array:
    """Pairs of all rows, as numbers."""
    if boundary is None:
        left, right = np.triu_indices(len(rows), 1)
        return rows[left] * n_rows + rows[right]
    cut = int(np.searchsorted(rows, boundary))
    return (rows[cut:, None] * n_rows + rows[:cut]).ravel()


def _keys(
    store: RowStore, own: Array, criterion: Criterion, n_jobs: int | None, steps: Steps
) -> Array:
    """The key of each row in each table (n_rows, n_tables)."""
    plan = criterion.tables
    assert plan is not None
    keys = np.empty((len(own), plan.n_tables), np.uint64)
    together = max(1, len(own) // 16)
    with progress_bar(len(own), "hashing", "rows", steps) as bar:
        for start in range(0, len(own), together):
            some = slice(start, start + together)
            plan.write_keys(store.take(own[some]), criterion.seed, n_jobs, keys[some].T)
            bar.update(len(own[some]))
    return keys


def _by_exact_search(
    rows: Rows, numbers: Array, criterion: Criterion, boundary: int | None, n_jobs: int | None
) -> Pairs:
    """Pairs of rows that no hash table finds."""
    from ..candidates import Exact
    from ..candidates.base import Tuned
    from ..snapshot import Snapshot
    from ..store import make_store

    if not len(rows.data):
        ones = np.ones(rows.nnz, np.float32)
        rows = Rows(rows.indptr, rows.indices, ones, rows.n_columns)
    method = Exact(make_store(rows, criterion.kernel, n_jobs))
    snapshot = Snapshot.begin(Tuned(method, "all pairs are wanted", 1.0), numbers)
    near = snapshot.within(rows, criterion.threshold, n_jobs)
    left = np.repeat(numbers, [len(keys) for keys, _ in near])
    right = numbers[np.concatenate([np.empty(0, np.int64), *(places for _, places in near)])]
    values = np.concatenate([np.empty(0), *(keys for keys, _ in near)])
    is_wanted = left < right
    if boundary is not None:
        is_wanted &= (left < boundary) & (right >= boundary)
    return Pairs(left[is_wanted], right[is_wanted], values[is_wanted])


def near_duplicate_rows(
    rows: Rows, ids: Array, criterion: Criterion, n_jobs: int | None
) -> NearDuplicates:
    """Near-duplicates among rows that have these ids."""
    parts, digests = [rows_to_keep(rows, criterion.kernel.uses_values)], row_digests(rows)
    with Steps({}, False) as steps:
        found = find_in_memory(
            "X", parts, digests, criterion, boundary=None, all_pairs=True,
            most_pairs=np.iinfo(np.int64).max, n_bytes=_UNLIMITED_BYTES, n_jobs=n_jobs,
            steps=steps,
        )  # fmt: skip
    return replace(found, pairs=ids[found.pairs])
