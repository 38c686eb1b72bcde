"""Rows from and to NumPy's `.npy`, a dense matrix; labels have no place in it."""

import math
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from .._core.arguments import Array, PathLike
from .._core.forks import ForkLock
from .._core.validation import Rows, clean_rows, value_type
from ..errors import DataError, FileError
from .formats import FileRows, Format, ReadOptions
from .provenance import reading
from .readers import Batch, require_columns

_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
# Headers are Python literals, and Python 3.11 fails now and then if two threads parse some at once
# (https://github.com/python/cpython/issues/106905).
_parsing = ForkLock()


class NpyHeader(NamedTuple):
    """What an `.npy` file says about its array; the array starts at byte `offset`."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[Any]
    offset: int

    @property
    def size(self) -> int:
        """Number of items."""
        return math.prod(self.shape)

    @property
    def n_bytes(self) -> int:
        """Size the whole file must have."""
        return self.offset + self.size * self.dtype.itemsize


def read_header(file: Any, name: str) -> NpyHeader:
    """The header at the front of a file; arrays of Python objects, pickles, are refused."""
    with reading(name, "npy"):
        version = np.lib.format.read_magic(file)
        if version not in _READERS:
            raise FileError(f"{name}: is of the unknown npy version {version}; save it anew.")
        with _parsing:
            shape, is_fortran, dtype = _READERS[version](file)
        header = NpyHeader(shape, is_fortran, dtype, file.tell())
    if dtype.hasobject:
        raise FileError(
            f"{name}: holds a pickle, which could run foreign code and is never loaded; "
            "save plain numbers or strings."
        )
    if any(size < 0 for size in shape) or dtype.itemsize == 0:
        raise FileError(f"{name}: has an impossible shape {shape}; make it again.")
    return header


def write_header(file: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Begin an `.npy` file; the length of the first axis can be written over later."""
    about = {
        "shape": shape, "fortran_order": False, "descr": np.lib.format.dtype_to_descr(dtype),
    }  # fmt: skip
    np.lib.format.write_array_header_2_0(file, about)


class NpyReader(FileRows):
    """Rows of a dense matrix."""

    format = "npy"

    def __init__(self, path: PathLike, options: ReadOptions) -> None:
        super().__init__(path, options)
        with self._source.open() as file:
            self.n_bytes = os.fstat(file.fileno()).st_size
            self._header = read_header(file, self.name)
        if len(self._header.shape) != 2 or self._header.shape[1] < 1:
            raise DataError(
                f"{self.name}: holds an array of shape {self._header.shape}; "
                "rows and columns are needed."
            )
        if self.n_bytes != self._header.n_bytes:
            raise FileError(
                f"{self.name}: has {self.n_bytes} bytes where its header asks for "
                f"{self._header.n_bytes}; fetch or make it again."
            )
        self.n_rows, self.n_columns = self._header.shape
        require_columns(self, options.n_columns)
        self._value_type = value_type(self._header.dtype, self.name)

    def batches(self, first_row: int = 0) -> Iterator[Batch]:
        """As of `RowReader`; rows before are not read."""
        assert self.n_rows is not None
        size = max(1, self._batch_bytes // (self.n_columns * self._header.dtype.itemsize))
        for row in range(first_row, self.n_rows, size):
            stop = min(row + size, self.n_rows)
            with self._source.open() as file, reading(self.name, "npy"):
                block = self._block(file, row, stop).astype(self._value_type)
            rows = clean_rows(block, self.name, first_row=row)
            yield Batch(rows, None, row, self._share_done(stop))

    def _block(self, file: IO[bytes], start: int, stop: int) -> Array:
        """Some rows, mapped for as long as they are needed: mapped pages count as memory."""
        header = self._header
        if header.is_fortran:
            whole = np.memmap(file, header.dtype, "r", header.offset, header.shape, order="F")
            return np.ascontiguousarray(whole[start:stop])
        offset = header.offset + start * self.n_columns * header.dtype.itemsize
        return np.memmap(file, header.dtype, "r", offset, (stop - start, self.n_columns))


class NpyWriter:
    """Writes rows dense; their number is filled in at the end."""

    def __init__(self, file: IO[bytes], target: Path) -> None:
        self._file = file
        self._name = str(target)
        self._n_rows, self._n_columns, self._header_bytes = 0, 1, 0
        self._dtype: np.dtype[Any] = np.dtype(np.float64)

    def write(self, rows: Rows, y: Array | None) -> None:
        """Add rows."""
        if y is not None:
            raise DataError(
                f"{self._name}: a .npy file has no place for labels; leave them out, where a file "
                "is read with labels=False, or write .npz."
            )
        if not self._header_bytes:
            self._n_columns, self._dtype = rows.n_columns, rows.data.dtype
            self._write_header()
        matrix = rows.matrix()
        size = max(1, (4 << 20) // (rows.n_columns * rows.data.itemsize))
        for start in range(0, len(rows), size):
            self._file.write(matrix[start : start + size].toarray().data)
        self._n_rows += len(rows)

    def finish(self) -> None:
        """Fill in the number of rows."""
        n_before = self._header_bytes or self._write_header()
        end = self._file.tell()
        self._file.seek(0)
        if self._write_header() != n_before:
            raise FileError(f"{self._name}: has too many rows for one .npy file; write .npz.")
        self._file.seek(end)

    def close(self) -> None:
        """Nothing to release."""

    def _write_header(self) -> int:
        """Write the header; where it ends."""
        write_header(self._file, (self._n_rows, self._n_columns), self._dtype)
        self._header_bytes = self._file.tell()
        return self._header_bytes


FORMATS = {"npy": Format("npy", (".npy",), (b"\x93NUMPY",), NpyReader, NpyWriter)}
