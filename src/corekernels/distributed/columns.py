"""Rows and signatures as columns of Arrow tables, which is how Dask and Spark pass frames on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._core.arguments import Array, require_extra
from .._core.validation import as_matrix, clean_arrays
from ..errors import DataError
from ..io.parquet import (
    dense_rows,
    flat_lists,
    labels_of_arrow,
    rows_of_lists,
    rows_of_vectors,
)
from ..recipe import Recipe
from ..signatures import Signatures


@dataclass(frozen=True)
class FrameColumns:
    """Which columns of a frame make the rows.

    Attributes
    ----------
    features : str or sequence of str
        A column of vectors of Spark ML or of lists with a value for every column of the matrix;
        two columns of lists, those of columns and values of sparse rows; or several columns of
        numbers.
    label : str, optional
        The column of labels.

    Examples
    --------
    >>> from corekernels import distributed
    >>> distributed.FrameColumns(features=["height", "width"], label="species").label
    'species'
    """

    features: str | Sequence[str] = ("indices", "values")
    label: str | None = None

    @property
    def names(self) -> list[str]:
        """All columns that are needed."""
        rows = [self.features] if isinstance(self.features, str) else list(self.features)
        return [*rows, *([] if self.label is None else [self.label])]


LISTS = FrameColumns()


def rows_of_table(table: Any, columns: FrameColumns, n_columns: int, name: str) -> sparse.csr_array:
    """The rows of an Arrow table or batch; errors name the frame and the row within it."""
    arrow = require_extra("pyarrow", "parquet", "Columns of frames")
    names = [columns.features] if isinstance(columns.features, str) else list(columns.features)
    for column in names:
        if column not in table.schema.names:
            known = ", ".join(table.schema.names[:8])
            raise DataError(f"{name}: has no column {column!r}; its columns are {known}.")
    kinds = [table.schema.field(column).type for column in names]
    if any("string" in str(kind) for kind in kinds):
        raise DataError(
            f"{name}: columns {', '.join(names[:3])} hold text; Dask makes text of lists unless "
            "the frame is made after dask.config.set({'dataframe.convert-string': False})."
        )
    if not any(arrow.types.is_nested(kind) for kind in kinds):
        X = sparse.csr_array(dense_rows(table, names, name, 0))
        if X.shape[1] != n_columns:
            raise DataError(f"{name}: has {X.shape[1]} columns where {n_columns} are wanted.")
        return X
    arrays = [_in_one(table.column(column)) for column in names]
    if len(arrays) == 2:
        return rows_of_lists(arrays[0], arrays[1], n_columns, name, 0).matrix()
    (array,) = arrays
    if arrow.types.is_struct(array.type):
        return rows_of_vectors(array, n_columns, name, 0).matrix()
    data, indptr = flat_lists(array, "values", name, 0)
    lengths = np.diff(indptr)
    if (wrong := np.flatnonzero(lengths != n_columns)).size:
        raise DataError(
            f"{name}: row {wrong[0]} has {lengths[wrong[0]]} values where {n_columns} are wanted."
        )
    indices = np.tile(np.arange(n_columns), len(lengths))
    return clean_arrays(indptr, indices, data, n_columns, name).matrix()


def labels_of_table(table: Any, columns: FrameColumns, name: str) -> Array | None:
    """The labels of an Arrow table or batch, if there are any."""
    if columns.label is None:
        return None
    return labels_of_arrow(_in_one(table.column(columns.label)), name, 0)


def joined_labels(labels: Sequence[Array | None]) -> Array | None:
    """Labels of consecutive batches, all of which have some or none."""
    found = [y for y in labels if y is not None]
    return np.concatenate(found) if found else None


def rows_of_block(block: Any, columns: FrameColumns, n_columns: int, name: str) -> Any:
    """Rows and labels of a block of a Dask collection: a pandas frame, or a matrix."""
    if hasattr(block, "columns"):
        arrow = require_extra("pyarrow", "dask", "Dask frames")
        if not len(block):
            y = None if columns.label is None else np.empty(0, block[columns.label].dtype)
            return sparse.csr_array((0, n_columns)), y
        table = arrow.Table.from_pandas(block, preserve_index=False)
        rows = rows_of_table(table, columns, n_columns, name)
        return rows, labels_of_table(table, columns, name)
    matrix = as_matrix(block, name)
    if matrix.shape[1] != n_columns:
        raise DataError(f"{name}: has {matrix.shape[1]} columns where {n_columns} are wanted.")
    return matrix, None


def signature_columns(S: Signatures) -> dict[str, Any]:
    """Arrow arrays that hold signatures: a row's codes and weights are bytes, the rest numbers."""
    arrow = require_extra("pyarrow", "parquet", "Columns of frames")
    found = {}
    for name, array in S.arrays().items():
        values = np.ascontiguousarray(array)
        if values.ndim == 1:
            found[name] = arrow.array(values)
            continue
        width = values.itemsize * values.shape[1]
        ends = np.arange(len(values) + 1, dtype=np.int64) * width
        buffers = [None, arrow.py_buffer(ends.tobytes()), arrow.py_buffer(values.tobytes())]
        wide = arrow.Array.from_buffers(arrow.large_binary(), len(values), buffers)
        found[name] = wide.cast(arrow.binary())
    return found


def signatures_of_table(table: Any, recipe: Recipe) -> Signatures:
    """The signatures that columns of an Arrow table hold, as `CoREHashTransformer` makes them.

    Examples
    --------
    >>> import numpy as np, pyarrow
    >>> import corekernels as ck
    >>> recipe = ck.Recipe("resemblance", n_hashes=8)
    >>> columns = {"codes": [bytes(8), bytes(8)], "lengths": np.array([3, 4], np.int64)}
    >>> len(ck.distributed.signatures_of_table(pyarrow.table(columns), recipe))
    2
    """
    arrays = {}
    for name, (dtype, shape) in recipe.arrays.items():
        column = _in_one(table.column(name))
        if shape:
            items = column.to_pylist()
            arrays[name] = np.frombuffer(b"".join(items), dtype).reshape(len(items), *shape)
        else:
            arrays[name] = column.to_numpy(zero_copy_only=False).astype(dtype, copy=False)
    return Signatures.from_arrays(recipe, arrays)


def _in_one(column: Any) -> Any:
    """An array, where a table has it in chunks."""
    if not hasattr(column, "combine_chunks"):
        return column
    whole = column.combine_chunks()
    return whole.chunk(0) if hasattr(whole, "num_chunks") else whole
