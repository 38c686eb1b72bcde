"""The only place where arrays come in: any matrix in, clean CSR rows out, or a clear error.

Clean rows have float32 or float64 values that are finite and not zero, and
columns that increase within each row. A matrix that is clean already passes
without being copied; no matrix is ever changed.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._loops.rows import (
    DISORDER,
    NOT_FINITE,
    OUT_OF_RANGE,
    ZERO,
    count_nonzeros,
    first_not_finite,
    gather_nonzeros,
    inspect_rows,
)
from ..errors import DataError, DataTypeError
from .arguments import Array
from .threads import row_blocks, run_blocks

_DENSE_BLOCK_BYTES = 1 << 20
_MATRICES = (np.ndarray, sparse.csr_array, sparse.csr_matrix)
_FLOATS = frozenset(map(np.dtype, ("f4", "f8")))
_PLAIN_TYPES = _FLOATS | frozenset(map(np.dtype, ("?", "u1", "i1", "i2", "i4", "i8")))


@dataclass(frozen=True)
class Rows:
    """Clean CSR rows: row i is `indices[indptr[i]:indptr[i + 1]]` and the same of `data`."""

    indptr: npt.NDArray[np.int64]
    indices: Array  # int32 where the columns allow it, else int64
    data: Array  # float32 or float64
    n_columns: int

    def __len__(self) -> int:
        return len(self.indptr) - 1

    @property
    def nnz(self) -> int:
        """Number of stored values."""
        return int(self.indptr[-1] - self.indptr[0])

    @property
    def lengths(self) -> npt.NDArray[np.int64]:
        """Number of nonzeros of each row."""
        return np.diff(self.indptr)

    def block(self, start: int, stop: int) -> "Rows":
        """Rows start to stop, without a copy."""
        return Rows(self.indptr[start : stop + 1], self.indices, self.data, self.n_columns)

    def compact(self) -> "Rows":
        """The same rows, the first of which starts at position 0 of the arrays."""
        begin, end = self.indptr[0], self.indptr[-1]
        indptr = read_only(self.indptr - begin)
        return Rows(indptr, self.indices[begin:end], self.data[begin:end], self.n_columns)

    def take(self, chosen: Array) -> "Rows":
        """Some of the rows, in the order given."""
        lengths = self.lengths[chosen]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.indptr[chosen] - indptr[:-1], lengths) + np.arange(indptr[-1])
        return Rows(
            read_only(indptr, np.int64), read_only(self.indices[places]),
            read_only(self.data[places]), self.n_columns,
        )  # fmt: skip

    def astype(self, dtype: npt.DTypeLike) -> "Rows":
        """The same rows with values of another type."""
        data = read_only(self.data.astype(dtype, copy=False))
        return Rows(self.indptr, self.indices, data, self.n_columns)

    def matrix(self, *, owned: bool = False) -> sparse.csr_array:
        """The rows as a SciPy matrix, read-only unless `owned`: nobody else uses the arrays."""
        rows = self.compact()
        arrays = rows.data.view(), rows.indices.view(), rows.indptr.view()
        if owned:
            for array in arrays:
                array.flags.writeable = True
        return sparse.csr_array(arrays, shape=(len(rows), rows.n_columns))

    @classmethod
    def concatenate(cls, pieces: Sequence["Rows"]) -> "Rows":
        """Rows one below the other, at least one piece of them, all of one width."""
        if len(pieces) == 1:
            return pieces[0]
        pieces = [piece.compact() for piece in pieces]
        lengths = np.concatenate([np.zeros(1, np.int64), *(piece.lengths for piece in pieces)])
        return cls(
            read_only(np.cumsum(lengths)),
            read_only(np.concatenate([piece.indices for piece in pieces])),
            read_only(np.concatenate([piece.data for piece in pieces])),
            pieces[0].n_columns,
        )


def read_only(array: Array, dtype: npt.DTypeLike | None = None) -> Array:
    """An aligned, contiguous, read-only view (a copy only where necessary).

    All inputs of the loops pass through here: Numba compiles a loop once per
    kind of array, and "writeable or not" is part of the kind. An array that is
    all of that already is returned itself.
    """
    flags = array.flags if type(array) is np.ndarray else None
    fits = flags is not None and flags.c_contiguous and flags.aligned
    if not fits or (dtype is not None and array.dtype != dtype):
        view = np.require(array, dtype, ["C", "A"]).view(np.ndarray)
    elif not flags.writeable:  # type: ignore[union-attr]
        return array
    else:
        view = array.view()
    view.flags.writeable = False
    return view


def as_matrix(X: Any, name: str = "X") -> Any:
    """A two-dimensional array or a CSR matrix of numbers; the values are not checked."""
    if isinstance(X, np.ma.MaskedArray):
        raise DataTypeError(f"{name}: is a masked array; fill it or drop the masked rows first.")
    if hasattr(type(X), "to_csr"):  # Signatures, which would be read as a sequence
        raise DataTypeError(
            f"{name}: is {type(X).__name__}, not rows; give the rows they were made from, or use "
            "`fit_signatures` or an estimator of `corekernels.linear`."
        )
    if type(X) in _MATRICES and X.ndim == 2 and X.dtype.kind in "biuf" and X.shape[1] > 0:
        return X
    if sparse.issparse(X) and X.ndim != 2:
        raise DataError(
            f"{name}: Expected 2D array, got 1D sparse array instead; pick a row as X[[i]], which "
            "stays a matrix, or reshape it to (1, -1)."
        )
    from sklearn.utils import check_array  # on use: importing it takes longer than most jobs

    try:
        matrix = check_array(
            X, accept_sparse="csr", accept_large_sparse=True, dtype="numeric",
            ensure_all_finite=False, ensure_min_samples=0, input_name=name,
        )  # fmt: skip
    except TypeError as error:
        raise DataTypeError(f"{name}: {error}") from error
    except ValueError as error:
        if "convert string" in str(error) or "bytes/strings" in str(error):
            raise DataError(
                f"{name}: {_text_in(X)}{error}; leave text out or make numbers of it."
            ) from error
        raise DataError(f"{name}: {error}") from error
    if matrix.dtype.kind == "O" and (column := _text_in(X)):  # categories of pandas
        raise DataError(f"{name}: {column}leave text out or make numbers of it.")
    return matrix


def _text_in(X: Any) -> str:
    """The first column of a table that holds text, in words; nothing if there is none."""
    columns = getattr(X, "columns", None)
    if columns is None:
        X = np.asarray(X, dtype=object)
        columns = range(X.shape[1] if X.ndim == 2 else 0)
        values = (X[:, column] for column in columns)
    else:
        values = (np.asarray(X[column], dtype=object) for column in columns)
    for column, of_column in zip(columns, values, strict=True):
        for row, value in enumerate(of_column):
            if isinstance(value, str) and not is_number(value):
                return f"column {column!r} holds text ({value!r:.50} in row {row}): "
    return ""


def is_number(text: str | bytes) -> bool:
    """Whether Python reads the text as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def clean_rows(
    matrix: Any, name: str = "X", start: int = 0, stop: int | None = None, n_jobs: int | None = 1,
    first_row: int = 0,
) -> Rows:  # fmt: skip
    """Clean rows, `start` to `stop` (all by default), of what `as_matrix` gave.

    Errors count rows from `first_row`.
    """
    rows = raw_rows(matrix, name, start, stop, n_jobs)
    arrays = rows.indptr, rows.indices, rows.data
    return clean_arrays(*arrays, int(rows.n_columns), name, first_row + start)


