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


def check_ids(ids: Any, n_rows: int, known: Array | None = None) -> Array:
    """Ids of new rows, all integers or all strings, none of which is `known`.

    Those given, or the numbers after the highest known one. The first rows of an index decide
    whether its ids are integers or strings; strings are kept as objects.
    """
    with_strings = known is not None and known.dtype == object
    if ids is None:
        if with_strings:
            raise DataError("ids: those of the index are strings; give one for each new row.")
        return _next_numbers(n_rows, known)
    found = as_ids(ids)
    if len(found) != n_rows:
        raise DataError(f"ids: {len(found)} were given for {n_rows} rows; give one per row.")
    if known is not None and len(found) and (found.dtype == object) != with_strings:
        kind = "strings" if with_strings else "integers"
        raise DataError(f"ids: those of the index are {kind}; give {kind}.")
    values, counts = np.unique(found, return_counts=True)
    if (counts > 1).any():
        raise DataError(f"ids: {values[counts > 1][0]} is given twice; ids must be unique.")
    taken = np.empty(0) if known is None else np.intersect1d(found, known)
    if len(taken):
        raise DataError(f"ids: {taken[0]} is in the index already; remove it first.")
    return found if len(found) or known is None else known[:0]


def as_ids(ids: Any) -> Array:
    """Ids as an array of 64-bit integers, or of strings as objects."""
    mixed = isinstance(ids, list | tuple) and any(isinstance(one, str) for one in ids)
    found = np.array(ids, object) if mixed else np.asarray(ids)  # NumPy would make strings of all
    if found.size == 0:
        return np.empty(0, np.int64)
    if found.dtype.kind in "OTU" and found.ndim == 1:
        found = found.astype(object)
        strings = all(isinstance(one, str) for one in found)
        if strings:
            return found
    if found.dtype.kind not in "iu" or found.ndim != 1:
        raise DataError(
            f"ids: got {found.ndim}-dimensional {found.dtype}; give integers, or strings only."
        )
    if found.dtype.kind == "u" and found.max() > np.iinfo(np.int64).max:
        raise DataError(f"ids: {found.max()} is too large; ids are 64-bit signed integers.")
    return found.astype(np.int64)


def _next_numbers(n_rows: int, known: Array | None) -> Array:
    first = int(known.max()) + 1 if known is not None and len(known) else 0
    if first + n_rows > 2**63:
        raise DataError(f"ids: none are left above {first - 1}; give ids of your own.")
    return np.arange(first, first + n_rows, dtype=np.int64)
