"""Signature files: the arrays of hashed rows, the labels beside them, and where they came from.

A file holds no date: equal rows, hashed alike, give equal bytes.
"""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DataError, FileError, ParameterError
from ..io import load_arrays, save_arrays
from ..recipe import Recipe

Array = npt.NDArray[Any]

_KIND = "signatures"
_VERSION = 1
_LABELS = "labels"


def write_signatures(
    path: str | os.PathLike[str],
    recipe: Recipe,
    arrays: Mapping[str, Any],
    labels: Any = None,
    classes: list[Any] | None = None,
    sources: list[dict[str, Any]] | None = None,
) -> None:
    """Write arrays of signatures, with what `pack_labels` made of their labels."""
    about: dict[str, Any] = {"recipe": recipe.asdict()}
    if labels is not None:
        arrays = {**arrays, _LABELS: labels}
    if classes is not None:
        about["classes"] = classes
    if sources is not None:
        about["sources"] = sources
    save_arrays(path, _KIND, _VERSION, arrays, about)


def read_signatures(
    path: str | os.PathLike[str], *, mmap: bool = True
) -> tuple[Recipe, dict[str, Array], Any]:
    """The recipe, all arrays as they stand in the file, and the rest of its description."""
    arrays, about = load_arrays(path, _KIND, _VERSION, mmap=mmap)
    try:
        recipe = Recipe.fromdict(about["recipe"])
    except (ParameterError, KeyError, TypeError) as error:
        raise FileError(f"{path}: its recipe is damaged or unknown ({error}).") from error
    return recipe, arrays, about


def pack_labels(y: Any, n_rows: int) -> tuple[Array, list[Any] | None]:
    """Labels as numbers a file can hold, and the classes these number if labels are no numbers."""
    labels: Array = np.asarray(y)
    if labels.shape != (n_rows,):
        raise DataError(f"y: has shape {labels.shape} for {n_rows} rows; give one label a row.")
    if labels.dtype.kind in "iuf" and labels.dtype != np.float16:
        return labels.astype(labels.dtype.newbyteorder("="), copy=False), None
    if labels.dtype.kind not in "bUO":
        raise DataError(f"y: labels are of type {labels.dtype}; use numbers or strings.")
    try:
        classes, numbers = np.unique(labels, return_inverse=True)
    except TypeError as error:
        raise DataError("y: labels are of several kinds; use numbers or strings.") from error
    names = classes.tolist()
    if not all(isinstance(name, str | bool) for name in names):
        raise DataError("y: labels are neither numbers nor strings; use one of these.")
    return numbers.astype(np.int32), names


def unpack_labels(
    path: str | os.PathLike[str], arrays: Mapping[str, Array], about: Any, n_rows: int
) -> Array | None:
    """The labels of a file that `read_signatures` read, or None if it has none."""
    labels = arrays.get(_LABELS)
    if labels is None:
        return None
    classes = about.get("classes")
    if labels.shape != (n_rows,):
        raise FileError(f"{path}: its labels do not fit its rows; make it again.")
    if classes is None:
        return labels
    if not isinstance(classes, list) or not all(isinstance(name, str | bool) for name in classes):
        raise FileError(f"{path}: its classes are damaged; make it again.")
    if labels.dtype.kind != "i" or (
        n_rows and not 0 <= labels.min() <= labels.max() < len(classes)
    ):
        raise FileError(f"{path}: its labels do not fit its classes; make it again.")
    return np.array(classes)[labels]
