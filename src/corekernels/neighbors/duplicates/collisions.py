"""Which rows meet in hash tables: pairs of equal keys in at least one of them.

Rows of resemblance R agree in all m slots of a key with probability R^m. No kernel value is
large where R is small: K <= R for core1 and resemblance; for core2, whose denominator is
(f1 + f2) / (1 + R) and whose numerator is at most (f1 + f2) / 2, K <= (1 + R) / 2. So rows of
K >= t meet in one of T tables with probability at least 1 - (1 - p^m)^T, p = t or 2 t - 1.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ... import theory
from ..._core.validation import Rows, read_only
from ..._loops.search import buckets
from ..candidates.lsh import write_keys

Array = npt.NDArray[Any]

N_TABLES = 64
_RECALL = 0.999
_MOST_SLOTS = 32
_LEAST_SLOTS = 3  # below, buckets tell too little
_FIRST_ROOM = 1 << 20


@dataclass(frozen=True)
class TablePlan:
    """Tables for all pairs above a threshold."""

    n_slots: int
    missed: float  # largest expected share of pairs that no table finds

    def keys(self, rows: Rows, seed: int, n_jobs: int | None) -> Array:
        """Key of each row (n_rows, N_TABLES) in each table."""
        out = np.empty((len(rows), N_TABLES), np.uint64)
        write_keys(rows, self.n_slots, False, seed, 0, n_jobs, out)
        return out


def plan_tables(kernel: str, threshold: float) -> TablePlan | None:
    """Tables for pairs of K >= threshold; None where they would tell too little."""
    least = 2 * threshold - 1 if kernel == "core2" else threshold
    if not 0 < least <= 1:
        return None
    n_slots = theory.slots_allowed(least, N_TABLES, _RECALL)
    if n_slots < _LEAST_SLOTS:
        return None
    n_slots = min(n_slots, _MOST_SLOTS)
    return TablePlan(n_slots, theory.miss_rate(least, n_slots, N_TABLES))


class Meetings:
    """Pairs of which the earlier row is one of first to last, and that met in a table so far.

    A pair is the number (later row) n_rows + (earlier row). Memory is some 40 bytes a pair
    and, while a table is looked at, 48 bytes a row.
    """

    def __init__(self, n_rows: int, first: int, last: int) -> None:
        self._n_rows, self._first, self._last = n_rows, first, last
        self._pairs = np.empty(0, np.int64)
        self._waiting: list[Array] = []
        self.counts = np.zeros(last - first, np.int64)  # of pairs, if each table's were new

    def add_table(self, keys: Array, rows: Array, most: float = np.inf) -> bool:
        """Let rows of equal keys meet; False where only counts went on, pairs being too many."""
        keys, rows = _in_company(keys, rows)
        n_pairs = buckets.count_later(keys, rows, self._first, self._last, self.counts)
        if len(self._pairs) + n_pairs > most:
            return False
        out = np.empty(n_pairs, np.int64)
        buckets.write_pairs(keys, rows, self._first, self._last, self._n_rows, out)
        self.add(out)
        return len(self._pairs) <= most

    def add(self, pairs: Array) -> None:
        """Take in pairs, in any order."""
        self._waiting.append(pairs)
        if sum(map(len, self._waiting)) > max(_FIRST_ROOM, len(self._pairs)):
            self.pairs()

    def pairs(self) -> Array:
        """All of them, ascending: by the later row, then by the earlier one."""
        if self._waiting:
            self._pairs = np.unique(np.concatenate([self._pairs, *self._waiting]))
            self._waiting = []
        return self._pairs


def find_copies(low: Array, high: Array, rows: Array) -> tuple[Array, Array]:
    """Rows that equal an earlier one, and the first row that each equals; by their digests."""
    order = np.argsort(low)
    order = np.sort(order[~_alone(low[order])])  # few rows, as a rule: the rest is cheap
    low, high, rows = low[order], high[order], rows[order]
    order = np.lexsort((rows, high, low))
    low, high, rows = low[order], high[order], rows[order]
    same = np.zeros(len(rows), bool)
    same[1:] = (low[1:] == low[:-1]) & (high[1:] == high[:-1])
    first = np.maximum.accumulate(np.where(same, 0, np.arange(len(rows))))
    return rows[same], rows[first[same]]


def row_digests(rows: Rows) -> Array:
    """128 bits of each row (n_rows, 2), equal for equal rows."""
    out = np.empty((len(rows), 2), np.uint64)
    begin, end = rows.indptr[0], rows.indptr[-1]
    bits = rows.data[begin:end].view(np.uint32 if rows.data.itemsize == 4 else np.uint64)
    buckets.row_digests(
        read_only(rows.indptr - begin), read_only(rows.indices[begin:end]), read_only(bits), out
    )
    return out


def key_ranks(keys: Array) -> Array:
    """For each row and table the number of smaller keys in that table, equal ones counted once."""
    out = np.empty(keys.shape, np.uint32)
    for table in range(keys.shape[1]):
        order = np.argsort(keys[:, table])
        ordered = keys[order, table]
        out[order, table] = np.cumsum(np.concatenate([[False], ordered[1:] != ordered[:-1]]))
    return out


def _in_company(keys: Array, rows: Array) -> tuple[Array, Array]:
    """Keys that several rows have, ascending, and those rows, ascending for each."""
    order = np.argsort(keys)
    order = np.sort(order[~_alone(keys[order])])  # few, as a rule: the rest is cheap
    keys, rows = keys[order], rows[order]
    order = np.argsort(keys, kind="stable")
    return read_only(keys[order]), read_only(rows[order], np.int64)


def _alone(keys: Array) -> Array:
    """Where a key differs from those beside it."""
    alone = np.ones(len(keys), bool)
    same = keys[1:] == keys[:-1]
    alone[1:][same] = False
    alone[:-1][same] = False
    return alone
