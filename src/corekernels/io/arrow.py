"""Rows and labels from Arrow arrays: columns of numbers, lists, or the vectors of Spark ML."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._core.types import Array
from ..errors import DataError
from .faults import BadRecords
from .readers import checked_rows
from .svmlight_lines import MAX_LABEL, shown

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
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise DataError(f"{name}: labels of type {kind}; use numbers or strings.")
    return _finite(column.to_numpy(zero_copy_only=False))


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


def rows_of_lists(
    indices: Any, values: Any, n_columns: int, name: str, first_row: int
) -> sparse.csr_array:
    """Rows whose columns and values are lists; errors name the file and the row."""
    columns, indptr = flat_lists(indices, "indices", name, first_row)
    data, ends = flat_lists(values, "values", name, first_row)
    if not np.array_equal(indptr, ends):
        row = int(np.argmax(np.diff(indptr) != np.diff(ends)))
        raise DataError(
            f"{name}: row {first_row + row} has {np.diff(indptr)[row]} indices and "
            f"{np.diff(ends)[row]} values; give as many of one as of the other."
        )
    return checked_rows(name, indptr, columns, as_floats(data), n_columns, first_row)


def rows_of_vectors(vectors: Any, n_columns: int, name: str, first_row: int) -> sparse.csr_array:
    """Rows that are vectors of Spark ML, dense and sparse ones mixed: structs of Arrow."""
    require_no_nulls(vectors, "vector", name, first_row)
    fields = dict(zip((field.name for field in vectors.type), vectors.flatten(), strict=True))
    data, indptr = flat_lists(fields["values"], "values", name, first_row)
    is_dense = fields["type"].to_numpy(zero_copy_only=False) == _DENSE
    lengths = np.diff(indptr)
    columns = np.arange(len(data)) - np.repeat(indptr[:-1], lengths)  # those of dense rows
    given = fields["indices"].flatten().to_numpy(zero_copy_only=False)
    columns[np.repeat(~is_dense, lengths)] = given
    sizes = np.where(is_dense, lengths, fields["size"].fill_null(0).to_numpy())
    if (wrong := np.flatnonzero(sizes != n_columns)).size:
        raise DataError(
            f"{name}: row {first_row + wrong[0]} has {sizes[wrong[0]]} columns where {n_columns} "
            "are wanted; both must describe the same columns."
        )
    return checked_rows(name, indptr, columns, as_floats(data), n_columns, first_row)


def as_floats(values: Array) -> Array:
    """The values in single precision if they have no more, else in double."""
    single = values.dtype in (np.float16, np.float32)
    return values.astype(np.float32 if single else np.float64, copy=False)


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


def plain_columns(arrow: Any, schema: Any, label: str, name: str) -> list[str]:
    """Names of the columns of the matrix: all but that of labels, each of numbers."""
    found = [column for column in schema.names if column != label and not _is_index(column)]
    if not found or len(set(schema.names)) < len(schema.names):
        raise DataError(
            f"{name}: its columns are {', '.join(schema.names[:8]) or 'none'}; give each column of "
            "the matrix its own name, and name that of labels if not 'label' (label='COLUMN')."
        )
    for column in found:
        kind = schema.field(column).type
        types = arrow.types
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise DataError(
                f"{name}: column {column!r} is of type {kind}; make numbers of it, leave it out, "
                "or name it if it holds the labels (label='COLUMN'). Sparse rows are two columns, "
                "'indices' (list of int) and 'values' (list of float); documents are read if their "
                "column of text is named (text='COLUMN')."
            )
    return found


def dense_rows(table: Any, columns: Sequence[str], name: str, first_row: int) -> Array:
    """The rows of a batch; float32 if no column needs more."""
    parts = []
    for column in columns:
        values = table.column(column)
        require_no_nulls(values, f"value in column {column!r}", name, first_row)
        parts.append(values.to_numpy(zero_copy_only=False))
    single = all(part.dtype in (np.float16, np.float32) for part in parts)
    dense: Array = np.column_stack(parts).astype(np.float32 if single else np.float64, copy=False)
    return dense


def _is_index(column: str) -> bool:
    """Whether pandas keeps the numbers of the rows there."""
    return column.startswith("__index_level_") and column.endswith("__")