def clean_arrays(
    indptr: Array, indices: Array, data: Array, n_columns: int, name: str, first_row: int = 0
) -> Rows:
    """Clean rows of CSR arrays whose row pointers are sound; errors count rows from `first_row`."""
    index_type = _index_type(n_columns)
    if indices.dtype != index_type:  # before the loops, which are compiled for one type then
        fits = not indices.size or 0 <= indices.min() <= indices.max() <= np.iinfo(index_type).max
        indices = indices.astype(index_type if fits else np.int64, copy=False)
    indptr = read_only(indptr, np.int64)
    data = read_only(data, value_type(data.dtype, name))
    flaws = inspect_rows(indptr, read_only(indices), data, n_columns)
    if flaws & OUT_OF_RANGE:
        place = int(np.argmax((indices < 0) | (indices >= n_columns)))
        row = first_row + int(np.searchsorted(indptr, place, "right")) - 1
        raise DataError(
            f"{name}: row {row} has the column {indices[place]}, outside 0 to {n_columns - 1}; the "
            "data are damaged, or n_columns is too small."
        )
    if flaws & NOT_FINITE:
        row = first_not_finite(indptr, data)
        what = "NaN" if np.isnan(data[indptr[row] : indptr[row + 1]]).any() else "infinity"
        raise DataError(
            f"{name}: row {first_row + row} contains {what}; fill or drop such values first."
        )
    if flaws & (ZERO | DISORDER):
        shape = (len(indptr) - 1, n_columns)
        tidy = sparse.csr_array((data, indices, indptr), shape=shape, copy=True)
        tidy.sum_duplicates()
        if not np.isfinite(tidy.data).all():
            row = first_not_finite(read_only(tidy.indptr, np.int64), read_only(tidy.data))
            raise DataError(
                f"{name}: duplicate entries of row {first_row + row} sum to infinity; "
                "scale the values down first."
            )
        tidy.eliminate_zeros()
        indptr, indices = read_only(tidy.indptr, np.int64), tidy.indices
        data = read_only(tidy.data)
    return Rows(indptr, read_only(indices, index_type), data, n_columns)


