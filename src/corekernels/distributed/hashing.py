"""Hashing by parts: one shard per part, byte for byte those of one machine."""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from .._core.arguments import PathLike, require_count
from ..errors import CoREError, DataError
from ..files.engines.base import Engine, Task
from ..files.hashing import PART_BYTES, HashReport, finished_before, hash_batches
from ..files.plan import Part, Plan
from ..files.readers import SignatureReader
from ..files.shards import ShardWriter, is_finished, part_name, write_part
from ..io.provenance import Origin
from ..io.readers import require_rows
from ..io.signature_file import read_signatures
from ..recipe import Recipe
from ..signatures import Signatures


class HashJob(NamedTuple):
    """What all parts are hashed by, and where their signatures go."""

    recipe: Recipe
    folder: str

    def write(
        self, number: int, signatures: Sequence[Signatures], labels: Any, origin: Origin
    ) -> str:
        """Write the shard of a part; what its labels are: "none", "numbers" or "words"."""
        path = Path(self.folder) / part_name(number)
        write_part(path, self.recipe, signatures, labels, origin, shared=True)
        if labels is None:
            return "none"
        return "words" if labels.dtype.kind in "UO" else "numbers"


def hash_part(job: HashJob, part: Part) -> str:
    """A task: write the signatures and labels of a part as a shard; the kind of the labels."""
    reader = require_rows(part.open())
    signatures, labels = hash_batches(reader, iter(reader), job.recipe, 1)
    return job.write(part.number, signatures, labels, reader.origin(0, sum(map(len, signatures))))


def rows_per_part(**options: Any) -> int:
    """Rows whose signatures make a shard of the usual size, given options of `Recipe`.

    Examples
    --------
    >>> from corekernels import distributed
    >>> distributed.rows_per_part(n_hashes=1024)
    21788
    """
    given = {name: value for name, value in options.items() if value is not None}
    return max(1, PART_BYTES // Recipe(n_columns=1, **given).bytes_per_row)


def hash_parts(
    engine: Engine, plan: Plan, target: PathLike, recipe: Recipe, *, resume: bool = False,
    progress: bool | None = None,
) -> HashReport:  # fmt: skip
    """Hash all parts of a plan into a folder of shards, which every worker must reach.

    A part becomes a shard. The folder counts once all of them are there. After a kill, an error on
    one part, or a worker that died too often, finished shards wait for the next run to resume.

    Parameters
    ----------
    engine : Engine
        From `open_engine`.
    plan : Plan
        From `plan_parts`.
    target : path
        The folder to create.
    recipe : Recipe
        How to hash; `Recipe(n_columns=plan.n_columns, ...)` makes one.
    resume : bool
        Write only those shards that an unfinished run of the same job has not finished. Without
        it, leftovers are cleared first.
    progress : bool, optional
        Whether to show a progress bar; None means where there is a terminal.

    Examples
    --------
    >>> import corekernels as ck, numpy as np
    >>> for number in range(3):
    ...     np.save(f"rows-{number}.npy", np.eye(5))
    >>> with ck.files.open_engine("local") as engine:
    ...     plan = ck.files.plan_parts(engine, "*.npy")
    ...     recipe = ck.Recipe(n_columns=plan.n_columns, n_hashes=16)
    ...     report = ck.distributed.hash_parts(engine, plan, "sig", recipe)
    >>> report.rows, report.parts
    (15, 3)
    """
    if plan.recipe is not None:
        raise DataError(f"{plan.name}: is hashed already; give files of rows.")
    return fill_folder(
        engine, hash_part, plan, plan.parts, target, recipe, resume=resume, progress=progress
    )


def fill_folder(
    engine: Engine, task: Task, plan: Plan, arguments: Sequence[Any], target: PathLike,
    recipe: Recipe, *, resume: bool, progress: bool | None,
) -> HashReport:  # fmt: skip
    """Have a task write the shard of each part, given its argument."""
    if resume and is_finished(target):
        return finished_before(target, recipe, partial(_are_of, plan.parts))
    folder = PartFolder(target, recipe, plan, resume)
    with folder.writing():
        left = [part for part in plan.parts if part.number not in folder.finished]
        asked = [arguments[part.number] for part in left]
        job = HashJob(recipe, str(folder.folder.absolute()))
        kinds: dict[str, str] = {}

        def done(number: int, labels: str) -> None:
            kinds.setdefault(labels, left[number].path)
            require_one_kind(kinds)

        engine.run(task, job, asked, what="hashing", progress=progress, done=done)
        folder.parts = [folder.folder / part_name(part.number) for part in plan.parts]
        sizes = [path.stat().st_size for path in folder.parts]
    found = SignatureReader(target)
    before = sum(folder.finished.values())
    return HashReport(str(target), found.n_rows, before, len(sizes), sum(sizes))


def require_one_kind(kinds: Mapping[str, str]) -> None:
    """Refuse labels of several kinds, given one part that has each."""
    if len(kinds) > 1:
        (one, first), (other, second) = list(kinds.items())[:2]
        raise DataError(
            f"{second}: its labels are {other}, those of {first} are {one}; make them alike."
        )


class PartFolder(ShardWriter):
    """A shard folder whose parts are written by tasks, in any order."""

    def __init__(self, folder: PathLike, recipe: Recipe, plan: Plan, resume: bool) -> None:
        most = max((part.rows or 0 for part in plan.parts), default=0)
        source = f"{plan.name} ({plan.key})"
        super().__init__(folder, recipe, source, require_count("rows", max(1, most)), resume=resume)
        self._plan = plan
        self.finished: dict[int, int] = {}  # rows of the parts of an earlier run, by their numbers

    def _is_nothing_finished(self) -> bool:
        return False  # tasks may still be at work

    def _whole(self, files: list[Path]) -> list[Path]:
        """The parts that an earlier run has finished."""
        names = {part_name(part.number): part for part in self._plan.parts}
        for path in files:
            part = names.get(path.name)
            rows = None if part is None else _rows_if_whole(path, part, self.recipe)
            if part is not None and rows is not None:
                self.finished[part.number] = rows
        return [path for path in files if names.get(path.name) is not None
                and names[path.name].number in self.finished]  # fmt: skip


def _rows_if_whole(path: Path, part: Part, recipe: Recipe) -> int | None:
    """Rows of a shard, None if it is not what hashing the part would give."""
    try:
        found = read_signatures(path)
    except CoREError:
        return None
    is_whole = part.rows is None or len(found) == part.rows
    is_whole = is_whole and found.recipe == recipe and _are_of([part], found.provenance)
    return len(found) if is_whole else None


def _are_of(parts: Sequence[Part], origins: Sequence[Origin]) -> bool:
    """Whether origins are those of parts, one after the other."""
    expected = [(Path(part.path).name, part.first_row) for part in parts]
    return [(origin.source, origin.first_row) for origin in origins] == expected
