"""Near-duplicates of files: in memory where the rows fit, by parts in a folder where they do not.

A file is read once. Rows that fit into the working memory are searched there, and nothing goes to
the disk. Others are stored in parts: their digests are shuffled, so that copies meet, then the keys
of their hash tables, so that candidates meet, then the candidates, so that each is compared once.
Any engine does that; of one file, this process.
"""

import contextlib
import hashlib
import tempfile
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from .._core.arguments import Array, PathLike, require_count, require_positive
from .._core.progress import Steps, progress_bar
from .._core.validation import Rows
from ..errors import DataError, ParameterError
from ..io.job_folder import JobFolder, file_stamps
from ..io.provenance import require_same_names, text_of
from ..io.readers import RowReader, require_rows
from ..io.streams import require_file
from ..kernel_table import RESEMBLANCE
from ..neighbors.duplicates.result import NearDuplicates
from ..neighbors.duplicates.rows import row_digests, rows_to_keep, size_of
from ..neighbors.duplicates.search import KEY_BYTES, Criterion, find_in_memory
from ..recipe import CONTRACT, DEFAULT_KERNEL
from .dedup_parts import (
    DedupJob,
    PartFacts,
    PartsSearch,
    give_memory_back,
    part_facts,
    save_rows,
    store_part,
)
from .engines import Engine, LocalEngine
from .sources import PartPlan

LARGEST_BUCKET = 5000  # rows; of a larger bucket, rows are paired with the first ones only
DRIVER_PAIRS = 30_000_000
_LEAST_GROUPS = 8
_PARTS_PER_MEMORY = 4  # parts that fill the working memory
_TIMES = {"reading": 0.4, "storing": 0.4, "hashing": 0.25, "sorting": 0.2, "comparing": 0.15}


def duplicates_default(is_text: bool) -> str:
    """What similar means unless it is said: the resemblance of sets of n-grams for documents."""
    return RESEMBLANCE.name if is_text else DEFAULT_KERNEL


