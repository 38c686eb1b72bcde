"""Hashing rows into a signature file or a folder of shards: one pass, constant memory."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._core.arguments import Array, PathLike, require_count
from .._core.progress import WriteBehind
from ..errors import DataError, FileError
from ..io.atomic import atomic_write, require_target
from ..io.job_folder import JobFolder, file_stamps, unfinished_folder
from ..io.provenance import Origin, require_same_names
from ..io.readers import RowReader, require_rows, with_progress
from ..io.signature_file import read_signatures
from ..recipe import Recipe
from ..signatures import Signatures
from .engines import Engine
from .opening import PlanReader, Source, origins, plan_of, reader_of, source_paths
from .plan import Part
from .readers import SignatureReader, sketch_batch
from .shard_parts import (
    HashedPart,
    PartJob,
    PartStore,
    Piece,
    require_recipe,
    run_parts,
    shards_of_job,
)
from .shards import is_shard_folder, merge_parts, part_name

PART_BYTES = 64 << 20
_ALL_ROWS = 1 << 62


@dataclass(frozen=True)
class HashReport:
    """What `hash_to_file` has done.

    Attributes
    ----------
    target : str
    rows : int
        Rows of the source that are in the target now.
    rows_before : int
        Rows of it that an earlier, unfinished run had hashed; not those appended to.
    parts : int
        Files written.
    n_bytes : int
        Size of the target; of a folder, that of the files written.
    """

    target: str
    rows: int
    rows_before: int
    parts: int
    n_bytes: int


def rows_per_part(recipe: Recipe, part_bytes: int = PART_BYTES) -> int:
    """Rows whose signatures make a part of the usual size.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.files.rows_per_part(ck.Recipe(n_columns=784, n_hashes=1024))
    21788
    """
    return max(1, require_count("part_bytes", part_bytes) // recipe.bytes_per_row)


def hash_to_file(
    source: Source,
    target: PathLike,
    recipe: Recipe,
    *,
    shard_rows: int | None = None,
    resume: bool = False,
    append: bool = False,
    engine: Engine | None = None,
    part_bytes: int = PART_BYTES,
    progress: bool | None = None,
    n_jobs: int | None = None,
) -> HashReport:
    """Hash all rows of a source into a signature file, or a folder of shards.

    Rows are read once. Their signatures gather in parts of `part_bytes`; a file is put together
    from its parts at the end. After a kill the target is as it was before, and what was finished
    waits in the hidden folder `.NAME.unfinished` for the next run to resume or to clear.
    Labels travel with the signatures.

    Parameters
    ----------
    source : reader or Plan
        From `open_reader`; for an engine, from `plan_parts`.
    target : path
        The file to create or replace, or the folder of shards to create.
    recipe : Recipe
        How to hash; `recipe_for(source, kernel=...)` makes one.
    shard_rows : int, optional
        Most rows of a shard, which never come from two files: makes the target a folder.
    resume : bool
        Go on where a killed run of the same job stopped. The bytes are those of a run that
        was not interrupted. Without it, leftovers are cleared first.
    append : bool
        Put the rows after those the target holds.
    engine : Engine, optional
        What runs a task per part, in place of this process; all workers must reach the target.
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
    >>> np.save("rows.npy", np.eye(5))
    >>> reader = ck.files.open_reader("rows.npy")
    >>> recipe = ck.files.recipe_for(reader, n_hashes=16)
    >>> ck.files.hash_to_file(reader, "rows.sig", recipe).rows
    5
    """
    if getattr(source, "recipe", None) is not None:
        raise DataError(f"{source.name}: is hashed already; give files of rows.")
    if shard_rows is not None:
        require_count("shard_rows", shard_rows)
    elif is_shard_folder(target) and (append or resume):
        shard_rows = len(read_signatures(Path(target) / part_name(0)))
    if append:
        provenance = reader_of(source, n_jobs).provenance
        require_same_names(source.name, provenance, provenance_before(target))
    part_rows = shard_rows or rows_per_part(recipe, part_bytes)
    job = HashJob(source, recipe, part_rows, shard_rows is not None, engine, progress, n_jobs)
    if shard_rows is None:
        return _to_file(job, target, resume, append)
    return _to_folder(job, Path(target), resume, append)


def provenance_before(target: PathLike) -> list[Origin]:
    """Where the rows came from to which others are to be appended, if there are any."""
    is_there = Path(target).is_file() or is_shard_folder(target)
    return SignatureReader(target).provenance if is_there else []


def _to_file(job: "HashJob", target: PathLike, resume: bool, append: bool) -> HashReport:
    final = require_target(target, *source_paths(job.source))
    before = [final] if append and final.exists() else []
    if before:
        require_recipe(final, job.recipe)
    with contextlib.ExitStack() as stack, atomic_write(final) as file:
        store = job.store(stack, final, resume, bool(before))
        n_rows = job.fill(store)
        if store.only is not None:
            store.only.write(file, job.recipe)
        else:
            merge_parts([*before, *store.paths], file, target)
    store.discard()
    return HashReport(str(target), n_rows, store.rows_before, 1, final.stat().st_size)


def _to_folder(job: "HashJob", target: Path, resume: bool, append: bool) -> HashReport:
    if resume and not append and is_shard_folder(target):
        return _finished_before(job, target)
    with shards_of_job(target, job.about, job.recipe, resume=resume, append=append) as shards:
        store = PartStore(job.recipe, shards.folder, shards.first)
        n_rows = job.fill(store)
        shards.hand_over(store.paths)
    n_bytes = sum((target / path.name).stat().st_size for path in store.paths)
    return HashReport(str(target), n_rows, store.rows_before, len(store.paths), n_bytes)


def _finished_before(job: "HashJob", target: Path) -> HashReport:
    """The report on shards that are complete, if they are those of this job."""
    old = SignatureReader(target)
    require_recipe(old.parts[0], job.recipe)
    reader = require_rows(reader_of(job.source, job.n_jobs))
    names = {reader.origin(0, 0).source}
    if isinstance(reader, PlanReader):
        names = {os.path.basename(path) for path in reader.plan.paths}
    if {origin.source for origin in old.provenance} != names:
        raise FileError(f"{target}: holds shards of other files; name another folder.")
    return HashReport(str(target), old.n_rows, old.n_rows, len(old.parts), old.n_bytes)


class HashJob(NamedTuple):
    """What is hashed, how, and by what."""

    source: Source
    recipe: Recipe
    part_rows: int
    by_file: bool  # whether no part has rows of two files
    engine: Engine | None
    progress: bool | None
    n_jobs: int | None
    name: str = "hash"

    @property
    def about(self) -> dict[str, Any]:
        """What the parts depend on."""
        stamps = file_stamps(source_paths(self.source))
        about = {"job": self.name, **self.recipe.asdict(), "shard_rows": self.part_rows}
        return about | {"by_file": self.by_file, "files": stamps}

    def store(
        self, stack: contextlib.ExitStack, target: Path, resume: bool, is_needed: bool
    ) -> PartStore:
        """Where the parts of a file gather: in a folder, if it is needed, or left from before."""
        path = unfinished_folder(target)

        def open_folder() -> JobFolder:
            return stack.enter_context(
                JobFolder.open(path, self.about, resume=resume, redo_changed=True)
            )

        is_needed = is_needed or path.exists() or self.engine is not None
        return PartStore(self.recipe, open_folder() if is_needed else None, 0, open_folder)

    def fill(self, store: PartStore) -> int:
        """Write the parts that are missing; number of all rows."""
        return self._fill_here(store) if self.engine is None else self._fill_by(self.engine, store)

    def _fill_here(self, store: PartStore) -> int:
        """Hash in this process, reading ahead and writing behind."""
        reader = require_rows(reader_of(self.source, self.n_jobs))
        store.take_finished()
        n_rows = store.rows_before
        with WriteBehind(store.add) as add_later:
            for piece, is_only in self._pieces(reader, store.rows_before):
                add_later(piece, is_only)
                n_rows += sum(map(len, piece.signatures))
        return n_rows

    def _pieces(self, reader: RowReader, start: int) -> Iterator[tuple[Piece, bool]]:
        """Signatures of rows from `start` on, and whether a piece is known to be the only one."""
        signatures: list[Signatures] = []
        labels: list[Array] = []
        n_held = n_rows = 0
        first_row = start

        def piece() -> tuple[Piece, bool]:
            nonlocal signatures, labels, n_held, first_row
            y = _joined_labels(reader, labels, n_held)
            taken = signatures or [Signatures.empty(self.recipe, 0)]
            made = Piece(taken, y, origins(reader, first_row, n_held))
            is_only = first_row == 0 and n_held in (0, reader.n_rows)
            first_row += n_held
            signatures, labels, n_held = [], [], 0
            return made, is_only

        for batch in with_progress(reader, "hashing", self.progress):
            n_rows = batch.first_row + len(batch)
            is_new_file = (
                isinstance(reader, PlanReader) and batch.first_row == reader.first_rows[-1]
            )
            if self.by_file and is_new_file and n_held:
                yield piece()
            place = max(0, start - batch.first_row)
            while place < len(batch):
                end = min(len(batch), place + self.part_rows - n_held)
                rows = batch.rows.block(place, end)
                S = sketch_batch(rows, self.recipe, self.n_jobs, reader.name)
                signatures.append(S)
                if batch.y is not None:
                    labels.append(np.asarray(batch.y[place:end]))
                n_held, place = n_held + len(S), end
                if n_held == self.part_rows:
                    yield piece()
        if n_rows < start:
            raise DataError(
                f"{reader.name}: has {n_rows} rows, an unfinished run had hashed {start}; hash "
                "anew without resuming."
            )
        if n_held or first_row == 0:
            is_only = first_row == 0
            yield piece()[0], is_only

    def _fill_by(self, engine: Engine, store: PartStore) -> int:
        """Hash by a task per part."""
        assert store.folder is not None
        parts = plan_of(self.source).cut(self.part_rows).parts
        task = PartJob(self.recipe, str(store.folder.path))
        arguments = [(part, store.path(part.number).name) for part in parts]
        names = [part.path for part in parts]
        return run_parts(engine, hash_part, task, arguments, names, store, self.progress)


def _joined_labels(reader: RowReader, labels: Sequence[Array], n_rows: int) -> Array | None:
    """The labels of rows, all of which have one if any has."""
    y: Array | None = np.concatenate(labels) if labels else None
    if y is not None and len(y) < n_rows:
        raise DataError(f"{reader.name}: some rows have labels and some have none.")
    return y


def hash_part(job: PartJob, argument: tuple[Part, str]) -> HashedPart:
    """A task: write the signatures and labels of a part of the rows as a file."""
    part, name = argument
    reader = require_rows(part.open())
    whole = HashJob(reader, job.recipe, _ALL_ROWS, False, None, False, 1)
    ((piece, _),) = whole._pieces(reader, 0)
    return job.write(name, piece)
