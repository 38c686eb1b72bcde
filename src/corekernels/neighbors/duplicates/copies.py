"""Rows equal to an earlier one: told by digests, and put back among the pairs at the end."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..._core.arguments import Array
from ..._core.validation import Rows, read_only
from ..._loops.search import buckets
from .key_file import KeyFile, RepeatedKeys
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


def find_copies_by_side(low: Array, high: Array, rows: Array, boundary: int | None) -> Copies:
    """The copies among rows; those from `boundary` on are no copies of those before."""
    if boundary is None:
        return find_copies(low, high, rows)
    cut = int(np.searchsorted(rows, boundary))
    sides = slice(cut), slice(cut, None)
    return _joined([find_copies(low[side], high[side], rows[side]) for side in sides])


def _joined(parts: list[Copies]) -> Copies:
    return Copies(
        np.concatenate([part.rows for part in parts]),
        np.concatenate([part.firsts for part in parts]),
    )


def find_copies_in_file(
    keys: KeyFile, digests: int, repeats: RepeatedKeys, boundary: int | None
) -> Copies:
    """The copies among the rows of a file, whose digests are two tables of the keys."""
    found = [Copies(np.empty(0, np.int64), np.empty(0, np.int64))]
    for low, rows in repeats.of_table(digests):
        order = np.argsort(rows)
        low, rows = low[order], rows[order]
        found.append(find_copies_by_side(low, keys.column(digests + 1, rows), rows, boundary))
    return _joined(found)


def row_digests(rows: Rows) -> Array:
    """128 bits of each row (n_rows, 2), equal for equal rows."""
    out = np.empty((len(rows), 2), np.uint64)
    mine = rows.compact()
    bits = mine.data.view(np.uint32 if mine.data.itemsize == 4 else np.uint64)
    buckets.row_digests(mine.indptr, read_only(mine.indices), read_only(bits), out)
    return out


def pairs_with_copies(
    left: Array, right: Array, values: Array, copies: Copies, most: int, within_sets: bool = True
) -> tuple[Array, Array, Array] | None:
    """All pairs, from those between first rows and those of copies with the row they equal.

    A row and its copies are a set of equal rows; a pair of two rows becomes all pairs between
    their sets. Pairs within a set may be left out. None if there are more than `most`.
    """
    if not len(copies):
        return (left, right, values) if len(left) <= most else None
    numbers = np.unique(np.concatenate([left, right, copies.rows, copies.firsts]))
    place = np.arange(len(numbers))
    firsts = place.copy()
    firsts[np.searchsorted(numbers, copies.rows)] = np.searchsorted(numbers, copies.firsts)
    sizes = np.bincount(firsts, minlength=len(numbers))
    i, j = np.searchsorted(numbers, left), np.searchsorted(numbers, right)
    between = firsts[j] != i  # the pair of a copy and its first row is one within a set
    i, j, values = i[between], j[between], values[between]
    # pairs within a set are those of its first row with itself
    within = np.flatnonzero(sizes > (1 if within_sets else len(numbers)))
    inner = sizes[within]
    if (sizes[i] * sizes[j]).sum() + (inner * (inner - 1) // 2).sum() > most:
        return None
    places = np.concatenate([i, j, within]), np.concatenate([j, i, within])
    of_firsts = np.concatenate([values, values, np.ones(len(within))])
    shape = (len(numbers), len(numbers))
    pairs = sparse.csr_array((of_firsts, places), shape=shape)
    member = sparse.csr_array((np.ones(len(numbers)), (place, firsts)), shape=shape)
    every = sparse.triu(member @ pairs @ member.T, 1, format="coo")
    return numbers[every.coords[0]], numbers[every.coords[1]], every.data
