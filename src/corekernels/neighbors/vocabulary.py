"""The columns in use, numbered in ascending order; rows of many columns are kept by them."""

import numpy as np

from .._core.threads import row_blocks, run_blocks, thread_count
from .._core.types import Array

_BLOCK_COLUMNS = 1 << 18  # sorted into ranges at a time
_RANGE_COLUMNS = 1 << 16  # in a range, roughly
_MOST_RANGES = 256  # so that the number of a range is a byte
_SAMPLED = 32  # columns per range, between which bounds are set


def number_columns(columns: Array, n_jobs: int | None) -> tuple[Array, Array]:
    """The different columns, ascending, and for each column its place among them.

    As `np.unique` gives them, in threads: columns are sorted into ranges, and each range is
    numbered by itself.

    >>> number_columns(np.array([70, 20, 70, 30]), None)
    (array([20, 30, 70]), array([2, 0, 2, 1]))
    """
    n_ranges = min(_MOST_RANGES, len(columns) // _RANGE_COLUMNS)
    if n_ranges < 2 or thread_count(n_jobs) == 1:
        return np.unique(columns, return_inverse=True)
    bounds = _bounds(columns, n_ranges)
    n_ranges = len(bounds) + 1

    def sort_into_ranges(block: tuple[int, int]) -> tuple[Array, Array, Array]:
        """Columns by range, where they stood, and where each range begins."""
        some = columns[slice(*block)]
        ranges = np.searchsorted(bounds, some, "right").astype(np.uint8)
        order = np.argsort(ranges, kind="stable")
        heads = np.zeros(n_ranges + 1, np.int64)
        np.cumsum(np.bincount(ranges, minlength=n_ranges), out=heads[1:])
        return some[order], order + block[0], heads

    blocks = run_blocks(sort_into_ranges, row_blocks(0, len(columns), _BLOCK_COLUMNS), n_jobs)

    def number(a_range: int) -> tuple[Array, Array]:
        return np.unique(_joined(blocks, 0, a_range), return_inverse=True)

    parts = run_blocks(number, range(n_ranges), n_jobs)
    firsts = np.cumsum([0, *(len(words) for words, _ in parts)])
    numbers = np.empty(len(columns), np.int64)

    def put_back(a_range: int) -> None:
        numbers[_joined(blocks, 1, a_range)] = parts[a_range][1] + firsts[a_range]

    run_blocks(put_back, range(n_ranges), n_jobs)
    return np.concatenate([words for words, _ in parts]), numbers


def _bounds(columns: Array, n_ranges: int) -> Array:
    """Columns at which ranges begin, so that they have about as many columns each."""
    chosen = np.random.default_rng(0).integers(0, len(columns), _SAMPLED * n_ranges)
    return np.unique(np.sort(columns[chosen])[_SAMPLED::_SAMPLED])


def _joined(blocks: list[tuple[Array, Array, Array]], which: int, a_range: int) -> Array:
    """One of the arrays of a range, from all blocks."""
    parts = [(block[which], block[2][a_range : a_range + 2]) for block in blocks]
    return np.concatenate([array[slice(*ends)] for array, ends in parts])
