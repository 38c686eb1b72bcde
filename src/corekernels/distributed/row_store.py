"""Rows of parts in files that are mapped into memory, so that any of them can be looked up.

Rows are numbered through all parts; `firsts` holds the number of each part's first row.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._core.arguments import Array
from .._core.validation import Rows, are_clean
from ..errors import CoREError
from ..io.containers import load_arrays, save_arrays
from ..io.readers import Batch, RowReader
from ..neighbors.duplicates.copies import row_digests

_KIND, _VERSION = "rows", 1


class StoredPart(NamedTuple):
    """Rows of a part, their digests of 128 bits, and a stamp that tells if their file changed."""

    rows: Rows
    digests: Array
    stamp: Any


def store_rows(folder: Path, part: int, reader: RowReader, stamp: Any) -> StoredPart:
    """Write the clean rows of a reader; the rows, mapped into memory."""
    pieces = [batch.rows for batch in reader]
    digests = [np.empty((0, 2), np.uint64), *map(row_digests, pieces)]
    lengths = np.concatenate([np.zeros(1, np.int64), *(rows.lengths for rows in pieces)])
    empty = np.empty(0, np.int32), np.empty(0, np.float32)
    arrays = {
        "indptr": np.cumsum(lengths),
        "indices": np.concatenate([rows.indices for rows in pieces]) if pieces else empty[0],
        "data": np.concatenate([rows.data for rows in pieces]) if pieces else empty[1],
        "digests": np.concatenate(digests),
    }
    about = {"n_columns": reader.n_columns, "stamp": stamp}
    save_arrays(_file(folder, part), _KIND, _VERSION, arrays, about, durable=False, shared=True)
    return stored_part(folder, part)


def stored_part(folder: Path, part: int) -> StoredPart:
    """The rows of a part, mapped into memory."""
    arrays, about = load_arrays(_file(folder, part), _KIND, _VERSION)
    rows = Rows(arrays["indptr"], arrays["indices"], arrays["data"], about["n_columns"])
    return StoredPart(rows, arrays["digests"], about["stamp"])


def stored_before(folder: Path, part: int, stamp: Any) -> StoredPart | None:
    """The rows of a part, if an earlier run stored them and the file has not changed since."""
    try:
        found = stored_part(folder, part)
    except (CoREError, OSError):
        return None
    return found if found.stamp == stamp and are_clean(found.rows) else None


def parts_of(firsts: Array, rows: Array) -> Array:
    """The parts that rows are in."""
    return np.searchsorted(firsts, rows, "right") - 1


def stored_lengths(folder: Path, firsts: Array, rows: Array) -> Array:
    """Nonzeros of some rows, whose numbers ascend."""
    out, parts = np.empty(len(rows), np.int64), parts_of(firsts, rows)
    for part in np.unique(parts).tolist():
        mine = parts == part
        places = rows[mine] - firsts[part]
        indptr = stored_part(folder, part).rows.indptr
        out[mine] = indptr[places + 1] - indptr[places]
    return out


class GatheredRows(RowReader):
    """Rows of several parts, looked up by their numbers, which ascend; numbered from 0 here."""

    format = "rows"

    def __init__(self, folder: Path, firsts: Array, rows: Array) -> None:
        super().__init__(str(folder))
        parts, blocks = parts_of(firsts, rows), []
        for part in np.unique(parts).tolist():
            mine = rows[parts == part] - firsts[part]
            blocks.append(stored_part(folder, part).rows.take(mine))
        self._rows = Rows.concatenate(blocks)
        self.n_rows, self.n_columns = len(self._rows), self._rows.n_columns

    @property
    def lengths(self) -> Array:
        """Nonzeros of each row."""
        return self._rows.lengths.astype(np.int32)

    def batches(self, first_row: int = 0) -> Iterator[Batch]:
        """All rows."""
        yield Batch(self._rows)


def _file(folder: Path, part: int) -> Path:
    return folder / f"rows-{part:05d}"
