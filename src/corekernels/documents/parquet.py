"""Documents in Parquet files."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from .._core.arguments import PathLike
from ..errors import DataError
from ..io.atomic import atomic_write
from ..io.provenance import reading
from .file import (
    ArrowDocuments,
    Chosen,
    Copied,
    DocumentFile,
    missing_column,
    numbered,
    pyarrow,
)

_MOST_ROWS = 1 << 20  # per batch


class ParquetDocuments(DocumentFile):
    """The rows of a Parquet file."""

    format = "parquet"

    def __init__(self, path: PathLike) -> None:
        self.name = os.fspath(path)
        with self._opened() as file:
            self.n_rows = int(file.metadata.num_rows)
            self._names = list(file.schema_arrow.names)
        self.n_bytes = os.path.getsize(path)

    def documents(
        self, columns: Sequence[str], batch_bytes: int, start: int = 0
    ) -> Iterator[ArrowDocuments]:
        """All documents, in batches."""
        for name in columns:
            if name not in self._names:
                raise missing_column(self.name, name, self._names)
        first = 0
        for batch in self._batches(columns, batch_bytes):
            numbers = numbered(first, batch.num_rows)
            first += batch.num_rows
            yield ArrowDocuments(self.name, numbers, self._bytes_done(first), batch)

    @contextlib.contextmanager
    def create(self, target: Path) -> Iterator[Any]:
        """A Parquet file of the same columns and compression."""
        module = pyarrow("parquet")
        with self._opened() as file:
            schema, compression = file.schema_arrow, "snappy"
            if file.metadata.num_row_groups and len(schema):
                compression = file.metadata.row_group(0).column(0).compression
        with atomic_write(target) as out, module.ParquetWriter(
            out, schema, compression=compression
        ) as writer:  # fmt: skip
            yield writer

    def copy(self, chosen: Chosen, out: Any, batch_bytes: int) -> Iterator[Copied]:
        """Append the chosen rows."""
        arrow = pyarrow()
        with self._opened() as file:
            schema = file.schema_arrow
        if not schema.equals(out.schema):
            raise DataError(
                f"{self.name}: has other columns than the first file; write them apart."
            )
        first_row = n_written = 0
        for batch in self._batches(None, batch_bytes):
            wanted = chosen(first_row, batch.num_rows)
            first_row += batch.num_rows
            n_written += int(wanted.sum())
            if wanted.any():
                out.write_batch(batch.filter(arrow.array(wanted)))
            yield Copied(n_written, self._bytes_done(first_row))

    def _batches(self, columns: Sequence[str] | None, batch_bytes: int) -> Iterator[Any]:
        """Batches of rows, none empty."""
        with self._opened() as file:
            about = file.metadata
            names = None if columns is None else set(columns)
            groups = (about.row_group(number) for number in range(about.num_row_groups))
            size = sum(
                group.column(place).total_uncompressed_size
                for group in groups
                for place in range(group.num_columns)
                if names is None or group.column(place).path_in_schema.partition(".")[0] in names
            )
            n_rows = min(_MOST_ROWS, max(1, batch_bytes * max(1, about.num_rows) // max(1, size)))
            wanted = None if columns is None else list(dict.fromkeys(columns))
            for batch in file.iter_batches(batch_size=n_rows, columns=wanted):
                if batch.num_rows:
                    yield batch

    @contextlib.contextmanager
    def _opened(self) -> Iterator[Any]:
        module = pyarrow("parquet")
        with reading(self.name, "Parquet"), module.ParquetFile(self.name) as file:
            yield file

    def _bytes_done(self, rows_done: int) -> int:
        return (self.n_bytes or 0) * rows_done // max(1, self.n_rows or 0)
