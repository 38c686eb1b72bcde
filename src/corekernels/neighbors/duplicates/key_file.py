"""Keys of many rows on the disk: written row by row, read back table by table."""

from collections.abc import Iterator

import numpy as np

from ..._core.types import Array
from ...io.workspace import Workspace


class KeyFile:
    """64-bit keys of rows in `n_tables` tables. Memory is that of a block of rows."""

    def __init__(self, n_tables: int, work: Workspace, block_rows: int) -> None:
        self.n_tables = n_tables
        self._block_rows = block_rows
        self._file = work.open("keys", "keys", f"{8 * n_tables} bytes per row")
        self._n_written = self._file.size // (8 * n_tables)
        self._block = np.empty((block_rows, n_tables), np.uint64)
        self._n_waiting = 0

    @property
    def n_rows(self) -> int:
        """Rows there are."""
        return self._n_written + self._n_waiting

    def append(self, keys: Array) -> None:
        """Add rows (n_rows, n_tables)."""
        while len(keys):
            some = keys[: self._block_rows - self._n_waiting]
            self._block[self._n_waiting : self._n_waiting + len(some)] = some
            self._n_waiting += len(some)
            keys = keys[len(some) :]
            if self._n_waiting == self._block_rows:
                self._flush()

    def finish(self) -> None:
        """Write the last rows; none can be added after that."""
        if self._n_waiting:
            self._flush()
        self._block = self._block[:0]

    def blocks(self, table: int) -> Iterator[tuple[int, Array]]:
        """The keys of consecutive rows in one table, with the number of the first row.

        They are valid until the next ones are asked for.
        """
        room = np.empty(self._block_rows, np.uint64)
        for row in range(0, self.n_rows, self._block_rows):
            out = room[: min(self._block_rows, self.n_rows - row)]
            self._file.read(8 * (row * self.n_tables + table * len(out)), out)
            yield row, out

    def column(self, table: int, rows: Array) -> Array:
        """The keys of some rows, whose numbers ascend, in one table."""
        out = np.empty(len(rows), np.uint64)
        for first, keys in self.blocks(table):
            start, stop = np.searchsorted(rows, [first, first + len(keys)])
            out[start:stop] = keys[rows[start:stop] - first]
        return out

    def _flush(self) -> None:
        self._file.append(self._block[: self._n_waiting].T)
        self._n_written += self._n_waiting
        self._n_waiting = 0
