"""Dask DataFrames and arrays of sparse blocks, hashed where their blocks are."""

from functools import partial
from typing import Any

from .._core.arguments import PathLike, require_extra
from ..errors import DataError
from ..files.engines.dask import DaskEngine
from ..files.hashing import HashReport
from ..files.plan import Part, Plan
from ..files.readers import sketch_batch
from ..io.provenance import Origin
from ..recipe import Recipe
from .columns import LISTS, FrameColumns, rows_of_block
from .hashing import HashJob, fill_folder


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
        As for `hash_parts`.
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
    ...     ck.distributed.hash_dask_blocks(engine, frame, "signatures", ck.Recipe(n_columns=784))
    """
    blocks = _delayed_blocks(collection)
    y = [None] * len(blocks) if labels is None else _delayed_blocks(labels)
    if len(y) != len(blocks):
        raise DataError(f"labels: are in {len(y)} blocks, the rows in {len(blocks)}.")
    parts = tuple(Part(number, f"{name}-{number}", 0, None) for number in range(len(blocks)))
    plan = Plan(name, parts, recipe.n_columns, None, 0)
    task = partial(_hash_block, columns)
    delayed = require_extra("dask", "dask", "Dask frames").delayed
    given = [
        delayed((part.path, part.number, block, label))
        for part, block, label in zip(parts, blocks, y, strict=True)
    ]
    return fill_folder(engine, task, plan, given, target, recipe, resume=resume, progress=progress)


def _hash_block(columns: FrameColumns, job: HashJob, argument: tuple[str, int, Any, Any]) -> str:
    """A task: the signatures and labels of a block as a shard; the kind of the labels."""
    name, number, block, y = argument
    X, own = rows_of_block(block, columns, job.recipe.n_columns, name)
    S = sketch_batch(X, job.recipe, 1, name)
    return job.write(number, [S], own if y is None else y, Origin(name, 0, len(S)))


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
