"""Documents in Parquet files."""

import contextlib
import itertools
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._core.arguments import PathLike
from ..errors import DataError
from ..io.atomic import atomic_write
from ..io.provenance import reading
from ..io.streams import MAX_RECORD_BYTES
from .file import ArrowDocuments, DocumentFile, missing_column, numbered, pyarrow

_MOST_ROWS = 1 << 20  # per batch
_INDEX_BYTES = 4  # of a value that is stored as its place in a list


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
        self, columns: Sequence[str] | None, batch_bytes: int, start: int = 0
    ) -> Iterator[ArrowDocuments]:
        """All documents, in batches."""
        for name in columns or ():
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

    def _batches(self, columns: Sequence[str] | None, batch_bytes: int) -> Iterator[Any]:
        """Batches of rows, none empty."""
        with self._opened() as file:
            repeated = set() if columns is None else _repeated(file.metadata)
        with self._opened(repeated) as file:
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
            names_read = None if columns is None else list(dict.fromkeys(columns))
            for batch in file.iter_batches(batch_size=n_rows, columns=names_read):
                yield from self._slices(batch, batch_bytes)

    def _slices(self, batch: Any, n_bytes: int) -> Iterator[Any]:
        """Rows of a batch, at least one, whose values take about so many bytes once decoded.

        A value that comes often is stored once, so that a small file may hold a lot of text.
        """
        arrow, compute = pyarrow(), pyarrow("compute")
        sizes = np.zeros(batch.num_rows, np.int64)
        for column in batch.columns:
            if arrow.types.is_dictionary(column.type):
                with contextlib.suppress(arrow.ArrowNotImplementedError):  # no text
                    lengths = compute.binary_length(column.dictionary).take(column.indices)
                    sizes += lengths.fill_null(0).to_numpy(zero_copy_only=False)
        if sizes.max(initial=0) > MAX_RECORD_BYTES:
            raise DataError(
                f"{self.name}: a document is longer than {MAX_RECORD_BYTES:,} bytes; cut it."
            )
        cuts = np.flatnonzero(np.diff(np.cumsum(sizes) // n_bytes, prepend=0)).tolist()
        for start, stop in itertools.pairwise(sorted({0, *cuts, batch.num_rows})):
            some = batch.slice(start, stop - start)
            columns = [
                column.dictionary_decode() if arrow.types.is_dictionary(column.type) else column
                for column in some.columns
            ]
            yield arrow.RecordBatch.from_arrays(columns, batch.schema.names)

    @contextlib.contextmanager
    def _opened(self, dictionaries: Iterable[str] = ()) -> Iterator[Any]:
        module = pyarrow("parquet")
        with (
            reading(self.name, "Parquet"),
            module.ParquetFile(self.name, read_dictionary=list(dictionaries)) as file,
        ):
            yield file

    def _bytes_done(self, rows_done: int) -> int:
        return (self.n_bytes or 0) * rows_done // max(1, self.n_rows or 0)


def _repeated(about: Any) -> set[str]:
    """Columns that are stored as a list of different values and a few bytes for each row."""
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    return {
        chunk.path_in_schema
        for chunk in chunks
        if chunk.has_dictionary_page
        and chunk.total_compressed_size - (chunk.data_page_offset - chunk.dictionary_page_offset)
        <= _INDEX_BYTES * chunk.num_values
    }
