"""Frames of Dask and Spark: their rows are columns of Arrow tables, hashed where they are.

Spark does not keep the order of rows: whoever needs to know which signature is whose keeps a
column that tells.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..._core.arguments import Array, PathLike, require_extra
from ..._core.validation import Rows, as_matrix, clean_arrays, clean_rows
from ...errors import CoREError, DataError
from ...io.parquet import (
    dense_rows,
    flat_lists,
    labels_of_arrow,
    rows_of_lists,
    rows_of_vectors,
)
from ...io.provenance import Origin
from ...recipe import Recipe
from ...signatures import Signatures
from ..hashing import HashReport
from ..opening import require_one_kind
from ..readers import SignatureReader, sketch_batch
from ..shard_parts import HashedPart, PartJob, PartStore, Piece, run_parts, shards_of_job
from ..shards import part_name
from .base import Failure
from .dask import DaskEngine


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
    """

    features: str | Sequence[str] = ("indices", "values")
    label: str | None = None

    @property
    def names(self) -> list[str]:
        """All columns that are needed."""
        rows = [self.features] if isinstance(self.features, str) else list(self.features)
        return [*rows, *([] if self.label is None else [self.label])]


LISTS = FrameColumns()


def rows_of_table(table: Any, columns: FrameColumns, n_columns: int, name: str) -> Rows:
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
        if len(names) != n_columns:
            raise DataError(f"{name}: has {len(names)} columns where {n_columns} are wanted.")
        return clean_rows(dense_rows(table, names, name, 0), name)
    arrays = [_in_one(table.column(column)) for column in names]
    if len(arrays) == 2:
        return rows_of_lists(arrays[0], arrays[1], n_columns, name, 0)
    (array,) = arrays
    if arrow.types.is_struct(array.type):
        return rows_of_vectors(array, n_columns, name, 0)
    data, indptr = flat_lists(array, "values", name, 0)
    lengths = np.diff(indptr)
    if (wrong := np.flatnonzero(lengths != n_columns)).size:
        raise DataError(
            f"{name}: row {wrong[0]} has {lengths[wrong[0]]} values where {n_columns} are wanted."
        )
    indices = np.tile(np.arange(n_columns), len(lengths))
    return clean_arrays(indptr, indices, data, n_columns, name)


def labels_of_table(table: Any, columns: FrameColumns, name: str) -> Array | None:
    """The labels of an Arrow table or batch, if there are any."""
    if columns.label is None:
        return None
    return labels_of_arrow(_in_one(table.column(columns.label)), name, 0)


def rows_of_block(block: Any, columns: FrameColumns, n_columns: int, name: str) -> Any:
    """Rows and labels of a block of a Dask collection: a pandas frame, or a matrix."""
    if hasattr(block, "columns"):
        arrow = require_extra("pyarrow", "dask", "Dask frames")
        if not len(block):
            y = None if columns.label is None else np.empty(0, block[columns.label].dtype)
            return clean_rows(np.empty((0, n_columns)), name), y
        table = arrow.Table.from_pandas(block, preserve_index=False)
        rows = rows_of_table(table, columns, n_columns, name)
        return rows, labels_of_table(table, columns, name)
    rows = clean_rows(as_matrix(block, name), name)
    if rows.n_columns != n_columns:
        raise DataError(f"{name}: has {rows.n_columns} columns where {n_columns} are wanted.")
    return rows, None


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
    >>> len(ck.files.signatures_of_table(pyarrow.table(columns), recipe))
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


def hash_dask_blocks(
    engine: DaskEngine, collection: Any, target: PathLike, recipe: Recipe,
    columns: FrameColumns = LISTS, *, labels: Any = None, name: str = "blocks",
    resume: bool = False, progress: bool | None = None,
) -> HashReport:  # fmt: skip
    """Hash the blocks of a Dask DataFrame or array into a folder of shards, one per block.

    Parameters
    ----------
    engine : DaskEngine
    collection : dask.dataframe.DataFrame or dask.array.Array
        An array has blocks of rows, each with all columns: NumPy arrays or SciPy sparse ones.
    target, recipe, resume, progress
        As for `hash_to_file`.
    columns : FrameColumns
        Where rows and labels of a DataFrame are.
    labels : dask.array.Array, optional
        Labels of the rows of an array, in blocks of as many.
    name : str
        What the rows are called in the shards.

    Examples
    --------
    >>> import corekernels as ck
    >>> with ck.files.DaskEngine() as engine:  # doctest: +SKIP
    ...     ck.files.hash_dask_blocks(engine, frame, "signatures", ck.Recipe(n_columns=784))
    """
    blocks = _delayed_blocks(collection)
    y = [None] * len(blocks) if labels is None else _delayed_blocks(labels)
    if len(y) != len(blocks):
        raise DataError(f"labels: are in {len(y)} blocks, the rows in {len(blocks)}.")
    names = [f"{name}-{number}" for number in range(len(blocks))]
    delayed = require_extra("dask", "dask", "Dask frames").delayed
    about = {"job": "hash", **recipe.asdict(), "blocks": names}
    with shards_of_job(Path(target), about, recipe, resume=resume) as shards:
        store = PartStore(recipe, shards.folder)
        arguments = [
            delayed((source, part_name(number), block, label))
            for number, (source, block, label) in enumerate(zip(names, blocks, y, strict=True))
        ]
        task, job = partial(_hash_block, columns), PartJob(recipe, str(shards.folder.path))
        n_rows = run_parts(engine, task, job, arguments, names, store, progress)
        shards.hand_over(store.paths)
    return _report(target, n_rows, store.rows_before)


