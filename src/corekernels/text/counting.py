"""In how many documents each column occurs, counted batch by batch in bounded memory."""

import numpy as np

from .._core.types import Array
from .._core.validation import read_only
from .._loops.text import lookup

_TOGETHER = 1 << 20  # columns gathered before they are counted
_DIRECTORY_BITS = 16


class DocumentCounts:
    """Columns in ascending order, and the number of documents that each occurs in.

    Exact as long as there are no more than `max_columns` different columns. Beyond, the rarest
    ones are forgotten whenever there are too many: `error` is how many documents of a column
    may have gone uncounted at most (lossy counting).
    """

    def __init__(self, max_columns: int, together: int = _TOGETHER) -> None:
        self.max_columns, self._together = max_columns, together
        self.n_documents = 0
        self.error = 0
        self._columns: Array = np.empty(0, np.int64)
        self._counts: Array = np.empty(0, np.int64)
        self._waiting: list[Array] = []
        self._lookup: ColumnLookup | None = None

    @classmethod
    def of(
        cls, columns: Array, counts: Array, n_documents: int, error: int, max_columns: int
    ) -> "DocumentCounts":
        """Counts known before."""
        found = cls(max_columns)
        found._columns, found._counts = columns, counts
        found.n_documents, found.error = n_documents, error
        return found

    def add(self, columns: Array, n_documents: int) -> None:
        """Count documents by their columns, each of which occurs once per document."""
        self.n_documents += n_documents
        self._waiting.append(columns)
        self._lookup = None
        if sum(map(len, self._waiting)) > max(self._together, len(self._columns) // 2):
            self.table()

    def table(self) -> tuple[Array, Array]:
        """Columns, ascending, and their counts."""
        if self._waiting:
            fresh, counts = np.unique(np.concatenate(self._waiting), return_counts=True)
            self._waiting = []
            columns = np.concatenate([self._columns, fresh.astype(np.int64)])
            counts = np.concatenate([self._counts, counts.astype(np.int64)])
            order = np.argsort(columns, kind="stable")
            columns, counts = columns[order], counts[order]
            first = np.ones(len(columns), bool)
            first[1:] = columns[1:] != columns[:-1]
            starts = np.flatnonzero(first)
            self._columns = columns[starts]
            self._counts = np.add.reduceat(counts, starts) if len(starts) else counts
            self._forget()
        return self._columns, self._counts

    def of_columns(self, columns: Array, n_columns: int) -> Array:
        """The number of documents that each of these columns, of so many in all, occurs in."""
        known, counts = self.table()
        if self._lookup is None:
            self._lookup = ColumnLookup(known, n_columns)
        return np.append(counts, 0)[self._lookup.places(columns)]  # place -1 is the last: 0

    def _forget(self) -> None:
        """Drop the rarest columns if there are too many: at least a quarter of those allowed."""
        if len(self._columns) <= self.max_columns:
            return
        most = self.max_columns - self.max_columns // 4
        least_kept = int(np.partition(self._counts, -most - 1)[-most - 1]) + 1 if most else 1
        kept = self._counts >= least_kept
        self.error += least_kept - 1
        self._columns, self._counts = self._columns[kept], self._counts[kept]


class ColumnLookup:
    """Places of columns in an ascending list of them."""

    def __init__(self, columns: Array, n_columns: int) -> None:
        self._columns = read_only(columns, np.int64)
        self._shift = max(0, (n_columns - 1).bit_length() - _DIRECTORY_BITS)
        self._directory = np.zeros(((n_columns - 1) >> self._shift) + 2, np.int64)
        lookup.fill_directory(self._columns, self._shift, self._directory)

    def places(self, wanted: Array) -> Array:
        """The place of each column, or -1."""
        out = np.empty(len(wanted), np.int64)
        lookup.look_up(
            read_only(wanted, np.int64), self._columns, self._shift, read_only(self._directory), out
        )
        return out
