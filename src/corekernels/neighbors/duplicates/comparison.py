"""Kernel values of candidate pairs, by merging the sorted columns of both rows."""

from typing import NamedTuple

import numpy as np

from ..._core.arguments import Array
from ..._core.threads import row_blocks, run_blocks
from ..._core.validation import read_only
from ..._loops.search import duplicates as loops
from ...kernel_table import Kernel
from .rows import NARROW, RowStore, sorted_rows

_BLOCK_PAIRS = 4096
_BYTES_PER_VALUE = 16  # of rows that are compared: column and value, at most


class Pairs(NamedTuple):
    """Pairs of rows and their kernel values."""

    left: Array
    right: Array
    values: Array

    @classmethod
    def joined(cls, parts: "list[Pairs]") -> "Pairs":
        """The pairs of several parts, one after the other."""
        nothing = cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))
        return cls(*(np.concatenate(columns) for columns in zip(nothing, *parts, strict=True)))


def similar_pairs(
    store: RowStore, left: Array, right: Array, kernel: Kernel, threshold: float, n_bytes: float,
    n_jobs: int | None,
) -> Pairs:  # fmt: skip
    """Those of the pairs that reach the threshold; the rows on the left ascend.

    Rows are gathered for as many pairs at a time as `n_bytes` allow.
    """
    rows = _different(left, right)
    lengths = store.lengths(rows)
    if lengths.sum() * _BYTES_PER_VALUE <= n_bytes:
        return _compared(store, rows, left, right, kernel, threshold, n_jobs)
    sizes = lengths[np.searchsorted(rows, right)]  # as if no row came twice on the right
    is_new = np.diff(left, prepend=-1) > 0
    sizes[is_new] += lengths[np.searchsorted(rows, left[is_new])]
    portion = np.cumsum(sizes * _BYTES_PER_VALUE) // max(1, int(n_bytes))
    found, first = [], 0
    for end in (np.flatnonzero(np.diff(portion, append=-1)) + 1).tolist():
        some = left[first:end], right[first:end]
        found.append(_compared(store, _different(*some), *some, kernel, threshold, n_jobs))
        first = end
    return Pairs.joined(found)


def _compared(
    store: RowStore, rows: Array, left: Array, right: Array, kernel: Kernel, threshold: float,
    n_jobs: int | None,
) -> Pairs:  # fmt: skip
    taken = store.take(rows)
    gathered = sorted_rows(taken, kernel.uses_values)
    is_narrow = taken.n_columns <= NARROW and len(taken.data) > 0
    i = read_only(np.searchsorted(rows, left), np.int64)
    j = read_only(np.searchsorted(rows, right), np.int64)
    values = np.empty(len(left))

    def work(block: tuple[int, int]) -> None:
        some = slice(*block)
        pairs = threshold, kernel.for_loops, gathered, i[some], j[some]
        if is_narrow:
            loops.compare_narrow_pairs(*pairs, np.zeros(taken.n_columns), values[some])
        else:
            loops.compare_pairs(*pairs, values[some])

    run_blocks(work, row_blocks(0, len(left), _BLOCK_PAIRS), n_jobs)
    is_similar = values >= threshold
    return Pairs(left[is_similar], right[is_similar], values[is_similar])


def _different(left: Array, right: Array) -> Array:
    """The rows of pairs, ascending."""
    return np.unique(np.concatenate([left[np.diff(left, prepend=-1) > 0], right]))
