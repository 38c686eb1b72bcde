"""The steps of a search for near-duplicates by parts, from the driver's side.

Rows are stored where any of them can be looked up. Their digests are shuffled, so that copies
collide, then the keys of their hash tables, so that candidates collide, then the candidates, so
that each is compared once, by the exact kernel. Hash tables, copies and comparison are those of
one machine (`neighbors/duplicates`); the engine shuffles. Whatever takes long is written to
files by tasks, which a later run finds there.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._core.arguments import PathLike, require_count, require_positive, seed_of
from .._core.progress import Steps, progress_bar
from ..documents.reader import DocumentReader
from ..errors import DataError, ParameterError
from ..files.engines.base import Engine
from ..files.plan import Part, Plan
from ..io.readers import require_rows
from ..io.workspace import Workspace
from ..kernel_table import CONTAINMENT, Kernel, duplicates_kernel
from ..neighbors.duplicates.copies import Copies
from ..neighbors.duplicates.ending import too_many
from ..neighbors.duplicates.result import FileDuplicates, FileMatches
from ..neighbors.duplicates.tables import TablePlan, plan_tables
from ..neighbors.store import require_number
from ..recipe import CONTRACT, DEFAULT_KERNEL
from .candidates import (
    LARGEST_BUCKET,
    DuplicatesJob,
    digests_part,
    gather_buckets,
    gather_candidates,
    gather_copies,
    hash_rows,
    keys_part,
    pairs_part,
    store_part,
)
from .compared_pairs import ComparedPairs, CopySets, compare_pairs
from .duplicate_result import FoundPairs, result_in_files, result_in_memory

DRIVER_PAIRS = 30_000_000
_PAIRS_PER_TASK = 1 << 20  # candidates that are compared
_OF_STEPS = (
    "keys-*",
    "bucket-pairs-*",
    "candidates-*",
    "found-*",
)  # files that depend on all parts

# of the time of a job, as measured on documents
_SHARES = {"storing": 0.3, "hashing": 0.25, "sorting": 0.3, "comparing": 0.15}


@dataclass(frozen=True)
class SearchOptions:
    """Options of `duplicates_by_parts`."""

    threshold: float
    kernel: str = DEFAULT_KERNEL
    all_pairs: bool = True
    most_pairs: int = 50_000_000
    working_memory: float = 1024.0
    seed: int = 0
    gamma: float | None = None
    largest_bucket: int = LARGEST_BUCKET
    driver_pairs: int = DRIVER_PAIRS

    def job(self) -> DuplicatesJob:
        """What tasks are to know, but for the folder and the rows of parts; options are checked."""
        entry = duplicates_kernel(self.kernel, self.gamma)
        least = require_positive("threshold", self.threshold)
        least = require_number("threshold", least, most=1.0)
        n_bytes = 1e6 * require_positive("working_memory", self.working_memory)
        return DuplicatesJob(
            "", entry, least, _tables(entry, least), seed_of(self.seed, "seed"), 1,
            require_count("largest_bucket", self.largest_bucket), n_bytes, self.all_pairs,
            require_count("most_pairs", self.most_pairs), np.empty(0, np.int64),
        )  # fmt: skip


def _tables(kernel: Kernel, threshold: float) -> TablePlan:
    if kernel is CONTAINMENT:
        raise ParameterError(
            "kernel: containment is not found by hash tables, which a cluster needs; use one "
            "machine, or resemblance."
        )
    tables = plan_tables(kernel, threshold)
    if tables is None:
        raise ParameterError(
            f"threshold: pairs of {kernel.name} of {threshold:g} are not found by hash tables, "
            "which a cluster needs; raise it, or use one machine."
        )
    return tables


def find_similar_rows(
    engine: Engine, plans: Sequence[Plan], scratch: PathLike, options: SearchOptions,
    resume: bool, progress: bool | None,
) -> FileDuplicates | FileMatches:  # fmt: skip
    """Pairs of rows of one plan, or rows of the second of two plans near those of the first."""
    job, driver_pairs = options.job(), require_count("driver_pairs", options.driver_pairs)
    about = {
        "contract": CONTRACT, "rows": [_about(plan) for plan in plans],
        "kernel": job.kernel.name, "gamma": options.gamma, "threshold": job.threshold,
        "seed": job.seed, "largest_bucket": job.largest_bucket,
    }  # fmt: skip
    if len({plan.n_columns for plan in plans}) > 1:
        counts = " and ".join(f"{plan.name} has {plan.n_columns} columns" for plan in plans)
        raise DataError(f"{counts}; give files over the same columns (n_columns).")
    name = " and ".join(plan.name for plan in reversed(plans))
    with (
        Workspace.lasting(scratch, about, resume, keep=True) as work,
        Steps(_SHARES, progress) as steps,
    ):
        work.state.setdefault("groups", max(sum(len(p.parts) for p in plans), engine.n_workers))
        job = job._replace(folder=str(work.folder.absolute()), n_groups=work.state["groups"])
        search = _Search(engine, work, steps, name, plans)
        found = search.run(job)
        if found.n_pairs > job.most_pairs:
            raise too_many(name, job.most_pairs)
        if found.n_pairs <= driver_pairs:
            return result_in_memory(name, found)
        return result_in_files(engine, found, driver_pairs)


def _about(plan: Plan) -> dict[str, Any]:
    """How the rows of a plan are read, as JSON holds it."""
    if plan.recipe is not None:
        raise DataError(f"{plan.name}: is hashed; near-duplicates need the raw rows.")
    reader = require_rows(plan.parts[0].open())
    about: dict[str, Any] = {"n_columns": plan.n_columns, "one_based": reader.one_based}
    if isinstance(reader, DocumentReader):
        about |= {"text": list(reader.columns.text), "settings": reader.settings.asdict()}
    return about


@dataclass
class _Search:
    """Steps up to the pairs between rows that are no copies."""

    engine: Engine
    work: Workspace
    steps: Steps
    name: str
    plans: Sequence[Plan]

    def run(self, job: DuplicatesJob) -> FoundPairs:
        """Take all steps, or those that are left."""
        parts = [part for plan in self.plans for part in plan.parts]
        parts = [replace(part, number=number) for number, part in enumerate(parts)]
        job, n_rows = self._store(job, parts)
        copies = self._copies(job, len(parts))
        CopySets.save(job, copies)
        self._hash(job, copies)
        asked = [
            (name, start, min(start + _PAIRS_PER_TASK, n_pairs))
            for name, n_pairs in self._candidates(job, len(parts))
            for start in range(0, n_pairs, _PAIRS_PER_TASK)
        ]
        n_pairs = 0

        def done(_: int, some: ComparedPairs) -> None:
            nonlocal n_pairs
            n_pairs += some.n_pairs
            if n_pairs > job.most_pairs:
                raise too_many(self.name, job.most_pairs)

        compared = self.engine.run(
            compare_pairs, job, asked, what="comparing", progress=self.steps, done=done
        )
        return FoundPairs(job, n_rows, copies, compared)

    def _store(self, job: DuplicatesJob, parts: Sequence[Part]) -> tuple[DuplicatesJob, int]:
        """Store the rows; the job with the numbers of rows, and how many there are."""
        facts = self.engine.run(store_part, job, parts, what="storing", progress=self.steps)
        ends = np.cumsum([0, *(fact.n_rows for fact in facts)])
        if not ends[-1]:
            raise DataError(f"{self.name}: holds no rows.")
        boundary = int(ends[len(self.plans[0].parts)]) if len(self.plans) == 2 else None
        told = boundary, [fact.stamp for fact in facts]
        stamps = hashlib.sha256(repr(told).encode()).hexdigest()
        if self.work.state.get("stamps", stamps) != stamps:  # some parts are not what they were
            self.work.state = {"groups": job.n_groups}
            for pattern in (*_OF_STEPS, "copies.npz"):
                for path in self.work.folder.glob(pattern):
                    path.unlink(missing_ok=True)
        self.work.state["stamps"] = stamps
        self.work.checkpoint(now=True)
        return job._replace(firsts=ends[:-1], boundary=boundary), int(ends[-1])

    def _copies(self, job: DuplicatesJob, n_parts: int) -> Copies:
        saved = self.work.load("copies")
        if saved is None:
            numbers = range(n_parts)
            found = self.engine.shuffle(digests_part, gather_copies, job, numbers, job.n_groups)
            nothing = [np.empty(0, np.int64)]
            rows = np.concatenate(nothing + [copies.rows for copies in found])
            firsts = np.concatenate(nothing + [copies.firsts for copies in found])
            order = np.argsort(rows)
            saved = {"rows": rows[order], "firsts": firsts[order]}
            self.work.save("copies", **saved)
        return Copies(saved["rows"], saved["firsts"])

    def _hash(self, job: DuplicatesJob, copies: Copies) -> None:
        """Write the keys of all rows that are no copies."""
        if "candidates" in self.work.state:
            return
        cuts = np.searchsorted(copies.rows, job.firsts)
        asked = list(enumerate(np.split(copies.rows, cuts[1:])))
        self.engine.run(hash_rows, job, asked, what="hashing", progress=self.steps)

    def _candidates(self, job: DuplicatesJob, n_parts: int) -> list[tuple[str, int]]:
        """Files of candidates, and how many there are in each."""
        state = self.work.state
        if "candidates" not in state:
            shuffle, n_groups = self.engine.shuffle, job.n_groups
            with progress_bar(2, "sorting", "shuffles", self.steps) as bar:
                names = shuffle(keys_part, gather_buckets, job, range(n_parts), n_groups)
                bar.update(1)
                state["candidates"] = shuffle(pairs_part, gather_candidates, job, names, n_groups)
                bar.update(1)
            self.work.checkpoint(now=True)
            for path in self.work.folder.glob("bucket-pairs-*"):
                path.unlink(missing_ok=True)
        return [(name, n_pairs) for name, n_pairs in state["candidates"]]
