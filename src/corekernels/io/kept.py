"""Rows that are costly to read, kept on the disk once they were read."""

from collections.abc import Iterator
from dataclasses import astuple, dataclass

import numpy as np
from scipy import sparse

from .._core.validation import are_clean
from ..errors import DataError
from .provenance import Origin
from .readers import Batch, RowReader
from .workspace import Workspace
from .wrapped import Wrapped

_MAGIC = 0x53574F5254504B  # a batch begins here


@dataclass(frozen=True)
class _Header:
    """What stands before the row lengths, columns and values of a batch, as 64-bit integers."""

    magic: int
    n_rows: int
    n_values: int
    index_bytes: int  # of a column number
    value_bytes: int
    only_ones: int  # whether values are not stored
    is_clean: int
    first_row: int
    bytes_done: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch, this included."""
        per_value = self.index_bytes + (0 if self.only_ones else self.value_bytes)
        return _HEADER_BYTES + 4 * self.n_rows + per_value * self.n_values


_HEADER_BYTES = 8 * len(_Header.__dataclass_fields__)


class KeptRows(Wrapped):
    """The rows of another reader, without labels: read from it once, then from the disk.

    On the disk they take 4 bytes per row, 8 bytes per value that is not 0, and 4 or 8 more
    unless all values of a batch are 1. Memory is that of a batch. A reading that was broken off
    goes on with the same reader; one of a killed run, in a lasting workspace, with a new one.
    """

    def __init__(self, reader: RowReader, work: Workspace, name: str = "rows") -> None:
        super().__init__(reader)
        self._work = work
        self._complete = f"{name} complete"  # in the state of the workspace
        self._file = work.open(name, "rows", "12 bytes per n-gram of a document")
        self._places = list(self._find_batches(name))
        self._more: Iterator[Batch] | None = None

    @property
    def provenance(self) -> list[Origin]:
        """That of the reader."""
        return self._reader.provenance

    def _batches(self) -> Iterator[Batch]:
        number = 0
        while True:
            if number < len(self._places):
                batch = self._read(self._places[number])
            elif self._work.state.get(self._complete):
                return
            else:
                found = self._next()
                if found is None:
                    self._work.state[self._complete] = True
                    return
                batch = found
                self._write(batch)
            number += 1
            yield batch

    def _next(self) -> Batch | None:
        """The next batch of the reader."""
        n_kept = 0
        if self._places:
            last = self._header(self._places[-1])
            n_kept = last.first_row + last.n_rows
        if self._more is None:
            self._more = self._reader.batches_from(n_kept)
        batch = next(self._more, None)
        if batch is not None and batch.first_row != n_kept:
            raise DataError(f"{self.name}: changed while it was read; begin again.")
        return batch

    def _find_batches(self, name: str) -> Iterator[int]:
        """Where batches begin that an earlier run has kept."""
        place = 0
        while place < self._file.size:
            if not self._is_sound(place):
                raise self._work.damaged(name)
            yield place
            place += self._header(place).size

    def _is_sound(self, place: int) -> bool:
        """Whether a batch of an earlier run lies there, with rows as clean as it says."""
        header = self._header(place)
        fits = header.magic == _MAGIC and header.index_bytes in (4, 8)
        if not fits or place + header.size > self._file.size:
            return False
        try:
            batch = self._read(place)
            return not batch.is_clean or are_clean(batch.rows(self.name))
        except (TypeError, ValueError):
            return False

    def _header(self, place: int) -> _Header:
        fields = np.empty(_HEADER_BYTES // 8, np.int64)
        self._file.read(place, fields)
        return _Header(*fields.tolist())

    def _write(self, batch: Batch) -> None:
        X = batch.X
        only_ones = bool((X.data == 1).all())
        header = _Header(
            _MAGIC, len(batch), X.nnz, X.indices.itemsize, X.data.itemsize, only_ones,
            batch.is_clean, batch.first_row, batch.bytes_done,
        )  # fmt: skip
        arrays = [np.array(astuple(header), np.int64), np.diff(X.indptr).astype(np.int32)]
        arrays += [X.indices] if only_ones else [X.indices, X.data]
        self._places.append(self._file.append(*arrays))

    def _read(self, place: int) -> Batch:
        header = self._header(place)
        lengths = np.empty(header.n_rows, np.int32)
        indices = np.empty(header.n_values, f"i{header.index_bytes}")
        data = np.ones(header.n_values, f"f{header.value_bytes}")
        place = self._file.read(place + _HEADER_BYTES, lengths)
        place = self._file.read(place, indices)
        if not header.only_ones:
            self._file.read(place, data)
        indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        X = sparse.csr_array((data, indices, indptr), shape=(header.n_rows, self.n_columns))
        return Batch(
            X, None, header.first_row, header.bytes_done, is_clean=bool(header.is_clean)
        )  # fmt: skip
