"""The search itself: copies, candidates and their kernel values, for rows that are in memory.

Rows are told from copies by their digests. Candidates are all pairs where rows are few, rows that
share a key of a hash table otherwise; where no table tells enough, pairs of large enough values in
the Gram matrix. The exact kernel decides.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy import sparse

from ..._core.arguments import Array, require_positive, seed_of
from ..._core.progress import Progress, progress_bar
from ..._core.threads import row_blocks
from ..._core.validation import Rows
from ...errors import ParameterError
from ...kernel_table import CONTAINMENT, Kernel, duplicates_kernel
from .candidates import (
    TablePlan,
    containment_pairs,
    missed_share,
    plan_tables,
    table_pairs,
)
from .copies import NO_COPIES, count_with_copies, equal_pairs, find_copies, pairs_with_copies
from .result import NearDuplicates, too_many
from .rows import Pairs, RowStore, row_digests, rows_to_keep, similar_pairs

_FEW_ROWS = 2048  # of which all pairs may be compared
_FEW_STEPS = 1 << 28  # along the columns of all pairs: half a second
_BYTES_PER_PAIR = 40  # while candidates are gathered
_GRAM_BYTES = 1 << 26  # of a Gram matrix, at a time
_ROUNDING = 1e-9  # more than that of a kernel value
_HASHED_TOGETHER = 1 << 15  # rows, at least
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

    @property
    def missed(self) -> float:
        """Largest expected share of pairs that tables, or samples of columns, do not find."""
        return missed_share(self.threshold) if self.tables is None else self.tables.missed


def find_in_memory(
    name: str, parts: Sequence[Rows], digests: Array, criterion: Criterion, *,
    boundary: int | None = None, all_pairs: bool = True, most_pairs: int = np.iinfo(np.int64).max,
    n_bytes: float = _UNLIMITED_BYTES, n_jobs: int | None, progress: Progress = False,
) -> NearDuplicates:  # fmt: skip
    """The pairs among rows; with a boundary, of rows from there on with those before."""
    store, n_rows, copies = RowStore.in_memory(parts), len(digests), NO_COPIES
    rows, lengths = np.arange(n_rows), np.concatenate([part.lengths for part in parts])
    if criterion.threshold > 0:
        rows = np.flatnonzero(lengths)  # empty rows are like nothing, not even each other
        copies = find_copies(digests[rows], rows, boundary)
    own = np.setdiff1d(rows, copies.rows, assume_unique=True)
    kernel, least, missed = criterion.kernel, criterion.threshold, 0.0
    similar: Iterable[Pairs]
    n_steps = len(own) * int(lengths[own].sum())
    few = len(own) <= _FEW_ROWS and n_steps <= _FEW_STEPS and kernel.for_loops is not None
    compare = partial(
        similar_pairs, store, kernel=kernel, threshold=least, n_bytes=n_bytes, n_jobs=n_jobs
    )
    if criterion.is_containment:
        missed = criterion.missed
        similar = map(compare, [containment_pairs(store, own, least, criterion.seed, boundary)])
    elif few:
        similar = map(compare, [_all_pairs(own, n_rows, boundary)])
    elif criterion.tables is None or kernel.for_loops is None:
        similar = _gram_pairs(store, own, criterion, boundary, compare, n_jobs)
    else:
        missed, keys = criterion.missed, _keys(store, own, criterion, n_jobs, progress)
        most = max(1, int(n_bytes / _BYTES_PER_PAIR))
        similar = map(compare, table_pairs(keys, own, n_rows, boundary, most))
    repeated = copies if all_pairs else NO_COPIES
    portions = [] if boundary is not None else [equal_pairs(copies, n_rows, all_pairs)]
    n_pairs = sum(count_with_copies(pairs, repeated, n_rows) for pairs in portions)
    with progress_bar(len(own), "comparing", "rows", progress):
        for pairs in similar:
            n_pairs += count_with_copies(pairs, repeated, n_rows)
            if n_pairs > most_pairs:
                raise too_many(name, most_pairs)
            portions.append(pairs)
    if n_pairs > most_pairs:
        raise too_many(name, most_pairs)
    numbers, values = pairs_with_copies(Pairs.joined(portions), repeated, n_rows)
    order = np.argsort(numbers)
    both = np.stack(np.divmod(numbers[order], n_rows), axis=1)
    return NearDuplicates.of(both, values[order], missed, n_rows, len(copies.rows), boundary)


def _all_pairs(rows: Array, n_rows: int, boundary: int | None) -> Array:
    """Pairs of all rows, as numbers."""
    first, second = rows[:, np.newaxis], rows
    is_pair = first < second
    if boundary is not None:
        is_pair = (first >= boundary) & (second < boundary)
    return (first * n_rows + second)[is_pair]


def _keys(
    store: RowStore, own: Array, criterion: Criterion, n_jobs: int | None, progress: Progress
) -> Array:
    """The key of each row in each table (n_tables, n_rows)."""
    plan = criterion.tables
    assert plan is not None
    keys = np.empty((plan.n_tables, len(own)), np.uint64)
    together = max(_HASHED_TOGETHER, len(own) // 16)
    with progress_bar(len(own), "hashing", "rows", progress) as bar:
        for block in row_blocks(0, len(own), together):
            span = slice(*block)
            plan.write_keys(store.take(own[span]), criterion.seed, n_jobs, keys[:, span])
            bar.update(len(own[span]))
    return keys


def _gram_pairs(
    store: RowStore, own: Array, criterion: Criterion, boundary: int | None,
    compare: Callable[[Array], Pairs], n_jobs: int | None,
) -> Iterator[Pairs]:  # fmt: skip
    """Pairs of rows by all their kernel values, where hash tables do not find them."""
    from ..._exact import Formula, Gram  # of no use where tables do

    rows, kernel = store.take(own), criterion.kernel
    values = rows.data if len(rows.data) else np.ones(rows.nnz)
    shape = len(rows), rows.n_columns
    matrix = sparse.csr_array((values.astype(float), rows.indices, rows.indptr), shape=shape)
    cut = 0 if boundary is None else int(np.searchsorted(own, boundary))
    gram = Gram(matrix[cut:], None if boundary is None else matrix[:cut], Formula(kernel), n_jobs)
    least = criterion.threshold - (0 if kernel.for_loops is None else _ROUNDING)
    for some, block in gram.chunks(max(1, _GRAM_BYTES // (8 * max(1, len(own))))):
        if boundary is None:
            block[np.tri(len(block), len(own), some.start, dtype=bool)] = -np.inf
        left, right = np.nonzero(block >= least)
        pairs = own[cut + some.start + left] * store.n_rows + own[right]
        yield compare(pairs) if kernel.for_loops else Pairs(pairs, block[left, right])


def near_duplicate_rows(
    rows: Rows, ids: Array, criterion: Criterion, n_jobs: int | None
) -> NearDuplicates:
    """Near-duplicates among rows that have these ids."""
    parts, digests = [rows_to_keep(rows, criterion.kernel.uses_values)], row_digests(rows)
    duplicates = find_in_memory("X", parts, digests, criterion, n_jobs=n_jobs)
    return replace(duplicates, pairs=ids[duplicates.pairs])
