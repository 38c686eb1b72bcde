"""Rows of parts in files that are mapped into memory, so that any of them can be looked up.

A row is known by one number: that of its part, times 2^40, and its place in the part.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy import sparse

from .._core.types import Array
from .._core.validation import Rows, as_matrix, clean_rows
from ..io.containers import load_arrays, save_arrays
from ..io.readers import Batch, RowReader

PLACE_BITS = 40
_KIND, _VERSION = "rows", 1


def row_ids(part: int, n_rows: int) -> Array:
    """The numbers of the rows of a part."""
    return (np.int64(part) << PLACE_BITS) + np.arange(n_rows)


def parts_and_places(ids: Array) -> tuple[Array, Array]:
    """The parts of rows, and their places there."""
    return ids >> PLACE_BITS, ids & ((1 << PLACE_BITS) - 1)


def store_rows(folder: Path, part: int, reader: RowReader) -> Rows:
    """Write the clean rows of a reader; the rows."""
    pieces = [
        clean_rows(as_matrix(batch.X, reader.name), reader.name).compact() for batch in reader
    ]
    lengths = np.concatenate([np.zeros(1, np.int64), *(rows.lengths for rows in pieces)])
    empty = np.empty(0, np.int32), np.empty(0, np.float32)
    indices = np.concatenate([rows.indices for rows in pieces]) if pieces else empty[0]
    data = np.concatenate([rows.data for rows in pieces]) if pieces else empty[1]
    arrays = {"indptr": np.cumsum(lengths), "indices": indices, "data": data}
    about = {"n_columns": reader.n_columns}
    save_arrays(_file(folder, part), _KIND, _VERSION, arrays, about, durable=False, shared=True)
    return stored_rows(folder, part)


def stored_rows(folder: Path, part: int) -> Rows:
    """The rows of a part, mapped into memory."""
    arrays, about = load_arrays(_file(folder, part), _KIND, _VERSION)
    return Rows(arrays["indptr"], arrays["indices"], arrays["data"], about["n_columns"])


class GatheredRows(RowReader):
    """Rows of several parts, looked up by their numbers, which ascend; numbered from 0 here."""

    format = "rows"

    def __init__(self, folder: Path, ids: Array) -> None:
        super().__init__(str(folder), 0, None)
        parts, places = parts_and_places(ids)
        blocks = []
        for part in np.unique(parts).tolist():
            rows = stored_rows(folder, part).take(places[parts == part])
            shape = (len(rows), rows.n_columns)
            blocks.append(sparse.csr_array((rows.data, rows.indices, rows.indptr), shape=shape))
        self._X = sparse.csr_array(sparse.vstack(blocks, format="csr"))
        self.n_rows, self.n_columns = self._X.shape

    @property
    def lengths(self) -> Array:
        """Nonzeros of each row."""
        found: Array = np.diff(self._X.indptr).astype(np.int32)
        return found

    def _batches(self) -> Iterator[Batch]:
        yield Batch(self._X, None, 0, 0)


def _file(folder: Path, part: int) -> Path:
    return folder / f"rows-{part:05d}"
