"""Rows and labels from Arrow arrays: columns of numbers, lists, or the vectors of Spark ML."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse

from .._core.types import Array
from ..errors import DataError
from .readers import checked_labels, checked_rows

_DENSE = 1  # the type of a vector of Spark ML that holds a value for every column


def labels_of_arrow(column: Any, name: str, first_row: int) -> Array:
    """Numbers, booleans or strings, one per row; `name` is that of the file."""
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    require_no_nulls(column, "label", name, first_row)
    kind = column.type
    if str(kind) in ("string", "large_string", "string_view"):
        return np.array(column.to_pylist(), dtype=np.str_)
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise DataError(f"{name}: labels of type {kind}; use numbers or strings.")
    return checked_labels(name, column.to_numpy(zero_copy_only=False), first_row)


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
    if (place := _first_null(items)) is not None:
        row = first_row + int(np.searchsorted(indptr, place, "right")) - 1
        raise DataError(f"{name}: row {row} has a null among its {what}; fill or drop it.")
    return items.to_numpy(zero_copy_only=False), indptr


def require_no_nulls(column: Any, what: str, name: str, first_row: int) -> None:
    """Refuse rows without a value."""
    if (place := _first_null(column)) is not None:
        raise DataError(f"{name}: row {first_row + place} has no {what}; fill or drop it.")


def _first_null(column: Any) -> int | None:
    """The place of the first item without a value, if there is one."""
    if not column.null_count:
        return None
    return int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])


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
