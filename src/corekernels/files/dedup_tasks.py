"""Near-duplicates by parts, as tasks: rows, digests, keys, candidates and pairs of the job's parts.

Tasks that compute write parts of the job's folder, which a later run finds; tasks of a shuffle only
move records. A pair of rows is one number, as in `neighbors.duplicates.candidates`.
"""

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core.arguments import Array
from .._core.validation import Rows, are_clean, read_only
from ..errors import CoREError
from ..io.atomic import atomic_write
from ..io.job_folder import JobFolder
from ..io.readers import require_rows
from ..neighbors.duplicates.candidates import (
    containment_pairs,
    distinct,
    key_pairs,
    sampled_columns,
)
from ..neighbors.duplicates.copies import Copies, find_copies, pairs_with_copies
from ..neighbors.duplicates.rows import Pairs, RowStore, row_digests, rows_to_keep, similar_pairs
from ..neighbors.duplicates.search import Criterion
from .sources import FilePart

DIGESTS = np.dtype([("low", np.uint64), ("high", np.uint64), ("row", np.int64)])
KEYS = np.dtype([("key", np.uint64), ("row", np.int64)])
PAIRS = np.dtype([("pair", np.int64)])
FOUND = np.dtype([("pair", np.int64), ("value", np.float64)])

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # odd, of bits as good as random
_WHOLE = np.uint64(2**64 - 1)


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

    def parts_of(self, pairs: Array) -> Array:
        """The parts of the first rows of pairs."""
        return np.searchsorted(self.firsts, pairs // max(1, self.n_rows), "right") - 1

    def rows_of(self, part: int) -> tuple[int, int]:
        """The first row of a part, and that of the next one."""
        first, last = np.append(self.firsts, self.n_rows)[part : part + 2].tolist()
        return first, last

    def store(self) -> RowStore:
        """All rows, mapped into memory as they are needed."""
        return RowStore(lambda number: stored_part(self, number)[0], self.firsts)


class PartFacts(NamedTuple):
    """What storing a part tells about it."""

    n_rows: int
    stamp: list[int | str]


def save_rows(
    job: DedupJob, number: int, pieces: Sequence[Rows], digests: Sequence[Array], stamp: Any
) -> PartFacts:
    """Write rows as `rows_to_keep` gives them, and their digests, as a part."""
    rows = RowStore.in_memory(pieces).take(np.arange(sum(map(len, pieces))))
    arrays = {
        "indptr": rows.indptr, "indices": rows.indices, "data": rows.data,
        "digests": np.concatenate([np.empty((0, 2), np.uint64), *digests]),
    }  # fmt: skip
    job.work.save(_rows_name(number), {"n_columns": rows.n_columns, "stamp": stamp}, **arrays)
    return PartFacts(len(rows), stamp)


def stored_part(job: DedupJob, number: int) -> tuple[Rows, Array, Any]:
    """The rows of a part and their digests, mapped into memory, and its stamp."""
    loaded = job.work.load(_rows_name(number), mmap=True)
    if loaded is None:
        raise job.work.damaged(_rows_name(number))
    arrays, about = loaded
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
    stamp: list[int | str] = [os.path.basename(part.path), *times, part.first_row, size]
    facts = part_facts(job, part.number)
    if facts is not None and facts.stamp == stamp:
        return facts
    reader, pieces, digests = require_rows(part.open()), [], []
    for batch in reader:
        rows = batch.rows
        pieces.append(rows_to_keep(rows, job.criterion.kernel.uses_values))
        digests.append(row_digests(rows))
    return save_rows(job, part.number, pieces, digests, stamp)


def digests_part(job: DedupJob, argument: tuple[int, int, int]) -> dict[int, Array]:
    """A task: digests within a range, of the rows of a part that are not empty, by group."""
    number, low, high = argument
    rows, digests, _ = stored_part(job, number)
    is_wanted = (digests[:, 0] >= np.uint64(low)) & (digests[:, 0] <= np.uint64(high))
    places = np.flatnonzero((rows.lengths > 0) & is_wanted)
    found = np.empty(len(places), DIGESTS)
    found["low"], found["high"] = digests[places].T
    found["row"] = places + job.firsts[number]
    return by_group(found, found["low"] % np.uint64(job.n_groups))


def gather_copies(job: DedupJob, records: Array) -> Copies:
    """The copies among rows whose digests fell into a group."""
    digests = np.stack([records["low"], records["high"]], axis=1)
    return find_copies(digests, records["row"].astype(np.int64), job.boundary)


def hash_part(job: DedupJob, argument: tuple[int, Array]) -> None:
    """A task: write the keys of a part's rows, without copies and empty rows, in all tables."""
    number, copies = argument
    plan, name = job.criterion.tables, _keys_name(number)
    assert plan is not None
    if job.work.file(name).exists():
        return
    rows, _, _ = stored_part(job, number)
    own = np.setdiff1d(np.flatnonzero(rows.lengths), copies - job.firsts[number])
    chosen = RowStore.in_memory([rows]).take(own)
    keys = np.empty((plan.n_tables, len(own)), np.uint64)
    plan.write_keys(chosen, job.criterion.seed, job.n_jobs, keys)
    job.work.save(name, keys=keys, rows=own + job.firsts[number])


class KeyRange(NamedTuple):
    """Which keys of a part are wanted: those of some tables, within a range."""

    number: int  # of the part
    first_table: int
    last_table: int
    low: int
    high: int


def keys_part(job: DedupJob, wanted: KeyRange) -> dict[int, Array]:
    """A task: keys of the rows of a part, by group."""
    loaded = job.work.load(_keys_name(wanted.number), mmap=True)
    if loaded is None:
        raise job.work.damaged(_keys_name(wanted.number))
    arrays, _ = loaded
    tables = np.arange(wanted.first_table, wanted.last_table, dtype=np.uint64) * _GOLDEN
    # equal keys of two tables are no collision
    keys = (arrays["keys"][wanted.first_table : wanted.last_table] ^ tables[:, None]).ravel()
    rows = np.tile(arrays["rows"], wanted.last_table - wanted.first_table)
    if (wanted.low, wanted.high) != (0, int(_WHOLE)):
        some = (keys >= np.uint64(wanted.low)) & (keys <= np.uint64(wanted.high))
        keys, rows = keys[some], rows[some]
    found = np.empty(len(keys), KEYS)
    found["key"], found["row"] = keys, rows
    return by_group(found, keys % np.uint64(job.n_groups))


def gather_keys(job: DedupJob, records: Array) -> Array:
    """The pairs of rows in a group of keys that have one in common.

    Records come in any order; the pairs depend on them alone.
    """
    keys = np.ascontiguousarray(records["key"], np.uint64)
    return key_pairs(keys, records["row"], job.n_rows, job.boundary, job.largest_bucket)


def gather_named_keys(job: DedupJob, records: Array) -> tuple[str, int]:
    """The name of a part of such pairs, and how many they are."""
    pairs = gather_keys(job, records)
    key = int(records["key"].min()) if len(records) else 0  # of no other group, nor other range
    return save_records(job, f"bucket-pairs-{key:016x}", pairs), len(pairs)


def pairs_part(job: DedupJob, argument: tuple[str, int, int]) -> dict[int, Array]:
    """A task: pairs of a part that lie in a range, by the part of their first row."""
    name, low, high = argument
    pairs = load_records(job, name)
    start, stop = np.searchsorted(pairs, [low, high])
    records = np.empty(stop - start, PAIRS)
    records["pair"] = pairs[start:stop]
    return by_group(records, job.parts_of(records["pair"]))


def gather_candidates(job: DedupJob, records: Array) -> tuple[str, int]:
    """The name of a part of the different pairs whose first row is in one part; how many."""
    pairs = distinct([records["pair"]])
    part = int(job.parts_of(pairs[:1])[0]) if len(pairs) else 0
    return save_records(job, f"candidates-{part:05d}", pairs), len(pairs)


def sample_part(job: DedupJob, number: int) -> tuple[Array, Array]:
    """A task: sampled columns and lengths of the rows of a part, for containment."""
    rows, _, _ = stored_part(job, number)
    return sampled_columns(rows, job.criterion.seed), rows.lengths


def contained_pairs(job: DedupJob, samples: Array, lengths: Array, is_first: Array) -> Array:
    """Candidates of containment among all rows."""
    parts = ((int(first), stored_part(job, n)[0]) for n, first in enumerate(job.firsts))
    least = job.criterion.threshold
    return containment_pairs(parts, samples, lengths, is_first, least, job.boundary)


class ComparedPairs(NamedTuple):
    """Pairs of a part that reach the threshold, and how many they are with those of copies."""

    name: str
    n_found: int
    n_pairs: int


def compare_part(job: DedupJob, argument: tuple[str, int, int]) -> ComparedPairs:
    """A task: write those of some candidates that reach the threshold."""
    name, start, stop = argument
    target = f"found-{name}-{start}-{stop}"
    found = saved_records(job, target)
    if found is None:
        left, right = np.divmod(load_records(job, name)[start:stop], job.n_rows)
        kernel, threshold = job.criterion.kernel, job.criterion.threshold
        pairs = similar_pairs(job.store(), left, right, kernel, threshold, job.n_bytes, job.n_jobs)
        found = np.empty(len(pairs.left), FOUND)
        found["pair"], found["value"] = pairs.left * job.n_rows + pairs.right, pairs.values
        save_records(job, target, found)
    n_pairs = len(found)
    if job.all_pairs:
        sets = CopySets(job)
        left, right = np.divmod(found["pair"], job.n_rows)
        n_pairs = int((sets.sizes(left) * sets.sizes(right)).sum())
    return ComparedPairs(target, len(found), n_pairs)


def expand_pairs(job: DedupJob, argument: str | int) -> dict[int, Array]:
    """A task: pairs with all those that copies add, by the part of their first row.

    The argument is a part of pairs, or of rows, for the pairs of these and of rows that equal them.
    """
    sets = CopySets(job)
    if isinstance(argument, str):
        found = load_records(job, argument)
        pairs = Pairs(*np.divmod(found["pair"], job.n_rows), found["value"])
        copies = sets.of(np.unique(np.concatenate(pairs[:2])))
    else:
        pairs, copies = Pairs.joined([]), sets.between(*job.rows_of(argument))
    every = pairs_with_copies(
        pairs, copies, job.most_pairs, all_pairs=job.all_pairs,
        within_sets=not isinstance(argument, str),
    )  # fmt: skip
    assert every is not None  # they were counted before
    left, right = every[:2] if job.boundary is None else every[1::-1]
    records = np.empty(len(left), FOUND)
    records["pair"], records["value"] = left * job.n_rows + right, every.values
    return by_group(records, job.parts_of(records["pair"]))


def gather_pairs(job: DedupJob, records: Array) -> str:
    """The name of a part of the pairs whose first row is in one part, in order."""
    ordered = records[np.argsort(records["pair"])].astype(FOUND)
    part = int(job.parts_of(ordered["pair"][:1])[0]) if len(ordered) else 0
    return save_records(job, f"pairs-{part:05d}", ordered)


def by_group(records: Array, groups: Array) -> dict[int, Array]:
    """Records by the numbers of their groups; without any, the first group has none."""
    order = np.argsort(groups, kind="stable")
    numbers, starts = np.unique(groups[order], return_index=True)
    pieces = np.split(records[order], starts[1:])
    return dict(zip(map(int, numbers), pieces, strict=True)) if len(numbers) else {0: records}


def save_records(job: DedupJob, name: str, records: Array) -> str:
    """Write records as a part of the job; its name."""
    with atomic_write(job.work.file(name), durable=False, shared=True) as file:
        np.save(file, records)
    return name


def saved_records(job: DedupJob, name: str) -> Array | None:
    """Records of a part, if it is there and whole."""
    try:
        return load_records(job, name)
    except (OSError, ValueError, EOFError):
        return None


def load_records(job: DedupJob, name: str) -> Array:
    """Records of a part, mapped into memory."""
    return np.load(job.work.file(name), mmap_mode="r")


def _rows_name(number: int) -> str:
    return f"rows-{number:05d}"


def _keys_name(number: int) -> str:
    return f"keys-{number:05d}"


class CopySets:
    """Copies in a part of the job, mapped into memory, ordered by the row they equal."""

    NAME = "copies"

    def __init__(self, job: DedupJob) -> None:
        self._firsts, self._rows = load_records(job, self.NAME)

    @classmethod
    def save(cls, job: DedupJob, copies: Copies) -> None:
        """Write the part."""
        order = np.lexsort((copies.rows, copies.firsts))
        save_records(job, cls.NAME, np.stack([copies.firsts[order], copies.rows[order]]))

    def sizes(self, rows: Array) -> Array:
        """Rows of the sets of equal rows that some first rows are in."""
        left, right = (np.searchsorted(self._firsts, rows, side) for side in ("left", "right"))
        return right - left + 1

    def of(self, rows: Array) -> Copies:
        """The copies of some rows, which ascend."""
        starts = np.searchsorted(self._firsts, rows, "left")
        lengths = np.searchsorted(self._firsts, rows, "right") - starts
        places = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
        places += np.arange(len(places))
        return Copies(np.array(self._rows[places]), np.array(self._firsts[places]))

    def between(self, first_row: int, last_row: int) -> Copies:
        """The copies of the rows in a range."""
        some = slice(*np.searchsorted(self._firsts, [first_row, last_row]))
        return Copies(np.array(self._rows[some]), np.array(self._firsts[some]))
