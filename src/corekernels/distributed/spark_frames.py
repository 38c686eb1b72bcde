"""Spark DataFrames: rows go from Java to Python in Arrow batches, and are hashed there.

Spark does not keep the order of rows: whoever needs to know which signature is whose keeps a
column that tells.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

from .._core.arguments import PathLike, require_extra
from ..errors import CoREError
from ..files.engines.base import Failure
from ..files.hashing import HashReport
from ..files.plan import Part, Plan
from ..files.readers import SignatureReader, sketch_batch
from ..files.shards import part_name
from ..io.provenance import Origin
from ..recipe import Recipe
from .columns import LISTS, FrameColumns, joined_labels, labels_of_table, rows_of_table
from .hashing import HashJob, PartFolder, require_one_kind


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
    >>> from corekernels import distributed
    >>> recipe = ck.Recipe(n_columns=784)
    >>> found = distributed.hash_spark_rows(frame, "signatures", recipe, id="row")  # doctest: +SKIP
    """
    n_parts = frame.rdd.getNumPartitions() if n_parts is None else n_parts
    parts = tuple(Part(number, f"{name}-{number}", 0, None) for number in range(n_parts))
    folder = PartFolder(target, recipe, Plan(name, parts, recipe.n_columns, None, 0), False)
    with folder.writing():
        job = HashJob(recipe, str(folder.folder.absolute()))
        ordered = frame.repartitionByRange(n_parts, id).sortWithinPartitions(id)
        work = partial(_write_partition, job, columns, name)
        fields = "number int, labels string, failure string, message string"
        found = sorted(ordered.mapInArrow(work, fields).collect())
        for row in found:
            if row.failure:
                raise Failure(row.failure, row.message).error()
        require_one_kind({row.labels: f"{name}-{row.number}" for row in reversed(found)})
        for place, row in enumerate(found):  # ranges may be empty
            source, final = (folder.folder / part_name(n) for n in (row.number, place))
            source.replace(final)
            folder.parts.append(final)
    whole = SignatureReader(target)
    return HashReport(str(target), whole.n_rows, 0, len(whole.parts), whole.n_bytes)


def _write_partition(
    job: HashJob, columns: FrameColumns, name: str, batches: Iterator[Any]
) -> Iterator[Any]:
    """Write the rows of a partition as a shard; a row about it."""
    arrow = require_extra("pyarrow", "spark", "Spark frames")
    number = require_extra("pyspark", "spark", "Spark frames").TaskContext.get().partitionId()
    source = f"{name}-{number}"
    failure, kind = Failure("", ""), ""
    try:
        kind = _write_batches(job, columns, source, number, batches)
    except CoREError as error:
        failure = Failure(type(error).__name__, str(error))
    if kind or failure.kind:
        about = [[number], [kind], [failure.kind], [failure.message]]
        arrays = [arrow.array(about[0], arrow.int32()), *map(arrow.array, about[1:])]
        names = ["number", "labels", "failure", "message"]
        yield arrow.RecordBatch.from_arrays(arrays, names)


def _write_batches(
    job: HashJob, columns: FrameColumns, source: str, number: int, batches: Iterator[Any]
) -> str:
    """Write a shard; the kind of its labels, or "" where there are no rows."""
    signatures, labels = [], []
    for batch in batches:
        X = rows_of_table(batch, columns, job.recipe.n_columns, source)
        signatures.append(sketch_batch(X, job.recipe, 1, source))
        labels.append(labels_of_table(batch, columns, source))
    n_rows = sum(map(len, signatures))
    if not n_rows:
        return ""
    return job.write(number, signatures, joined_labels(labels), Origin(source, 0, n_rows))
