"""Rows of two files, one after the other."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..errors import DataError
from .provenance import Origin
from .readers import Batch, RowReader


class Chained(RowReader):
    """The rows of one reader, then those of another, under consecutive numbers.

    Attributes are those of `RowReader`, and:

    Attributes
    ----------
    boundary : int
        Number of the second reader's first row, known once all rows were read.
    """

    boundary: int

    def __init__(self, first: RowReader, second: RowReader) -> None:
        super().__init__(f"{first.name} and {second.name}", 0, None)
        if first.n_columns != second.n_columns:
            raise DataError(
                f"{first.name}: has {first.n_columns} columns, {second.name} has "
                f"{second.n_columns}; give files over the same columns (n_columns)."
            )
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
