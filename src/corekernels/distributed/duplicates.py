"""Near-duplicates of a corpus on many machines.

Rows are stored where any of them can be looked up. Their digests are shuffled, so that copies
collide, then the keys of their hash tables, so that candidates collide, then the candidates, so
that each is compared once, by the exact kernel. Hash tables, copies and comparison are those of
one machine (`neighbors/duplicates`); the engine shuffles.
"""

import contextlib
import shutil
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._core.arguments import require_count, require_positive, seed_of
from .._core.progress import Steps
from .._core.team import Team
from .._core.types import Array, PathLike
from .._core.validation import read_only
from ..errors import DataError, FileError, ParameterError
from ..io.atomic import atomic_write
from ..io.readers import require_rows
from ..io.workspace import Workspace
from ..kernel_table import CONTAINMENT, Kernel, duplicates_kernel
from ..neighbors.arguments import require_number
from ..neighbors.duplicates.collisions import Collisions
from ..neighbors.duplicates.comparison import Comparison
from ..neighbors.duplicates.copies import Copies, find_copies, row_digests
from ..neighbors.duplicates.ending import file_duplicates
from ..neighbors.duplicates.result import FileDuplicates
from ..neighbors.duplicates.tables import TablePlan, plan_tables
from ..recipe import DEFAULT_KERNEL
from .engines import Engine
from .plan import Part, Plan
from .row_store import (
    PLACE_BITS,
    GatheredRows,
    parts_and_places,
    row_ids,
    store_rows,
    stored_rows,
)

DIGESTS = np.dtype([("low", np.uint64), ("high", np.uint64), ("row", np.int64)])
KEYS = np.dtype([("key", np.uint64), ("row", np.int64)])
PAIRS = np.dtype([("later", np.int64), ("earlier", np.int64)])

LARGEST_BUCKET = 5000  # rows; of a larger bucket, rows are paired with the first ones only
_REPRESENTATIVES = 16  # of a larger bucket
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # odd, of bits as good as random
_PAIRS_TOGETHER = 1 << 20  # gathered before they are sorted
_WORKING_BYTES = 512e6  # of rows held while they are compared


class DuplicatesJob(NamedTuple):
    """What all tasks need to know."""

    folder: str
    kernel: Kernel
    threshold: float
    tables: TablePlan
    seed: int
    n_groups: int
    largest_bucket: int


def digest_part(job: DuplicatesJob, part: Part) -> dict[int, Array]:
    """A task: store the rows of a part; digests of those that are not empty, by group."""
    rows = store_rows(Path(job.folder), part.number, require_rows(part.open()))
    some = np.flatnonzero(rows.lengths)
    found = np.empty(len(some), DIGESTS)
    found["low"], found["high"] = row_digests(rows)[some].T
    found["row"] = row_ids(part.number, len(rows))[some]
    return _by_group(found, found["low"] % np.uint64(job.n_groups))


def gather_copies(job: DuplicatesJob, digests: Array) -> Copies:
    """The copies among rows whose digests fell into a group."""
    ordered = digests[np.argsort(digests["row"])]
    return find_copies(ordered["low"], ordered["high"], ordered["row"].astype(np.int64))


def keys_part(job: DuplicatesJob, argument: tuple[int, Array]) -> dict[int, Array]:
    """A task: keys of the rows of a part, without copies and empty rows, by group."""
    number, copies = argument
    rows = stored_rows(Path(job.folder), number)
    some = np.setdiff1d(np.flatnonzero(rows.lengths), copies)
    keys = job.tables.keys(Team(1), rows.take(some), job.seed)
    found = np.empty(keys.size, KEYS)
    tables = np.arange(job.tables.n_tables, dtype=np.uint64) * _GOLDEN
    found["key"] = (keys ^ tables).ravel()  # equal keys of two tables are no collision
    found["row"] = np.repeat(row_ids(number, len(rows))[some], job.tables.n_tables)
    return _by_group(found, found["key"] % np.uint64(job.n_groups))


def gather_candidates(job: DuplicatesJob, keys: Array) -> str:
    """The name of a file of the pairs of rows in a group of keys that have one in common.

    Records come in any order; what is written depends on them alone.
    """
    ordered = keys[np.lexsort((keys["row"], keys["key"]))]
    ids, rows = np.unique(ordered["row"], return_inverse=True)
    starts = np.flatnonzero(np.diff(ordered["key"], prepend=~ordered["key"][:1]))
    sizes = np.diff(starts, append=len(ordered))
    is_small = np.repeat(sizes <= job.largest_bucket, sizes)
    collisions = Collisions(len(ids), 0, len(ids), _PAIRS_TOGETHER)
    collisions.add_keys(read_only(ordered["key"][is_small]), read_only(rows[is_small], np.int64))
    for start in starts[sizes > job.largest_bucket].tolist():
        mine = rows[start : start + int(sizes[np.searchsorted(starts, start)])]
        for place in range(min(_REPRESENTATIVES, len(mine) - 1)):
            collisions.add(mine[place + 1 :] * len(ids) + mine[place])
    later, earlier = np.divmod(collisions.pairs(), max(1, len(ids)))
    pairs = np.empty(len(later), PAIRS)
    pairs["later"], pairs["earlier"] = ids[later], ids[earlier]
    group = int(ordered["key"][0] % np.uint64(job.n_groups)) if len(ordered) else 0
    path = Path(job.folder) / f"pairs-{group:05d}.npy"
    with atomic_write(path, durable=False, shared=True) as file:
        np.save(file, pairs)
    return str(path)


def pairs_part(job: DuplicatesJob, path: str) -> dict[int, Array]:
    """A task: candidates from a file, by the part of the later row."""
    pairs = np.load(path)
    return _by_group(pairs, (pairs["later"] >> PLACE_BITS) % job.n_groups)


