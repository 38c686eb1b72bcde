"""Rows from and to Parquet: columns `indices` (list of int), `values` (list of float), `label`.

Column numbers count from 0. Their number stands in the file's metadata if we wrote it;
otherwise it is the largest column that the file's statistics, or failing them the
`indices` themselves, show. A file without these two columns is read as dense rows: its columns,
but for the label, are those of the matrix, in the order of the file or of the names that are
asked for. Needs the extra `parquet`.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from .._core.extras import require_extra
from .._core.types import Array, PathLike
from .._core.validation import Rows
from ..errors import DataError, FileError
from .arrow import dense_rows, labels_of_arrow, plain_columns, rows_of_lists
from .format import FileRows, Format, ReadOptions
from .readers import Batch, checked_rows, require_columns
from .sources import reading

_LABEL = "label"  # the column of labels, unless another is named
_COLUMNS_KEY = b"corekernels.n_columns"


def pyarrow() -> Any:
    """The package, imported on use."""
    for module in ("pyarrow.compute", "pyarrow.parquet"):
        require_extra(module, "parquet", "Parquet files")
    return require_extra("pyarrow", "parquet", "Parquet files")


class ParquetReader(FileRows):
    """Rows of a Parquet file."""

    format = "parquet"

    def __init__(self, path: PathLike, options: ReadOptions) -> None:
        super().__init__(path, options)
        n_columns, label = options.n_columns, options.label or _LABEL
        self._arrow = pyarrow()
        with self._source.open() as file:
            self.n_bytes = os.fstat(file.fileno()).st_size
            with reading(self.name, "Parquet"):
                source = self._parquet_file(file)
                schema = source.schema_arrow
                self.n_rows = int(source.metadata.num_rows)
                self._label = label if options.labels and label in schema.names else None
                if options.labels and options.label is not None and self._label is None:
                    raise DataError(
                        f"{self.name}: has no column {label!r} of labels; name one of: "
                        f"{', '.join(schema.names[:8])}."
                    )
                self._plain = self._plain_columns(schema, label, options.column_names)
                stored = int((schema.metadata or {}).get(_COLUMNS_KEY, b"0"))
                known = len(self._plain) or stored or self._largest_column(source) + 1
        if self._plain:
            self.n_columns, self.column_names = known, tuple(self._plain)
            require_columns(self, n_columns)
        if n_columns is not None and n_columns < known:
            raise DataError(
                f"{self.name}: has {known} columns, but there are to be {n_columns}; "
                "pass a larger n_columns."
            )
        self.n_columns = n_columns or known
        if not 0 < self.n_columns < 2**63:
            raise FileError(f"{self.name}: no row has a column; pass n_columns if that is right.")
        self._names = [*(self._plain or ["indices", "values"])]
        if self._label is not None:
            self._names.append(self._label)

    def _parquet_file(self, file: IO[bytes]) -> Any:
        return self._arrow.parquet.ParquetFile(
            file, pre_buffer=False, page_checksum_verification=True
        )

    def _plain_columns(self, schema: Any, label: str, first: Sequence[str] | None) -> list[str]:
        """Names of the columns of the matrix, if they are columns of the file; else none."""
        if {"indices", "values"} & set(schema.names):
            self._require_lists(schema)
            return []
        found = dict.fromkeys(plain_columns(self._arrow, schema, label, self.name))
        known = dict.fromkeys(() if first is None else first)
        missing = [name for name in known if name not in found]
        if missing:
            raise DataError(
                f"{self.name}: has no column {missing[0]!r}, which was known before; give each "
                f"column the name it had then. The file has: {', '.join([*found][:8])}."
            )
        return [*(known | found)]

    def _require_lists(self, schema: Any) -> None:
        is_number = {
            "indices": self._arrow.types.is_integer,
            "values": lambda t: self._arrow.types.is_floating(t) or self._arrow.types.is_integer(t),
        }
        for name, suits in is_number.items():
            place = schema.get_field_index(name)
            kind = schema.field(place).type if place >= 0 else None
            if kind is None or not (self._is_list(kind) and suits(kind.value_type)):
                found = "is missing or there twice" if kind is None else f"is of type {kind}"
                raise DataError(
                    f"{self.name}: column {name!r} {found}; rows need 'indices' (list of int) and "
                    f"'values' (list of float), and may have a {_LABEL!r}. The file has: "
                    f"{', '.join(schema.names[:8]) or 'none'}."
                )

    def _is_list(self, kind: Any) -> bool:
        types = self._arrow.types
        return bool(types.is_list(kind) or types.is_large_list(kind))

    def _largest_column(self, source: Any) -> int:
        """The largest column number, from the statistics if every row group has them."""
        largest = -1
        for group in range(source.metadata.num_row_groups):
            about = source.metadata.row_group(group)
            for place in range(about.num_columns):
                chunk = about.column(place)
                if chunk.path_in_schema.split(".")[0] != "indices":
                    continue
                statistics = chunk.statistics if chunk.is_stats_set else None
                if statistics is None or not statistics.has_min_max:
                    return self._largest_by_reading(source)
                largest = max(largest, int(statistics.max))
        return largest

    def _largest_by_reading(self, source: Any) -> int:
        largest = -1
        for batch in source.iter_batches(self._rows_per_batch(source), columns=["indices"]):
            found = batch.column(0).flatten().drop_null()
            if len(found):
                largest = max(largest, int(self._arrow.compute.max(found).as_py()))
        return largest

    def _rows_per_batch(self, source: Any) -> int:
        """Rows that take about `_batch_bytes` on average."""
        n_values, n_rows = 0, max(1, int(source.metadata.num_rows))
        if self._plain:
            return max(1, min(1 << 16, self._batch_bytes // (8 * len(self._plain))))
        for group in range(source.metadata.num_row_groups):
            about = source.metadata.row_group(group)
            chunks = [about.column(place) for place in range(about.num_columns)]
            values = [c.num_values for c in chunks if c.path_in_schema.startswith("values")]
            n_values += sum(map(int, values))
        return max(1, min(1 << 16, self._batch_bytes * n_rows // (16 * max(n_values, n_rows))))

    def batches_near(self, first_row: int) -> Iterator[Batch]:
        """As of `RowReader`; row groups before are not read."""
        with self._source.open() as file:
            with reading(self.name, "Parquet"):
                source = self._parquet_file(file)
                n_groups, skipped, row = source.metadata.num_row_groups, 0, 0
                while skipped < n_groups:
                    size = int(source.metadata.row_group(skipped).num_rows)
                    if row + size > first_row:
                        break
                    skipped, row = skipped + 1, row + size
                batches = source.iter_batches(
                    self._rows_per_batch(source), range(skipped, n_groups), self._names
                )
            while True:
                with reading(self.name, "Parquet"):
                    table = next(batches, None)
                    if table is None:
                        break
                    if not len(table):
                        continue
                    X, y = self._rows(table, row)
                    row += len(table)
                yield Batch(X, y, row - len(table), self._share_done(row))
        if row != self.n_rows:
            raise FileError(f"{self.name}: has {row} rows where {self.n_rows} are announced.")

    def _rows(self, table: Any, first_row: int) -> tuple[Any, Array | None]:
        if self._plain:
            X = sparse.csr_array(dense_rows(table, self._plain, self.name, first_row))
            arrays = X.indptr.astype(np.int64), X.indices, X.data
            X = checked_rows(self.name, *arrays, self.n_columns, first_row)
        else:
            lists = table.column("indices"), table.column("values")
            X = rows_of_lists(*lists, self.n_columns, self.name, first_row)
        if self._label is None:
            return X, None
        return X, labels_of_arrow(table.column(self._label), self.name, first_row)


class ParquetWriter:
    """Writes batches as row groups."""

    def __init__(self, file: IO[bytes], target: Path) -> None:
        self._arrow = pyarrow()
        self._file = file
        self._name = str(target)
        self._writer: Any = None

    def write(self, rows: Rows, y: Array | None) -> None:
        """Add rows."""
        arrow = self._arrow
        rows = rows.compact()
        offsets = arrow.array(rows.indptr)
        columns = {
            "indices": arrow.LargeListArray.from_arrays(offsets, rows.indices),
            "values": arrow.LargeListArray.from_arrays(offsets, rows.data),
        }
        if y is not None:
            columns[_LABEL] = arrow.array(y.tolist() if y.dtype.kind in "UO" else y)
        table = arrow.table(columns)
        if self._writer is None:
            self._begin(table.schema, rows.n_columns)
        self._writer.write_table(table.cast(self._writer.schema))

    def finish(self) -> None:
        """Write the footer."""
        if self._writer is None:
            raise DataError(f"{self._name}: there are no rows to write.")
        self._writer.close()

    def close(self) -> None:
        """Close pyarrow's writer, which may fail again after an error."""
        if self._writer is not None and self._writer.is_open:
            with contextlib.suppress(OSError, ValueError):
                self._writer.close()

    def _begin(self, schema: Any, n_columns: int) -> None:
        schema = schema.with_metadata({_COLUMNS_KEY: str(n_columns).encode()})
        self._writer = self._arrow.parquet.ParquetWriter(
            self._file, schema, compression="zstd", write_page_checksum=True
        )


FORMAT = Format(
    "parquet", (".parquet", ".pq"), (b"PAR1",), ParquetReader, ParquetWriter, names_columns=True
)