def _index_type(n_columns: int) -> type[np.signedinteger[Any]]:
    """The type of column numbers in clean rows."""
    return np.int32 if n_columns <= np.iinfo(np.int32).max else np.int64


def one_clean_row(X: Any, n_columns: int) -> Rows | None:
    """A matrix of one row, CSR or dense, that is clean but for its order; None if it is not.

    For searches that take less time than `as_matrix`, which says what is wrong with the others.
    """
    kind = type(X)
    if kind is np.ndarray:
        if X.shape != (1, n_columns) or X.dtype not in _PLAIN_TYPES:
            return None
        indices = X[0].nonzero()[0]
        data = X[0][indices]
        if data.dtype.kind != "f":
            data = data.astype(np.float64)
    elif kind is sparse.csr_matrix or kind is sparse.csr_array:
        if X.shape != (1, n_columns) or X.data.dtype not in _FLOATS or len(X.indptr) != 2:
            return None
        start, stop = X.indptr.tolist()
        indices, data = X.indices[:stop], X.data[:stop]
        if start != 0 or not len(indices) == len(data) == stop:
            return None
    else:
        return None
    indptr, data = read_only(np.array([0, len(data)])), read_only(data)
    flaws = inspect_rows(indptr, read_only(indices), data, n_columns)
    if flaws == DISORDER:
        order = indices.argsort()
        indices, data = indices[order], read_only(data[order])
        flaws = inspect_rows(indptr, read_only(indices), data, n_columns)  # a column may be twice
    if flaws:
        return None
    return Rows(indptr, read_only(indices, _index_type(n_columns)), data, n_columns)


def are_clean(rows: Rows) -> bool:
    """Whether stored rows are still clean: the file may be damaged."""
    indptr, size = rows.indptr, min(len(rows.indices), len(rows.data))
    fits = indptr.dtype == np.int64 and rows.indices.dtype in (np.int32, np.int64)
    fits = fits and rows.data.dtype in (np.float32, np.float64) and len(indptr) > 0
    if not (fits and indptr[0] == 0 and indptr[-1] <= size and (np.diff(indptr) >= 0).all()):
        return False
    arrays = read_only(indptr), read_only(rows.indices), read_only(rows.data)
    return bool(inspect_rows(*arrays, rows.n_columns) == 0)


