"""What every reader of rows gives: batches of CSR rows with their labels."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..errors import DataError

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a file.

    Attributes
    ----------
    X : csr_array, float32 or float64
    y : ndarray or None
        A label a row: integers, floats, booleans or strings.
    first_row : int
        Number of the first row in the file, from 0.
    bytes_done : int
        How far the file, as stored, has been read.
    """

    X: sparse.csr_array
    y: Array | None
    first_row: int
    bytes_done: int


class RowReader(ABC):
    """Rows of one file, batch by batch; every `for` starts at the beginning again.

    Attributes
    ----------
    format, name : str
    n_columns : int
    n_rows : int or None
        None where only reading would tell.
    n_bytes : int or None
        Size as stored; None for a pipe.
    is_stream : bool
        Whether the rows pass only once.
    notes : list of str
        What a user should know about how the file was read.
    """

    format: str
    name: str
    n_columns: int
    n_rows: int | None = None
    n_bytes: int | None = None
    is_stream: bool = False

    def __init__(self, name: str, batch_bytes: int, batch_rows: int | None) -> None:
        self.name = name
        self.notes: list[str] = []
        self._batch_bytes = batch_bytes
        self._batch_rows = batch_rows

    @abstractmethod
    def _batches(self) -> Iterator[Batch]:
        """Batches of about `_batch_bytes`, none of them empty."""

    def __iter__(self) -> Iterator[Batch]:
        batches = self._batches()
        return batches if self._batch_rows is None else regrouped(batches, self._batch_rows)

    def _note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _share_done(self, rows_done: int) -> int:
        """Bytes done, as far as rows tell."""
        return (self.n_bytes or 0) * rows_done // max(1, self.n_rows or 0)


def regrouped(batches: Iterator[Batch], n_rows: int) -> Iterator[Batch]:
    """The same rows in batches of exactly `n_rows`, the last one aside."""
    waiting: list[Batch] = []
    n_waiting = 0
    for batch in batches:
        waiting.append(batch)
        n_waiting += batch.X.shape[0]
        if n_waiting < n_rows:
            continue
        whole = joined(waiting)
        for start in range(0, n_waiting - n_rows + 1, n_rows):
            yield _rows_of(whole, start, start + n_rows)
        n_waiting %= n_rows
        waiting = [_rows_of(whole, whole.X.shape[0] - n_waiting, None)] if n_waiting else []
    if waiting:
        yield joined(waiting)


def joined(batches: list[Batch]) -> Batch:
    """One batch of the rows of several."""
    first, last = batches[0], batches[-1]
    if first is last:
        return first
    X = sparse.vstack([batch.X for batch in batches], format="csr")
    labels = [batch.y for batch in batches if batch.y is not None]
    y = np.concatenate(labels) if labels else None
    return Batch(sparse.csr_array(X), y, first.first_row, last.bytes_done)


def _rows_of(batch: Batch, start: int, stop: int | None) -> Batch:
    y = None if batch.y is None else batch.y[start:stop]
    return Batch(batch.X[start:stop], y, batch.first_row + start, batch.bytes_done)


def checked_rows(
    name: str, indptr: Array, indices: Array, data: Array, n_columns: int, first_row: int
) -> sparse.csr_array:
    """CSR rows of arrays that came from a file; their row pointers are known to be sound."""

    def row_of(wrong: Array) -> int:
        return first_row + int(np.searchsorted(indptr, np.flatnonzero(wrong)[0], "right")) - 1

    if len(indices) and (int(indices.min()) < 0 or int(indices.max()) >= n_columns):
        strange = (indices < 0) | (indices >= n_columns)
        raise DataError(
            f"{name}: row {row_of(strange)} has the column {indices[strange][0]}, outside 0 to "
            f"{n_columns - 1}; the file is damaged or n_columns too small."
        )
    finite = np.isfinite(data)
    if not finite.all():
        what = "NaN" if np.isnan(data).any() else "infinity"
        raise DataError(
            f"{name}: row {row_of(~finite)} contains {what}; fill or drop such values first."
        )
    index_type = np.int32 if n_columns <= np.iinfo(np.int32).max else np.int64
    return sparse.csr_array(
        (data, indices.astype(index_type, copy=False), indptr), shape=(len(indptr) - 1, n_columns)
    )


def checked_labels(name: str, y: Array, first_row: int) -> Array:
    """Labels that came from a file, numbers among them finite."""
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        row = first_row + int(np.flatnonzero(~np.isfinite(y))[0])
        raise DataError(f"{name}: the label of row {row} is {y[row - first_row]}; give a number.")
    return y
