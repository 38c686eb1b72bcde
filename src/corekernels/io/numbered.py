"""Rows under other numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .provenance import Origin
from .readers import Batch, RowReader


class Numbered(RowReader):
    """The rows of a reader, numbered from `first_row`."""

    def __init__(self, reader: RowReader, first_row: int) -> None:
        super().__init__(reader.name, 0, None)
        self._reader, self._first_row = reader, first_row
        self.n_columns, self.format, self.one_based = (
            reader.n_columns, reader.format, reader.one_based,
        )  # fmt: skip
        self.n_rows, self.n_bytes, self.is_stream = reader.n_rows, reader.n_bytes, reader.is_stream

    @property
    def notes(self) -> Sequence[str]:
        """What the reader noted."""
        return self._reader.notes

    def origin(self, first_row: int, n_rows: int) -> Origin:
        """Where some of the rows came from."""
        return self._reader.origin(first_row - self._first_row, n_rows)

    def _batches(self) -> Iterator[Batch]:
        for batch in self._reader:
            yield replace(batch, first_row=batch.first_row + self._first_row)