def raw_rows(
    matrix: Any, name: str = "X", start: int = 0, stop: int | None = None, n_jobs: int | None = 1
) -> Rows:
    """Rows of what `as_matrix` gave as they are: not clean, but within their arrays.

    Rows of a sparse matrix are views, of any type of number; of a dense one their nonzeros.
    """
    stop = matrix.shape[0] if stop is None else stop
    dtype = value_type(matrix.dtype, name)
    if sparse.issparse(matrix):
        arrays = _slice_of_csr(matrix, start, stop, name)
    else:
        arrays = _nonzeros_of_dense(matrix[start:stop], dtype, n_jobs)
    indptr, indices, data = map(read_only, arrays)
    return Rows(indptr, indices, data, matrix.shape[1])


def check_rows(X: Any, name: str = "X", n_jobs: int | None = 1) -> Rows:
    """Clean rows of any matrix-like X."""
    return clean_rows(as_matrix(X, name), name, n_jobs=n_jobs)


def check_pair(X: Any, Y: Any = None, n_jobs: int | None = 1) -> tuple[Rows, Rows | None]:
    """Clean rows of X, and of Y if there is one, of the same width and type."""
    rows = check_rows(X, "X", n_jobs)
    if Y is None or Y is X:
        return rows, None
    others = check_rows(Y, "Y", n_jobs)
    if rows.n_columns != others.n_columns:
        raise DataError(
            f"Y: has {others.n_columns} columns, X has {rows.n_columns}; "
            "both must describe the same columns."
        )
    dtype = np.result_type(rows.data.dtype, others.data.dtype)
    return rows.astype(dtype), others.astype(dtype)


def value_type(dtype: np.dtype[Any], name: str) -> type[np.floating[Any]]:
    """The type values are kept in: float32 stays, float16 widens to it, the rest is float64."""
    if dtype.kind == "c":
        raise DataError(f"{name}: Complex data not supported; pass real numbers.")
    if dtype.kind not in "biuf":
        raise DataTypeError(f"{name}: values are of type {dtype}; pass real numbers.")
    if dtype.kind == "f" and dtype.itemsize > 8:
        raise DataError(f"{name}: values of type {dtype} would lose digits; pass float64.")
    return np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64


def _nonzeros_of_dense(
    matrix: Array, dtype: type[np.floating[Any]], n_jobs: int | None = 1
) -> tuple[Array, Array, Array]:
    """CSR arrays of a dense matrix, read in blocks so that no second dense copy exists."""
    n_rows, n_columns = matrix.shape
    size = max(1, _DENSE_BLOCK_BYTES // (n_columns * np.dtype(dtype).itemsize))
    blocks = row_blocks(0, n_rows, size)
    indptr = np.zeros(n_rows + 1, np.int64)

    def count(block: tuple[int, int]) -> None:
        start, stop = block
        count_nonzeros(read_only(matrix[start:stop], dtype), indptr[start + 1 : stop + 1])

    run_blocks(count, blocks, n_jobs)
    np.cumsum(indptr, out=indptr)
    indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1], dtype)

    def gather(block: tuple[int, int]) -> None:
        start, stop = block
        gather_nonzeros(read_only(matrix[start:stop], dtype), indptr[start], indices, data)

    run_blocks(gather, blocks, n_jobs)
    return indptr, indices, data


def _slice_of_csr(matrix: Any, start: int, stop: int, name: str) -> tuple[Any, ...]:
    """CSR arrays of some rows, as views where they can be."""
    indptr = matrix.indptr[start : stop + 1].astype(np.int64)
    size = min(len(matrix.indices), len(matrix.data))
    if indptr[0] < 0 or (np.diff(indptr) < 0).any() or indptr[-1] > size:
        raise DataError(
            f"{name}: the row pointers do not fit the stored values; "
            "the matrix is damaged, rebuild it from its source."
        )
    stored = slice(indptr[0], indptr[-1])
    return indptr - indptr[0], matrix.indices[stored], matrix.data[stored]
