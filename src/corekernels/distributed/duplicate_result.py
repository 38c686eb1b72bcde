"""From pairs in files to a result: held by the driver, or mapped into its memory."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._core.arguments import Array
from ..files.engines.base import Engine
from ..neighbors.duplicates.copies import Copies
from ..neighbors.duplicates.ending import file_duplicates
from ..neighbors.duplicates.in_two_files import matches_across
from ..neighbors.duplicates.result import FileDuplicates, FileMatches
from .candidates import DuplicatesJob
from .compared_pairs import (
    FOUND,
    ComparedPairs,
    CopySets,
    expand_pairs,
    gather_pairs,
    require_records,
)
from .forests import merged_forest

_COPIES_PER_TASK = 1 << 20


class FoundPairs(NamedTuple):
    """Pairs between rows that are no copies, in files, and the copies."""

    job: DuplicatesJob
    n_rows: int
    copies: Copies
    compared: Sequence[ComparedPairs]

    @property
    def files(self) -> list[str]:
        """Files that hold pairs."""
        return [some.name for some in self.compared if some.n_found]

    @property
    def n_pairs(self) -> int:
        """Pairs there will be in the result, with those that copies add."""
        n_pairs = sum(some.n_pairs for some in self.compared)
        if self.job.boundary is not None:
            return n_pairs
        if not self.job.all_pairs:
            return n_pairs + len(self.copies)
        _, sizes = np.unique(self.copies.firsts, return_counts=True)
        return n_pairs + int((sizes * (sizes + 1) // 2).sum())


def result_in_memory(name: str, found: FoundPairs) -> FileDuplicates | FileMatches:
    """The result in memory, as one machine makes it."""
    job, copies = found.job, found.copies
    records = [np.empty(0, FOUND), *(require_records(job, file) for file in found.files)]
    every = np.concatenate(records)
    earlier, later = every["left"], every["right"]
    if job.boundary is not None:
        earlier, later = later, earlier
    else:
        earlier = np.concatenate([copies.firsts, earlier])
        later = np.concatenate([copies.rows, later])
    values = np.concatenate([np.ones(len(later) - len(every)), every["value"]])
    result = file_duplicates(
        name, (earlier, later, values), copies, job.all_pairs, job.most_pairs, job.boundary,
        job.tables.missed, found.n_rows,
    )  # fmt: skip
    return result if job.boundary is None else matches_across(result, job.boundary)


def result_in_files(
    engine: Engine, found: FoundPairs, driver_pairs: int
) -> FileDuplicates | FileMatches:
    """The result with pairs in files that are mapped into memory, and groups from forests."""
    job, n_rows, missed = found.job, found.n_rows, found.job.tables.missed
    pairs, values = _mapped(engine, found)
    if job.boundary is not None:
        return FileMatches(pairs, values, missed, n_rows - job.boundary, job.boundary)
    forest = merged_forest(engine, job, found.files, driver_pairs)
    return FileDuplicates(pairs, values, missed, n_rows, len(found.copies), forest)


def _mapped(engine: Engine, found: FoundPairs) -> tuple[Array, Array]:
    """All pairs, in order, and their kernel values."""
    job, files = found.job, found.files
    asked: list[str | tuple[int, int]] = [*files]
    if job.boundary is None:
        asked += CopySets(job).ranges(_COPIES_PER_TASK)
    sorted_files = engine.shuffle(expand_pairs, gather_pairs, job, asked, job.n_groups)
    n_pairs = found.n_pairs
    pairs = np.lib.format.open_memmap(job.path("all-pairs.npy"), "w+", np.int64, (n_pairs, 2))
    values = np.lib.format.open_memmap(job.path("all-values.npy"), "w+", np.float64, (n_pairs,))
    first = 0
    for file in sorted_files:
        some = require_records(job, file)
        last = first + len(some)
        pairs[first:last, 0] = some["left"] - (job.boundary or 0)
        pairs[first:last, 1] = some["right"]
        values[first:last] = some["value"]
        first = last
        job.path(file).unlink()
    assert first == n_pairs
    return pairs, values
