"""Rows equal to an earlier one: told by digests, and put back among the pairs at the end."""

from dataclasses import dataclass

import numpy as np

from ..._core.types import Array
from ..._core.validation import Rows, read_only
from ..._loops.search import buckets
from .tables import repeated_keys


@dataclass(frozen=True)
class Copies:
    """Rows that equal an earlier one, and the first row that each equals."""

    rows: Array
    firsts: Array

    def __len__(self) -> int:
        return len(self.rows)


def find_copies(low: Array, high: Array, rows: Array) -> Copies:
    """The copies among rows, by the lower and upper halves of their digests."""
    some = repeated_keys(low)
    low, high, rows = low[some], high[some], rows[some]
    order = np.lexsort((rows, high, low))
    low, high, rows = low[order], high[order], rows[order]
    same = np.zeros(len(rows), bool)
    same[1:] = (low[1:] == low[:-1]) & (high[1:] == high[:-1])
    first = np.maximum.accumulate(np.where(same, 0, np.arange(len(rows))))
    return Copies(rows[same], rows[first[same]])


def row_digests(rows: Rows) -> Array:
    """128 bits of each row (n_rows, 2), equal for equal rows."""
    out = np.empty((len(rows), 2), np.uint64)
    mine = rows.compact()
    bits = mine.data.view(np.uint32 if mine.data.itemsize == 4 else np.uint64)
    buckets.row_digests(mine.indptr, read_only(mine.indices), read_only(bits), out)
    return out


def pairs_with_copies(
    left: Array, right: Array, values: Array, copies: Copies, most: int
) -> tuple[Array, Array, Array] | None:
    """All pairs, from those between first rows and those of copies with the row they equal.

    A row and its copies are a set of equal rows; a pair of two rows becomes all pairs between
    their sets. None if there are more than `most`.
    """
    if not len(copies):
        return (left, right, values) if len(left) <= most else None
    numbers = np.unique(np.concatenate([left, right, copies.rows, copies.firsts]))
    first = numbers.copy()
    first[np.searchsorted(numbers, copies.rows)] = copies.firsts
    order = np.argsort(first, kind="stable")
    members = numbers[order]
    starts = np.searchsorted(first[order], numbers)
    sizes = np.searchsorted(first[order], numbers, "right") - starts
    # pairs within a set are those of its first row with itself
    within = np.searchsorted(numbers, np.unique(copies.firsts))
    at, to = np.searchsorted(numbers, left), np.searchsorted(numbers, right)
    between = first[to] != left  # the pair of a copy and its first row is one within a set
    at = np.concatenate([at[between], within])
    to = np.concatenate([to[between], within])
    value = np.concatenate([values[between], np.ones(len(within))])
    counts = sizes[at] * sizes[to]
    twice = len(within) and (counts[-len(within) :] + sizes[within]).sum()
    if counts.sum() - twice // 2 > most:
        return None
    which = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    i = members[starts[at[which]] + place // sizes[to[which]]]
    j = members[starts[to[which]] + place % sizes[to[which]]]
    once = (at[which] != to[which]) | (i < j)
    i, j, value = i[once], j[once], value[which[once]]
    return np.minimum(i, j), np.maximum(i, j), value
