"""Rows equal to an earlier one: told by digests, and put back among the pairs at the end."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..._core.arguments import Array
from .tables import repeated_keys


@dataclass(frozen=True)
class Copies:
    """Rows that equal an earlier one, and the first row that each equals."""

    rows: Array
    firsts: Array

    def __len__(self) -> int:
        return len(self.rows)

    def ordered(self) -> "Copies":
        """The same, rows ascending."""
        order = np.argsort(self.rows)
        return Copies(self.rows[order], self.firsts[order])


def find_copies(low: Array, high: Array, rows: Array) -> Copies:
    """The copies among rows, by the lower and upper halves of their digests."""
    _, places = repeated_keys(low, np.arange(len(low)))
    low, high, rows = low[places], high[places], rows[places]
    order = np.lexsort((rows, high, low))
    low, high, rows = low[order], high[order], rows[order]
    is_same = np.zeros(len(rows), bool)
    is_same[1:] = (low[1:] == low[:-1]) & (high[1:] == high[:-1])
    first = np.maximum.accumulate(np.where(is_same, 0, np.arange(len(rows))))
    return Copies(rows[is_same], rows[first[is_same]])


def find_copies_by_side(digests: Array, rows: Array, boundary: int | None) -> Copies:
    """The copies among rows, which ascend; those from `boundary` on are no copies of those before.

    `digests` (n_rows, 2) are those of the rows.
    """
    cut = 0 if boundary is None else int(np.searchsorted(rows, boundary))
    sides = [
        find_copies(digests[side, 0], digests[side, 1], rows[side])
        for side in (slice(cut), slice(cut, None))
    ]
    found = Copies(
        np.concatenate([side.rows for side in sides]),
        np.concatenate([side.firsts for side in sides]),
    )
    return found.ordered()


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
