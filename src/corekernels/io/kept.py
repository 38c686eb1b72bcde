"""Rows that are costly to read, kept on the disk once they were read."""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._core.types import Array, PathLike
from ..errors import FileError
from .provenance import Origin
from .readers import Batch, RowReader

_SIZE = "12 bytes per n-gram of a document"


@dataclass(frozen=True)
class _Stored:
    """Where a batch lies in the file, and what is not in the file."""

    place: int
    lengths: Array
    index_type: Any
    value_type: Any
    only_ones: bool  # values are not stored
    first_row: int
    bytes_done: int


class KeptRows(RowReader):
    """The rows of another reader, without labels: read from it once, then from the disk.

    They lie in a file without a name, which goes with the process, however that ends: 8 bytes
    per value that is not 0, and 4 or 8 more unless all values of a batch are 1. Memory is that
    of a batch and 4 bytes per row.
    """

    def __init__(self, reader: RowReader, folder: PathLike | None) -> None:
        super().__init__(reader.name, 0, None)
        self._reader = reader
        self.format, self.n_columns, self.n_rows = reader.format, reader.n_columns, reader.n_rows
        self.n_bytes, self.is_stream = reader.n_bytes, reader.is_stream
        self._folder = tempfile.gettempdir() if folder is None else os.fspath(folder)
        self._batches_kept: list[_Stored] = []
        self._is_complete = False
        with naming(self._folder, "rows", _SIZE):
            self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115

    @property
    def notes(self) -> Sequence[str]:
        """What the reader noted."""
        return self._reader.notes

    @property
    def provenance(self) -> list[Origin]:
        """That of the reader."""
        return self._reader.provenance

    def close(self) -> None:
        """Give the room on the disk back."""
        with contextlib.suppress(OSError):  # what a full disk did not take is of no use now
            self._file.close()

    def _batches(self) -> Iterator[Batch]:
        if self._is_complete:
            yield from map(self._read, self._batches_kept)
            return
        self._batches_kept.clear()
        place = 0
        for batch in self._reader:
            place = self._write(batch, place)
            yield batch
        self._is_complete = True

    def _write(self, batch: Batch, place: int) -> int:
        """Append a batch; where the next one begins."""
        X = batch.X
        only_ones = bool((X.data == 1).all())
        lengths = np.diff(X.indptr).astype(np.int32)
        self._batches_kept.append(
            _Stored(
                place, lengths, X.indices.dtype, X.data.dtype, only_ones, batch.first_row,
                batch.bytes_done,
            )
        )  # fmt: skip
        with naming(self._folder, "rows", _SIZE):
            self._file.seek(place)
            for array in (X.indices,) if only_ones else (X.indices, X.data):
                rest = np.ascontiguousarray(array).view(np.uint8).data
                place += len(rest)
                while len(rest):
                    rest = rest[self._file.write(rest) :]
        return place

    def _read(self, stored: _Stored) -> Batch:
        indptr = np.concatenate([[0], np.cumsum(stored.lengths, dtype=np.int64)])
        indices = np.empty(indptr[-1], stored.index_type)
        data = np.ones(indptr[-1], stored.value_type)
        with naming(self._folder, "rows", _SIZE):
            self._file.seek(stored.place)
            for array in (indices,) if stored.only_ones else (indices, data):
                rest = array.view(np.uint8).data
                while len(rest):
                    n = self._file.readinto(rest)
                    if not n:
                        raise OSError("cut short")
                    rest = rest[n:]
        X = sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, self.n_columns))
        return Batch(X, None, stored.first_row, stored.bytes_done)


@contextlib.contextmanager
def naming(folder: PathLike, what: str, size: str) -> Iterator[None]:
    """Turn errors of a scratch file into a `FileError` that names its folder and what it needs."""
    try:
        yield
    except OSError as error:
        raise FileError(
            f"{folder}: {what} cannot be kept there ({error.strerror or error}); make room, "
            f"{size}, or choose another folder."
        ) from error
