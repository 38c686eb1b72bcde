"""Rows equal to an earlier one: told by digests, and put back among the pairs at the end."""

from typing import NamedTuple

import numpy as np

from ..._core.arguments import Array
from .candidates import repeated_keys
from .rows import Pairs


class Copies(NamedTuple):
    """Rows that equal an earlier one, and the first row that each equals, by which they ascend."""

    firsts: Array
    rows: Array

    @classmethod
    def ascending(cls, firsts: Array, rows: Array) -> "Copies":
        """Copies given in any order."""
        order = np.lexsort((rows, firsts))
        return cls(firsts[order], rows[order])

    def of_firsts(self, first_row: int, last_row: int) -> "Copies":
        """The copies of first rows in a range."""
        span = slice(*np.searchsorted(self.firsts, [first_row, last_row]))
        return Copies(self.firsts[span], self.rows[span])

    def sizes(self, rows: Array) -> Array:
        """How many rows equal each of some first rows, these among them."""
        left, right = (np.searchsorted(self.firsts, rows, side) for side in ("left", "right"))
        return right - left + 1

    def members(self, rows: Array, places: Array) -> Array:
        """Of the rows that equal each of some first rows, those at some places; first rows at 0."""
        of_copies = np.searchsorted(self.firsts, rows) + places - 1
        return np.where(places == 0, rows, self.rows[np.maximum(of_copies, 0)])


NO_COPIES = Copies(np.empty(0, np.int64), np.empty(0, np.int64))


def find_copies(digests: Array, rows: Array, boundary: int | None = None) -> Copies:
    """The copies among rows by their digests (n_rows, 2).

    Rows from `boundary` on are no copies of those before.
    """
    low, high = digests.T
    if boundary is not None:
        low = np.where(rows < boundary, low, ~low)
    _, places = repeated_keys(low, np.arange(len(low)))
    low, high, rows = low[places], high[places], rows[places]
    order = np.lexsort((rows, high, low))
    low, high, rows = low[order], high[order], rows[order]
    is_same = np.zeros(len(rows), bool)
    is_same[1:] = (low[1:] == low[:-1]) & (high[1:] == high[:-1])
    first = np.maximum.accumulate(np.where(is_same, 0, np.arange(len(rows))))
    return Copies.ascending(rows[first[is_same]], rows[is_same])


def equal_pairs(copies: Copies, n_rows: int, all_pairs: bool) -> Pairs:
    """Pairs of each copy and the first row; or of first rows with themselves, to be expanded."""
    firsts = np.unique(copies.firsts) if all_pairs else copies.firsts
    others = firsts if all_pairs else copies.rows
    return Pairs(firsts * n_rows + others, np.ones(len(firsts)))


def count_with_copies(pairs: Pairs, copies: Copies, n_rows: int) -> int:
    """How many pairs `pairs_with_copies` gives."""
    left, right = np.divmod(pairs.numbers, n_rows)
    sizes, others = copies.sizes(left), copies.sizes(right)
    return int(np.where(left == right, sizes * (sizes - 1) // 2, sizes * others).sum())


def pairs_with_copies(pairs: Pairs, copies: Copies, n_rows: int) -> Pairs:
    """All pairs of a row that equals the first and one that equals the second row of a pair."""
    if not len(copies.rows):
        return pairs
    left, right = np.divmod(pairs.numbers, n_rows)
    sizes = copies.sizes(right)
    counts = copies.sizes(left) * sizes
    of_pair = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(of_pair)) - np.repeat(np.cumsum(counts) - counts, counts)
    i, j = np.divmod(place, sizes[of_pair])
    left, right = left[of_pair], right[of_pair]
    one, other = copies.members(left, i), copies.members(right, j)
    is_kept = (left != right) | (i < j)
    first = np.where(left > right, np.maximum(one, other), np.minimum(one, other))
    numbers = first * n_rows + (one + other - first)
    return Pairs(numbers[is_kept], pairs.values[of_pair[is_kept]])
