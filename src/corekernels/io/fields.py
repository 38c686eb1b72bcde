"""What the description of a file says, taken out without being trusted."""

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._core.types import Array, PathLike
from ..errors import FileError


@contextlib.contextmanager
def checking(path: PathLike, remedy: str) -> Iterator[None]:
    """Turn whatever goes wrong with the parts of a file into a `FileError`."""
    try:
        yield
    except FileError:
        raise
    except Exception as error:  # fields may be anything, and fail in any way
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise FileError(f"{path}: damaged or unknown ({reason.rstrip('.')}); {remedy}.") from error


def require_fit(fits: bool, problem: str) -> None:
    """Raise a ValueError, which `checking` turns into an error that names the file."""
    if not fits:
        raise ValueError(problem)


def require_like(name: str, array: Array, expected: Array) -> None:
    """Raise a ValueError unless an array has the type and shape expected."""
    fits = array.dtype == expected.dtype and array.shape == expected.shape
    require_fit(fits, f"{name} are of another type or shape")


def whole_number(value: Any, low: int, high: int, what: str) -> int:
    """An integer from `low` to `high`."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    require_fit(is_whole and low <= value <= high, f"{what} is no integer from {low} to {high}")
    return int(value)


def column_names(names: Any, n_columns: int) -> Array | None:
    """Names of all columns, or None if there are none."""
    if names is None:
        return None
    fits = isinstance(names, list) and len(names) == n_columns
    fits = fits and all(isinstance(name, str) for name in names)
    require_fit(fits, "names of columns do not fit the columns")
    return np.array(names, dtype=object)