def _report(target: PathLike, n_rows: int, rows_before: int) -> HashReport:
    whole = SignatureReader(target)
    return HashReport(str(target), n_rows, rows_before, len(whole.parts), whole.n_bytes)


def _hash_block(
    columns: FrameColumns, job: PartJob, argument: tuple[str, str, Any, Any]
) -> HashedPart:
    """A task: the signatures and labels of a block as a shard."""
    source, name, block, y = argument
    rows, own = rows_of_block(block, columns, job.recipe.n_columns, source)
    S = sketch_batch(rows, job.recipe, 1, source)
    return job.write(name, Piece([S], own if y is None else y, [Origin(source, 0, len(S))]))


def _delayed_blocks(collection: Any) -> list[Any]:
    """The blocks of a collection, not computed yet."""
    blocks = collection.to_delayed()
    if getattr(blocks, "ndim", 1) == 2:
        if blocks.shape[1] != 1:
            raise DataError(
                f"collection: its columns are in {blocks.shape[1]} blocks; give rows in one piece, "
                "by rechunk({1: -1})."
            )
        blocks = blocks[:, 0]
    return list(blocks)


def hash_spark_rows(
    frame: Any, target: PathLike, recipe: Recipe, columns: FrameColumns = LISTS, *,
    id: str, n_parts: int | None = None, name: str = "frame",  # noqa: A002
) -> HashReport:  # fmt: skip
    """Hash a Spark DataFrame into a folder of shards, rows in the order of a column.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    target : path
        The folder to create, which every worker must reach.
    recipe, columns, name
        As for `hash_dask_blocks`.
    id : str
        The column whose values, all different, give the order.
    n_parts : int, optional
        Shards, at most; as many as the frame has partitions if None.

    Examples
    --------
    >>> import corekernels as ck
    >>> recipe = ck.Recipe(n_columns=784)
    >>> found = ck.files.hash_spark_rows(frame, "signatures", recipe, id="row")  # doctest: +SKIP
    """
    n_parts = frame.rdd.getNumPartitions() if n_parts is None else n_parts
    about = {"job": "hash", **recipe.asdict(), "frame": name, "parts": n_parts}
    with shards_of_job(Path(target), about, recipe, resume=False) as shards:
        job = PartJob(recipe, str(shards.folder.path))
        ordered = frame.repartitionByRange(n_parts, id).sortWithinPartitions(id)
        work = partial(_write_partition, job, columns, name)
        fields = "number int, labels string, rows long, failure string, message string"
        parts = sorted(ordered.mapInArrow(work, fields).collect())
        for part in parts:
            if part.failure:
                raise Failure(part.failure, part.message).error()
        require_one_kind({part.labels: f"{name}-{part.number}" for part in reversed(parts)})
        paths = []
        for place, part in enumerate(parts):  # ranges may be empty
            paths.append(shards.folder.file(part_name(place)))
            shards.folder.file(part_name(part.number)).replace(paths[-1])
        shards.hand_over(paths)
    return _report(target, sum(part.rows for part in parts), 0)


def _write_partition(
    job: PartJob, columns: FrameColumns, name: str, batches: Iterator[Any]
) -> Iterator[Any]:
    """Write the rows of a partition as a shard; a row about it, if it has any."""
    arrow = require_extra("pyarrow", "spark", "Spark frames")
    number = require_extra("pyspark", "spark", "Spark frames").TaskContext.get().partitionId()
    source, failure, part = f"{name}-{number}", Failure("", ""), HashedPart("", 0)
    try:
        piece = _piece_of_batches(job.recipe, columns, source, batches)
        if piece.signatures:
            part = job.write(part_name(number), piece)
    except CoREError as error:
        failure = Failure(type(error).__name__, str(error))
    if part.n_rows or failure.kind:
        about = {"number": number, "labels": part.labels, "rows": part.n_rows}
        about |= {"failure": failure.kind, "message": failure.message}
        row = {name: [value] for name, value in about.items()}
        row["number"] = arrow.array([number], arrow.int32())
        yield arrow.RecordBatch.from_pydict(row)


def _piece_of_batches(
    recipe: Recipe, columns: FrameColumns, source: str, batches: Iterator[Any]
) -> Piece:
    """The signatures and labels of Arrow batches."""
    signatures, labels = [], []
    for batch in batches:
        rows = rows_of_table(batch, columns, recipe.n_columns, source)
        signatures.append(sketch_batch(rows, recipe, 1, source))
        labels.append(labels_of_table(batch, columns, source))
    given = [y for y in labels if y is not None]
    n_rows = sum(map(len, signatures))
    y = np.concatenate(given) if given else None
    return Piece(signatures if n_rows else [], y, [Origin(source, 0, n_rows)])
