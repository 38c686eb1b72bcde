"""Rows of a Parquet file whose columns are those of the matrix, as data frames are stored."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.types import Array
from ..errors import DataError


def plain_columns(arrow: Any, schema: Any, name: str) -> list[str]:
    """Names of the columns of the matrix: all but the label, each of numbers."""
    found = [column for column in schema.names if column != "label" and not _is_index(column)]
    if not found or len(set(schema.names)) < len(schema.names):
        raise DataError(
            f"{name}: its columns are {', '.join(schema.names[:8]) or 'none'}; give each column of "
            "the matrix its own name, and labels the name 'label'."
        )
    for column in found:
        kind = schema.field(column).type
        types = arrow.types
        if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
            raise DataError(
                f"{name}: column {column!r} is of type {kind}; make numbers of it or leave it "
                "out. Sparse rows are two columns, 'indices' (list of int) and 'values' (list of "
                "float)."
            )
    return found


def dense_rows(table: Any, columns: Sequence[str], name: str, first_row: int) -> Array:
    """The rows of a batch; float32 if no column needs more."""
    parts = []
    for column in columns:
        values = table.column(column)
        if values.null_count:
            row = int(np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0])
            raise DataError(
                f"{name}: row {first_row + row} has no value in column {column!r}; fill or drop it."
            )
        parts.append(values.to_numpy(zero_copy_only=False))
    single = all(part.dtype in (np.float16, np.float32) for part in parts)
    dense: Array = np.column_stack(parts).astype(np.float32 if single else np.float64, copy=False)
    return dense


def _is_index(column: str) -> bool:
    """Whether pandas keeps the numbers of the rows there."""
    return column.startswith("__index_level_") and column.endswith("__")
