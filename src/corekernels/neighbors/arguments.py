"""Arguments of the index, checked once."""

from numbers import Real
from typing import Any

import numpy as np

from .._core.types import Array
from ..errors import DataError, ParameterError


def require_number(name: str, value: Any, most: float = np.inf) -> float:
    """A finite number of at most `most`."""
    if not isinstance(value, Real) or isinstance(value, bool) or not np.isfinite(float(value)):
        raise ParameterError(f"{name}: got {value!r}; give a finite number.")
    if float(value) > most:
        raise ParameterError(f"{name}: got {value!r}; no kernel value exceeds {most:g}.")
    return float(value)


def require_recall(value: Any) -> float:
    """A share above 0, up to 1."""
    if not isinstance(value, Real) or isinstance(value, bool) or not 0 < float(value) <= 1:
        raise ParameterError(f"recall: got {value!r}; give a number above 0, up to 1.")
    return float(value)


def check_ids(ids: Any, n_rows: int, known: Array) -> Array:
    """Ids of new rows: those given, or the numbers after the highest known one."""
    if ids is None:
        first = int(known.max()) + 1 if len(known) else 0
        if first + n_rows > 2**63:
            raise DataError(f"ids: none are left above {first - 1}; give ids of your own.")
        return np.arange(first, first + n_rows, dtype=np.int64)
    numbers = np.asarray(ids)
    if numbers.size == 0 and n_rows == 0:
        return np.empty(0, np.int64)
    if numbers.dtype.kind not in "iu" or numbers.ndim != 1:
        raise DataError(f"ids: got {numbers.ndim}-dimensional {numbers.dtype}; give integers.")
    if len(numbers) != n_rows:
        raise DataError(f"ids: {len(numbers)} were given for {n_rows} rows; give one per row.")
    if numbers.dtype.kind == "u" and numbers.max() > np.iinfo(np.int64).max:
        raise DataError(f"ids: {numbers.max()} is too large; ids are 64-bit signed integers.")
    numbers = numbers.astype(np.int64)
    values, counts = np.unique(numbers, return_counts=True)
    if (counts > 1).any():
        raise DataError(f"ids: {values[counts > 1][0]} is given twice; ids must be unique.")
    taken = np.intersect1d(numbers, known)
    if len(taken):
        raise DataError(f"ids: {taken[0]} is in the index already; remove it first.")
    return numbers
