"""Frames of Dask and Spark: their rows are columns of Arrow tables, hashed where they are.

Spark does not keep the order of rows: whoever needs to know which signature is whose keeps a
column that tells.
"""

import os
import pickle
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ..._core.arguments import Array, PathLike, require_extra
from ..._core.validation import Rows, as_matrix, clean_rows
from ...errors import DataError
from ...io.parquet import dense_rows, flat_lists, labels_of_arrow, rows_of_lists, rows_of_vectors
from ...io.provenance import Origin
from ...recipe import Recipe
from ...signatures import Signatures
from ..hashing import HashReport, Piece, Written, hand_over, shards_of_job
from ..readers import part_name, require_one_kind, sketch_batch
from .base import Engine, attempt, value_of

Features = str | Sequence[str]  # the columns that make the rows; see `hash_dask_frame`
SPARSE = ("indices", "values")


def rows_of_table(table: Any, features: Features, n_columns: int, name: str) -> Rows:
    """The rows of an Arrow table or batch; errors name the frame and the row within it."""
    arrow = require_extra("pyarrow", "parquet", "Columns of frames")
    names = [features] if isinstance(features, str) else list(features)
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
    return clean_rows(data.reshape(-1, n_columns), name)


def signature_columns(S: Signatures) -> dict[str, Any]:
    """Arrow arrays that hold signatures: a row's codes and weights are bytes, the rest numbers."""
    arrow = require_extra("pyarrow", "parquet", "Columns of frames")
    columns = {}
    for name, array in S.arrays().items():
        values = np.ascontiguousarray(array)
        if values.ndim == 1:
            columns[name] = arrow.array(values)
            continue
        width = values.itemsize * values.shape[1]
        ends = np.arange(len(values) + 1, dtype=np.int64) * width
        buffers = [None, arrow.py_buffer(ends.tobytes()), arrow.py_buffer(values.tobytes())]
        wide = arrow.Array.from_buffers(arrow.large_binary(), len(values), buffers)
        columns[name] = wide.cast(arrow.binary())
    return columns


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
    for name, (dtype, shape) in recipe.sketch.arrays.items():
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


def hash_dask_frame(
    engine: Engine, frame: Any, target: PathLike, recipe: Recipe, *,
    features: Features = SPARSE, label: Any = None, name: str = "frame",
    resume: bool = False, progress: bool | None = None,
) -> HashReport:  # fmt: skip
    """Hash the blocks of a Dask DataFrame or array into a folder of shards, one per block.

    Parameters
    ----------
    engine : Engine
        From ``open_engine("dask", ...)``.
    frame : dask.dataframe.DataFrame or dask.array.Array
        An array has blocks of rows, each with all columns: NumPy arrays or SciPy sparse ones.
    target, recipe, resume, progress
        As for `hash_to_file`, and so is the report that is returned.
    features : str or sequence of str
        Of a DataFrame: a column of vectors of Spark ML or of lists with a value for every column
        of the matrix; two columns of lists, those of columns and values of sparse rows; or several
        columns of numbers.
    label : str or dask.array.Array, optional
        The column of labels; beside an array an array, in blocks of as many rows.
    name : str
        What the rows are called in the shards.

    Examples
    --------
    >>> import corekernels as ck
    >>> with ck.files.open_engine("dask") as engine:  # doctest: +SKIP
    ...     ck.files.hash_dask_frame(engine, frame, "signatures", ck.Recipe(n_columns=784))
    """
    is_column = label is None or isinstance(label, str)
    columns = features, label if is_column else None
    blocks = _delayed_blocks(frame)
    y = [None] * len(blocks) if is_column else _delayed_blocks(label)
    if len(y) != len(blocks):
        raise DataError(f"label: is in {len(y)} blocks, the rows are in {len(blocks)}.")
    names = [f"{name}-{number}" for number in range(len(blocks))]
    about = {"job": "hash", **recipe.asdict(), "blocks": names}
    with shards_of_job(Path(target), about, recipe, resume=resume) as store:
        arguments = list(zip(names, blocks, y, strict=True))
        n_rows = store.make(engine, partial(_hash_block, columns), arguments, progress)
        return hand_over(store, Path(target), n_rows)


