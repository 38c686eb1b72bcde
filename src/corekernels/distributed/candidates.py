"""Candidates for near-duplicates, as tasks: digests find copies, keys of hash tables the rest.

Tasks that compute write files, which a later run finds; tasks of a shuffle only move records.
"""

import os
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._core.arguments import Array
from .._core.team import Team
from .._core.validation import read_only
from ..errors import CoREError
from ..files.plan import Part
from ..io.atomic import atomic_write
from ..io.containers import load_arrays, save_arrays
from ..io.readers import require_rows
from ..kernel_table import Kernel
from ..neighbors.duplicates.collisions import Collisions
from ..neighbors.duplicates.copies import Copies, find_copies_by_side
from ..neighbors.duplicates.tables import TablePlan, repeated_keys
from .row_store import parts_of, store_rows, stored_before, stored_part

DIGESTS = np.dtype([("low", np.uint64), ("high", np.uint64), ("row", np.int64)])
KEYS = np.dtype([("key", np.uint64), ("row", np.int64)])
PAIRS = np.dtype([("left", np.int64), ("right", np.int64)])

LARGEST_BUCKET = 5000  # rows; of a larger bucket, rows are paired with the first ones only
_REPRESENTATIVES = 16  # of a larger bucket
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # odd, of bits as good as random
_PAIRS_TOGETHER = 1 << 20  # written out before they are sorted and repeated ones dropped
_KEY_KIND, _KEY_VERSION = "keys", 1
_HASHED_TOGETHER = 1 << 11  # rows


class DuplicatesJob(NamedTuple):
    """What all tasks need to know."""

    folder: str
    kernel: Kernel
    threshold: float
    tables: TablePlan
    seed: int
    n_groups: int
    largest_bucket: int
    n_bytes: float  # of rows that a task holds
    all_pairs: bool
    most_pairs: int
    firsts: Array  # number of the first row of each part
    boundary: int | None = None  # rows from here on are compared with those before only

    def path(self, name: str) -> Path:
        """A file of the job."""
        return Path(self.folder) / name


class PartFacts(NamedTuple):
    """What storing a part tells about it."""

    n_rows: int
    stamp: list[int | str]


def store_part(job: DuplicatesJob, part: Part) -> PartFacts:
    """A task: store the rows of a part and their digests, unless an earlier run has."""
    found = os.stat(part.path)
    size = -1 if part.rows is None else part.rows
    times = found.st_size, found.st_mtime_ns
    stamp: list[int | str] = [os.path.basename(part.path), *times, part.first_row, size]
    folder = Path(job.folder)
    stored = stored_before(folder, part.number, stamp)
    if stored is None:
        stored = store_rows(folder, part.number, require_rows(part.open()), stamp)
    return PartFacts(len(stored.rows), stamp)


def digests_part(job: DuplicatesJob, number: int) -> dict[int, Array]:
    """A task: digests of the rows of a part that are not empty, by group."""
    stored = stored_part(Path(job.folder), number)
    some = np.flatnonzero(stored.rows.lengths)
    found = np.empty(len(some), DIGESTS)
    found["low"], found["high"] = stored.digests[some].T
    found["row"] = some + job.firsts[number]
    return by_group(found, found["low"] % np.uint64(job.n_groups))


def gather_copies(job: DuplicatesJob, digests: Array) -> Copies:
    """The copies among rows whose digests fell into a group."""
    ordered = digests[np.argsort(digests["row"])]
    rows = ordered["row"].astype(np.int64)
    return find_copies_by_side(ordered["low"], ordered["high"], rows, job.boundary)


def hash_rows(job: DuplicatesJob, argument: tuple[int, Array]) -> None:
    """A task: write the keys of a part's rows, without copies and empty rows, in all tables."""
    number, copies = argument
    path = _keys_file(job, number)
    if _saved_keys(path) is not None:
        return
    rows = stored_part(Path(job.folder), number).rows
    some = np.setdiff1d(np.flatnonzero(rows.lengths), copies - job.firsts[number])
    keys, team = np.empty((len(some), job.tables.n_tables), np.uint64), Team(1)
    for start in range(0, len(some), _HASHED_TOGETHER):
        few = slice(start, start + _HASHED_TOGETHER)
        keys[few] = job.tables.keys(team, rows.take(some[few]), job.seed)
    arrays = {"keys": keys, "rows": some + job.firsts[number]}
    save_arrays(path, _KEY_KIND, _KEY_VERSION, arrays, {}, durable=False, shared=True)


def keys_part(job: DuplicatesJob, number: int) -> dict[int, Array]:
    """A task: keys of the rows of a part, by group."""
    arrays, _ = load_arrays(_keys_file(job, number), _KEY_KIND, _KEY_VERSION)
    keys, n_tables = arrays["keys"], job.tables.n_tables
    found = np.empty(keys.size, KEYS)
    tables = np.arange(n_tables, dtype=np.uint64) * _GOLDEN
    found["key"] = (keys ^ tables).ravel()  # equal keys of two tables are no collision
    found["row"] = np.repeat(arrays["rows"], n_tables)
    return by_group(found, found["key"] % np.uint64(job.n_groups))


