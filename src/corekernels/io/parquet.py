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

from .._core.arguments import Array, PathLike, require_extra
from .._core.validation import Rows, clean_arrays, clean_rows
from ..errors import DataError, FileError
from .formats import LABEL, SHOWN_NAMES, FileRows, Format, ReadOptions
from .provenance import reading
from .readers import Batch, require_columns
from .streams import BadRecords
from .svmlight_text import MAX_LABEL, shown

LABEL_BYTES = 256  # of a label that is text: NumPy gives all labels of a batch as much room

_DENSE = 1  # the type of a vector of Spark ML that holds a value for every column


def labels_of_arrow(column: Any, name: str, first_row: int) -> Array:
    """Numbers, booleans or strings, one per row; `name` is that of the file."""
    try:
        return label_array(column, name)
    except BadRecords as bad:
        raise bad.error(lambda place: f"{name}: row {first_row + place}") from None


def label_array(column: Any, name: str) -> Array:
    """Numbers, booleans or strings; `BadRecords` if some are no labels."""
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if len(places := places_of_nulls(column)):
        raise BadRecords.at(places, "has no label; fill or drop it")
    kind = column.type
    if str(kind) in ("string", "large_string", "string_view"):
        return text_labels(column.cast("large_string"))
    if not is_numeric(kind):
        raise DataError(f"{name}: labels of type {kind}; use numbers or strings.")
    return _finite(column.to_numpy(zero_copy_only=False))


def is_numeric(kind: Any) -> bool:
    """Whether an Arrow type is of numbers or booleans."""
    from pyarrow import types

    return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))


def text_labels(column: Any) -> Array:
    """Labels that are strings."""
    import pyarrow.compute as pc

    is_long = pc.greater(pc.binary_length(column), LABEL_BYTES)
    ends_with_zero = pc.ends_with(column, "\0")  # which NumPy would leave out
    for is_wrong, what in ((is_long, f"of more than {LABEL_BYTES} bytes"),
                           (ends_with_zero, "that ends with a zero byte")):  # fmt: skip
        if pc.any(is_wrong).as_py():
            places = np.flatnonzero(is_wrong.to_numpy(zero_copy_only=False))
            raise BadRecords.at(places, f"has a label {what}; give another, or another column")
    return np.array(strings_of(column, "a label"), dtype=np.str_)