def _hash_block(columns: tuple[Features, str | None], recipe: Recipe, argument: Any) -> Written:
    """A task: the signatures and labels of a block as a shard."""
    (name, block, y), path = argument
    if not hasattr(block, "columns"):
        rows = clean_rows(as_matrix(block, name), name)
        S = sketch_batch(rows, recipe, 1, name)
        return Piece([S], y, [Origin(name, 0, len(S))]).write(path, recipe, shared=True)
    if len(block):
        arrow = require_extra("pyarrow", "dask", "Dask frames")
        table = arrow.Table.from_pandas(block, preserve_index=False)
        piece = _piece_of_tables(recipe, *columns, name, [table])
    else:
        label = columns[1]
        y = None if label is None else np.empty(0, block[label].dtype)
        piece = Piece([Signatures.empty(recipe, 0)], y, [Origin(name, 0, 0)])
    return piece.write(path, recipe, shared=True)


def _delayed_blocks(collection: Any) -> list[Any]:
    """The blocks of a collection, not computed yet."""
    blocks = collection.to_delayed()
    if getattr(blocks, "ndim", 1) == 2:
        if blocks.shape[1] != 1:
            raise DataError(
                f"frame: its columns are in {blocks.shape[1]} blocks; give rows in one piece, "
                "by rechunk({1: -1})."
            )
        blocks = blocks[:, 0]
    return list(blocks)


def hash_spark_frame(
    frame: Any, target: PathLike, recipe: Recipe, *, id: str,  # noqa: A002
    features: Features = SPARSE, label: str | None = None,
    name: str = "frame", n_parts: int | None = None,
) -> HashReport:  # fmt: skip
    """Hash a Spark DataFrame into a folder of shards, rows in the order of a column.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame
    target : path
        The folder to create, which every worker must reach.
    id : str
        The column whose values, all different, give the order.
    recipe, features, label, name
        As for `hash_dask_frame`.
    n_parts : int, optional
        Shards, at most; as many as the frame has partitions if None.

    Examples
    --------
    >>> import corekernels as ck
    >>> recipe = ck.Recipe(n_columns=784)
    >>> found = ck.files.hash_spark_frame(frame, "signatures", recipe, id="row")  # doctest: +SKIP
    """
    n_parts = frame.rdd.getNumPartitions() if n_parts is None else n_parts
    about = {"job": "hash", **recipe.asdict(), "frame": name, "parts": n_parts}
    with shards_of_job(Path(target), about, recipe, resume=False) as store:
        ordered = frame.repartitionByRange(n_parts, id).sortWithinPartitions(id)
        assert store.folder is not None
        work = partial(_write_partition, (recipe, features, label, str(store.folder.parts), name))
        rows = ordered.mapInArrow(work, "written binary").collect()
        written = sorted(pickle.loads(row.written) for row in rows)
        kinds, n_rows = dict[str, str](), 0
        for place, (number, result) in enumerate(written):  # ranges may be empty
            source, labels, n_written = value_of(result)
            kinds.setdefault(labels, source)
            require_one_kind(kinds)
            store.paths.append(store.folder.file(part_name(number)).replace(store.path(place)))
            n_rows += n_written
        return hand_over(store, Path(target), n_rows)


def _write_partition(work: tuple[Any, ...], batches: Iterator[Any]) -> Iterator[Any]:
    """Write the rows of a partition, if it has any: its number and what came of it."""
    arrow = require_extra("pyarrow", "spark", "Spark frames")
    number = require_extra("pyspark", "spark", "Spark frames").TaskContext.get().partitionId()
    written = attempt((_write_shard, (*work, number)), batches)
    if written is not None:
        row = {"written": [pickle.dumps((number, written))]}
        yield arrow.RecordBatch.from_pydict(row)


def _write_shard(work: tuple[Any, ...], batches: Iterator[Any]) -> Written | None:
    """A task: write Arrow batches as a shard; see `Piece.write`."""
    recipe, features, label, folder, name, number = work
    piece = _piece_of_tables(recipe, features, label, f"{name}-{number}", batches)
    if not piece.signatures:
        return None
    return piece.write(os.path.join(folder, part_name(number)), recipe, shared=True)


def _piece_of_tables(
    recipe: Recipe, features: Features, label: str | None, name: str, tables: Iterable[Any]
) -> Piece:
    """The signatures and labels of Arrow tables or batches."""
    signatures: list[Signatures] = []
    labels: list[Array] = []
    for table in tables:
        rows = rows_of_table(table, features, recipe.n_columns, name)
        signatures.append(sketch_batch(rows, recipe, 1, name))
        if label is not None:
            labels.append(labels_of_arrow(_in_one(table.column(label)), name, 0))
    y = np.concatenate(labels) if labels else None
    n_rows = sum(map(len, signatures))
    return Piece(signatures if n_rows else [], y, [Origin(name, 0, n_rows)])
