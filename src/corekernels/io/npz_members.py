"""Arrays in SciPy's `.npz`, and the matrices by columns (CSC) or by entries (COO) made of them."""

import os
import zipfile
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._core.types import Array
from ..errors import DataError, FileError
from .npy import Header, read_header
from .sources import reading

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
            self.header: Header = read_header(self._file, self.name)
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


def checked_pointers(pointers: Array, start: int, end: int) -> npt.NDArray[np.int64] | None:
    """Pointers that begin at `start`, do not decrease and stay up to `end`; None if they do not."""
    found = pointers.astype(np.int64)
    is_sound = found[0] == start and found[-1] <= end and bool((np.diff(found) >= 0).all())
    return found if is_sound else None


def rows_of_whole(
    name: str, kind: str, members: dict[str, Member], shape: tuple[int, int],
    value_type: type[np.floating[Any]],
) -> sparse.csr_array:  # fmt: skip
    """The rows of a matrix by columns or by entries, all of it in memory."""
    first, second, data = (member.take(member.header.size) for member in members.values())
    if kind == "csc":
        pointers = checked_pointers(first, 0, len(data))
        if pointers is None or pointers[-1] != len(data):
            raise FileError(f"{name} (indptr): does not fit the values; make it again.")
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
    return sparse.csr_array(sparse.coo_array((data.astype(value_type), where), shape=shape))
