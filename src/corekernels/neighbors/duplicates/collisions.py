"""Candidate pairs of a file: rows of equal keys in at least one table."""

from collections.abc import Iterator

import numpy as np

from ..._core.progress import progress_bar
from ..._core.types import Array
from ..._core.validation import read_only
from ..._loops.search import buckets
from .copies import Copies
from .key_file import KeyFile
from .tables import repeated_keys

_BYTES_PER_PAIR = 64


class Collisions:
    """Pairs that collided in a table so far, of which the earlier row is one of first to last.

    A pair is the number (later row) n_rows + (earlier row). Memory is some 40 bytes per pair
    and, while a table is looked at, 48 bytes per row.
    """

    def __init__(self, n_rows: int, first: int, last: int, together: int) -> None:
        self._n_rows, self._first, self._last = n_rows, first, last
        self._together = together  # pairs gathered before they are sorted
        self._pairs = np.empty(0, np.int64)
        self._waiting: list[Array] = []
        self.counts = np.zeros(last - first, np.int64)  # of pairs, if each table's were new

    def add_table(self, keys: Array, rows: Array, most: float = np.inf) -> bool:
        """Add the pairs of rows of equal keys.

        False if there would be more than `most`: then they were only counted.
        """
        keys, rows = _shared_keys(keys, rows)
        n_pairs = buckets.count_pairs(keys, rows, self._first, self._last, self.counts)
        if len(self._pairs) + n_pairs > most:
            return False
        out = np.empty(n_pairs, np.int64)
        buckets.write_pairs(keys, rows, self._first, self._last, self._n_rows, out)
        self.add(out)
        return len(self._pairs) <= most

    def add(self, pairs: Array) -> None:
        """Add pairs, in any order."""
        self._waiting.append(pairs)
        if sum(map(len, self._waiting)) > max(self._together, len(self._pairs)):
            self.pairs()

    def pairs(self) -> Array:
        """All of them, ascending: by the later row, then by the earlier one."""
        if self._waiting:
            every = np.concatenate([self._pairs, *self._waiting])
            every.sort()  # several times faster than np.unique
            self._pairs = every[np.diff(every, prepend=-1) > 0]
            self._waiting = []
        return self._pairs


def candidate_pairs(
    keys: KeyFile, n_tables: int, n_rows: int, rows: Array, copies: Copies, n_bytes: float,
    together: int, progress: bool | None,
) -> Iterator[Array]:  # fmt: skip
    """Pairs to compare: all or, where they are many, in portions by their earlier row.

    Only `rows`, the first of each set of equal rows, are looked up in the tables; a copy is
    paired with the row it equals. `together` pairs are gathered before they are sorted.
    """
    most = max(1.0, n_bytes / _BYTES_PER_PAIR)

    def collide(first: int, last: int, most: float) -> tuple[Collisions, bool]:
        found, fits = Collisions(n_rows, first, last, together), True
        mine = (copies.firsts >= first) & (copies.firsts < last)
        found.add(copies.rows[mine] * n_rows + copies.firsts[mine])
        with progress_bar(n_tables, "sorting", "tables", progress) as bar:
            for table in range(n_tables):
                fits = found.add_table(keys.table(table)[rows], rows, most if fits else 0) and fits
                bar.update(1)
        return found, fits

    found, fits = collide(0, n_rows, most)
    if fits:
        yield found.pairs()
        return
    portion = np.cumsum(found.counts) // int(most)
    del found
    starts = np.flatnonzero(np.diff(portion, prepend=-1))
    for first, last in zip(starts, [*starts[1:], n_rows], strict=True):
        yield collide(int(first), int(last), np.inf)[0].pairs()


def _shared_keys(keys: Array, rows: Array) -> tuple[Array, Array]:
    """Keys that several rows have, ascending, and those rows, ascending within each."""
    some = repeated_keys(keys)
    keys, rows = keys[some], rows[some]
    order = np.argsort(keys, kind="stable")
    return read_only(keys[order]), read_only(rows[order], np.int64)