def near_duplicates(
    data: RowReader | PartPlan, threshold: float = 0.8, kernel: str | None = None, *,
    against: RowReader | PartPlan | None = None, all_pairs: bool = True,
    most_pairs: int = 50_000_000, working_memory: float = 1024.0, seed: int = 0,
    gamma: float | None = None, parts: PathLike | None = None, resume: bool = False,
    engine: Engine | None = None, largest_bucket: int = LARGEST_BUCKET,
    driver_pairs: int = DRIVER_PAIRS, progress: bool | None = None, n_jobs: int | None = None,
) -> NearDuplicates:  # fmt: skip
    """All pairs of rows with K >= threshold, as `CoRENeighbors.near_duplicates`.

    A file is read once. If its rows and their hash tables fit into `working_memory`, nothing
    else is needed; otherwise a folder holds 8 to 16 bytes per nonzero, 528 bytes per row and some
    8 bytes per candidate, and memory is at most 24 bytes per row, 100 bytes per pair found and
    twice `working_memory`. Few rows are compared with each other without tables, and rows that
    fit where tables would be of no use: below a threshold of 0.47, for core2 below 0.74, for the
    correlation always. An engine shuffles 24 bytes per row and 1,024 bytes per row that is no
    copy, and needs tables.

    Parameters
    ----------
    data : RowReader or PartPlan
        From `files.open_reader`, not a pipe; or for an engine from `files.plan_parts`, and rows
        are numbered through all parts.
    threshold : float in (0, 1]
    kernel : str, optional
        Any kernel of `gram_chunks`, or "containment": the share of a row's columns that a longer
        one has too, whatever their values. None means "resemblance" of documents, "core1" of rows
        of numbers. Containment takes 400 bytes of memory per row, and time that grows with the
        square of the rows where columns are common: take n-grams of 3 or more.
    against : RowReader or PartPlan, optional
        Other rows, as `data`: pairs are of a row of `data` and one of these.
    all_pairs : bool
        If false, a row that equals earlier ones (a copy) is paired with the first of them
        and with no other row. Groups stay the same; many copies no longer make many pairs.
    most_pairs : int
        To find more than this is an error.
    working_memory : float
        Megabytes of rows, and of pairs to compare, held at a time, by each task of an engine.
    seed : int
        Seed of the tables.
    gamma : float, optional
        Parameter of the kernel, if it has one; its default if None.
    parts : path, optional
        Folder, made for this job, for rows that do not fit, and for an engine, of which all workers
        must reach it. It keeps what was done in case the process is killed; remove it when the
        result is safe. A temporary one if None.
    resume : bool
        Go on with what a killed run of the same job left in `parts`; parts of a plan whose files
        have changed are read again. Without it, leftovers are cleared first.
    engine : Engine, optional
        What runs the tasks on the parts of a plan; this process if None.
    largest_bucket : int
        For a plan: rows with one key that are all compared with each other. If more have it, they
        are compared with the first 16 of them only.
    driver_pairs : int
        For a plan: pairs that this process holds, at 100 bytes each. More lie in files in `parts`
        that are mapped into memory.
    progress, n_jobs
        As for `files.hash_to_file`.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("train.svm", [[1.0, 2, 0], [0, 0, 3], [1, 2.1, 0]])
    >>> train = ck.files.open_reader("train.svm")
    >>> found = ck.files.near_duplicates(train, 0.9)
    >>> found.pairs.tolist(), found.redundant().tolist(), found.rows
    ([[0, 2]], [2], 3)
    >>> ck.io.write_rows("test.svm", [[0.0, 0, 1], [1, 2, 0]])
    >>> test = ck.files.open_reader("test.svm", n_columns=3)
    >>> ck.files.near_duplicates(train, 0.9, against=test).pairs.tolist()
    [[0, 1], [1, 0], [2, 1]]
    >>> with ck.files.open_engine("local") as engine:
    ...     plan = ck.files.plan_parts(engine, ["train.svm", "test.svm"])
    ...     found = ck.files.near_duplicates(plan, 0.9, parts="scratch", engine=engine)
    >>> found.pairs.tolist()
    [[0, 2], [0, 4], [1, 3], [2, 4]]
    """
    sources = [data] if against is None else [against, data]
    plans = [source for source in sources if isinstance(source, PartPlan)]
    readers = [source for source in sources if not isinstance(source, PartPlan)]
    if plans and readers:
        raise ParameterError("against: give a reader beside a reader, a plan beside a plan.")
    if resume and parts is None:
        raise ParameterError("resume: needs the folder of the killed run; give parts.")
    is_text = data.is_text if isinstance(data, PartPlan) else text_of(data.provenance) is not None
    job = DedupJob(
        "", Criterion.of(kernel or duplicates_default(is_text), threshold, seed, gamma),
        _LEAST_GROUPS, None, 1e6 * require_positive("working_memory", working_memory), all_pairs,
        require_count("most_pairs", most_pairs), n_jobs,
    )  # fmt: skip
    first, last = sources[0], sources[-1]
    if first.n_columns != last.n_columns:
        raise DataError(
            f"{first.name} has {first.n_columns} columns and {last.name} has {last.n_columns} "
            "columns; give files over the same columns (n_columns)."
        )
    with contextlib.ExitStack() as stack:
        if parts is None:
            parts = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "dedup"
        if readers:
            return _search_readers(job, readers, parts, resume, progress, stack)
        job = job._replace(largest_bucket=require_count("largest_bucket", largest_bucket), n_jobs=1)
        driver_pairs = require_count("driver_pairs", driver_pairs)
        if engine is None:
            engine = stack.enter_context(LocalEngine(workers=n_jobs))
        return _search_plans(engine, job, plans, parts, driver_pairs, resume, progress)


