"""Rows of a file that are near rows of another one."""

from typing import Any

import numpy as np

from ...io.readers import RowReader
from ...recipe import DEFAULT_KERNEL
from .in_files import search_files
from .result import FileDuplicates, FileMatches


def near_matches(
    reader: RowReader,
    against: RowReader,
    threshold: float = 0.8,
    kernel: str = DEFAULT_KERNEL,
    **options: Any,
) -> FileMatches:
    """Rows of a reader that are near a row of another one: all pairs with K >= threshold.

    Both files are read as if they were one, in memory and time as of `near_duplicates`.

    Parameters
    ----------
    reader, against : RowReader
        From `files.open_reader`; not pipes.
    threshold, kernel
        As for `near_duplicates`.
    **options
        `most_pairs`, `working_memory`, `seed`, `scratch`, `parts`, `resume`, `progress`, `n_jobs`
        and `gamma` of `near_duplicates`.

    Examples
    --------
    >>> import corekernels as ck
    >>> train, test = "train.npy", "test.npy"
    >>> ck.io.write_rows(train, [[1.0, 2, 0], [0, 0, 3], [1, 2.1, 0]])
    >>> ck.io.write_rows(test, [[0.0, 1, 0], [1, 2, 0]])
    >>> readers = ck.files.open_reader(train), ck.files.open_reader(test)
    >>> found = ck.files.near_matches(*readers, 0.9)
    >>> found.pairs.tolist(), found.redundant().tolist()
    ([[0, 1], [2, 1]], [0, 2])
    """
    settings: dict[str, Any] = {
        "most_pairs": 50_000_000, "working_memory": 1024.0, "seed": 0, "scratch": None,
        "parts": None, "resume": False, "progress": None, "n_jobs": None, "gamma": None,
    } | options  # fmt: skip
    found, boundary = search_files([against, reader], threshold, kernel, all_pairs=True, **settings)
    return matches_across(found, boundary)


def matches_across(found: FileDuplicates, boundary: int) -> FileMatches:
    """Pairs across two files, of which the first has `boundary` rows, by the rows of the second."""
    pairs = found.pairs[:, ::-1] - [boundary, 0]
    order = np.lexsort(pairs.T[::-1])
    return FileMatches(
        pairs[order], found.similarities[order], found.expected_missed,
        found.rows - boundary, boundary,
    )  # fmt: skip
