"""Rows of a file that are near rows of another one."""

from typing import Any

import numpy as np

from ...io.chained import Chained
from ...io.readers import RowReader, require_rows
from ...io.streams import require_file
from ...recipe import DEFAULT_KERNEL
from .in_files import kept_if_costly, near_duplicates
from .result import FileMatches


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
        `most_pairs`, `working_memory`, `seed`, `scratch`, `progress`, `n_jobs` and `gamma` of
        `near_duplicates`.

    Examples
    --------
    >>> import corekernels as ck, os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     train, test = (os.path.join(folder, name) for name in ("train.npy", "test.npy"))
    ...     ck.io.write_rows(train, [[1.0, 2, 0], [0, 0, 3], [1, 2.1, 0]])
    ...     ck.io.write_rows(test, [[0.0, 1, 0], [1, 2, 0]])
    ...     readers = ck.files.open_reader(train), ck.files.open_reader(test)
    ...     found = ck.files.near_matches(*readers, 0.9)
    >>> found.pairs.tolist(), found.redundant().tolist()
    ([[0, 1], [2, 1]], [0, 2])
    """
    for side in (reader, against):
        require_file(require_rows(side).name, side.is_stream)
    scratch = options.get("scratch")
    with kept_if_costly(against, scratch) as first, kept_if_costly(reader, scratch) as second:
        both = Chained(first, second)
        found = near_duplicates(both, threshold, kernel, **options)
    pairs = found.pairs[:, ::-1] - [both.boundary, 0]
    order = np.lexsort(pairs.T[::-1])
    return FileMatches(
        pairs[order], found.similarities[order], found.expected_missed,
        found.rows - both.boundary, both.boundary,
    )  # fmt: skip