def _search_readers(
    job: DedupJob, readers: Sequence[RowReader], parts: PathLike, resume: bool,
    progress: bool | None, stack: contextlib.ExitStack,
) -> NearDuplicates:  # fmt: skip
    """Pairs of rows of one reader, or rows of the second of two near those of the first."""
    for reader in readers:
        require_file(require_rows(reader).name, reader.is_stream)
    require_same_names(readers[-1].name, readers[-1].provenance, readers[0].provenance)
    name = " and ".join(reader.name for reader in readers)
    with Steps(_TIMES, progress) as steps:
        reading = _Reading(job, readers, parts, stack)
        reading.read(resume, steps)
        boundary = None if len(readers) == 1 else reading.counts[0]
        if reading.folder is not None:
            engine = stack.enter_context(LocalEngine(workers=1))  # its loops have the threads
            search = PartsSearch(engine, reading.job, reading.facts, boundary, name, steps)
            return search.run(job.most_pairs)
        if not reading.waiting:
            raise DataError(f"{name}: holds no rows.")
        _, rows, digests = zip(*reading.waiting, strict=True)
        return find_in_memory(
            name, rows, np.concatenate(digests), job.criterion, boundary=boundary,
            all_pairs=job.all_pairs, most_pairs=job.most_pairs, n_bytes=job.n_bytes,
            n_jobs=job.n_jobs, progress=steps,
        )  # fmt: skip


class _Reading:
    """Rows of readers: in memory until they no longer fit, from then on in parts of a job."""

    def __init__(
        self, job: DedupJob, readers: Sequence[RowReader], parts: PathLike,
        stack: contextlib.ExitStack,
    ) -> None:  # fmt: skip
        self.job, self._readers, self._parts, self._stack = job, readers, parts, stack
        self.counts = [0] * len(readers)  # rows of each reader
        self.waiting = deque[tuple[int, Rows, Array]]()  # in memory: the reader, rows and digests
        self._n_bytes = 0  # of these
        self.facts: list[PartFacts] = []  # of the parts, of which a stamp has the rows per reader
        self.folder: JobFolder | None = None

    def read(self, resume: bool, steps: Steps) -> None:
        """Read all rows, but those that an earlier run has stored."""
        if resume and Path(self._parts).is_dir():
            folder = self._open_folder(resume=True)
            for number in range(len(folder.names("rows-*"))):
                facts = part_facts(self.job, number)
                if facts is None:
                    raise folder.damaged(f"rows-{number:05d}")
                self.facts.append(facts)
                self.counts = [sum(of) for of in zip(self.counts, facts.stamp, strict=True)]
            if folder.load("reading") is not None:
                return
        for number, reader in enumerate(self._readers):
            with progress_bar(reader.n_bytes, "reading", "B", steps) as bar:
                for batch in reader.batches_from(self.counts[number]):
                    if batch.first_row != self.counts[number]:
                        raise DataError(f"{reader.name}: changed while it was read; begin again.")
                    self._add(number, batch.rows)
                    bar.update(batch.bytes_done - bar.n)
        if self.folder is not None:
            self._store()
            self.folder.save("reading")
            give_memory_back()

    def _add(self, number: int, rows: Rows) -> None:
        criterion, most = self.job.criterion, self.job.n_bytes
        kept = rows_to_keep(rows, criterion.kernel.uses_values)
        self.waiting.append((number, kept, row_digests(rows)))
        self._n_bytes += size_of(kept)
        self.counts[number] += len(rows)
        if self.folder is not None:
            if self._n_bytes > most / _PARTS_PER_MEMORY:
                self._store()
        elif criterion.tables is not None or criterion.is_containment:
            if self._n_bytes + KEY_BYTES * sum(self.counts) > most:
                self._open_folder(resume=False)
                self._store()
        elif self._n_bytes > most:
            raise DataError(
                f"{self._readers[number].name}: rows take more than {most / 1e6:,.0f} MB, and hash "
                f"tables would find too few pairs of {criterion.kernel.name} at this threshold; "
                "raise it, or the working memory to search exactly."
            )

    def _open_folder(self, resume: bool) -> JobFolder:
        """Have a folder for the rows, with those that are in it if the job is to go on."""
        about = _about(self.job) | {
            "working_memory": self.job.n_bytes, "rows": [one.about() for one in self._readers],
            "files": file_stamps(path for one in self._readers for path in one.paths),
        }  # fmt: skip
        opened = JobFolder.open(self._parts, about, resume=resume)
        self.folder = self._stack.enter_context(opened)
        self.job = self.job._replace(folder=str(self.folder.path))
        return self.folder

    def _store(self) -> None:
        """Store the rows that are in memory, in parts."""
        while self.waiting:
            pieces, digests, counts, n_bytes = [], [], [0] * len(self._readers), 0
            while self.waiting and n_bytes <= self.job.n_bytes / _PARTS_PER_MEMORY:
                number, rows, of_rows = self.waiting.popleft()
                pieces.append(rows)
                digests.append(of_rows)
                counts[number] += len(rows)
                n_bytes += size_of(rows)
            self.facts.append(save_rows(self.job, len(self.facts), pieces, digests, counts))
        self._n_bytes = 0


