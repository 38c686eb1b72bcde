"""Near-duplicates by parts: the tasks on parts, and the steps from stored rows to a result.

Tasks that compute write parts of the job's folder, which a later run finds; tasks of a shuffle only
move records. A pair of rows is one number, as in `neighbors.duplicates.candidates`.
"""

import contextlib
import ctypes
import itertools
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.arguments import Array
from .._core.progress import Progress, progress_bar
from .._core.validation import Rows, are_clean, read_only
from ..errors import CoREError, DataError
from ..io.job_folder import JobFolder
from ..io.readers import require_rows
from ..neighbors.duplicates.candidates import (
    containment_pairs,
    distinct,
    key_pairs,
)
from ..neighbors.duplicates.copies import (
    NO_COPIES,
    Copies,
    count_with_copies,
    equal_pairs,
    find_copies,
    pairs_with_copies,
)
from ..neighbors.duplicates.result import NearDuplicates, too_many
from ..neighbors.duplicates.rows import Pairs, RowStore, row_digests, rows_to_keep, similar_pairs
from ..neighbors.duplicates.search import Criterion
from .engines import Engine
from .engines.base import Task
from .sources import FilePart

DIGESTS = np.dtype([("low", np.uint64), ("high", np.uint64), ("row", np.int64)])
KEYS = np.dtype([("key", np.uint64), ("row", np.int64)])
PAIRS = np.dtype([("pair", np.int64)])
FOUND = np.dtype([("pair", np.int64), ("value", np.float64)])

_PAIRS_PER_TASK = 1 << 20  # candidates that are compared
_LEAST_BYTES = 1 << 25  # for records that this process shuffles
_BYTES_PER_BYTE = 4  # of records while they are shuffled and sorted
_ALL = 1 << 64  # above every digest, and every key of the first table
_NO_VALUES = np.empty(0)


