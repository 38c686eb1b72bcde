"""Near-duplicate pairs of files larger than memory.

One pass hashes the rows to keys of 64 tables, which lie on the disk; rows of equal keys become
candidates table by table; further passes compute the kernel of the candidates, as the later
row of a pair comes by and the earlier one is held.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict, astuple
from typing import Any

from ..._core.arguments import PathLike, require_count, require_positive, seed_of
from ..._core.progress import Steps
from ...documents.reader import DocumentReader
from ...errors import ParameterError
from ...io.readers import Chained, RowReader, require_rows
from ...io.streams import require_file
from ...io.workspace import KeptRows, Workspace
from ...kernel_table import CONTAINMENT, duplicates_kernel
from ...recipe import CONTRACT, DEFAULT_KERNEL
from ..store import require_number
from .by_tables import find_in_file
from .containment import find_contained
from .ending import boundary_of
from .result import FileDuplicates
from .tables import plan_tables

# of the time of a job, as measured on documents
_SHARES = {"reading": 0.02, "hashing": 0.8, "sorting": 0.06, "comparing": 0.12}
_CONTAINMENT_SHARES = {"sampling": 0.5, "matching": 0.35, "comparing": 0.15}


def near_duplicates(
    reader: RowReader, threshold: float = 0.8, kernel: str = DEFAULT_KERNEL, *,
    all_pairs: bool = True, most_pairs: int = 50_000_000, working_memory: float = 1024.0,
    seed: int = 0, scratch: PathLike | None = None, parts: PathLike | None = None,
    resume: bool = False, progress: bool | None = None, n_jobs: int | None = None,
    gamma: float | None = None,
) -> FileDuplicates:  # fmt: skip
    """All pairs of rows of a reader with K >= threshold, as `CoRENeighbors.near_duplicates`.

    The file is read twice, or more often where the rows or pairs to compare exceed
    `working_memory`. Memory is at most 24 bytes per row, 100 bytes per pair found, twice
    `working_memory`, and 512 bytes for each row of a batch; the disk holds 536 bytes per row
    in the meantime, and of documents 12 bytes per n-gram. A file that fits in
    `working_memory`, tables included, is searched there at once: up to 4096 rows exactly, and
    more where tables would be of no use, below a threshold of 0.47, for core2 below 0.74, for
    the correlation always.

    Parameters
    ----------
    reader : RowReader
        From `files.open_reader`; not a pipe.
    threshold : float in (0, 1]
    kernel : str
        Any kernel of `gram_chunks`, or "containment": the share of a row's columns that a longer
        one has too, whatever their values. It is found by three readings, with 400 bytes of
        memory per row, in time that grows with the square of the rows where columns are common:
        take n-grams of 3 or more.
    all_pairs : bool
        If false, a row that equals earlier ones (a copy) is paired with the first of them
        and with no other row. Groups stay the same; many copies no longer make many pairs.
    most_pairs : int
        To find more than this is an error.
    working_memory : float
        Megabytes of rows, and of pairs to compare, held at a time.
    seed : int
        Seed of the tables.
    scratch : path, optional
        Folder for the keys, in files without names; the system's own for temporary files if None.
    parts : path, optional
        Folder, made for this job, that keeps what was done in case the process is killed.
        Remove it when the result is safe.
    resume : bool
        Go on with what a killed run of the same job left in `parts`. Without it, leftovers are
        cleared first.
    progress, n_jobs
        As for `files.hash_to_file`.
    gamma : float, optional
        Parameter of the kernel, if it has one; its default if None.

    Examples
    --------
    >>> import corekernels as ck
    >>> path = "rows.svm"
    >>> ck.io.write_rows(path, [[1.0, 2, 0], [0, 0, 3], [1, 2.1, 0]])
    >>> found = ck.files.near_duplicates(ck.files.open_reader(path), 0.9)
    >>> found.pairs.tolist(), found.redundant().tolist(), found.rows
    ([[0, 2]], [2], 3)
    """
    found, _ = search_files(
        [reader], threshold, kernel, all_pairs, most_pairs, working_memory, seed, scratch, parts,
        resume, progress, n_jobs, gamma,
    )  # fmt: skip
    return found


def search_files(
    readers: Sequence[RowReader], threshold: float, kernel: str, all_pairs: bool, most_pairs: int,
    working_memory: float, seed: int, scratch: PathLike | None, parts: PathLike | None,
    resume: bool, progress: bool | None, n_jobs: int | None, gamma: float | None,
) -> tuple[FileDuplicates, int]:  # fmt: skip
    """Pairs of rows of one reader, or across two; the rows of the first of two, or 0."""
    for reader in readers:
        require_file(require_rows(reader).name, reader.is_stream)
    entry = duplicates_kernel(kernel, gamma)
    least = require_number("threshold", require_positive("threshold", threshold), most=1.0)
    n_bytes = 1e6 * require_positive("working_memory", working_memory)
    most_pairs, seed = require_count("most_pairs", most_pairs), seed_of(seed, "seed")
    if resume and parts is None:
        raise ParameterError("resume: needs the folder of the killed run; give parts.")
    plan = plan_tables(entry, least)
    job = {
        "contract": CONTRACT, "files": [_about(reader) for reader in readers],
        "kernel": entry.name, "gamma": gamma, "threshold": least, "seed": seed,
        "working_memory": n_bytes, "tables": None if plan is None else [*astuple(plan)],
    }  # fmt: skip
    shares = _CONTAINMENT_SHARES if entry is CONTAINMENT else _SHARES
    with (
        _workspace(scratch, parts, job, resume) as work,
        Steps(shares, progress) as steps,
    ):
        kept = [
            KeptRows(reader, work, f"rows-{number}")
            if isinstance(reader, DocumentReader)
            else reader
            for number, reader in enumerate(readers)
        ]
        rows = Chained(*kept) if len(kept) == 2 else kept[0]
        if entry is CONTAINMENT:
            found = find_contained(
                rows, least, all_pairs, most_pairs, n_bytes, seed, work, steps, n_jobs
            )
        else:
            found = find_in_file(
                rows, least, entry, plan, all_pairs, most_pairs, n_bytes, seed, work, steps, n_jobs
            )
        return found, boundary_of(rows) or 0


@contextlib.contextmanager
def _workspace(
    scratch: PathLike | None, parts: PathLike | None, job: dict[str, Any], resume: bool
) -> Iterator[Workspace]:
    """Where the job keeps its files: under no name, or in a folder for a later run."""
    if parts is not None:
        with Workspace.lasting(parts, job, resume) as work:
            yield work
    else:
        with contextlib.closing(Workspace(scratch)) as work:
            yield work


def _about(reader: RowReader) -> dict[str, Any]:
    """What tells whether a reader gives the same rows as another time."""
    about: dict[str, Any] = {"name": reader.name, "n_columns": reader.n_columns}
    paths = [reader.name]
    if isinstance(reader, DocumentReader):
        about |= {"columns": asdict(reader.columns), "text": reader.settings.asdict()}
        about["columns"]["text"] = list(reader.columns.text)  # as JSON has it
        paths = reader.paths
    about["files"] = [_stamp(path) for path in paths]
    return about


def _stamp(path: str) -> list[int]:
    """Size and time of the last change of a file, if it is one."""
    try:
        found = os.stat(path)
    except OSError:
        return []
    return [found.st_size, found.st_mtime_ns]
