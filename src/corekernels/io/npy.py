"""Rows from and to NumPy's `.npy`, a dense matrix; labels have no place in it."""

import math
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import numpy as np

from .._core.arguments import Array, PathLike
from .._core.forks import ForkLock
from .._core.validation import Rows, clean_rows, value_type
from ..errors import DataError, FileError
from .format import FileRows, Format, ReadOptions
from .provenance import Identity, open_same, reading
from .readers import Batch, require_columns

_READERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
# Headers are Python literals, and Python 3.11 fails now and then if two threads parse some at once
# (https://github.com/python/cpython/issues/106905).
_parsing = ForkLock()


@dataclass(frozen=True)
class Header:
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


def read_header(file: Any, name: str) -> Header:
    """The header at the front of a file; arrays of Python objects, pickles, are refused."""
    with reading(name, "npy"):
        version = np.lib.format.read_magic(file)
        if version not in _READERS:
            raise FileError(f"{name}: is of the unknown npy version {version}; save it anew.")
        with _parsing:
            shape, is_fortran, dtype = _READERS[version](file)
        header = Header(shape, is_fortran, dtype, file.tell())
    if dtype.hasobject:
        raise FileError(
            f"{name}: holds a pickle, which could run foreign code and is never loaded; "
            "save plain numbers or strings."
        )
    if any(size < 0 for size in shape) or dtype.itemsize == 0:
        raise FileError(f"{name}: has an impossible shape {shape}; make it again.")
    return header


def write_header(file: Any, header: Header) -> None:
    """Begin an `.npy` file; the length of the first axis can be written over later."""
    kind = np.lib.format.dtype_to_descr(header.dtype)
    about = {"shape": header.shape, "fortran_order": header.is_fortran, "descr": kind}
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
        self._header: Header | None = None
        self._n_rows = 0

    def write(self, rows: Rows, y: Array | None) -> None:
        """Add rows."""
        if y is not None:
            raise DataError(
                f"{self._name}: a .npy file has no place for labels; leave them out, where a file "
                "is read with labels=False, or write .npz."
            )
        if self._header is None:
            self._begin(rows.n_columns, rows.data.dtype)
        matrix = rows.matrix()
        size = max(1, (4 << 20) // (rows.n_columns * rows.data.itemsize))
        for start in range(0, len(rows), size):
            self._file.write(matrix[start : start + size].toarray().data)
        self._n_rows += len(rows)

    def finish(self) -> None:
        """Fill in the number of rows."""
        if self._header is None:
            self._begin(1, np.dtype(np.float64))
        assert self._header is not None
        end = self._file.tell()
        self._file.seek(0)
        shape = (self._n_rows, self._header.shape[1])
        write_header(self._file, Header(shape, False, self._header.dtype, 0))
        if self._file.tell() != self._header.offset:
            raise FileError(f"{self._name}: has too many rows for one .npy file; write .npz.")
        self._file.seek(end)

    def close(self) -> None:
        """Nothing to release."""

    def _begin(self, n_columns: int, dtype: np.dtype[Any]) -> None:
        write_header(self._file, Header((0, n_columns), False, dtype, 0))
        self._header = Header((0, n_columns), False, dtype, self._file.tell())


FORMAT = Format("npy", (".npy",), (b"\x93NUMPY",), NpyReader, NpyWriter)


_WRITE_BYTES = 1 << 18
_COPY_BYTES = 1 << 24


class Stored(Protocol):
    """An array that can write its own bytes."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    def write_to(self, file: IO[bytes]) -> None:
        """Write all bytes, in the order of the rows."""


class Pieces:
    """Arrays in memory, or mapped into it, one below the other."""

    def __init__(self, arrays: Sequence[Array]) -> None:
        self._arrays = arrays
        self.dtype = arrays[0].dtype
        self.shape = arrays[0].shape
        if self.shape:
            self.shape = (sum(len(array) for array in arrays), *self.shape[1:])

    def write_to(self, file: IO[bytes]) -> None:
        """Write in short runs, so that a mapped array is not read into memory whole."""
        for array in self._arrays:
            if array.ndim == 0 or array.size == 0:
                file.write(array.tobytes())
                continue
            rows = max(1, _WRITE_BYTES // max(1, array[:1].nbytes))
            for start in range(0, len(array), rows):
                file.write(np.ascontiguousarray(array[start : start + rows]).data)


class Span(NamedTuple):
    """Consecutive bytes of a file."""

    path: Path
    start: int
    n_bytes: int
    identity: Identity  # of the file


class Spans:
    """An array whose bytes lie in several files, one below the other; they are never in memory."""

    def __init__(self, dtype: np.dtype[Any], shape: tuple[int, ...], spans: Iterable[Span]) -> None:
        self.dtype, self.shape = dtype, shape
        self._spans = spans

    def write_to(self, file: IO[bytes]) -> None:
        """Copy the bytes, by the system itself where it can."""
        file.flush()
        for path, start, n_bytes, identity in self._spans:
            with open_same(path, identity) as source:
                _copy(source, start, n_bytes, file)


class Computed:
    """An array that a function makes in consecutive pieces, each asked for once, in order."""

    def __init__(
        self, dtype: np.dtype[Any], shape: tuple[int, ...], pieces: Callable[[], Iterable[Array]]
    ) -> None:
        self.dtype, self.shape = dtype, shape
        self._pieces = pieces

    def write_to(self, file: IO[bytes]) -> None:
        """Write one piece after the other."""
        for piece in self._pieces():
            file.write(np.ascontiguousarray(piece).data)


def _copy(source: IO[bytes], start: int, n_bytes: int, target: IO[bytes]) -> None:
    """Append bytes of one file to another, whose buffer is empty."""
    end = start + n_bytes
    try:
        while start < end:
            n = os.copy_file_range(source.fileno(), target.fileno(), end - start, start)
            if n == 0:
                break
            start += n
    except (AttributeError, OSError):  # not known here, or not between these file systems
        pass
    target.seek(0, os.SEEK_END)
    source.seek(start)
    while start < end:
        data = source.read(min(_COPY_BYTES, end - start))
        if not data:
            raise EOFError(f"{source.name} is cut short")
        target.write(data)
        start += len(data)
