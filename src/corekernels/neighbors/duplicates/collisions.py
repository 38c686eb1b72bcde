"""Candidate pairs of a file: rows of equal keys in at least one table."""

from collections.abc import Iterator

import numpy as np

from ..._core.arguments import Array
from ..._core.progress import Progress, progress_bar
from ..._loops.search import buckets
from .copies import Copies
from .key_file import RepeatedKeys

_BYTES_PER_PAIR = 64


class Collisions:
    """Pairs that collided in a table so far, of which the earlier row is one of first to last.

    A pair is the number (later row) n_rows + (earlier row). Memory is some 40 bytes per pair.
    """

    def __init__(self, n_rows: int, first: int, last: int, together: int) -> None:
        self._n_rows, self._first, self._last = n_rows, first, last
        self._together = together  # pairs gathered before they are sorted
        self._pairs = np.empty(0, np.int64)
        self._waiting: list[Array] = []

    def add_keys(self, keys: Array, rows: Array, most: float = np.inf) -> bool:
        """Add the pairs of rows of equal keys, which ascend, as rows do within each.

        False if there would be more than `most`: then they are not added.
        """
        nowhere = np.empty(0, np.int64)
        n_pairs = buckets.count_pairs(keys, rows, self._first, self._last, nowhere)
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


class Candidates:
    """Pairs to compare: all or, where they are many, in portions by their earlier row.

    `repeats` are those of the first of each set of equal rows; a copy is paired with the row it
    equals. `n_bytes` is the memory for pairs; `together` of them are gathered, then sorted.
    """

    def __init__(
        self, repeats: RepeatedKeys, n_tables: int, n_rows: int, copies: Copies, n_bytes: float,
        together: int, progress: Progress,
    ) -> None:  # fmt: skip
        self._repeats, self._n_tables, self._n_rows = repeats, n_tables, n_rows
        self._copies, self._together, self._progress = copies, together, progress
        self._most = max(1.0, n_bytes / _BYTES_PER_PAIR)
        self._all: Array | None = None

    def portions(self) -> list[tuple[int, int]]:
        """The first earlier row of each portion, and the row after the last."""
        self._all = self._collide(0, self._n_rows, self._most)
        if self._all is not None:
            return [(0, self._n_rows)]
        counts = np.zeros(self._n_rows, np.int64)  # of pairs, if each table's were new
        for keys, rows in self._tables():
            buckets.count_pairs(keys, rows, 0, self._n_rows, counts)
        portion = np.cumsum(counts) // int(self._most)
        starts = np.flatnonzero(np.diff(portion, prepend=-1)).tolist()
        return list(zip(starts, [*starts[1:], self._n_rows], strict=True))

    def pairs(self, first: int, last: int) -> Array:
        """The pairs of a portion, ascending."""
        found = self._all
        if found is None:
            found = self._collide(first, last, np.inf)
            assert found is not None
        self._all = None
        return found

    def _collide(self, first: int, last: int, most: float) -> Array | None:
        """The pairs of a portion; None if there are too many."""
        found, copies = Collisions(self._n_rows, first, last, self._together), self._copies
        mine = (copies.firsts >= first) & (copies.firsts < last)
        found.add(copies.rows[mine] * self._n_rows + copies.firsts[mine])
        for keys, rows in self._tables():
            if not found.add_keys(keys, rows, most):
                return None
        return found.pairs()

    def _tables(self) -> Iterator[tuple[Array, Array]]:
        with progress_bar(self._n_tables, "sorting", "tables", self._progress) as bar:
            for table in range(self._n_tables):
                yield from self._repeats.of_table(table)
                bar.update(1)
