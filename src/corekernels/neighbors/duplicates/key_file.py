"""Keys of many rows on the disk: written row by row, read back table by table."""

import contextlib
import os
import tempfile
from contextlib import AbstractContextManager

import numpy as np

from ..._core.types import Array, PathLike
from ...io.kept import naming


class KeyFile:
    """64-bit keys of rows in `n_tables` tables, in a file without a name.

    The file goes with the process, however that ends. Memory is that of a block of rows.
    """

    def __init__(self, n_tables: int, folder: PathLike | None, block_rows: int) -> None:
        self.n_tables = n_tables
        self._block_rows = block_rows
        self._folder = tempfile.gettempdir() if folder is None else os.fspath(folder)
        self._block = np.empty((block_rows, n_tables), np.uint64)
        self._n_waiting = 0
        self._sizes: list[int] = []
        with self._naming():
            self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115

    @property
    def n_rows(self) -> int:
        """Rows written so far."""
        return sum(self._sizes) + self._n_waiting

    def append(self, keys: Array) -> None:
        """Add rows (n_rows, n_tables)."""
        while len(keys):
            some = keys[: self._block_rows - self._n_waiting]
            self._block[self._n_waiting : self._n_waiting + len(some)] = some
            self._n_waiting += len(some)
            keys = keys[len(some) :]
            if self._n_waiting == self._block_rows:
                self._flush()

    def table(self, number: int) -> Array:
        """The keys of all rows in one table."""
        self._flush()
        out = np.empty(self.n_rows, np.uint64)
        row = 0
        with self._naming():
            for size in self._sizes:
                self._file.seek(8 * (row * self.n_tables + number * size))
                self._file.readinto(out[row : row + size].data)
                row += size
        return out

    def _flush(self) -> None:
        if self._n_waiting:
            with self._naming():
                self._file.seek(0, os.SEEK_END)
                self._file.write(np.ascontiguousarray(self._block[: self._n_waiting].T).data)
                self._file.flush()
            self._sizes.append(self._n_waiting)
            self._n_waiting = 0

    def _naming(self) -> AbstractContextManager[None]:
        return naming(self._folder, "keys", f"{8 * self.n_tables} bytes per row")

    def close(self) -> None:
        """Remove the file."""
        with contextlib.suppress(OSError):  # what a full disk did not take is of no use now
            self._file.close()
