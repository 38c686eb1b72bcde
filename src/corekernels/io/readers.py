"""What every reader is: a file seen as batches of rows."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np
from scipy import sparse

from .._core.arguments import Array
from .._core.progress import Progress, progress_bar
from .._core.validation import Rows, as_matrix, clean_rows, read_only
from ..errors import DataError
from .provenance import Origin


@dataclass(frozen=True, eq=False)
class Batch:
    """Some consecutive rows of a file.

    Attributes
    ----------
    X : csr_array, float32 or float64
    y : ndarray or None
        One label per row: integers, floats, booleans or strings.
    first_row : int
        Number of the first row in the file, from 0.
    bytes_done : int
        How far the file, as stored, has been read.
    names : list of str or None
        What the rows are called in results, if not by their numbers.
    is_clean : bool
        Whether the rows are known to be clean, as `_core.validation` says.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("rows.svm", [[0, 1.5], [2, 0]], [1, -1])
    >>> batch = next(iter(ck.io.open_rows("rows.svm")))
    >>> len(batch), batch.X.shape, batch.y.tolist()
    (2, (2, 2), [1, -1])
    """

    X: sparse.csr_array
    y: Array | None
    first_row: int
    bytes_done: int
    names: list[str] | None = None
    is_clean: bool = False

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def rows(self, name: str, start: int = 0, stop: int | None = None) -> Rows:
        """Clean rows, all or some, of the file of that name."""
        if not self.is_clean:
            return clean_rows(as_matrix(self.X, name), name, start, stop)
        X = self.X
        rows = Rows(
            read_only(X.indptr, np.int64), read_only(X.indices), read_only(X.data), X.shape[1]
        )
        return rows.block(start, len(self) if stop is None else stop).compact()


class SomeRows(Protocol):
    """What batches of any kind tell about themselves."""

    @property
    def first_row(self) -> int: ...
    @property
    def bytes_done(self) -> int: ...
    def __len__(self) -> int: ...


AnyBatch = TypeVar("AnyBatch", bound=SomeRows)


class Reader(ABC):
    """What readers of rows and of signatures share.

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
    notes : sequence of str
        What a user should know about how the file was read.
    provenance : list of Origin
        Where the rows come from.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("rows.npz", [[0, 1.5], [2, 0]])
    >>> reader = ck.files.open_reader("rows.npz")
    >>> isinstance(reader, ck.io.Reader), reader.n_rows, reader.is_stream
    (True, 2, False)
    """

    format: str
    name: str
    n_columns: int
    n_rows: int | None = None
    n_bytes: int | None = None
    is_stream: bool = False

    @property
    def notes(self) -> Sequence[str]:
        """What a user should know about how the file was read."""
        return ()

    @property
    @abstractmethod
    def provenance(self) -> list[Origin]:
        """Where the rows come from."""


class RowReader(Reader):
    """Rows of one file, batch by batch; every `for` starts at the beginning again.

    Attributes are those of `Reader`, and:

    Attributes
    ----------
    one_based : bool or None
        Whether columns of svmlight text count from 1; None for other formats.
    column_names : tuple of str or None
        What the columns are called, if each is a column of a Parquet file.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("rows.svm", [[0, 1.5], [2, 0]])
    >>> reader = ck.io.open_rows("rows.svm")
    >>> [batch.first_row for batch in reader]
    [0]
    >>> reader.one_based
    True
    """

    one_based: bool | None = None
    column_names: tuple[str, ...] | None = None

    def __init__(self, name: str, batch_bytes: int, batch_rows: int | None) -> None:
        self.name = name
        self._notes: list[str] = []
        self._batch_bytes = batch_bytes
        self._batch_rows = batch_rows

    @abstractmethod
    def _batches(self) -> Iterator[Batch]:
        """Batches of about `_batch_bytes`, none of them empty."""

    def batches_near(self, first_row: int) -> Iterator[Batch]:
        """Batches from row `first_row` to the end, and some before it.

        Formats that can skip rows without reading them do so.
        """
        return self._batches()

    def __iter__(self) -> Iterator[Batch]:
        batches = self._batches()
        return batches if self._batch_rows is None else regrouped(batches, self._batch_rows)

    def batches_from(self, first_row: int) -> Iterator[Batch]:
        """The batches from that row on, with which one must begin."""
        return (batch for batch in self if batch.first_row >= first_row)

    @property
    def notes(self) -> Sequence[str]:
        """What a user should know about how the file was read."""
        return self._notes

    @property
    def provenance(self) -> list[Origin]:
        """This file, whole."""
        return [self.origin(0, self.n_rows or 0)]

    def origin(self, first_row: int, n_rows: int) -> Origin:
        """Where some rows of this file came from, for a file made of them."""
        name, names = os.path.basename(self.name), self.column_names
        return Origin(name, first_row, n_rows, self.one_based, column_names=names)

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)

    def _share_done(self, rows_done: int) -> int:
        """Bytes done, in proportion to the rows done."""
        return (self.n_bytes or 0) * rows_done // max(1, self.n_rows or 0)


def require_rows(reader: Reader) -> RowReader:
    """The reader, which must be one of raw rows."""
    if not isinstance(reader, RowReader):
        raise DataError(f"{reader.name}: holds {reader.format}, not rows; give the raw rows.")
    return reader


def require_columns(reader: RowReader, n_columns: int | None) -> None:
    """Refuse a file that has another number of columns than is wanted."""
    if n_columns is not None and n_columns != reader.n_columns:
        raise DataError(
            f"{reader.name}: has {reader.n_columns} columns where {n_columns} are wanted; "
            "both must describe the same columns."
        )


def watched(reader: Iterable[AnyBatch], what: str, progress: Progress) -> Iterator[AnyBatch]:
    """The batches of a reader, with a progress bar."""
    n_bytes = reader.n_bytes if isinstance(reader, Reader) else None
    with progress_bar(n_bytes, what, "B", progress, unit_scale=True) as bar:
        for batch in reader:
            yield batch
            bar.update(batch.bytes_done - bar.n)
            bar.set_postfix_str(f"{batch.first_row + len(batch):,} rows", refresh=False)


def regrouped(batches: Iterator[Batch], n_rows: int) -> Iterator[Batch]:
    """The same rows in batches of exactly `n_rows`, the last one aside."""
    waiting: list[Batch] = []
    n_waiting = 0
    for batch in batches:
        waiting.append(batch)
        n_waiting += len(batch)
        if n_waiting < n_rows:
            continue
        whole = joined(waiting)
        for start in range(0, n_waiting - n_rows + 1, n_rows):
            yield rows_of(whole, start, start + n_rows)
        n_waiting %= n_rows
        waiting = [rows_of(whole, len(whole) - n_waiting, None)] if n_waiting else []
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
    names = None if first.names is None else [n for batch in batches for n in batch.names or ()]
    return Batch(sparse.csr_array(X), y, first.first_row, last.bytes_done, names)


def rows_of(batch: Batch, start: int, stop: int | None) -> Batch:
    """Some rows of a batch, as a batch."""
    y = None if batch.y is None else batch.y[start:stop]
    names = None if batch.names is None else batch.names[start:stop]
    return Batch(batch.X[start:stop], y, batch.first_row + start, batch.bytes_done, names)


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


class Wrapped(RowReader):
    """The rows of a reader, which tells the same about itself."""

    def __init__(self, reader: RowReader) -> None:
        super().__init__(reader.name, 0, None)
        self._reader = reader
        self.format, self.n_columns = reader.format, reader.n_columns
        self.one_based, self.column_names = reader.one_based, reader.column_names
        self.n_rows, self.n_bytes, self.is_stream = reader.n_rows, reader.n_bytes, reader.is_stream

    @property
    def notes(self) -> Sequence[str]:
        """What the reader noted."""
        return self._reader.notes


class RowRange(Wrapped):
    """Rows `first_row` to `first_row + n_rows` of a reader; they count from 0 here.

    Errors of the reader itself still name rows as they are numbered in the whole file.
    """

    n_rows: int

    def __init__(self, reader: RowReader, first_row: int, n_rows: int) -> None:
        super().__init__(reader)
        self._first_row, self.n_rows, self.n_bytes = first_row, n_rows, None

    def origin(self, first_row: int, n_rows: int) -> Origin:
        """Where some of the rows came from, numbered as in the whole file."""
        return self._reader.origin(self._first_row + first_row, n_rows)

    def _batches(self) -> Iterator[Batch]:
        row = 0
        for batch in self._reader.batches_near(self._first_row) if self.n_rows else ():
            start = self._first_row + row - batch.first_row
            if start >= len(batch):
                continue
            stop = min(len(batch), start + self.n_rows - row)
            yield replace(rows_of(batch, start, stop), first_row=row)
            row += stop - start
            if row == self.n_rows:
                return
        if row < self.n_rows:
            raise DataError(
                f"{self.name}: has {self._first_row + row} rows where "
                f"{self._first_row + self.n_rows} were counted before; do not change files while "
                "they are read."
            )


class Numbered(Wrapped):
    """The rows of a reader, numbered from `first_row`."""

    def __init__(self, reader: RowReader, first_row: int) -> None:
        super().__init__(reader)
        self._first_row = first_row

    def origin(self, first_row: int, n_rows: int) -> Origin:
        """Where some of the rows came from."""
        return self._reader.origin(first_row - self._first_row, n_rows)

    def _batches(self) -> Iterator[Batch]:
        for batch in self._reader:
            yield replace(batch, first_row=batch.first_row + self._first_row)


class Narrowed(Wrapped):
    """The rows of a reader without their last columns."""

    def __init__(self, reader: RowReader, n_columns: int) -> None:
        super().__init__(reader)
        self.n_columns, self._dropped = n_columns, 0
        if self.column_names is not None:
            self.column_names = self.column_names[:n_columns]

    @property
    def notes(self) -> Sequence[str]:
        """What the reader noted, and how much was left out."""
        left = f"{self._dropped:,} values in columns that were not known before were left out"
        return [*self._reader.notes, *([left] if self._dropped else [])]

    def _batches(self) -> Iterator[Batch]:
        for batch in self._reader:
            X = batch.X[:, : self.n_columns]
            self._dropped += batch.X.nnz - X.nnz
            yield replace(batch, X=X)
