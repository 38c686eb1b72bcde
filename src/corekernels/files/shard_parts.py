"""Parts of signatures while they are made: here or by tasks, each whole or not at all."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .._core.arguments import Array
from ..errors import CoREError, RecipeMismatch
from ..io.atomic import Target
from ..io.job_folder import JobFolder, unfinished_folder
from ..io.provenance import Origin
from ..io.signature_file import read_signatures
from ..recipe import Recipe
from ..signatures import Signatures
from .engines import Engine
from .engines.base import Task
from .opening import label_kind, require_one_kind
from .shards import (
    hand_over,
    is_shard_folder,
    part_files,
    part_name,
    require_room,
    take_back,
    write_part,
)


class Piece(NamedTuple):
    """Signatures and labels of consecutive rows, and where these came from."""

    signatures: Sequence[Signatures]
    labels: Array | None
    origins: Sequence[Origin]

    def write(self, target: Target, recipe: Recipe, **options: bool) -> "HashedPart":
        """Write them as a file; options of `write_signatures`."""
        write_part(target, recipe, self.signatures, self.labels, self.origins, **options)
        return HashedPart(label_kind(self.labels), sum(map(len, self.signatures)))


class HashedPart(NamedTuple):
    """What a part holds."""

    labels: str  # `label_kind`
    n_rows: int


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
            contents = read_signatures(self.path(number))
            sources = {origin.source for origin in contents.provenance}
            if contents.recipe == self.recipe and not sources & self.folder.changed:
                return len(contents)
        return None

    def take_finished(self) -> None:
        """Count the parts at the beginning that an earlier run has finished."""
        while (n_rows := self.rows_of(len(self.paths))) is not None:
            self.paths.append(self.path(len(self.paths)))
            self.rows_before += n_rows
        kept = {path.name for path in self.paths}
        for name in self.folder.names("part-*") if self.folder is not None else ():
            if name not in kept:
                self.folder.file(name).unlink()  # type: ignore[union-attr]

    def add(self, piece: Piece, is_only: bool) -> None:
        """Write the next part, or keep it, if it is to be the only one."""
        if is_only and self.folder is None:
            self.only = piece
            return
        path = self.path(len(self.paths))
        piece.write(path, self.recipe, durable=self._open is None)
        self.paths.append(path)

    def discard(self) -> None:
        """Remove the folder."""
        if self.folder is not None:
            self.folder.discard()


class PartJob(NamedTuple):
    """What tasks that write parts share."""

    recipe: Recipe
    folder: str

    def write(self, name: str, piece: Piece) -> HashedPart:
        """Write a part."""
        return piece.write(JobFolder(self.folder).file(name), self.recipe, shared=True)


def run_parts(
    engine: Engine, task: Task, job: PartJob, arguments: Sequence[Any], names: Sequence[str],
    store: PartStore, progress: bool | None,
) -> int:  # fmt: skip
    """Have a task write the parts that are missing; number of all rows.

    There is an argument for each part, and a name for errors about its labels.
    """
    rows = {number: store.rows_of(number) for number in range(len(arguments))}
    missing = [number for number, n_rows in rows.items() if n_rows is None]
    store.rows_before = sum(n_rows or 0 for n_rows in rows.values())
    kinds: dict[str, str] = {}

    def done(place: int, part: HashedPart) -> None:
        kinds.setdefault(part.labels, names[missing[place]])
        require_one_kind(kinds)
        rows[missing[place]] = part.n_rows

    some = [arguments[number] for number in missing]
    engine.run(task, job, some, what="hashing", progress=progress, done=done)
    store.paths = [store.path(number) for number in rows]
    return sum(n_rows or 0 for n_rows in rows.values())


class JobShards(NamedTuple):
    """The folder of a job that makes shards: their first number, and what becomes of them."""

    folder: JobFolder
    first: int
    target: Path

    def hand_over(self, paths: Sequence[Path]) -> None:
        """Make the parts shards of the target, and end the job."""
        hand_over(self.folder, self.target, paths)


@contextlib.contextmanager
def shards_of_job(
    target: Path, about: dict[str, Any], recipe: Recipe, *, resume: bool, append: bool = False
) -> Iterator[JobShards]:
    """The folder in which new shards of the target gather."""
    require_room(target, append)
    path, first = unfinished_folder(target), 0
    if append and is_shard_folder(target):
        require_recipe(target / part_name(0), recipe)
        left = JobFolder(path).job() or {}  # a killed run may have appended all its shards already
        first = min(len(part_files(target)), left.get("first_shard", 1 << 62))
    with JobFolder.open(
        path, about | {"first_shard": first}, resume=resume, redo_changed=True
    ) as folder:
        take_back(folder, target, first)
        if not resume:
            folder.remove("*")
        yield JobShards(folder, first, target)


def require_recipe(path: Path, recipe: Recipe) -> None:
    """Refuse a file of signatures that were hashed by another recipe."""
    before = read_signatures(path).recipe
    if before != recipe:
        raise RecipeMismatch(before, recipe)
