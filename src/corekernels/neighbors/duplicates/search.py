"""The search itself: copies, candidates and their kernel values, for rows that are in memory.

Rows are told from copies by their digests. Candidates are all pairs where rows are few, rows that
share a key of a hash table otherwise; where no table tells enough, exact search finds the pairs.
The exact kernel decides.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..._core.arguments import Array, require_positive, seed_of
from ..._core.progress import Steps, progress_bar
from ..._core.validation import Rows
from ...errors import DataError, ParameterError
from ...kernel_table import CONTAINMENT, Kernel, duplicates_kernel
from .comparison import Pairs, similar_pairs
from .containment import containment_candidates, missed_share, sampled_columns
from .copies import Copies, find_copies_by_side, pairs_with_copies
from .result import FileMatches, NearDuplicates
from .rows import RowStore, row_digests, rows_to_keep
from .tables import TablePlan, linked_pairs, plan_tables

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


class FoundPairs:
    """Pairs between rows that are no copies, and the copies."""

    def __init__(
        self, name: str, n_rows: int, boundary: int | None, copies: Copies, missed: float,
        most_pairs: int,
    ) -> None:  # fmt: skip
        self.name, self.n_rows, self.boundary = name, n_rows, boundary
        self.copies, self.missed, self.most_pairs = copies, missed, most_pairs
        self._parts: list[Pairs] = []

    def add(self, pairs: Pairs) -> None:
        """Add pairs that reach the threshold."""
        self._parts.append(pairs)
        if sum(len(part.left) for part in self._parts) > self.most_pairs:
            raise too_many(self.name, self.most_pairs)

    def result(self, all_pairs: bool) -> NearDuplicates | FileMatches:
        """The result: with a boundary, rows from there on that are near rows before it."""
        pairs, copies, is_match = Pairs.joined(self._parts), self.copies, self.boundary is not None
        if not is_match:
            ones = np.ones(len(copies))
            pairs = Pairs.joined([Pairs(copies.firsts, copies.rows, ones), pairs])
        earlier, later = np.minimum(*pairs[:2]), np.maximum(*pairs[:2])
        found: tuple[Array, Array, Array] | None = (earlier, later, pairs.values)
        if all_pairs:
            found = pairs_with_copies(
                earlier, later, pairs.values, copies, self.most_pairs, within_sets=not is_match
            )
        if found is None or len(found[0]) > self.most_pairs:
            raise too_many(self.name, self.most_pairs)
        left, right, values = found
        if self.boundary is not None:
            left, right = right - self.boundary, left
        order = np.lexsort((right, left))
        both, values = np.stack([left[order], right[order]], axis=1), values[order]
        if self.boundary is not None:
            n_rows = self.n_rows - self.boundary
            return FileMatches(both, values, self.missed, n_rows, self.boundary)
        return NearDuplicates(both, values, self.missed, self.n_rows, len(copies))


def too_many(name: str, most_pairs: int) -> DataError:
    """The error for more pairs than are allowed."""
    return DataError(
        f"{name}: more than {most_pairs:,} pairs of rows are alike; raise the threshold, "
        "list copies only once, or allow more pairs (most_pairs)."
    )


def find_in_memory(
    name: str, parts: Sequence[Rows], digests: Array, criterion: Criterion, *,
    boundary: int | None, most_pairs: int, n_bytes: float, n_jobs: int | None, steps: Steps,
) -> FoundPairs:  # fmt: skip
    """The pairs among rows; with a boundary, those across it alone."""
    store, n_rows = RowStore.in_memory(parts), len(digests)
    lengths = np.concatenate([np.empty(0, np.int64), *(part.lengths for part in parts)])
    rows = np.arange(n_rows)
    copies = Copies(rows[:0], rows[:0])
    if criterion.threshold > 0:
        rows = np.flatnonzero(lengths)  # empty rows are like nothing, not even each other
        copies = find_copies_by_side(digests[rows], rows, boundary)
    own = np.setdiff1d(rows, copies.rows, assume_unique=True)
    few = len(own) <= _FEW_ROWS and len(own) * int(lengths[own].sum()) <= _FEW_STEPS
    missed = 0.0
    if criterion.is_containment:
        missed = missed_share(criterion.threshold)
    elif criterion.tables is not None and criterion.kernel.for_loops is not None and not few:
        missed = criterion.tables.missed
    found = FoundPairs(name, n_rows, boundary, copies, missed, most_pairs)
    candidates: Iterator[Array]
    if criterion.is_containment:
        is_first = np.zeros(n_rows, bool)
        is_first[own] = True
        samples = [sampled_columns(part, criterion.seed) for part in parts]
        firsts = np.cumsum([0, *map(len, parts)])
        candidates = iter([
            containment_candidates(
                zip(firsts.tolist(), parts, strict=False), np.concatenate(samples), lengths,
                is_first, criterion.threshold, boundary,
            )
        ])  # fmt: skip
    elif criterion.kernel.for_loops is None or not (few or criterion.tables):
        found.add(_by_exact_search(store.take(own), own, criterion, boundary, n_jobs))
        return found
    elif few:
        candidates = iter([_all_pairs(own, n_rows, boundary)])
    else:
        candidates = _by_tables(
            store, own, n_rows, criterion, boundary, n_bytes, n_jobs, steps
        )  # fmt: skip
    with progress_bar(len(own), "comparing", "rows", steps):
        for pairs in candidates:
            left, right = np.divmod(pairs, max(1, n_rows))
            found.add(
                similar_pairs(
                    store, left, right, criterion.kernel, criterion.threshold, n_bytes, n_jobs
                )
            )
    return found


def _all_pairs(rows: Array, n_rows: int, boundary: int | None) -> Array:
    """Pairs of all rows, as `Candidates` gives them."""
    if boundary is None:
        left, right = np.triu_indices(len(rows), 1)
        return rows[left] * n_rows + rows[right]
    cut = int(np.searchsorted(rows, boundary))
    return (rows[cut:, None] * n_rows + rows[:cut]).ravel()


def _by_tables(
    store: RowStore, own: Array, n_rows: int, criterion: Criterion, boundary: int | None,
    n_bytes: float, n_jobs: int | None, steps: Steps,
) -> Iterator[Array]:  # fmt: skip
    """Pairs of rows that share a key, in portions."""
    plan = criterion.tables
    assert plan is not None
    keys = np.empty((len(own), plan.n_tables), np.uint64)
    together = max(1, len(own) // 16)
    with progress_bar(len(own), "hashing", "rows", steps) as bar:
        for start in range(0, len(own), together):
            some = slice(start, start + together)
            plan.write_keys(store.take(own[some]), criterion.seed, n_jobs, keys[some].T)
            bar.update(len(own[some]))

    most = max(1, int(n_bytes / _BYTES_PER_PAIR))
    yield from linked_pairs(keys, own, n_rows, boundary, most)


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
            "X", parts, digests, criterion, boundary=None, most_pairs=np.iinfo(np.int64).max,
            n_bytes=_UNLIMITED_BYTES, n_jobs=n_jobs, steps=steps,
        )  # fmt: skip
    result = found.result(all_pairs=True)
    assert isinstance(result, NearDuplicates)
    return replace(result, pairs=ids[result.pairs])
