"""Rows of other readers: some of them, under other numbers, less some columns, or of two files."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..errors import DataError
from .provenance import Origin, require_same_names
from .readers import Batch, RowReader, rows_of


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


class Chained(RowReader):
    """The rows of one reader, then those of another, under consecutive numbers."""

    boundary: int  # number of the second reader's first row, known once all rows were read

    def __init__(self, first: RowReader, second: RowReader) -> None:
        super().__init__(f"{first.name} and {second.name}", 0, None)
        if first.n_columns != second.n_columns:
            raise DataError(
                f"{first.name}: has {first.n_columns} columns, {second.name} has "
                f"{second.n_columns}; give files over the same columns (n_columns)."
            )
        require_same_names(second.name, second.provenance, first.provenance)
        self._first, self._second = first, second
        self.format, self.n_columns = first.format, first.n_columns
        sizes = first.n_bytes, second.n_bytes
        self.n_bytes = None if None in sizes else sum(size or 0 for size in sizes)
        self.is_stream = first.is_stream or second.is_stream

    @property
    def notes(self) -> Sequence[str]:
        """What both readers noted."""
        return [*self._first.notes, *self._second.notes]

    @property
    def provenance(self) -> list[Origin]:
        """Both files."""
        return [*self._first.provenance, *self._second.provenance]

    def _batches(self) -> Iterator[Batch]:
        n_rows = 0
        for batch in self._first:
            yield batch
            n_rows = batch.first_row + len(batch)
        self.boundary, n_bytes = n_rows, self._first.n_bytes or 0
        for batch in self._second:
            first_row, bytes_done = batch.first_row + n_rows, batch.bytes_done + n_bytes
            yield replace(batch, first_row=first_row, bytes_done=bytes_done)
