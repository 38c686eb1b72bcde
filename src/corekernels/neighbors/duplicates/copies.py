"""Rows equal to an earlier one: told by digests, and put back among the pairs at the end."""

from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..._core.arguments import Array
from .candidates import repeated_keys
from .rows import Pairs


class Copies(NamedTuple):
    """Rows that equal an earlier one, and the first row that each equals."""

    rows: Array
    firsts: Array


def find_copies(digests: Array, rows: Array, boundary: int | None = None) -> Copies:
    """The copies among rows by their digests (n_rows, 2); copies ascend.

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
    by_row = np.flatnonzero(is_same)[np.argsort(rows[is_same])]
    return Copies(rows[by_row], rows[first[by_row]])


def pairs_with_copies(
    pairs: Pairs, copies: Copies, most: int, *, all_pairs: bool = True, within_sets: bool = True
) -> Pairs | None:
    """Pairs between first rows, and those that copies add; the earlier row is on the left.

    A row and its copies are a set of equal rows. Of `all_pairs`, a pair of two rows becomes all
    pairs between their sets; without, a copy is paired with its first row alone. Pairs within a
    set may be left out. None if there are more than `most`.
    """
    earlier, later = np.minimum(*pairs[:2]), np.maximum(*pairs[:2])
    if not (all_pairs and len(copies.rows)):
        of_firsts = Pairs(earlier, later, pairs.values)
        if within_sets:
            ones = np.ones(len(copies.rows))
            of_firsts = Pairs.joined([Pairs(copies.firsts, copies.rows, ones), of_firsts])
        return of_firsts if len(of_firsts.left) <= most else None
    numbers = np.unique(np.concatenate([earlier, later, copies.rows, copies.firsts]))
    place = np.arange(len(numbers))
    firsts = place.copy()
    firsts[np.searchsorted(numbers, copies.rows)] = np.searchsorted(numbers, copies.firsts)
    sizes = np.bincount(firsts, minlength=len(numbers))
    i, j = np.searchsorted(numbers, earlier), np.searchsorted(numbers, later)
    # pairs within a set are those of its first row with itself
    within = np.flatnonzero(sizes > 1) if within_sets else place[:0]
    inner = sizes[within]
    if (sizes[i] * sizes[j]).sum() + (inner * (inner - 1) // 2).sum() > most:
        return None
    places = np.concatenate([i, j, within]), np.concatenate([j, i, within])
    values = np.concatenate([pairs.values, pairs.values, np.ones(len(within))])
    shape = (len(numbers), len(numbers))
    matrix = sparse.csr_array((values, places), shape=shape)
    member = sparse.csr_array((np.ones(len(numbers)), (place, firsts)), shape=shape)
    every = sparse.triu(member @ matrix @ member.T, 1, format="coo")
    return Pairs(numbers[every.coords[0]], numbers[every.coords[1]], every.data)
