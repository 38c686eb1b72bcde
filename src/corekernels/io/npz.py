"""Rows from and to SciPy's `.npz`: a zip of the arrays of one sparse matrix, and labels.

`scipy.sparse.load_npz` reads such a file whole; here the arrays of a CSR matrix are unpacked side
by side, as far as a batch needs. A matrix by columns (CSC) or by entries (COO) has its rows all
over the file, and is read whole. Labels stand in the same file as `y` or `labels`. Pickles in it
are never loaded.
"""

import contextlib
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._core.arguments import Array, PathLike
from .._core.validation import Rows, clean_arrays, value_type
from ..errors import DataError, FileError
from .formats import FileRows, Format, ReadOptions
from .npy import NpyHeader, read_header, write_header
from .provenance import open_file, reading
from .readers import Batch, checked_labels, require_columns

# the arrays of a matrix, by what SciPy calls its format: the last one holds the values
PARTS = {
    "csr": ("indptr", "indices", "data"),
    "csc": ("indptr", "indices", "data"),
    "coo": ("row", "col", "data"),
}

# Rows of a matrix by columns or by entries are in no array of the file. Beyond these numbers it is
# damaged: a pointer per row would fill the memory.
_MANY_ROWS, _ROWS_PER_ENTRY = 1 << 24, 100


class Member:
    """One array in the zip, read from its front to its end."""

    def __init__(self, archive: zipfile.ZipFile, key: str, name: str) -> None:
        self.name = f"{name} ({key})"
        with reading(self.name, "npz"):
            info = archive.getinfo(key + ".npy")
            self._file = archive.open(info)
            self.header: NpyHeader = read_header(self._file, self.name)
            if info.file_size != self.header.n_bytes:
                raise FileError(f"{self.name}: its length does not fit; fetch or make it again.")

    def take(self, count: int) -> Array:
        """The next `count` items."""
        size = count * self.header.dtype.itemsize
        with reading(self.name, "npz"):
            raw = self._file.read(size)
            if len(raw) < size:
                raise EOFError
            return np.frombuffer(raw, self.header.dtype)

    def skip(self, count: int) -> None:
        """Leave out the next `count` items."""
        with reading(self.name, "npz"):
            self._file.seek(count * self.header.dtype.itemsize, os.SEEK_CUR)


def require_parts(name: str, kind: str, members: dict[str, Member], shape: tuple[int, int]) -> int:
    """Number of entries of a matrix, whose arrays must fit its shape."""
    lengths = [member.header.shape for member in members.values()]
    n_entries = lengths[2]
    first = {"csr": (shape[0] + 1,), "csc": (shape[1] + 1,)}.get(kind, n_entries)
    if lengths != [first, n_entries, n_entries] or len(n_entries) != 1:
        raise FileError(
            f"{name}: arrays of lengths {lengths} do not make {shape[0]} rows of {shape[1]} "
            "columns; make it again from its source."
        )
    if shape[1] < 1:
        raise FileError(f"{name}: its matrix has no columns; check how it was made.")
    if kind != "csr" and shape[0] > _MANY_ROWS + _ROWS_PER_ENTRY * n_entries[0]:
        raise FileError(
            f"{name}: says that it has {shape[0]} rows, but holds {n_entries[0]} values; make it "
            "again or, if nearly all rows are empty, save it by rows (X.tocsr())."
        )
    for key in PARTS[kind][:2]:
        if members[key].header.dtype.kind not in "iu":
            raise FileError(f"{name} ({key}): does not hold integers; make it again.")
    return int(n_entries[0])


def checked_pointers(
    name: str, pointers: Array, start: int, end: int, row: int = 0
) -> npt.NDArray[np.int64]:
    """Pointers, from that of `row` on, that begin at `start`, ascend and stay up to `end`."""
    checked = pointers.astype(np.int64)
    falls = np.flatnonzero(np.diff(checked) < 0)
    if len(falls) or checked[0] != start or checked[-1] > end:
        raise misfit(name, row + int(falls[0]) if len(falls) else row)
    return checked