def gather_buckets(job: DuplicatesJob, keys: Array) -> str:
    """The name of a file of the pairs of rows in a group of keys that have one in common.

    Records come in any order; what is written depends on them alone.
    """
    some = keys[repeated_keys(np.ascontiguousarray(keys["key"]))]
    ordered = some[np.lexsort((some["row"], some["key"]))]
    ids, rows = np.unique(ordered["row"], return_inverse=True)
    cut = len(ids) if job.boundary is None else int(np.searchsorted(ids, job.boundary))
    starts = np.flatnonzero(np.diff(ordered["key"], prepend=~ordered["key"][:1]))
    sizes = np.diff(starts, append=len(ordered))
    collisions = Collisions(len(ids), 0, cut, _PAIRS_TOGETHER)
    is_small = sizes <= job.largest_bucket
    _add_small_buckets(collisions, ordered["key"], rows, starts, sizes * is_small)
    for start, size in zip(starts[~is_small].tolist(), sizes[~is_small].tolist(), strict=True):
        mine = rows[start : start + size]
        for place in range(min(_REPRESENTATIVES, size - 1)):
            if mine[place] < cut:
                collisions.add(mine[place + 1 :] * len(ids) + mine[place])
    later, earlier = np.divmod(collisions.pairs(), max(1, len(ids)))
    if job.boundary is not None:
        across = later >= cut
        later, earlier = later[across], earlier[across]
    pairs = np.empty(len(later), PAIRS)
    sides = ("left", "right") if job.boundary is None else ("right", "left")
    pairs[sides[0]], pairs[sides[1]] = ids[earlier], ids[later]
    group = int(keys["key"][0] % np.uint64(job.n_groups)) if len(keys) else 0
    return save_records(job, f"bucket-pairs-{group:05d}.npy", pairs)


def _add_small_buckets(
    collisions: Collisions, keys: Array, rows: Array, starts: Array, sizes: Array
) -> None:
    """Add all pairs of buckets; a size of 0 leaves one out.

    Pairs are counted first, and written out a limited number at a time: rows that are much alike
    share many buckets, and most of the pairs are repeated ones.
    """
    counts = np.cumsum(sizes * (sizes - 1) // 2)
    ends = np.flatnonzero(np.diff(counts // _PAIRS_TOGETHER, append=-1)) + 1
    wanted = sizes > 1
    first = 0
    for end in ends.tolist():
        mine = np.flatnonzero(wanted[first:end]) + first
        lengths = sizes[mine]
        places = np.repeat(starts[mine] - np.cumsum(lengths) + lengths, lengths)
        places += np.arange(len(places))
        collisions.add_keys(read_only(keys[places]), read_only(rows[places], np.int64))
        first = end


def pairs_part(job: DuplicatesJob, name: str) -> dict[int, Array]:
    """A task: pairs from a file, by the part of the left row."""
    pairs = np.load(job.path(name))
    return by_group(pairs, parts_of(job.firsts, pairs["left"]))


def gather_candidates(job: DuplicatesJob, pairs: Array) -> tuple[str, int]:
    """The name of a file of the different pairs whose left row is in one part; how many."""
    part = int(parts_of(job.firsts, pairs["left"][:1])[0]) if len(pairs) else 0
    first, n_rows = job.firsts[part], int(pairs["right"].max(initial=0)) + 1
    joined = (pairs["left"] - first) * n_rows + pairs["right"]  # sorted faster than two numbers
    joined.sort()
    joined = joined[np.diff(joined, prepend=-1) > 0]
    different = np.empty(len(joined), PAIRS)
    different["left"], different["right"] = np.divmod(joined, n_rows)
    different["left"] += first
    return save_records(job, f"candidates-{part:05d}.npy", different), len(different)


def by_group(records: Array, groups: Array) -> dict[int, Array]:
    """Records by the numbers of their groups; without any, the first group has none."""
    order = np.argsort(groups, kind="stable")
    numbers, starts = np.unique(groups[order], return_index=True)
    pieces = np.split(records[order], starts[1:])
    return dict(zip(map(int, numbers), pieces, strict=True)) if len(numbers) else {0: records}


def save_records(job: DuplicatesJob, name: str, records: Array) -> str:
    """Write records to a file of the job; its name."""
    with atomic_write(job.path(name), durable=False, shared=True) as file:
        np.save(file, records)
    return name


def _keys_file(job: DuplicatesJob, number: int) -> Path:
    return job.path(f"keys-{number:05d}")


def _saved_keys(path: Path) -> dict[str, Array] | None:
    """Keys that an earlier run has written, if it did."""
    try:
        arrays, _ = load_arrays(path, _KEY_KIND, _KEY_VERSION)
    except (CoREError, OSError):
        return None
    return arrays
