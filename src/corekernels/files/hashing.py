"""Hashing rows into a signature file or a folder of shards: one pass, constant memory."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._core.arguments import Array, PathLike, require_count
from ..errors import CoREError, DataError, FileError
from ..io.atomic import Target, atomic_write, naming_target, require_target
from ..io.containers import Stacked
from ..io.job_folder import JobFolder, file_stamps, unfinished_folder
from ..io.provenance import Origin, join_runs, require_same_names
from ..io.readers import RowReader, require_rows, with_progress
from ..io.signature_file import pack_labels, read_signatures, write_signatures
from ..recipe import Recipe
from ..signatures import Signatures, concatenate
from .engines.base import Engine, Task
from .readers import (
    SignatureReader,
    in_order,
    is_shard_folder,
    label_kind,
    part_files,
    part_name,
    require_one_kind,
    require_recipe,
    sketch_batch,
)
from .sources import FilePart, Source, plan_of, reader_of

PART_BYTES = 64 << 20
_ALL_ROWS = 1 << 62


@dataclass(frozen=True)
class HashReport:
    """What `hash_to_file` has done."""

    target: str
    rows: int  # of the source that are in the target now
    rows_before: int  # of these, that an earlier, unfinished run had hashed
    parts: int  # files written
    n_bytes: int  # of the target; of a folder, of the files written


def rows_per_part(recipe: Recipe, part_bytes: int = PART_BYTES) -> int:
    """Rows whose signatures make a part of the usual size."""
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
    source : reader or plan
        From `open_reader`; for an engine, from `plan_parts`.
    target : path
        The file to create or replace, or the folder of shards to create.
    recipe : Recipe
        How to hash; its `n_columns` are those of the source.
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

    Returns
    -------
    report : has `target`, `rows`, `rows_before` (those that a killed run had hashed), `parts`, \
`n_bytes`

    Examples
    --------
    >>> import corekernels as ck, numpy as np
    >>> np.save("rows.npy", np.eye(5))
    >>> reader = ck.files.open_reader("rows.npy")
    >>> recipe = ck.Recipe(n_columns=reader.n_columns, n_hashes=16)
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
    if resume and not append and is_shard_folder(target):
        return _finished_before(job, target)
    with shards_of_job(Path(target), job.about, recipe, resume=resume, append=append) as store:
        return hand_over(store, Path(target), job.fill(store))


def provenance_before(target: PathLike) -> list[Origin]:
    """Where the rows came from to which others are to be appended, if there are any."""
    is_there = Path(target).is_file() or is_shard_folder(target)
    return SignatureReader(target).provenance if is_there else []


def _to_file(job: "HashJob", target: PathLike, resume: bool, append: bool) -> HashReport:
    final = require_target(target, *job.source.paths)
    before = [final] if append and final.exists() else []
    for path in before:
        require_recipe(path, job.recipe)
    with contextlib.ExitStack() as stack, atomic_write(final) as file:
        store = job.store(stack, final, resume, bool(before))
        n_rows = job.fill(store)
        if store.only is not None:
            store.only.write(file, job.recipe)
        else:
            SignatureReader([*before, *store.paths]).write(file)
    store.discard()
    return HashReport(str(target), n_rows, store.rows_before, 1, final.stat().st_size)


def _finished_before(job: "HashJob", target: PathLike) -> HashReport:
    """The report on shards that are complete, if they are those of this job."""
    old = SignatureReader(target)
    require_recipe(old.paths[0], job.recipe)
    reader = require_rows(reader_of(job.source, job.n_jobs))
    if {origin.source for origin in old.provenance} != reader.sources:
        raise FileError(f"{target}: holds shards of other files; name another folder.")
    return HashReport(str(target), old.n_rows, old.n_rows, len(old.paths), old.n_bytes)


Written = tuple[str, str, int]  # name of the rows, kind of their labels, and how many they are


class Piece(NamedTuple):
    """Signatures and labels of consecutive rows, and where these came from."""

    signatures: Sequence[Signatures]
    labels: Array | None
    origins: Sequence[Origin]

    def write(self, target: Target, recipe: Recipe, **options: bool) -> Written:
        """Write them as a file; options are those of `write_signatures`."""
        n_rows = sum(map(len, self.signatures))
        y, classes = (None, None) if self.labels is None else pack_labels(self.labels, n_rows)
        arrays = {
            name: Stacked.of([S.arrays()[name] for S in self.signatures])
            for name in recipe.sketch.arrays
        }
        write_signatures(target, recipe, arrays, y, classes, self.origins, **options)
        name = next((origin.source for origin in self.origins), "")
        return name, label_kind(self.labels), n_rows


class PartStore:
    """Parts of signatures, in a folder that is opened for the second of them at the latest.

    Attributes
    ----------
    only : Piece or None
        The only part, if it is in memory.
    paths : list of Path
        The parts that are in the folder.
    rows_before : int
        Rows that were in the folder before.
    """

    def __init__(
        self, recipe: Recipe, folder: JobFolder | None, first: int = 0,
        open_folder: Callable[[], JobFolder] | None = None,
    ) -> None:  # fmt: skip
        self.recipe, self.folder, self._first, self._open = recipe, folder, first, open_folder
        self.only: Piece | None = None
        self.paths: list[Path] = []
        self.rows_before = 0

    def path(self, number: int) -> Path:
        """Where a part goes, numbered from 0 in this job."""
        if self.folder is None:
            assert self._open is not None
            self.folder = self._open()
        return self.folder.file(part_name(self._first + number))

    def rows_of(self, number: int) -> int | None:
        """Rows of a part that an earlier run has finished, None if there is no such part."""
        if self.folder is None or not self.path(number).exists():
            return None
        with contextlib.suppress(CoREError):  # a damaged one is made again
            contents = require_recipe(self.path(number), self.recipe)
            if not self.folder.changed & {origin.source for origin in contents.provenance}:
                return len(contents)
        return None

    def take_finished(self) -> None:
        """Count the parts at the beginning that an earlier run has finished; remove others."""
        while (n_rows := self.rows_of(len(self.paths))) is not None:
            self.paths.append(self.path(len(self.paths)))
            self.rows_before += n_rows
        if self.folder is not None:
            for path in {*in_order(self.folder.parts)} - {*self.paths}:
                path.unlink()

    def add(self, piece: Piece, is_only: bool) -> None:
        """Write the next part, or keep it, if it is to be the only one."""
        if is_only and self.folder is None:
            self.only = piece
            return
        path = self.path(len(self.paths))
        piece.write(path, self.recipe, durable=self._open is None)
        self.paths.append(path)

    def make(
        self, engine: Engine, task: Task, arguments: Sequence[Any], progress: bool | None
    ) -> int:
        """Have a task write the parts that are missing; number of all rows.

        It gets the recipe, and its own of the arguments with the path of its part.
        """
        rows = {number: self.rows_of(number) for number in range(len(arguments))}
        self.paths = [self.path(number) for number in rows]
        missing = [number for number, n_rows in rows.items() if n_rows is None]
        self.rows_before = sum(n_rows or 0 for n_rows in rows.values())
        kinds: dict[str, str] = {}

        def done(place: int, written: Written) -> None:
            name, labels, rows[missing[place]] = written
            kinds.setdefault(labels, name)
            require_one_kind(kinds)

        todo = [(arguments[number], str(self.paths[number])) for number in missing]
        engine.run(task, self.recipe, todo, what="hashing", progress=progress, done=done)
        return sum(n_rows or 0 for n_rows in rows.values())

    def read(self) -> tuple[Signatures, Array | None, list[Origin]]:
        """Signatures, labels and origins of all parts; several are put into one file first."""
        if self.only is not None:
            signatures, labels, origins = self.only
            return concatenate(list(signatures)), labels, list(origins)
        merged = self.paths[0]
        if len(self.paths) > 1:
            assert self.folder is not None
            merged = self.folder.file("merged")
            SignatureReader(self.paths).write(merged)
        reader = SignatureReader(merged)
        return *reader.read(), join_runs(reader.provenance)

    def discard(self) -> None:
        """Remove the folder."""
        if self.folder is not None:
            self.folder.discard()


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
        about = {"job": self.name, **self.recipe.asdict(), "shard_rows": self.part_rows}
        return about | {"by_file": self.by_file, "files": file_stamps(self.source.paths)}

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
        """Write the parts that are missing; number of all rows.

        This process reads ahead and writes behind.
        """
        if self.engine is not None:
            parts = plan_of(self.source).cut(self.part_rows).parts
            return store.make(self.engine, hash_part, parts, self.progress)
        reader = require_rows(reader_of(self.source, self.n_jobs))
        store.take_finished()
        n_rows = store.rows_before
        with ThreadPoolExecutor(1, "corekernels-write") as writer:
            last_write: Future[None] | None = None
            for piece, is_only in self.pieces(reader, store.rows_before):
                if last_write is not None:
                    last_write.result()  # its error, if there is one; no second piece waits
                last_write = writer.submit(store.add, piece, is_only)
                n_rows += sum(map(len, piece.signatures))
            if last_write is not None:
                last_write.result()
        return n_rows

    def pieces(self, reader: RowReader, start: int = 0) -> Iterator[tuple[Piece, bool]]:
        """Signatures of rows from `start` on, and whether a piece is known to be the only one."""
        signatures: list[Signatures] = []
        labels: list[Array] = []
        n_held = n_rows = 0
        first_row = start

        def piece() -> tuple[Piece, bool]:
            nonlocal signatures, labels, n_held, first_row
            y = np.concatenate(labels) if labels else None
            taken = signatures or [Signatures.empty(self.recipe, 0)]
            made = Piece(taken, y, reader.origins(first_row, n_held))
            is_only = first_row == 0 and n_held in (0, reader.n_rows)
            first_row += n_held
            signatures, labels, n_held = [], [], 0
            return made, is_only

        for batch in with_progress(reader, "hashing", self.progress):
            n_rows = batch.first_row + len(batch)
            if self.by_file and n_held and batch.first_row == reader.first_rows[-1]:
                yield piece()
            place = max(0, start - batch.first_row)
            while place < len(batch):
                end = min(len(batch), place + self.part_rows - n_held)
                rows = batch.rows.block(place, end)
                signatures.append(sketch_batch(rows, self.recipe, self.n_jobs, reader.name))
                if batch.y is not None:
                    labels.append(np.asarray(batch.y[place:end]))
                n_held, place = n_held + end - place, end
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


def hash_part(recipe: Recipe, argument: tuple[FilePart, str]) -> Written:
    """A task: write the signatures and labels of a part of the rows as a file; see `PartStore`."""
    part, path = argument
    reader = require_rows(part.open())
    job = HashJob(reader, recipe, _ALL_ROWS, False, None, False, 1)
    ((piece, _),) = job.pieces(reader)
    return piece.write(path, recipe, shared=True)


@contextlib.contextmanager
def shards_of_job(
    target: Path, about: dict[str, Any], recipe: Recipe, *, resume: bool, append: bool = False
) -> Iterator[PartStore]:
    """Where new shards of the target gather, until they are handed over."""
    _require_room(target, append)
    path, first = unfinished_folder(target), 0
    if append and is_shard_folder(target):
        require_recipe(target / part_name(0), recipe)
        left = JobFolder(path).job() or {}  # a killed run may have appended all its shards already
        first = min(len(part_files(target)), left.get("first_shard", 1 << 62))
    with JobFolder.open(
        path, about | {"first_shard": first}, resume=resume, redo_changed=True
    ) as folder:
        for shard in reversed(in_order(target)):  # appended by a killed run
            if int(shard.stem.partition("-")[2]) >= first:
                shard.replace(folder.file(shard.name))
        if not resume:
            folder.remove("*")
        yield PartStore(recipe, folder, first)


def _require_room(target: Path, append: bool) -> None:
    """Refuse a target that is no folder, holds shards already, or holds something else."""
    if not target.parent.is_dir():
        raise FileError(f"{target}: the folder {target.parent} does not exist; make it first.")
    if target.exists() and not target.is_dir():
        raise FileError(f"{target}: is a file; name a new folder for the shards.")
    if is_shard_folder(target) and not append:
        raise FileError(
            f"{target}: holds shards already; remove it, name another folder, or append to it."
        )
    if target.is_dir() and {*target.iterdir()} - {*in_order(target)}:
        raise FileError(f"{target}: holds other files; name a new folder for the shards.")


def hand_over(store: PartStore, target: Path, n_rows: int) -> HashReport:
    """Make the parts of a job shards of the target, and end the job."""
    assert store.folder is not None
    n_bytes = sum(path.stat().st_size for path in store.paths)
    if is_shard_folder(target):
        move_shards(store.paths, target)
        store.discard()
    else:
        store.folder.hand_over(target)
    return HashReport(str(target), n_rows, store.rows_before, len(store.paths), n_bytes)


def move_shards(paths: Sequence[Path], target: Path) -> None:
    """Append shards to others, the last one first."""
    with naming_target(target):
        for path in reversed(paths):
            path.replace(target / path.name)