def numbers_of_text(column: Any) -> Array:
    """Labels that are numbers, as they stand in text: whole ones, if all are."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        whole: Array = column.cast(pa.int64()).to_numpy()
    except pa.ArrowInvalid:
        numbers = column.cast(pa.float64()).to_numpy()
    else:
        return whole
    has_fraction = pc.match_substring_regex(column, "[.eEIN]").to_numpy(zero_copy_only=False)
    most = MAX_LABEL if has_fraction.any() else 2**63
    if len(large := np.flatnonzero(~has_fraction & (np.abs(numbers) >= most))):
        label = shown(column[int(large[0])].as_py().encode())
        fault = f"has the label {label}, too large to be kept exactly; use smaller numbers"
        raise BadRecords.at(large, fault)
    return _finite(numbers)


def strings_of(column: Any, what: str) -> list[Any]:
    """The values as Python has them; `BadRecords` if some are not UTF-8."""
    try:
        values: list[Any] = column.to_pylist()
    except UnicodeDecodeError:
        faults = {}
        for place, value in enumerate(column):
            try:
                value.as_py()
            except UnicodeDecodeError as error:
                fault = f"has {what} that is not valid UTF-8 (byte {error.start})"
                faults[place] = f"{fault}; convert the file to UTF-8"
        raise BadRecords(faults) from None
    return values


def _finite(labels: Array) -> Array:
    if labels.dtype.kind == "f" and not (finite := np.isfinite(labels)).all():
        places = np.flatnonzero(~finite)
        raise BadRecords.at(places, f"has the label {labels[places[0]]}; give a finite number")
    return labels


def rows_of_lists(indices: Any, values: Any, n_columns: int, name: str, first_row: int) -> Rows:
    """Rows whose columns and values are lists; errors name the file and the row."""
    columns, indptr = flat_lists(indices, "indices", name, first_row)
    data, ends = flat_lists(values, "values", name, first_row)
    if not np.array_equal(indptr, ends):
        row = int(np.argmax(np.diff(indptr) != np.diff(ends)))
        raise DataError(
            f"{name}: row {first_row + row} has {np.diff(indptr)[row]} indices and "
            f"{np.diff(ends)[row]} values; give as many of one as of the other."
        )
    return clean_arrays(indptr, columns, data, n_columns, name, first_row)


def rows_of_vectors(vectors: Any, n_columns: int, name: str, first_row: int) -> Rows:
    """Rows that are vectors of Spark ML, dense and sparse ones mixed: structs of Arrow."""
    require_no_nulls(vectors, "vector", name, first_row)
    fields = dict(zip((field.name for field in vectors.type), vectors.flatten(), strict=True))
    data, indptr = flat_lists(fields["values"], "values", name, first_row)
    is_dense = fields["type"].to_numpy(zero_copy_only=False) == _DENSE
    lengths = np.diff(indptr)
    columns = np.arange(len(data)) - np.repeat(indptr[:-1], lengths)  # those of dense rows
    sparse_columns = fields["indices"].flatten().to_numpy(zero_copy_only=False)
    columns[np.repeat(~is_dense, lengths)] = sparse_columns
    sizes = np.where(is_dense, lengths, fields["size"].fill_null(0).to_numpy())
    if (wrong := np.flatnonzero(sizes != n_columns)).size:
        raise DataError(
            f"{name}: row {first_row + wrong[0]} has {sizes[wrong[0]]} columns where {n_columns} "
            "are wanted; both must describe the same columns."
        )
    return clean_arrays(indptr, columns, data, n_columns, name, first_row)


def flat_lists(lists: Any, what: str, name: str, first_row: int) -> tuple[Array, Array]:
    """The items of lists end to end, and where each list starts."""
    require_no_nulls(lists, what, name, first_row)
    indptr = np.zeros(len(lists) + 1, np.int64)
    np.cumsum(lists.value_lengths().to_numpy(zero_copy_only=False), out=indptr[1:])
    items = lists.flatten()
    if len(places := places_of_nulls(items)):
        row = first_row + int(np.searchsorted(indptr, places[0], "right")) - 1
        raise DataError(f"{name}: row {row} has a null among its {what}; fill or drop it.")
    return items.to_numpy(zero_copy_only=False), indptr


def require_no_nulls(column: Any, what: str, name: str, first_row: int) -> None:
    """Refuse rows without a value."""
    if len(places := places_of_nulls(column)):
        raise DataError(f"{name}: row {first_row + places[0]} has no {what}; fill or drop it.")


def places_of_nulls(column: Any) -> Array:
    """The places of items without a value."""
    if not column.null_count:
        return np.empty(0, np.int64)
    return np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))


def dense_rows(table: Any, columns: Sequence[str], name: str, first_row: int) -> Array:
    """The rows of a batch; float32 if no column needs more."""
    parts = []
    for column in columns:
        values = table.column(column)
        require_no_nulls(values, f"value in column {column!r}", name, first_row)
        parts.append(values.to_numpy(zero_copy_only=False))
    single = all(part.dtype in (np.float16, np.float32) for part in parts)
    return np.column_stack(parts).astype(np.float32 if single else np.float64, copy=False)


_COLUMNS_KEY = b"corekernels.n_columns"


def pyarrow() -> Any:
    """The package, imported on use."""
    for module in ("pyarrow.compute", "pyarrow.parquet"):
        require_extra(module, "parquet", "Parquet files")
    return require_extra("pyarrow", "parquet", "Parquet files")


def column_chunks(about: Any, *names: str) -> list[Any]:
    """What the metadata of a Parquet file say of some columns, or of all, in each row group."""
    groups = [about.row_group(number) for number in range(about.num_row_groups)]
    chunks = [group.column(place) for group in groups for place in range(group.num_columns)]
    return [c for c in chunks if not names or c.path_in_schema.partition(".")[0] in names]


class ParquetReader(FileRows):
    """Rows of a Parquet file."""

    format = "parquet"

    def __init__(self, path: PathLike, options: ReadOptions) -> None:
        super().__init__(path, options)
        n_columns = options.n_columns
        self._arrow = pyarrow()
        with self._source.open() as file:
            self.n_bytes = os.fstat(file.fileno()).st_size
            with reading(self.name, "Parquet"):
                source = self._parquet_file(file)
                schema = source.schema_arrow
                self.n_rows = int(source.metadata.num_rows)
                label = self._label_column(options, schema.names)
                self._label = label if options.labels else None
                self._plain = self._plain_columns(schema, label, options)
                stored = int((schema.metadata or {}).get(_COLUMNS_KEY, b"0"))
                n_here = len(self._plain) or stored or self._largest_column(source) + 1
        if self._plain:
            self.n_columns, self.column_names = n_here, tuple(self._plain)
            require_columns(self, n_columns)
        if n_columns is not None and n_columns < n_here:
            raise DataError(
                f"{self.name}: has {n_here} columns, but there are to be {n_columns}; "
                "pass a larger n_columns."
            )
        self.n_columns = n_columns or n_here
        if not 0 < self.n_columns < 2**63:
            raise FileError(f"{self.name}: no row has a column; pass n_columns if that is right.")
        self._names = [*(self._plain or ["indices", "values"])]
        if self._label is not None:
            self._names.append(self._label)

    def _parquet_file(self, file: IO[bytes]) -> Any:
        return self._arrow.parquet.ParquetFile(
            file, pre_buffer=False, page_checksum_verification=True
        )

    def _plain_columns(self, schema: Any, label: str | None, options: ReadOptions) -> list[str]:
        """Names of the columns of the matrix, if they are columns of the file; else none."""
        if {"indices", "values"} & set(schema.names):
            self._require_lists(schema)
            return []
        names = [
            name
            for name in schema.names
            if name != label and not (name.startswith("__index_level_") and name.endswith("__"))
        ]  # pandas keeps the numbers of the rows there
        if not names or len(set(schema.names)) < len(schema.names):
            shown = ", ".join(schema.names[:SHOWN_NAMES])
            raise DataError(
                f"{self.name}: its columns are {shown or 'none'}; give each column of the matrix "
                "its own name, and name that of labels if not 'label' (label='COLUMN')."
            )
        for name in names:
            if not is_numeric(kind := schema.field(name).type):
                raise DataError(
                    f"{self.name}: column {name!r} is of type {kind}; make numbers of it, leave it "
                    "out, or name it if it holds the labels (label='COLUMN'). Sparse rows are two "
                    "columns, 'indices' (list of int) and 'values' (list of float); documents are "
                    "read if their column of text is named (text='COLUMN')."
                )
        return self._known_first(options, names)

    def _require_lists(self, schema: Any) -> None:
        types = self._arrow.types
        is_number = {
            "indices": types.is_integer,
            "values": lambda kind: is_numeric(kind) and not types.is_boolean(kind),
        }
        for name, suits in is_number.items():
            place = schema.get_field_index(name)
            kind = schema.field(place).type if place >= 0 else None
            is_list = types.is_list(kind) or types.is_large_list(kind) if kind else False
            if kind is None or not (is_list and suits(kind.value_type)):
                fault = "is missing or there twice" if kind is None else f"is of type {kind}"
                raise DataError(
                    f"{self.name}: column {name!r} {fault}; rows need 'indices' (list of int) and "
                    f"'values' (list of float), and may have a {LABEL!r}. The file has: "
                    f"{', '.join(schema.names[:SHOWN_NAMES]) or 'none'}."
                )

    def _largest_column(self, source: Any) -> int:
        """The largest column number, from the statistics if every row group has them."""
        chunks = column_chunks(source.metadata, "indices")
        statistics = [chunk.statistics for chunk in chunks if chunk.is_stats_set]
        ranges = [each for each in statistics if each.has_min_max]
        if len(ranges) == len(chunks):
            return max((int(each.max) for each in ranges), default=-1)
        largest = -1
        for batch in source.iter_batches(self._rows_per_batch(source), columns=["indices"]):
            columns = batch.column(0).flatten().drop_null()
            if len(columns):
                largest = max(largest, int(self._arrow.compute.max(columns).as_py()))
        return largest

    def _rows_per_batch(self, source: Any) -> int:
        """Rows that take about `_batch_bytes` on average."""
        if self._plain:
            return max(1, min(1 << 16, self._batch_bytes // (8 * len(self._plain))))
        n_rows = max(1, int(source.metadata.num_rows))
        n_values = sum(chunk.num_values for chunk in column_chunks(source.metadata, "values"))
        return max(1, min(1 << 16, self._batch_bytes * n_rows // (16 * max(n_values, n_rows))))

    def batches(self, first_row: int = 0) -> Iterator[Batch]:
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
                    rows, y = self._rows(table, row)
                    row += len(table)
                yield Batch(rows, y, row - len(table), self._share_done(row))
        if row != self.n_rows:
            raise FileError(f"{self.name}: has {row} rows where {self.n_rows} are announced.")

    def _rows(self, table: Any, first_row: int) -> tuple[Rows, Array | None]:
        if self._plain:
            dense = dense_rows(table, self._plain, self.name, first_row)
            rows = clean_rows(dense, self.name, first_row=first_row)
        else:
            lists = table.column("indices"), table.column("values")
            rows = rows_of_lists(*lists, self.n_columns, self.name, first_row)
        if self._label is None:
            return rows, None
        return rows, labels_of_arrow(table.column(self._label), self.name, first_row)


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
            columns[LABEL] = arrow.array(y.tolist() if y.dtype.kind in "UO" else y)
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


FORMATS = {
    "parquet": Format(
        "parquet", (".parquet", ".pq"), (b"PAR1",), ParquetReader, ParquetWriter, names_columns=True
    )
}