class DedupJob(NamedTuple):
    """What all tasks need to know."""

    folder: str
    criterion: Criterion
    n_groups: int
    largest_bucket: int | None  # rows of one key that are all compared with each other
    n_bytes: float  # of rows that a task holds
    all_pairs: bool
    most_pairs: int
    n_jobs: int | None = 1  # threads of a task
    firsts: Array = np.empty(0, np.int64)  # number of the first row of each part
    n_rows: int = 0
    boundary: int | None = None  # rows from here on are compared with those before only

    @property
    def work(self) -> JobFolder:
        """The folder of the job."""
        return JobFolder(self.folder)

    def load(self, name: str) -> tuple[dict[str, Array], Any]:
        """The arrays of a part, mapped into memory, and what is said about them."""
        loaded = self.work.load(name, mmap=True)
        if loaded is None:
            raise self.work.damaged(name)
        return loaded

    def store(self) -> RowStore:
        """All rows, mapped into memory as they are needed."""
        return RowStore(lambda number: stored_part(self, number)[0], self.firsts, self.n_rows)

    def save(self, name: str, numbers: Array, values: Array = _NO_VALUES) -> tuple[str, int]:
        """Write pairs as a part, compared ones with their kernel values; its name, their number."""
        self.work.save(name, numbers=numbers, values=values)
        return name, len(numbers)

    def pairs(self, name: str) -> Pairs:
        """Such pairs, mapped into memory."""
        return Pairs(**self.load(name)[0])

    def parts_of(self, pairs: Array) -> Array:
        """The parts of the first rows of pairs."""
        return np.searchsorted(self.firsts, pairs // max(1, self.n_rows), "right") - 1

    def copies(self) -> Copies:
        """All copies."""
        return Copies(**self.load("copies")[0])

    def repeated(self) -> Copies:
        """The copies that pairs are expanded by."""
        return self.copies() if self.all_pairs else NO_COPIES


class PartFacts(NamedTuple):
    """What storing a part tells about it."""

    n_rows: int
    stamp: list[Any]


def save_rows(
    job: DedupJob, number: int, pieces: Sequence[Rows], digests: Sequence[Array], stamp: Any
) -> PartFacts:
    """Write rows as `rows_to_keep` gives them, and their digests, as a part."""
    rows = RowStore.in_memory(pieces).take(np.arange(sum(map(len, pieces))))
    job.work.save(
        f"rows-{number:05d}", {"n_columns": rows.n_columns, "stamp": stamp}, indptr=rows.indptr,
        indices=rows.indices, data=rows.data,
        digests=np.concatenate([np.empty((0, 2), np.uint64), *digests]),
    )  # fmt: skip
    return PartFacts(len(rows), stamp)


def stored_part(job: DedupJob, number: int) -> tuple[Rows, Array, Any]:
    """The rows of a part and their digests, mapped into memory, and its stamp."""
    arrays, about = job.load(f"rows-{number:05d}")
    rows = Rows(arrays["indptr"], arrays["indices"], arrays["data"], about["n_columns"])
    return rows, arrays["digests"], about["stamp"]


def part_facts(job: DedupJob, number: int) -> PartFacts | None:
    """What an earlier run has stored as a part, if it did and the rows are whole."""
    try:
        rows, digests, stamp = stored_part(job, number)
        values = rows.data if len(rows.data) else np.ones(len(rows.indices), np.float32)
        is_whole = are_clean(Rows(rows.indptr, rows.indices, read_only(values), rows.n_columns))
    except (CoREError, OSError, KeyError, TypeError):
        return None
    return PartFacts(len(rows), stamp) if is_whole and len(digests) == len(rows) else None


def store_part(job: DedupJob, part: FilePart) -> PartFacts:
    """A task: store the rows of a part, unless an earlier run has and its file has not changed."""
    status = os.stat(part.path)
    size = -1 if part.rows is None else part.rows
    times = status.st_size, status.st_mtime_ns
    stamp = [os.path.basename(part.path), *times, part.first_row, size]
    facts = part_facts(job, part.number)
    if facts is not None and facts.stamp == stamp:
        return facts
    pieces, digests = [], []
    for batch in require_rows(part.open()):
        pieces.append(rows_to_keep(batch.rows, job.criterion.kernel.uses_values))
        digests.append(row_digests(batch.rows))
    return save_rows(job, part.number, pieces, digests, stamp)


def digests_part(job: DedupJob, argument: tuple[int, int, int]) -> dict[int, Array]:
    """A task: digests in a range, of the rows of a part that are not empty, by group."""
    number, low, high = argument
    rows, digests, _ = stored_part(job, number)
    places = np.flatnonzero((rows.lengths > 0) & _are_within(digests[:, 0], low, high))
    records = _records(DIGESTS, *digests[places].T, places + job.firsts[number])
    return by_group(records, records["low"] % np.uint64(job.n_groups))


def gather_copies(job: DedupJob, records: Array) -> Copies:
    """The copies among rows whose digests fell into a group."""
    digests = np.stack([records["low"], records["high"]], axis=1)
    return find_copies(digests, records["row"].astype(np.int64), job.boundary)


def hash_part(job: DedupJob, argument: tuple[int, Array]) -> None:
    """A task: write the keys of a part's rows, without copies and empty rows, in all tables."""
    number, copies = argument
    plan, name = job.criterion.tables, f"keys-{number:05d}"
    assert plan is not None
    if job.work.file(name).exists():
        return
    rows, _, _ = stored_part(job, number)
    own = np.setdiff1d(np.flatnonzero(rows.lengths), copies - job.firsts[number])
    keys = np.empty((plan.n_tables, len(own)), np.uint64)
    plan.write_keys(RowStore.in_memory([rows]).take(own), job.criterion.seed, job.n_jobs, keys)
    job.work.save(name, keys=keys, rows=own + job.firsts[number])


def keys_part(job: DedupJob, argument: tuple[int, int, int]) -> dict[int, Array]:
    """A task: keys of the rows of a part, by group; those in a range of (table) 2^64 + (key)."""
    number, low, high = argument
    arrays, _ = job.load(f"keys-{number:05d}")
    pieces = []
    for table in range(low // _ALL, -(-high // _ALL)):
        keys = arrays["keys"][table]
        places = np.flatnonzero(_are_within(keys, low - table * _ALL, high - table * _ALL))
        pieces.append(_records(KEYS, keys[places], arrays["rows"][places]))
    records = np.concatenate(pieces)
    return by_group(records, records["key"] % np.uint64(job.n_groups))


def gather_keys(job: DedupJob, records: Array) -> tuple[str, int]:
    """The name of a part of the pairs of rows in a group that share a key, and how many they are.

    Records come in any order; the pairs depend on them alone.
    """
    keys = np.ascontiguousarray(records["key"])
    pairs = key_pairs(keys, records["row"], job.n_rows, job.boundary, job.largest_bucket)
    least = keys.min(initial=_ALL - 1)  # of no other group, nor other range
    return job.save(f"bucket-pairs-{least}", pairs)


def pairs_part(job: DedupJob, argument: tuple[str, int, int]) -> dict[int, Array]:
    """A task: pairs of a part that lie in a range, by the part of their first row."""
    name, low, high = argument
    pairs = job.pairs(name).numbers
    start, stop = np.searchsorted(pairs, [low, high])
    records = _records(PAIRS, pairs[start:stop])
    return by_group(records, job.parts_of(records["pair"]))


def gather_candidates(job: DedupJob, records: Array) -> tuple[str, int]:
    """The name of a part of the different pairs whose first row is in one part; how many."""
    pairs = distinct([records["pair"]])
    return job.save(f"candidates-{pairs[:1].sum()}", pairs)


def compare_part(job: DedupJob, argument: tuple[str, int, int]) -> tuple[str, int]:
    """A task: write those of some candidates that reach the threshold.

    The name of the part, and how many pairs they are with those of copies.
    """
    name, start, stop = argument
    target = f"found-{name}-{start}-{stop}"
    if not job.work.file(target).exists():
        candidates, criterion = job.pairs(name).numbers[start:stop], job.criterion
        how = criterion.kernel, criterion.threshold, job.n_bytes, job.n_jobs
        job.save(target, *similar_pairs(job.store(), candidates, *how))
    return target, count_with_copies(job.pairs(target), job.repeated(), job.n_rows)


def expand_pairs(job: DedupJob, argument: str | int) -> dict[int, Array]:
    """A task: pairs with all those that copies add, by the part of their first row.

    The argument is a part of pairs, or of rows, for the pairs of these and of rows that equal them.
    """
    if isinstance(argument, str):
        pairs = job.pairs(argument)
    else:
        first, last = np.append(job.firsts, job.n_rows)[argument : argument + 2]
        copies = job.copies().of_firsts(first, last)
        pairs = equal_pairs(copies, job.n_rows, job.all_pairs)
    every = pairs_with_copies(pairs, job.repeated(), job.n_rows)
    records = _records(FOUND, *every)
    return by_group(records, job.parts_of(records["pair"]))


def gather_pairs(job: DedupJob, records: Array) -> str:
    """The name of a part of the pairs whose first row is in one part, in order."""
    pairs, values = (records[np.argsort(records["pair"])][name] for name in ("pair", "value"))
    return job.save(f"pairs-{pairs[:1].sum()}", pairs, values)[0]


def _records(kind: np.dtype[Any], *columns: Array) -> Array:
    """Records of these columns."""
    records = np.empty(len(columns[0]), kind)
    for name, column in zip(kind.names or (), columns, strict=True):
        records[name] = column
    return records


def by_group(records: Array, groups: Array) -> dict[int, Array]:
    """Records by the numbers of their groups; without any, the first group has none."""
    order = np.argsort(groups, kind="stable")
    numbers, starts = np.unique(groups[order], return_index=True)
    pieces = np.split(records[order], starts[1:])
    return dict(zip(map(int, numbers), pieces, strict=True)) if len(numbers) else {0: records}


def _are_within(numbers: Array, low: int, high: int) -> Array:
    """Which numbers of 64 bits are from `low` on and below `high`."""
    return (numbers >= np.uint64(max(low, 0))) & (numbers <= np.uint64(min(high, _ALL) - 1))


def give_memory_back() -> None:
    """Have the system take back what glibc would keep of rows and keys that are on the disk now."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


class PartsSearch:
    """The steps from stored rows to a result, from the driver's side."""

    def __init__(
        self, engine: Engine, job: DedupJob, facts: Sequence[PartFacts], boundary: int | None,
        name: str, progress: Progress,
    ) -> None:  # fmt: skip
        ends = np.cumsum([0, *(fact.n_rows for fact in facts)])
        if not ends[-1]:
            raise DataError(f"{name}: holds no rows.")
        self.job = job._replace(firsts=ends[:-1], n_rows=int(ends[-1]), boundary=boundary)
        self.engine, self.name, self.progress = engine, name, progress

    def run(self, driver_pairs: int) -> NearDuplicates:
        """Take all steps, or those that are left."""
        job, copies, n_pairs = self.job, self._copies(), 0

        def count(_: int, result: tuple[str, int]) -> None:
            nonlocal n_pairs
            n_pairs += result[1]
            if n_pairs > job.most_pairs:
                raise too_many(self.name, job.most_pairs)

        if job.boundary is None:
            within = equal_pairs(copies, job.n_rows, job.all_pairs)
            count(0, ("copies", count_with_copies(within, job.repeated(), job.n_rows)))
        tasks = [
            (name, start, min(start + _PAIRS_PER_TASK, n_candidates))
            for name, n_candidates in self._candidates(copies)
            for start in range(0, n_candidates, _PAIRS_PER_TASK)
        ]
        compared = self.engine.run(
            compare_part, job, tasks, what="comparing", progress=self.progress, done=count
        )
        names = [name for name, n_found in compared if n_found]
        return self._result(names, n_pairs, len(copies.rows), driver_pairs)

    def _shuffle(
        self, task: Task, gather: Task, parts: Sequence[Any], end: int, n_bytes: int
    ) -> list[Any]:
        """What `gather` makes of records whose numbers are below `end`, by groups.

        Where this process holds them, it takes ranges of numbers one after the other.
        """
        n_ranges = 1
        if self.engine.shuffles_here and n_bytes:
            n_ranges = -(-_BYTES_PER_BYTE * n_bytes // int(max(self.job.n_bytes, _LEAST_BYTES)))
        cuts = [end * part // n_ranges for part in range(n_ranges + 1)]
        results = []
        for low, high in itertools.pairwise(cuts):
            tasks = [(part, low, high) for part in parts]
            results += self.engine.shuffle(task, gather, self.job, tasks, self.job.n_groups)
        return results

    def _copies(self) -> Copies:
        """The copies among all rows."""
        job = self.job
        if not job.work.file("copies").exists():
            n_bytes, parts = DIGESTS.itemsize * job.n_rows, range(len(job.firsts))
            found = self._shuffle(digests_part, gather_copies, parts, _ALL, n_bytes)
            copies = Copies.ascending(*map(np.concatenate, zip(*found, strict=True)))
            job.work.save("copies", firsts=copies.firsts, rows=copies.rows)
        return job.copies()

    def _candidates(self, copies: Copies) -> list[tuple[str, int]]:
        """Parts of candidates, and how many there are in each."""
        job = self.job
        saved = job.work.load("candidates")
        if saved is not None:
            return [(name, n_pairs) for name, n_pairs in saved[1]]
        numbers, criterion, plan = range(len(job.firsts)), job.criterion, job.criterion.tables
        if plan is None:
            lengths = [stored_part(job, number)[0].lengths for number in numbers]
            own = np.setdiff1d(np.flatnonzero(np.concatenate(lengths)), copies.rows)
            how = criterion.threshold, criterion.seed, job.boundary
            candidates = [job.save("candidates-0", containment_pairs(job.store(), own, *how))]
        else:
            rows = np.sort(copies.rows)
            wanted = enumerate(np.split(rows, np.searchsorted(rows, job.firsts[1:])))
            self.engine.run(hash_part, job, list(wanted), what="hashing", progress=self.progress)
            with progress_bar(2, "sorting", "shuffles", self.progress) as bar:
                n_bytes = KEYS.itemsize * plan.n_tables * (job.n_rows - len(rows))
                end = plan.n_tables * _ALL
                buckets = self._shuffle(keys_part, gather_keys, numbers, end, n_bytes)
                bar.update(1)
                names = [name for name, n_pairs in buckets if n_pairs]
                n_bytes = PAIRS.itemsize * sum(n_pairs for _, n_pairs in buckets)
                end = job.n_rows**2
                candidates = self._shuffle(pairs_part, gather_candidates, names, end, n_bytes)
                bar.update(1)
        candidates = [(name, n_pairs) for name, n_pairs in candidates if n_pairs]
        job.work.save("candidates", candidates)
        job.work.remove("bucket-pairs-*")
        give_memory_back()
        return candidates

    def _result(
        self, names: Sequence[str], n_pairs: int, n_copies: int, driver_pairs: int
    ) -> NearDuplicates:
        """The pairs with those of copies; very many lie in files that are mapped into memory."""
        job = self.job
        paths: list[str | int] = [*names]
        if job.boundary is None:
            paths += range(len(job.firsts))
        parts = []
        if n_pairs:
            parts = self.engine.shuffle(expand_pairs, gather_pairs, job, paths, job.n_groups)
        pairs, values = np.empty((n_pairs, 2), np.int64), np.empty(n_pairs)
        if n_pairs > driver_pairs:
            pairs, values = (
                np.lib.format.open_memmap(job.work.file(name), "w+", like.dtype, like.shape)
                for name, like in (("all-pairs.npy", pairs), ("all-values.npy", values))
            )
        first = 0
        for part in parts:
            numbers, of_part = job.pairs(part)
            span = slice(first, first + len(numbers))
            pairs[span, 0], pairs[span, 1] = np.divmod(numbers, job.n_rows)
            values[span] = of_part
            first = span.stop
            job.work.remove(part)
        assert first == n_pairs
        missed = job.criterion.missed
        return NearDuplicates.of(pairs, values, missed, job.n_rows, n_copies, job.boundary)
