"""Some consecutive rows of a file, seen as a file of their own."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..errors import DataError
from .provenance import Origin
from .readers import Batch, RowReader, rows_of


class RowRange(RowReader):
    """Rows `first_row` to `first_row + n_rows` of a reader; they count from 0 here.

    Errors of the reader itself still name rows as they are numbered in the whole file.
    """

    n_rows: int

    def __init__(self, reader: RowReader, first_row: int, n_rows: int) -> None:
        super().__init__(reader.name, 0, None)
        self._reader, self._first_row, self.n_rows = reader, first_row, n_rows
        self.n_columns, self.format, self.one_based = (
            reader.n_columns, reader.format, reader.one_based,
        )  # fmt: skip

    @property
    def notes(self) -> Sequence[str]:
        """What the reader noted."""
        return self._reader.notes

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