def _search_plans(
    engine: Engine, job: DedupJob, plans: Sequence[PartPlan], scratch: PathLike, driver_pairs: int,
    resume: bool, progress: bool | None,
) -> NearDuplicates:  # fmt: skip
    """Pairs of rows of one plan, or rows of the second of two plans near those of the first."""
    if job.criterion.is_containment:
        raise ParameterError(
            "kernel: containment is not found by hash tables, which a cluster needs; use one "
            "machine, or resemblance."
        )
    if job.criterion.tables is None:
        raise ParameterError(
            f"threshold: pairs of {job.criterion.kernel.name} of {job.criterion.threshold:g} are "
            "not found by hash tables, which a cluster needs; raise it, or use one machine."
        )
    parts = [part for plan in plans for part in plan.parts]
    parts = [replace(part, number=number) for number, part in enumerate(parts)]
    job = job._replace(
        folder=str(Path(scratch).absolute()), n_groups=max(len(parts), _LEAST_GROUPS)
    )
    about = _about(job) | {
        "largest_bucket": job.largest_bucket, "rows": [_about_plan(plan) for plan in plans],
    }  # fmt: skip
    name = " and ".join(plan.name for plan in reversed(plans))
    times = {step: share for step, share in _TIMES.items() if step != "reading"}
    with JobFolder.open(scratch, about, resume=resume) as folder, Steps(times, progress) as steps:
        facts = engine.run(store_part, job, parts, what="storing", progress=steps)
        n_first = sum(fact.n_rows for fact in facts[: len(plans[0].parts)])
        boundary = n_first if len(plans) == 2 else None
        _forget_changed(folder, boundary, facts)
        return PartsSearch(engine, job, facts, boundary, name, steps).run(driver_pairs)


def _about(job: DedupJob) -> dict[str, Any]:
    """What the results of the job depend on, beside its rows."""
    criterion = job.criterion
    return {
        "job": "dedup", "contract": CONTRACT, "kernel": criterion.kernel.name,
        "gamma": criterion.kernel.gamma, "threshold": criterion.threshold, "seed": criterion.seed,
    }  # fmt: skip


def _about_plan(plan: PartPlan) -> dict[str, Any]:
    if plan.recipe is not None:
        raise DataError(f"{plan.name}: is hashed; near-duplicates need the raw rows.")
    return require_rows(plan.parts[0].open()).about() | {"n_columns": plan.n_columns}


def _forget_changed(folder: JobFolder, boundary: int | None, facts: Sequence[PartFacts]) -> None:
    """Remove what depends on all parts, if some are not what they were in an earlier run."""
    stamps = hashlib.sha256(repr((boundary, [fact.stamp for fact in facts])).encode()).hexdigest()
    before = folder.load("stamps")
    if before is not None and before[1] == stamps:
        return
    for pattern in ("copies*", "keys-*", "bucket-pairs-*", "candidates*", "found-*"):
        folder.remove(pattern)
    folder.save("stamps", stamps)
