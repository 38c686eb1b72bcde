"""What every reader is: a file seen as batches of rows."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Self, TypeVar

import numpy as np
from scipy import sparse

from .._core.arguments import Array, PathLike
from .._core.progress import Progress, progress_bar
from .._core.validation import Rows, as_matrix, clean_rows
from ..errors import DataError
from .provenance import Origin


@dataclass(frozen=True, eq=False)
class Batch:
    """Some consecutive rows of a file.

    Attributes
    ----------
    rows : Rows
        Clean: values are finite and not zero, columns ascend in each row.
    y : ndarray or None
        One label per row: integers, floats, booleans or strings.
    first_row : int
        Number of the first row in the file, from 0.
    bytes_done : int
        How far the file, as stored, has been read.
    names : list of str or None
        What the rows are called in results, if not by their numbers.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("rows.svm", [[0, 1.5], [2, 0]], [1, -1])
    >>> batch = next(iter(ck.io.open_rows("rows.svm")))
    >>> len(batch), batch.X.shape, batch.y.tolist()
    (2, (2, 2), [1, -1])
    """

    rows: Rows
    y: Array | None = None
    first_row: int = 0
    bytes_done: int = 0
    names: list[str] | None = None

    @classmethod
    def of(
        cls, matrix: Any, y: Array | None = None, first_row: int = 0, bytes_done: int = 0,
        name: str = "X",
    ) -> Self:  # fmt: skip
        """A batch of the rows of any matrix, which are cleaned; `name` is that of the file."""
        rows = clean_rows(as_matrix(matrix, name), name, first_row=first_row)
        return cls(rows, y, first_row, bytes_done)

    @property
    def X(self) -> sparse.csr_array:
        """The rows as a SciPy matrix, whose arrays are read-only."""
        return self.rows.matrix()

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, start: int, stop: int) -> "Batch":
        """Rows start to stop of these."""
        y = None if self.y is None else self.y[start:stop]
        names = None if self.names is None else self.names[start:stop]
        rows = self.rows.block(start, stop).compact()
        return Batch(rows, y, self.first_row + start, self.bytes_done, names)

    def take(self, places: Array) -> "Batch":
        """Some of the rows, in the order of their places; the first keeps the number of these."""
        y = None if self.y is None else self.y[places]
        names = None if self.names is None else [self.names[place] for place in places]
        return replace(self, rows=self.rows.take(places), y=y, names=names)


def kept_places(first: int, n: int, dropped: Array) -> Array:
    """Places of those of n numbers, consecutive from `first` on, that are not among the dropped."""
    start, stop = np.searchsorted(dropped, [first, first + n])
    return np.delete(np.arange(n), dropped[start:stop] - first)


AnyBatch = TypeVar("AnyBatch", bound=Any)


class BlockStart(NamedTuple):
    """Where reading of text can begin: numbers of a row, a line (from 1) and a byte."""

    row: int
    line: int
    byte: int


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
    notes : sequence of str
        What a user should know about how the file was read.
    provenance : list of Origin
        Where the rows come from.
    one_based : bool or None
        Whether columns of svmlight text count from 1; None for other formats.
    column_names : tuple of str or None
        What the columns are called, if each is a column of a Parquet file.
    has_names : bool
        Whether rows have names, as documents may.
    settings : text.TextSettings or None
        How text became rows, if it did.
    integer_labels : bool or None
        Whether all labels of svmlight text are integers; None where only reading would tell.
    block_starts : sequence of BlockStart
        Where reading of text can begin; another reader of the same file may be given them.

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

    format: str
    name: str
    n_columns: int
    n_rows: int | None = None
    n_bytes: int | None = None
    is_stream: bool = False
    holds: Literal["rows"] = "rows"
    one_based: bool | None = None
    column_names: tuple[str, ...] | None = None
    unit = "row"  # what messages call one of them
    has_names = False
    settings: Any = None
    integer_labels: bool | None = None
    block_starts: Sequence[BlockStart] = ()
    first_rows: Sequence[int] = (0,)  # of the files that have been begun
    _batch_rows: int | None = None

    def __init__(self, name: str) -> None:
        self.name = name
        self._notes: list[str] = []

    @abstractmethod
    def batches(self, first_row: int = 0) -> Iterator[Batch]:
        """Batches from row `first_row` to the end, none empty; rows before it may come along.

        Formats that can skip rows without reading them do so.
        """

    def __iter__(self) -> Iterator[Batch]:
        batches = self.batches()
        return batches if self._batch_rows is None else regrouped(batches, self._batch_rows)

    def batches_from(self, first_row: int) -> Iterator[Batch]:
        """Batches from exactly row `first_row` to the end."""
        for batch in self.batches(first_row):
            start = max(0, first_row - batch.first_row)
            if start < len(batch):
                yield batch.part(start, len(batch)) if start else batch

    @property
    def notes(self) -> Sequence[str]:
        """What a user should know about how the file was read."""
        return self._notes

    @property
    def paths(self) -> list[str]:
        """The files that are read."""
        return [self.name]

    @property
    def sources(self) -> set[str]:
        """Names of the files in the origins of the rows."""
        return {os.path.basename(self.name)}

    def names(self, rows: Array, progress: Progress = False) -> dict[int, str]:
        """What some rows are called, by their numbers; empty if they have no names."""
        return {}

    def texts(self, rows: Array, progress: Progress = False) -> dict[int, str]:
        """The texts that some rows were made from, by their numbers; empty if there are none."""
        return {}

    def values(self, column: str, rows: Array, progress: Progress = False) -> dict[int, str]:
        """A column of some documents as text, by their numbers."""
        raise DataError(f"{self.name}: holds rows, not documents with a column {column!r}.")

    def write_without(self, target: PathLike, dropped: Array, progress: Progress = False) -> int:
        """Write all rows and labels but some, whose numbers ascend; how many are written."""
        from .rows import RowWriter  # which writes what readers read

        n_rows = 0
        with RowWriter(target) as writer:
            for batch in with_progress(self, "writing", progress):
                kept = batch.take(kept_places(batch.first_row, len(batch), dropped))
                if len(kept):
                    writer.write(kept.rows, kept.y)
                    n_rows += len(kept)
        return n_rows

    def about(self) -> dict[str, Any]:
        """How rows are read, as JSON holds it; with equal files, it says that rows are equal."""
        return {"n_columns": self.n_columns, "one_based": self.one_based}

    @property
    def provenance(self) -> list[Origin]:
        """This file, whole."""
        return [self.origin(0, self.n_rows or 0)]

    def origin(self, first_row: int, n_rows: int) -> Origin:
        """These rows of the file as an `Origin`, which a file made of them keeps."""
        name, names = os.path.basename(self.name), self.column_names
        return Origin(name, first_row, n_rows, self.one_based, column_names=names)

    def origins(self, first_row: int, n_rows: int) -> list[Origin]:
        """Where rows that have been read came from: one `Origin` for each file they are from."""
        return [self.origin(first_row, n_rows)]

    def _note(self, text: str) -> None:
        if text not in self._notes:
            self._notes.append(text)

    def _share_done(self, rows_done: int) -> int:
        """Bytes done, in proportion to the rows done."""
        return (self.n_bytes or 0) * rows_done // max(1, self.n_rows or 0)


def require_rows(reader: Any) -> RowReader:
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


def with_progress(reader: Iterable[AnyBatch], what: str, progress: Progress) -> Iterator[AnyBatch]:
    """The batches of a reader, with a progress bar."""
    n_bytes = getattr(reader, "n_bytes", None)
    with progress_bar(n_bytes, what, "B", progress, unit_scale=True) as bar:
        for batch in reader:
            yield batch
            bar.update(batch.bytes_done - bar.n)
            bar.set_postfix_str(f"{batch.first_row + len(batch):,} rows", refresh=False)


def read_all(reader: "RowReader", progress: Progress = False) -> Batch:
    """All rows of a reader in one batch; a `DataError` if there are none."""
    batches = list(with_progress(reader, "reading", progress))
    if not batches:
        raise DataError(f"{reader.name}: holds no rows.")
    return joined(batches)


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
            yield whole.part(start, start + n_rows)
        n_waiting %= n_rows
        waiting = [whole.part(len(whole) - n_waiting, len(whole))] if n_waiting else []
    if waiting:
        yield joined(waiting)


def joined(batches: Sequence[Batch]) -> Batch:
    """One batch of the rows of several."""
    first, last = batches[0], batches[-1]
    if first is last:
        return first
    labels = [batch.y for batch in batches if batch.y is not None]
    y = np.concatenate(labels) if labels else None
    names = None if first.names is None else [n for batch in batches for n in batch.names or ()]
    rows = Rows.concatenate([batch.rows for batch in batches])
    return Batch(rows, y, first.first_row, last.bytes_done, names)


def checked_labels(name: str, y: Array, first_row: int = 0) -> Array:
    """The labels, of which numbers must be finite."""
    if y.dtype.kind == "f" and not (finite := np.isfinite(y)).all():
        place = int(np.argmin(finite))
        raise DataError(
            f"{name}: the label of row {first_row + place} is {y[place]}; give a finite number."
        )
    return y


def plain_labels(y: Any, n_rows: int) -> Array:
    """Labels as one array of booleans, integers, floats or strings."""
    labels = np.asarray(y)
    if labels.dtype == object and all(isinstance(label, str) for label in labels.reshape(-1)):
        labels = labels.astype(np.str_)
    if labels.shape != (n_rows,):
        raise DataError(f"y: has shape {labels.shape} for {n_rows} rows; give one label per row.")
    if labels.dtype.kind not in "biufU":
        raise DataError(f"y: labels are of type {labels.dtype}; use numbers or strings.")
    return checked_labels("y", labels)


class Selected(RowReader):
    """Some rows of a reader, and some of their columns.

    Errors of the reader itself still name rows as they are numbered in the whole file.

    Parameters
    ----------
    reader : RowReader
    first_row, n_rows : int, optional
        Which rows; to the end if `n_rows` is None.
    n_columns : int, optional
        The columns before this one; values in others are left out, and counted in the notes.
    numbered_from : int
        Number of the first row here.
    """

    def __init__(
        self, reader: RowReader, first_row: int = 0, n_rows: int | None = None, *,
        n_columns: int | None = None, numbered_from: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(reader.name)
        self._reader, self._first_row, self._numbered_from = reader, first_row, numbered_from
        self._n_rows, is_whole = n_rows, n_rows is None
        self.format, self.one_based = reader.format, reader.one_based
        self.is_stream = reader.is_stream
        self.n_rows, self.n_bytes = (reader.n_rows, reader.n_bytes) if is_whole else (n_rows, None)
        self.n_columns = reader.n_columns if n_columns is None else n_columns
        names = reader.column_names
        self.column_names = names and names[: self.n_columns]
        self._n_dropped = 0

    @property
    def notes(self) -> Sequence[str]:
        """What the reader noted, and how much was left out."""
        left_out = f"{self._n_dropped:,} values in columns that were not known before were left out"
        return [*self._reader.notes, *([left_out] if self._n_dropped else [])]

    def origin(self, first_row: int, n_rows: int) -> Origin:
        """Where some of the rows came from, numbered as in the whole file."""
        start = self._first_row + first_row - self._numbered_from
        return replace(self._reader.origin(start, n_rows), column_names=self.column_names)

    def batches(self, first_row: int = 0) -> Iterator[Batch]:
        """As of `RowReader`; the reader skips rows before the first one if it can."""
        row = 0  # of those here
        for batch in self._reader.batches_from(self._first_row) if self._n_rows != 0 else ():
            if self._n_rows is not None and row + len(batch) > self._n_rows:
                batch = batch.part(0, self._n_rows - row)
            rows = batch.rows
            if self.n_columns < self._reader.n_columns:
                rows = clean_rows(batch.X[:, : self.n_columns], self.name)
                self._n_dropped += batch.rows.nnz - rows.nnz
            yield replace(batch, rows=rows, first_row=self._numbered_from + row)
            row += len(batch)
            if row == self._n_rows:
                return
        if row < (self._n_rows or 0):
            raise DataError(
                f"{self.name}: has {self._first_row + row} rows where "
                f"{self._first_row + (self._n_rows or 0)} were counted before; do not change files "
                "while they are read."
            )
