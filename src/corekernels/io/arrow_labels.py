"""Labels from Arrow arrays."""

from typing import Any

import numpy as np

from .._core.types import Array
from ..errors import DataError
from .readers import checked_labels


def labels_of_arrow(column: Any, name: str, first_row: int) -> Array:
    """Numbers, booleans or strings, one per row; `name` is that of the file."""
    from pyarrow import types

    if types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if column.null_count:
        place = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise DataError(f"{name}: row {first_row + place} has no label; fill or drop it.")
    kind = column.type
    if str(kind) in ("string", "large_string", "string_view"):
        return np.array(column.to_pylist(), dtype=np.str_)
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        raise DataError(f"{name}: labels of type {kind}; use numbers or strings.")
    return checked_labels(name, column.to_numpy(zero_copy_only=False), first_row)