def misfit(name: str, row: int) -> FileError:
    """The error about pointers that do not fit the values."""
    return FileError(f"{name} (indptr): does not fit the values at row {row}; make it again.")


def rows_of_whole(
    name: str, kind: str, members: dict[str, Member], shape: tuple[int, int]
) -> sparse.csr_array:
    """The rows of a matrix by columns or by entries, all of it in memory."""
    first, second, data = (member.take(member.header.size) for member in members.values())
    if kind == "csc":
        pointers = checked_pointers(name, first, 0, len(data))
        if pointers[-1] != len(data):
            raise misfit(name, len(pointers) - 2)
        rows, columns = second, np.repeat(np.arange(shape[1]), np.diff(pointers))
    else:
        rows, columns = first, second
    for what, places, size in (("row", rows, shape[0]), ("column", columns, shape[1])):
        if len(places) and not 0 <= int(places.min()) <= int(places.max()) < size:
            strange = places[(places < 0) | (places >= size)][0]
            raise DataError(
                f"{name}: has an entry in {what} {strange}, outside 0 to {size - 1}; the file is "
                "damaged, make it again."
            )
    where = (rows.astype(np.int64, copy=False), columns.astype(np.int64, copy=False))
    data = data.astype(value_type(data.dtype, name))
    return sparse.csr_array(sparse.coo_array((data, where), shape=shape))


LABEL_NAMES = ("y", "labels")

_POINTERS = 1 << 16  # row pointers read at a time
_LABEL_KINDS = "biufUS"
_SHORT_BYTES = 64  # of what SciPy says in a word or a number
_LABEL_BYTES = 4096  # of one label: 1024 characters
_ENTRIES_PER_COLUMN = 4  # of one row, which should have one and is unpacked at once


