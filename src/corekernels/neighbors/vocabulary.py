"""The columns in use, numbered in ascending order; rows of many columns are kept by them."""

import numpy as np

from .._core.team import Team
from .._core.types import Array
from .._core.validation import read_only
from .._loops.search import numbering
from .._loops.search.numbering import N_BOUNDS

_BLOCK_COLUMNS = 1 << 16  # sorted into ranges at a time
_RANGE_COLUMNS = 1 << 15  # in a range, roughly
_SAMPLED = 32  # columns per range, between which bounds are set


def number_columns(columns: Array, n_jobs: int | None) -> tuple[Array, Array]:
    """The different columns, ascending, and for each column its place among them.

    As `np.unique` gives them, in threads: columns are sorted into ranges, and each range is
    sorted and numbered by itself.

    >>> number_columns(np.array([70, 20, 70, 30]), None)
    (array([20, 30, 70]), array([2, 0, 2, 1]))
    """
    n, n_ranges = len(columns), min(N_BOUNDS + 1, len(columns) // _RANGE_COLUMNS)
    if n_ranges < 2:
        return np.unique(columns, return_inverse=True)
    team, columns = Team(n_jobs), read_only(columns)
    ranges, counts = np.empty(n, np.uint8), np.zeros((-(-n // _BLOCK_COLUMNS), n_ranges), np.int64)
    team.run(
        numbering.count_ranges, (columns, _bounds(columns, n_ranges), ranges, counts), n,
        _BLOCK_COLUMNS,
    )  # fmt: skip
    ends = np.cumsum(counts.T).reshape(n_ranges, -1)  # a range after the other, and so its blocks
    places = np.ascontiguousarray(ends.T - counts)
    heads = np.append(places[0], n)
    by_range, room = np.empty((2, n), np.int64)
    origins, room_origins = np.empty((2, n), np.int64)
    team.run(
        numbering.sort_into_ranges, (columns, read_only(ranges), places, by_range, origins), n,
        _BLOCK_COLUMNS,
    )  # fmt: skip
    n_different = np.empty(n_ranges, np.int64)
    sorted_ranges = read_only(heads), by_range, origins
    team.run(
        numbering.sort_ranges,
        lambda: (*sorted_ranges, numbering.new_counts(), room, room_origins, n_different),
        n_ranges, 1,
    )  # fmt: skip
    firsts = np.cumsum(n_different) - n_different
    words, numbers = np.empty(n_different.sum(), columns.dtype), np.empty(n, np.int64)
    team.run(numbering.number_ranges, (*sorted_ranges, firsts, words, numbers), n_ranges, 1)
    return words, numbers


def _bounds(columns: Array, n_ranges: int) -> Array:
    """Columns at which ranges begin, so that they have about as many columns each."""
    chosen = np.random.default_rng(0).integers(0, len(columns), _SAMPLED * n_ranges)
    bounds = np.full(N_BOUNDS, np.iinfo(np.int64).max)
    bounds[: n_ranges - 1] = np.sort(columns[chosen])[_SAMPLED::_SAMPLED]
    return read_only(bounds)
