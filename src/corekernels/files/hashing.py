"""Hashing a stream of rows into a file: one pass, constant memory, nothing half done."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .._core.arguments import Array, PathLike, require_count
from .._core.progress import WriteBehind
from ..errors import DataError, FileError, ParameterError, RecipeMismatch
from ..io.atomic import require_target
from ..io.provenance import Origin, require_same_names
from ..io.readers import Batch, RowReader, with_progress
from ..recipe import Recipe
from ..signatures import Signatures
from .merging import merge_parts
from .readers import SignatureReader, sketch_batch
from .shards import ShardWriter, has_parts, is_finished, is_shard_folder, require_recipe, shard_size

PART_BYTES = 64 << 20


@dataclass(frozen=True)
class HashReport:
    """What `hash_to_file` has done.

    Attributes
    ----------
    target : str
    rows : int
        Rows of the reader that are in the target now.
    rows_before : int
        Rows of it that an earlier, unfinished run had hashed; not those appended to.
    parts : int
        Files written.
    n_bytes : int
        Size of the target; of a folder, that of the files written.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("rows.npz", [[0, 1, 0, 1], [1, 0, 1, 0]])
    >>> reader = ck.files.open_reader("rows.npz")
    >>> found = ck.files.hash_to_file(reader, "rows.sig", ck.files.recipe_for(reader))
    >>> found.target, found.rows, found.parts
    ('rows.sig', 2, 1)
    """

    target: str
    rows: int
    rows_before: int
    parts: int
    n_bytes: int


def hash_to_file(
    reader: RowReader,
    target: PathLike,
    recipe: Recipe,
    *,
    shard_rows: int | None = None,
    resume: bool = False,
    append: bool = False,
    part_bytes: int = PART_BYTES,
    progress: bool | None = None,
    n_jobs: int | None = None,
) -> HashReport:
    """Hash all rows of a reader into a signature file, or a folder of shards.

    Rows are read once. Their signatures gather in parts of `part_bytes`; a file is put together
    from its parts at the end. After a kill
    the target is as it was before, and what was finished waits in the hidden folder
    `.NAME.parts` (or in the shard folder itself) for the next run to resume or to clear.
    Labels travel with the signatures.

    Parameters
    ----------
    reader : RowReader
        From `io.open_rows` or `open_reader`.
    target : path
        The file to create or replace, or the folder of shards to create.
    recipe : Recipe
        How to hash; `recipe_for(reader, kernel=...)` makes one.
    shard_rows : int, optional
        Rows of a shard: makes the target a folder.
    resume : bool
        Go on where a killed run of the same job stopped. The bytes are those of a run that
        was not interrupted. Without it, leftovers are cleared first.
    append : bool
        Put the rows after those the target holds.
    part_bytes : int
        Bytes of signatures per part; two parts are held in memory at a time, one of them being
        written.
    progress : bool, optional
        Whether to show a progress bar; None means where there is a terminal.
    n_jobs : int, optional
        Threads; None means all cores. Never changes the result.

    Examples
    --------
    >>> import corekernels as ck, numpy as np
    >>> rows = "rows.npy"
    >>> np.save(rows, np.eye(5))
    >>> reader = ck.files.open_reader(rows)
    >>> recipe = ck.files.recipe_for(reader, n_hashes=16)
    >>> ck.files.hash_to_file(reader, "rows.sig", recipe).rows
    5
    """
    target = Path(target)
    if reader.format == "signatures":
        raise DataError(f"{reader.name}: is hashed already; give a file of rows.")
    if shard_rows is not None and shard_rows < 1:
        raise ParameterError(f"shard_rows: got {shard_rows!r}; give 1 or more.")
    if shard_rows is None and is_shard_folder(target) and (append or resume):
        shard_rows = shard_size(target)
    if resume and not append and is_finished(target):
        source = _name(reader)
        return finished_before(target, recipe, lambda old: {o.source for o in old} == {source})
    if append:
        require_same_names(reader.name, reader.provenance, provenance_before(target))
    batches = with_progress(reader, "hashing", progress)
    if shard_rows is None:
        part_rows = max(1, require_count("part_bytes", part_bytes) // recipe.bytes_per_row)
        return _to_file(reader, batches, target, recipe, part_rows, resume, append, n_jobs)
    writer = ShardWriter(target, recipe, _name(reader), shard_rows, resume=resume, append=append)
    with writer.writing():
        rows = _write_parts(reader, batches, writer, n_jobs)
    n_bytes = sum(part.stat().st_size for part in writer.parts)
    return HashReport(str(target), rows, writer.rows_before, len(writer.parts), n_bytes)


def provenance_before(target: PathLike) -> list[Origin]:
    """Where the rows came from to which others are to be appended, if there are any."""
    return SignatureReader(target).provenance if has_parts(target) else []


def _name(reader: RowReader) -> str:
    """What parts call the file they were hashed from."""
    return reader.origin(0, 0).source


def finished_before(
    target: PathLike, recipe: Recipe, is_of_this_job: Callable[[list[Origin]], bool]
) -> HashReport:
    """The report on shards that are complete, if recipe and origins are those of this job."""
    old = SignatureReader(target)
    if old.recipe != recipe:
        raise RecipeMismatch(old.recipe, recipe)
    if not is_of_this_job(old.provenance):
        raise FileError(f"{target}: holds shards of other files; name another folder.")
    return HashReport(str(target), old.n_rows, old.n_rows, len(old.parts), old.n_bytes)


def parts_folder(target: Path) -> Path:
    """Where the parts of a file gather until they are complete."""
    return target.with_name(f".{target.name}.parts")


def _to_file(
    reader: RowReader, batches: Iterator[Batch], target: Path, recipe: Recipe, part_rows: int,
    resume: bool, append: bool, n_jobs: int | None,
) -> HashReport:  # fmt: skip
    named, target = target, require_target(target, reader.name)
    old = [target] if append and target.exists() else []
    if old:
        require_recipe(target, recipe)
    folder = parts_folder(target)
    writer = ShardWriter(folder, recipe, _name(reader), part_rows, resume=resume, target=target)
    with writer.writing():
        rows = _write_parts(reader, batches, writer, n_jobs)
        merge_parts([*old, *writer.parts], target)
        writer.discard()
    return HashReport(str(named), rows, writer.rows_before, 1, target.stat().st_size)


def _write_parts(
    reader: RowReader, batches: Iterator[Batch], writer: ShardWriter, n_jobs: int | None
) -> int:
    """Hash the rows that are not there yet; number of all rows of the reader."""
    held: list[Signatures] = []
    labels: list[Array] = []
    n_held, n_rows, first_row = 0, 0, writer.rows_before

    def write(signatures: list[Signatures], labels: list[Array], first_row: int) -> None:
        y = joined_labels(reader, signatures, labels)
        writer.write(signatures, y, reader.origin(first_row, sum(map(len, signatures))))

    with WriteBehind(write) as write_later:
        for batch in batches:
            n_rows = batch.first_row + len(batch)
            start = max(0, writer.rows_before - batch.first_row)
            for some in _pieces(start, len(batch), writer.shard_rows - n_held, writer.shard_rows):
                rows = batch.rows.block(some.start, some.stop)
                S = sketch_batch(rows, writer.recipe, n_jobs, reader.name)
                held.append(S)
                n_held += len(S)
                if batch.y is not None:
                    labels.append(np.asarray(batch.y[some]))
                if n_held == writer.shard_rows:
                    write_later(held, labels, first_row)
                    first_row += n_held
                    held, labels, n_held = [], [], 0
        if n_rows < writer.rows_before:
            raise DataError(
                f"{reader.name}: has {n_rows} rows, an unfinished run had hashed "
                f"{writer.rows_before}; hash anew without resuming."
            )
        if held or first_row == 0:
            write_later(held or [Signatures.empty(writer.recipe, 0)], labels, first_row)
    return n_rows


def hash_batches(
    reader: RowReader, batches: Iterable[Batch], recipe: Recipe, n_jobs: int | None
) -> tuple[list[Signatures], Array | None]:
    """Signatures of all batches, and the labels of all rows."""
    held: list[Signatures] = []
    labels: list[Array] = []
    for batch in batches:
        held.append(sketch_batch(batch.rows, recipe, n_jobs, reader.name))
        if batch.y is not None:
            labels.append(np.asarray(batch.y))
    return held or [Signatures.empty(recipe, 0)], joined_labels(reader, held, labels)


def joined_labels(
    reader: RowReader, signatures: Sequence[Signatures], labels: Sequence[Array]
) -> Array | None:
    """The labels of rows, all of which have one if any has."""
    y: Array | None = np.concatenate(labels) if labels else None
    if y is not None and len(y) < sum(map(len, signatures)):
        raise DataError(f"{reader.name}: some rows have labels and some have none.")
    return y


def _pieces(start: int, stop: int, first: int, size: int) -> Iterator[slice]:
    """Consecutive runs of rows: at most `first`, then at most `size` of them."""
    while start < stop:
        end = min(stop, start + first)
        yield slice(start, end)
        start, first = end, size