class NpzReader(FileRows):
    """Rows of a sparse matrix that `scipy.sparse.save_npz` or `write_rows` wrote."""

    format = "npz"

    def __init__(self, path: PathLike, options: ReadOptions) -> None:
        super().__init__(path, options)
        with self._open() as archive:
            keys = {key.removesuffix(".npy") for key in archive.namelist()}
            self._kind = self._matrix_format(archive, keys)
            members = self._members(archive)
            shape = self._short(archive, "shape", "iu", 2)
            self._shape = self.n_rows, self.n_columns = int(shape[0]), int(shape[1])
            self._nnz = require_parts(self.name, self._kind, members, self._shape)
            value_type(members["data"].header.dtype, self.name)
            label_names = LABEL_NAMES if options.labels else ()
            self._label_key = next((key for key in label_names if key in keys), None)
            if self._label_key:
                self._require_labels(Member(archive, self._label_key, self.name).header)
        require_columns(self, options.n_columns)

    @contextlib.contextmanager
    def _open(self) -> Iterator[zipfile.ZipFile]:
        with self._source.open() as file:
            self.n_bytes = os.fstat(file.fileno()).st_size
            with reading(self.name, "npz"):
                archive = zipfile.ZipFile(file)
            with archive:
                yield archive

    def _members(self, archive: zipfile.ZipFile) -> dict[str, Member]:
        return {key: Member(archive, key, self.name) for key in PARTS[self._kind]}

    def _short(self, archive: zipfile.ZipFile, key: str, kinds: str, size: int) -> Array:
        member = Member(archive, key, self.name)
        dtype = member.header.dtype
        if dtype.kind not in kinds or dtype.itemsize > _SHORT_BYTES or member.header.size != size:
            raise FileError(f"{self.name} ({key}): is not what SciPy writes there; make it again.")
        return member.take(size)

    def _matrix_format(self, archive: zipfile.ZipFile, keys: set[str]) -> str:
        """What SciPy calls the format of the matrix: one of those that can be read."""
        remedy = "save it with scipy.sparse.save_npz(path, X.tocsr())"
        if not {"format", "shape"} <= keys:
            shown = ", ".join(sorted(keys)[:5]) or "nothing"
            raise FileError(f"{self.name}: holds {shown}, not a sparse matrix; {remedy}.")
        kind = self._short(archive, "format", "SU", 1)[0]
        kind = kind.decode("ascii", "replace") if isinstance(kind, bytes) else str(kind)
        if kind not in PARTS:
            raise FileError(f"{self.name}: holds a matrix in format {kind!r}; {remedy}.")
        if missing := set(PARTS[kind]) - keys:
            names = ", ".join(sorted(missing))
            raise FileError(f"{self.name}: lacks the arrays {names}; {remedy}.")
        return kind

    def _require_labels(self, header: NpyHeader) -> None:
        if header.shape != (self.n_rows,) or header.dtype.kind not in _LABEL_KINDS:
            raise DataError(
                f"{self.name} ({self._label_key}): has shape {header.shape} and type "
                f"{header.dtype} for {self.n_rows} rows; give one number or string per row."
            )
        if header.dtype.itemsize > _LABEL_BYTES:
            raise DataError(
                f"{self.name} ({self._label_key}): labels of type {header.dtype} take "
                f"{header.dtype.itemsize:,} bytes each; use {_LABEL_BYTES:,} or fewer."
            )

    def batches(self, first_row: int = 0) -> Iterator[Batch]:
        """As of `RowReader`; values of the rows before are unpacked and not looked at."""
        with self._open() as archive:
            members = self._members(archive)
            labels = Member(archive, self._label_key, self.name) if self._label_key else None
            is_csr, n_done = self._kind == "csr", 0
            blocks = self._csr_blocks(members, first_row) if is_csr else self._all_blocks(members)
            for row, rows in blocks:
                y = None
                if labels is not None:
                    labels.skip(row - n_done)
                    y = self._labels(labels, len(rows), row)
                n_done = row + len(rows)
                yield Batch(rows, y, row, self._share_done(n_done))

    def _all_blocks(self, members: dict[str, Member]) -> Iterator[tuple[int, Rows]]:
        """Blocks of a matrix that is in memory as a whole, each with its first row."""
        X = rows_of_whole(self.name, self._kind, members, self._shape)
        capacity = max(1, self._batch_bytes // 12)
        for start, stop in row_blocks(X.indptr.astype(np.int64), capacity):
            block = X[start:stop]
            arrays = block.indptr, block.indices, block.data
            yield start, clean_arrays(*arrays, self.n_columns, self.name, start)

    def _csr_blocks(self, members: dict[str, Member], first_row: int) -> Iterator[tuple[int, Rows]]:
        """Blocks of a matrix by rows, each unpacked by itself, with its first row."""
        pointers, indices, data = members.values()
        item = indices.header.dtype.itemsize + data.header.dtype.itemsize
        capacity = max(1, self._batch_bytes // item)
        n_rows = self._shape[0]
        indptr = checked_pointers(self.name, pointers.take(1), 0, 0)
        for row in range(0, n_rows, _POINTERS):
            more = np.concatenate([indptr[-1:], pointers.take(min(_POINTERS, n_rows - row))])
            indptr = checked_pointers(self.name, more, int(indptr[-1]), self._nnz, row)
            if row + len(indptr) - 1 <= first_row:
                for member in (indices, data):
                    member.skip(int(indptr[-1] - indptr[0]))
                continue
            for start, stop in row_blocks(indptr, capacity):
                count = int(indptr[stop] - indptr[start])
                if count > max(capacity, _ENTRIES_PER_COLUMN * self.n_columns):
                    raise DataError(
                        f"{self.name}: row {row + start} has {count:,} entries for "
                        f"{self.n_columns:,} columns; add up its duplicates first."
                    )
                arrays = indptr[start : stop + 1] - indptr[start], indices.take(count)
                values = data.take(count)
                first = row + start
                yield first, clean_arrays(*arrays, values, self.n_columns, self.name, first)
        if indptr[-1] != self._nnz:
            raise misfit(self.name, n_rows - 1)

    def _labels(self, member: Member, count: int, first_row: int) -> Array:
        y = member.take(count)
        if y.dtype.kind == "S":
            with reading(self.name, "npz"):
                y = np.char.decode(y, "utf-8")
        return checked_labels(self.name, y.astype(y.dtype.newbyteorder("="), copy=False), first_row)


def row_blocks(indptr: npt.NDArray[np.int64], capacity: int) -> Iterator[tuple[int, int]]:
    """Rows, start to stop, with at most `capacity` values together, or one row alone."""
    start = 0
    while start < len(indptr) - 1:
        stop = int(np.searchsorted(indptr, indptr[start] + capacity, "right")) - 1
        stop = max(start + 1, stop)
        yield start, stop
        start = stop


class NpzWriter:
    """Gathers the arrays in unnamed temporary files beside the target, then zips them."""

    def __init__(self, file: IO[bytes], target: Path) -> None:
        self._file = file
        self._stack = contextlib.ExitStack()
        self._spools = {
            key: self._stack.enter_context(
                tempfile.TemporaryFile(dir=target.parent)  # noqa: SIM115
            )
            for key in ("indptr", "indices", "data")
        }
        self._n_rows, self._nnz, self._n_columns = 0, 0, 1
        self._value_type: np.dtype[Any] = np.dtype(np.float64)
        self._index_type: np.dtype[Any] = np.dtype(np.int32)
        self._labels: list[Array] = []

    def write(self, rows: Rows, y: Array | None) -> None:
        """Add rows."""
        if self._n_rows == 0:
            self._value_type, self._index_type = rows.data.dtype, rows.indices.dtype
            self._n_columns = rows.n_columns
        rows = rows.compact()
        self._spools["indptr"].write((rows.indptr[1:] + self._nnz).tobytes())
        self._spools["indices"].write(np.ascontiguousarray(rows.indices).data)
        self._spools["data"].write(np.ascontiguousarray(rows.data).data)
        self._n_rows += len(rows)
        self._nnz += rows.nnz
        if y is not None:
            self._labels.append(y)

    def finish(self) -> None:
        """Zip what was gathered, with no date in it: equal rows make equal bytes."""
        with zipfile.ZipFile(self._file, "w", zipfile.ZIP_DEFLATED) as archive:
            if self._labels:
                _add(archive, "y", np.concatenate(self._labels))
            _add(archive, "format", np.array(b"csr"))
            _add(archive, "shape", np.array([self._n_rows, self._n_columns], np.int64))
            _add(archive, "_is_array", np.array(True))
            self._copy(archive, "indptr", self._n_rows + 1, np.dtype(np.int64), bytes(8))
            self._copy(archive, "indices", self._nnz, self._index_type)
            self._copy(archive, "data", self._nnz, self._value_type)

    def close(self) -> None:
        """Delete the temporary files."""
        self._stack.close()

    def _copy(
        self, archive: zipfile.ZipFile, key: str, size: int, dtype: np.dtype[Any],
        first: bytes = b"",
    ) -> None:  # fmt: skip
        spool = self._spools[key]
        spool.seek(0)
        with archive.open(_entry(key), "w", force_zip64=True) as out:
            write_header(out, (size,), dtype)
            out.write(first)
            shutil.copyfileobj(spool, out, 1 << 20)


def _add(archive: zipfile.ZipFile, key: str, array: Array) -> None:
    with archive.open(_entry(key), "w", force_zip64=True) as out:
        np.lib.format.write_array(out, array, allow_pickle=False)


def _entry(key: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(f"{key}.npy", date_time=(1980, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def require_arrays(path: PathLike, head: bytes) -> None:
    """Refuse a zip that holds no arrays."""
    with open_file(path) as file, reading(str(path), "zip"):
        names = zipfile.ZipFile(file).namelist()
    if not any(name.endswith(".npy") for name in names):
        raise FileError(f"{path}: a zip without arrays; give rows in .npz, .npy, Parquet or text.")


FORMATS = {
    "npz": Format(
        "npz", (".npz",), (b"PK\x03\x04", b"PK\x05\x06"), NpzReader, NpzWriter, require_arrays
    )
}