def compare_pairs(job: DuplicatesJob, pairs: Array) -> tuple[Array, Array, Array]:
    """Earlier rows, later rows and kernel values of the candidates that reach the threshold."""
    different = np.unique(pairs.astype(PAIRS))
    if not len(different):
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    ids = np.unique(np.concatenate([different["later"], different["earlier"]]))
    rows = GatheredRows(Path(job.folder), ids)
    later, earlier = (np.searchsorted(ids, different[name]) for name in ("later", "earlier"))
    with contextlib.closing(Workspace()) as work, Steps({}, False) as steps:
        comparison = Comparison(
            job.kernel, job.threshold, rows.lengths, _WORKING_BYTES, 16, work, steps, 1
        )
        ordered = np.sort(later * len(ids) + earlier)
        left, right, values = comparison.compare(rows, ordered, "pairs")
    return ids[left], ids[right], values


def duplicates_by_parts(
    engine: Engine, plan: Plan, scratch: PathLike, threshold: float = 0.8,
    kernel: str = DEFAULT_KERNEL, *, all_pairs: bool = True, most_pairs: int = 50_000_000,
    seed: int = 0, gamma: float | None = None, largest_bucket: int = LARGEST_BUCKET,
    progress: bool | None = None,
) -> FileDuplicates:  # fmt: skip
    """Pairs of rows of all parts with K >= threshold, as `files.near_duplicates` by hash tables.

    Rows are numbered through all parts. The folder takes 12 to 16 bytes per nonzero and 16 bytes
    per candidate; the engine shuffles 24 bytes per row and 1,024 bytes per row that is no copy.

    Parameters
    ----------
    engine : Engine
    plan : Plan
        From `plan_parts`.
    scratch : path
        A folder to create, which every worker must reach; it is removed at the end.
    threshold, kernel, all_pairs, most_pairs, seed, gamma
        As for `files.near_duplicates`; not "containment".
    largest_bucket : int
        Rows with one key that are all compared with each other. If more have it, they are
        compared with the first 16 of them only.
    progress : bool, optional
        Whether to show a progress bar; None means where there is a terminal.

    Examples
    --------
    >>> import corekernels as ck
    >>> from corekernels import distributed
    >>> ck.io.write_rows("rows.npz", [[1.0, 2, 0], [1, 2, 0], [0, 0, 3]])
    >>> with distributed.LocalEngine() as engine:
    ...     plan = distributed.plan_parts(engine, "rows.npz")
    ...     found = distributed.duplicates_by_parts(engine, plan, "scratch", 0.9)
    >>> found.pairs, found.rows
    (array([[0, 1]]), 3)
    """
    entry = duplicates_kernel(kernel, gamma)
    least = require_number("threshold", require_positive("threshold", threshold), most=1.0)
    tables = None if entry is CONTAINMENT else plan_tables(entry, least)
    if tables is None:
        raise ParameterError(
            f"kernel: pairs of {kernel} at this threshold are not found by hash tables, which a "
            "cluster needs; raise the threshold, or use one machine."
        )
    if plan.recipe is not None:
        raise DataError(f"{plan.name}: is hashed; near-duplicates need the raw rows.")
    most_pairs = require_count("most_pairs", most_pairs)
    n_groups = max(len(plan.parts), engine.n_workers)
    with _scratch_folder(Path(scratch)) as folder:
        job = DuplicatesJob(
            str(folder.absolute()), entry, least, tables, seed_of(seed, "seed"), n_groups,
            require_count("largest_bucket", largest_bucket),
        )  # fmt: skip
        copies = _joined_copies(
            engine.shuffle(digest_part, gather_copies, job, plan.parts, n_groups)
        )
        parts, places = parts_and_places(copies.rows)
        asked = [(part.number, places[parts == part.number]) for part in plan.parts]
        written = engine.shuffle(keys_part, gather_candidates, job, asked, n_groups)
        found = engine.shuffle(pairs_part, compare_pairs, job, written, n_groups)
        counts = [len(stored_rows(folder, part.number)) for part in plan.parts]
    firsts = np.array(plan.first_rows(counts))
    number = partial(_global_numbers, firsts)
    pairs = [(copies.firsts, copies.rows, np.ones(len(copies))), *found]
    left, right, values = (np.concatenate(column) for column in zip(*pairs, strict=True))
    numbered = Copies(number(copies.rows), number(copies.firsts))
    return file_duplicates(
        plan.name, (number(left), number(right), values), numbered, all_pairs, most_pairs, None,
        tables.missed, sum(counts),
    )  # fmt: skip


def _global_numbers(firsts: Array, ids: Array) -> Array:
    """The numbers of rows among all, given those of the first rows of the parts."""
    parts, places = parts_and_places(ids)
    return firsts[parts] + places if len(ids) else ids


def _joined_copies(groups: list[Copies]) -> Copies:
    nothing = np.empty(0, np.int64)
    return Copies(
        np.concatenate([nothing, *(copies.rows for copies in groups)]),
        np.concatenate([nothing, *(copies.firsts for copies in groups)]),
    )


def _by_group(records: Array, groups: Array) -> dict[int, Array]:
    """Records by the numbers of their groups; without any, the first group has none."""
    order = np.argsort(groups, kind="stable")
    numbers, starts = np.unique(groups[order], return_index=True)
    pieces = np.split(records[order], starts[1:])
    return dict(zip(map(int, numbers), pieces, strict=True)) if len(numbers) else {0: records}


@contextlib.contextmanager
def _scratch_folder(folder: Path) -> Iterator[Path]:
    """A new folder, which goes with the block."""
    try:
        folder.mkdir()
    except FileExistsError:
        raise FileError(f"{folder}: is there already; name a new folder, or remove it.") from None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
