"""Kernel values of pairs of rows of a file: the earlier row is held as the later one comes by."""

from dataclasses import dataclass

import numpy as np

from ..._core.types import Array
from ..._core.validation import Rows, as_matrix, clean_rows
from ...errors import DataError
from ...io.readers import RowReader, watched
from ...kernel_table import Kernel
from ..store import make_store
from .in_memory import kernel_of_pairs


@dataclass(frozen=True)
class Comparison:
    """What is asked of the pairs, and the memory there is for rows."""

    kernel: Kernel
    threshold: float
    lengths: Array  # nonzeros of each row of the file
    n_bytes: float
    bytes_per_value: int
    progress: bool | None
    n_jobs: int | None

    def compare(self, reader: RowReader, pairs: Array) -> tuple[Array, Array, Array]:
        """Earlier rows, later rows and kernel values of the pairs that reach the threshold.

        Pairs are numbers (later row) n_rows + (earlier row), ascending. The file is read once
        for every `n_bytes` of earlier rows.
        """
        earlier = pairs % max(1, len(self.lengths))
        held = np.unique(earlier)
        sizes = np.cumsum(self.lengths[held].astype(np.int64) * self.bytes_per_value)
        portion = sizes // max(1, int(self.n_bytes))
        found = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
        for number in np.unique(portion).tolist():
            some = held[portion == number]
            mine = pairs
            if len(some) < len(held):
                mine = pairs[(earlier >= some[0]) & (earlier <= some[-1])]
            found += self._one_pass(reader, mine, some)
        left, right, values = (np.concatenate(column) for column in zip(*found, strict=True))
        return left, right, values

    def _one_pass(
        self, reader: RowReader, pairs: Array, held: Array
    ) -> list[tuple[Array, Array, Array]]:
        """Compare all pairs of the rows held, in one reading of the file."""
        n_rows = len(self.lengths)
        rows_held = _Held(held, self.lengths)
        found, done = [], 0
        for batch in watched(reader, "comparing", self.progress):
            rows = clean_rows(as_matrix(batch.X, reader.name), reader.name)
            known = self.lengths[batch.first_row : batch.first_row + len(rows)]
            if not np.array_equal(rows.lengths, known):
                raise _changed(reader)
            rows_held.take_in(rows, batch.first_row)
            until = int(np.searchsorted(pairs, (batch.first_row + len(rows)) * n_rows))
            if until > done:
                later, earlier = np.divmod(pairs[done:until], n_rows)
                found.append(self._similar(rows, batch.first_row, rows_held, earlier, later))
            done = until
            if done == len(pairs):
                break
        if done < len(pairs):
            raise _changed(reader)
        return found

    def _similar(
        self, rows: Rows, first_row: int, held: "_Held", earlier: Array, later: Array
    ) -> tuple[Array, Array, Array]:
        order = np.argsort(earlier, kind="stable")
        earlier, later = earlier[order], later[order]
        asked, left = np.unique(earlier, return_inverse=True)
        stored, right = np.unique(later, return_inverse=True)
        store = make_store(rows.take(stored - first_row), self.kernel, self.n_jobs)
        values = kernel_of_pairs(held.rows(asked), store, left, right, self.threshold, self.n_jobs)
        similar = values >= self.threshold
        return earlier[similar], later[similar], values[similar]


def _changed(reader: RowReader) -> DataError:
    return DataError(f"{reader.name}: changed while it was read; begin again.")


class _Held:
    """Some rows of a file, taken in as they come by."""

    def __init__(self, numbers: Array, lengths: Array) -> None:
        self._numbers = numbers
        self._indptr = np.concatenate([[0], np.cumsum(lengths[numbers], dtype=np.int64)])
        self._all: Rows | None = None

    def take_in(self, rows: Rows, first_row: int) -> None:
        """Keep those rows of a batch that are wanted."""
        start, stop = np.searchsorted(self._numbers, [first_row, first_row + len(rows)])
        begin, end = self._indptr[start], self._indptr[stop]
        if start == stop:
            return
        if self._all is None:
            indices = np.empty(self._indptr[-1], rows.indices.dtype)
            data = np.empty(self._indptr[-1], rows.data.dtype)
            self._all = Rows(self._indptr, indices, data, rows.n_columns)
        mine = rows.take(self._numbers[start:stop] - first_row)
        self._all.indices[begin:end] = mine.indices
        self._all.data[begin:end] = mine.data

    def rows(self, numbers: Array) -> Rows:
        """The rows of these numbers, which have come by."""
        assert self._all is not None
        return self._all.take(np.searchsorted(self._numbers, numbers))
