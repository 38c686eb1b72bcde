"""Candidates compared by the exact kernel, as tasks, and what copies add to the pairs found."""

import contextlib
import itertools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .._core.arguments import Array
from .._core.progress import Steps
from ..io.workspace import Workspace
from ..neighbors.duplicates.comparison import NOTHING_FOUND, Comparison, Found, joined
from ..neighbors.duplicates.copies import Copies, pairs_with_copies
from .candidates import DuplicatesJob, by_group, save_records
from .row_store import GatheredRows, parts_of, stored_lengths

FOUND = np.dtype([("left", np.int64), ("right", np.int64), ("value", np.float64)])

_BYTES_PER_VALUE = 16  # of rows held: column and value, at most
_COPIES = "copies.npy"


class ComparedPairs(NamedTuple):
    """Pairs of a file that reach the threshold, and how many they are with those of copies."""

    name: str
    n_found: int
    n_pairs: int


def compare_pairs(job: DuplicatesJob, argument: tuple[str, int, int]) -> ComparedPairs:
    """A task: write those of some candidates of a file that reach the threshold."""
    name, start, stop = argument
    target = f"found-{Path(name).stem}-{start}-{stop}.npy"
    found = saved_records(job.path(target))
    if found is None:
        candidates = np.load(job.path(name), mmap_mode="r")[start:stop]
        found = _similar(job, np.array(candidates["left"]), np.array(candidates["right"]))
        save_records(job, target, found)
    n_pairs = len(found)
    if job.all_pairs:
        sets = CopySets(job)
        n_pairs = int((sets.sizes(found["left"]) * sets.sizes(found["right"])).sum())
    return ComparedPairs(target, len(found), n_pairs)


def _similar(job: DuplicatesJob, left: Array, right: Array) -> Array:
    """The pairs that reach the threshold, with kernel values, in order."""
    rows = np.unique(np.concatenate([left, right]))
    left, right = np.searchsorted(rows, left), np.searchsorted(rows, right)
    lengths = stored_lengths(Path(job.folder), job.firsts, rows)
    ends = [len(left)]
    if lengths.sum() * _BYTES_PER_VALUE > job.n_bytes:  # cut, as if no row came twice on the right
        sizes = lengths[right]
        is_new = np.diff(left, prepend=-1) > 0
        sizes[is_new] += lengths[left[is_new]]
        portion = np.cumsum(sizes * _BYTES_PER_VALUE) // max(1, int(job.n_bytes))
        ends = (np.flatnonzero(np.diff(portion, append=-1)) + 1).tolist()
    found, first = [NOTHING_FOUND], 0
    for end in ends:
        found.append(_compared(job, rows, left[first:end], right[first:end]))
        first = end
    return as_records(*joined(found), swap=job.boundary is not None)


def _compared(job: DuplicatesJob, rows: Array, left: Array, right: Array) -> Found:
    """Earlier rows, later rows and kernel values, given the places of pairs in `rows`."""
    is_used = np.zeros(len(rows), bool)
    is_used[left] = is_used[right] = True
    numbers, places = rows[is_used], np.cumsum(is_used) - 1
    left, right = places[left], places[right]
    pairs = np.sort(np.maximum(left, right) * len(numbers) + np.minimum(left, right))
    gathered = GatheredRows(Path(job.folder), job.firsts, numbers)
    with contextlib.closing(Workspace()) as work, Steps({}, False) as steps:
        comparison = Comparison(
            job.kernel,
            job.threshold,
            gathered.lengths,
            job.n_bytes,
            _BYTES_PER_VALUE,
            work,
            steps,
            1,
        )
        earlier, later, values = comparison.compare(gathered, pairs, "pairs")
    return numbers[earlier], numbers[later], values


def expand_pairs(job: DuplicatesJob, argument: str | tuple[int, int]) -> dict[int, Array]:
    """A task: pairs with all those that copies add, by the part of the left row.

    The argument is a file of pairs, or a range of copies, for the pairs among equal rows.
    """
    swap, is_file = job.boundary is not None, isinstance(argument, str)
    if isinstance(argument, str):
        found = require_records(job, argument)
        earlier, later = ("right", "left") if swap else ("left", "right")
        pairs = found[earlier], found[later], found["value"]
        copies = CopySets(job).of(np.unique(np.concatenate(pairs[:2])))
    else:
        copies = CopySets(job).range(*argument)
        pairs = copies.firsts, copies.rows, np.ones(len(copies))
    if job.all_pairs:
        every = pairs_with_copies(*pairs, copies, job.most_pairs, within_sets=not is_file)
        assert every is not None  # they were counted before
        pairs = every
    records = as_records(*pairs, swap)
    return by_group(records, parts_of(job.firsts, records["left"]))


def gather_pairs(job: DuplicatesJob, pairs: Array) -> str:
    """The name of a file of the pairs whose left row is in one part, in order."""
    found = pairs.astype(FOUND)
    ordered = found[np.lexsort((found["right"], found["left"]))]
    part = int(parts_of(job.firsts, ordered["left"][:1])[0]) if len(ordered) else 0
    return save_records(job, f"pairs-{part:05d}.npy", ordered)


def as_records(earlier: Array, later: Array, values: Array, swap: bool) -> Array:
    """Pairs in order; the earlier row is on the left, or on the right if they are to be swapped."""
    out = np.empty(len(values), FOUND)
    out["left"], out["right"] = (later, earlier) if swap else (earlier, later)
    out["value"] = values
    return out[np.lexsort((out["right"], out["left"]))]


def saved_records(path: Path) -> Array | None:
    """Records of a file, if it is there and whole."""
    try:
        found: Array = np.load(path)
    except (OSError, ValueError, EOFError):
        return None
    return found


def require_records(job: DuplicatesJob, name: str) -> Array:
    """Records of a file of the job, which must be there."""
    return np.load(job.path(name))


class CopySets:
    """Copies in a file of the job, mapped into memory, ordered by the row they equal."""

    def __init__(self, job: DuplicatesJob) -> None:
        self._firsts, self._rows = np.load(job.path(_COPIES), mmap_mode="r")

    @staticmethod
    def save(job: DuplicatesJob, copies: Copies) -> None:
        """Write the file."""
        order = np.lexsort((copies.rows, copies.firsts))
        save_records(job, _COPIES, np.stack([copies.firsts[order], copies.rows[order]]))

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

    def range(self, start: int, stop: int | None) -> Copies:
        """Some of the copies."""
        return Copies(np.array(self._rows[start:stop]), np.array(self._firsts[start:stop]))

    def ranges(self, together: int) -> list[tuple[int, int]]:
        """Ranges of about so many copies, each of whole sets of equal rows."""
        if not len(self._rows):
            return []
        starts = np.flatnonzero(np.diff(self._firsts, prepend=-1))
        wanted = np.arange(0, len(self._rows), together)
        cuts = np.unique(starts[np.searchsorted(starts, wanted, "right") - 1]).tolist()
        return list(itertools.pairwise([*cuts, len(self._rows)]))
