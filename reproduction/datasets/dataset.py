"""The one form in which data sets are given."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from corekernels.errors import FileError

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows and labels, to train on and to test on.

    Attributes
    ----------
    name : str
    X_train, X_test : csr_array, float32
        Rows of unit length; a row without values stays empty.
    y_train, y_test : ndarray of int64
        One class per row.
    source : str
        One sentence on where the rows come from and how they were made.
    """

    name: str
    X_train: sparse.csr_array
    y_train: npt.NDArray[np.int64]
    X_test: sparse.csr_array
    y_test: npt.NDArray[np.int64]
    source: str


def made(name: str, train: tuple[Any, Any], test: tuple[Any, Any], source: str) -> Dataset:
    """A data set of rows of any length and labels of any integer type."""
    for part, (X, y) in (("train", train), ("test", test)):
        if X.shape[0] != len(y):
            raise unrelated(name, f"{X.shape[0]} rows and {len(y)} labels to {part} on")
    widths = train[0].shape[1], test[0].shape[1]
    if widths[0] != widths[1]:
        raise unrelated(name, f"{widths[0]} columns to train on and {widths[1]} to test on")
    parts = [(unit_rows(X), np.asarray(y).astype(np.int64)) for X, y in (train, test)]
    return Dataset(name, *parts[0], *parts[1], source)


def unrelated(name: Any, found: str) -> FileError:
    """The error for files of which one is not of the same data set as the others."""
    return FileError(f"{name}: {found}; the files do not belong together, fetch them again.")


def require_classes(path: Path, y: Any, n_classes: int) -> Any:
    """Labels read from a file, if they are 1 to `n_classes`."""
    if y is None or y.dtype.kind != "i" or not 1 <= y.min() <= y.max() <= n_classes:
        raise FileError(f"{path}: its labels are not 1 to {n_classes}; fetch it again.")
    return y


def unit_rows(X: Any) -> sparse.csr_array:
    """Rows scaled to length 1 in float64, then stored as float32 without zeros."""
    out = sparse.csr_array(X, dtype=np.float64)
    out.sum_duplicates()
    out.eliminate_zeros()
    lengths = np.sqrt(out.multiply(out).sum(axis=1))
    data = (out.data / np.repeat(lengths, np.diff(out.indptr))).astype(np.float32)
    # liblinear, for one, takes no 64-bit indices
    narrow = np.int32 if max(out.nnz, *out.shape) <= np.iinfo(np.int32).max else np.int64
    indices, indptr = out.indices.astype(narrow), out.indptr.astype(narrow)
    return sparse.csr_array((data, indices, indptr), shape=out.shape)
