"""Near-duplicate pairs of files larger than memory.

One pass hashes the rows to keys of 64 tables, which lie on the disk; rows of equal keys become
candidates table by table; further passes compute the kernel of the candidates, as the later
row of a pair comes by and the earlier one is held.
"""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ..._core.arguments import require_count, require_positive, require_seed
from ..._core.validation import clean_rows
from ...errors import DataError, ParameterError
from ...io.readers import require_rereadable, require_rows
from ...kernel_table import hashed_kernel
from .. import CoRENeighbors, NearDuplicates
from .candidate_pairs import first_rows, portions_of_pairs, write_keys
from .collisions import N_TABLES, TablePlan, find_copies, plan_tables, row_digests
from .comparison import Scoring, expanded, score_pairs
from .in_memory import FEW_ROWS
from .key_file import KeyFile

Array = npt.NDArray[Any]
Say = Callable[[str], None]

_TABLE_BYTES = 1300  # a row, in memory


@dataclass(frozen=True)
class FileDuplicates(NearDuplicates):
    """Near-duplicates among the rows of a file; ids are row numbers, from 0.

    Attributes
    ----------
    rows : int
        Rows of the file.
    copies : int
        Rows equal to an earlier one in every column and value.
    """

    rows: int
    copies: int


def near_duplicates(
    source: Any,
    threshold: float = 0.8,
    kernel: str = "core1",
    *,
    all_pairs: bool = True,
    most_pairs: int = 50_000_000,
    working_memory: float = 1024.0,
    seed: int = 0,
    scratch: str | os.PathLike[str] | None = None,
    progress: Say | None = None,
    n_jobs: int | None = None,
) -> FileDuplicates:
    """All pairs of rows of a source with K >= threshold, as `CoRENeighbors.near_duplicates`.

    The source is read twice, or more often where the rows or pairs to compare exceed
    `working_memory`. Memory is at most 128 bytes a row, 100 bytes a pair found, twice
    `working_memory`, and 512 bytes for each row of a batch; the disk holds 528 bytes a row
    in the meantime. A file that fits in `working_memory`, tables included, is searched there
    at once: up to 4096 rows exactly, and more where tables would tell too little, below a
    threshold of 0.47, for core2 below 0.74.

    Parameters
    ----------
    source : reader of rows
        From `open_source`; not a pipe.
    threshold : float in (0, 1]
    kernel : {"core1", "core2", "resemblance"}
    all_pairs : bool
        If false, a row that equals earlier ones (a copy) is paired with the first of them
        and with no other row. Groups stay the same; many copies no longer make many pairs.
    most_pairs : int
        To find more than this is an error.
    working_memory : float
        Megabytes of rows, and of pairs to compare, held at a time.
    seed : int
        Seed of the tables.
    scratch : path, optional
        Folder for the keys; the system's own for temporary files if None.
    progress : callable, optional
        Is told what is being done.
    n_jobs : int, optional
        Threads; None means all cores.

    Examples
    --------
    >>> import corekernels as ck, os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "rows.svm")
    ...     ck.io.write_rows(path, [[1.0, 2, 0], [0, 0, 3], [1, 2.1, 0]])
    ...     found = ck.files.near_duplicates(ck.files.open_source(path), 0.9)
    >>> found.pairs.tolist(), found.redundant().tolist(), found.rows
    ([[0, 2]], [2], 3)
    """
    require_rows(source)
    hashed_kernel(kernel)
    least, limit = _require_threshold(threshold), require_positive("working_memory", working_memory)
    most_pairs, seed = require_count("most_pairs", most_pairs), require_seed(seed, "seed")
    require_rereadable(source)
    say = progress or (lambda text: None)
    plan = plan_tables(kernel, least)
    X = _whole_or_none(source, plan, kernel, all_pairs, limit * 1e6)
    if X is not None:
        say("comparing")
        index = CoRENeighbors(kernel, method="exact", random_state=seed, n_jobs=n_jobs)
        found = _of_rows_in_memory(X, index, least, all_pairs, most_pairs)
        if found is None:
            raise _too_many(source, most_pairs)
        return found
    assert plan is not None
    with KeyFile(N_TABLES + 2, scratch) as keys:
        say("hashing")
        lengths = write_keys(source, plan, seed, keys, n_jobs)
        say("sorting")
        rows, copies, firsts = first_rows(keys, lengths)
        portions = portions_of_pairs(keys, len(lengths), rows, copies, firsts, limit * 1e6, say)
        task = Scoring(kernel, least, lengths, limit * 1e6, n_jobs)
        left, right, values = _compared(source, task, portions, most_pairs, say)
    listed = _listed(
        left, right, values, copies, firsts,
        all_pairs=all_pairs, most_pairs=most_pairs, missed=plan.missed, n_rows=len(lengths),
    )  # fmt: skip
    if listed is None:
        raise _too_many(source, most_pairs)
    return listed


def _require_threshold(threshold: Any) -> float:
    number = require_positive("threshold", threshold)
    if number > 1:
        raise ParameterError(f"threshold: got {threshold!r}; no kernel value exceeds 1.")
    return number


def _too_many(source: Any, most_pairs: int) -> DataError:
    return DataError(
        f"{source.name}: more than {most_pairs:,} pairs of rows are alike; raise the threshold, "
        "list copies only once, or allow more pairs (most_pairs)."
    )


def _whole_or_none(
    source: Any, plan: TablePlan | None, kernel: str, all_pairs: bool, n_bytes: float
) -> sparse.csr_array | None:
    """All rows, if they are to be searched in memory; None if keys are to go to the disk.

    Copies that are to be named once stay out of the tables only there.
    """
    batches, n_rows, size = [], 0, 0
    for batch in source:
        n_rows += batch.X.shape[0]
        size += batch.X.data.nbytes + batch.X.indices.nbytes
        needed = 4 * size + _TABLE_BYTES * n_rows
        if plan is not None and (needed > n_bytes or (n_rows > FEW_ROWS and not all_pairs)):
            return None
        if size > n_bytes:
            raise DataError(
                f"{source.name}: rows take more than {n_bytes / 1e6:,.0f} MB, and at so low a "
                f"threshold hash tables would find too few pairs of {kernel}; raise the "
                "threshold, or the working memory to search exactly."
            )
        batches.append(batch.X)
    if not batches:
        raise DataError(f"{source.name}: holds no rows.")
    return sparse.csr_array(sparse.vstack(batches, format="csr"))


def _of_rows_in_memory(
    X: Any, index: CoRENeighbors, threshold: float, all_pairs: bool, most_pairs: int
) -> FileDuplicates | None:
    """Pairs among first rows, then those of copies; None if there are too many."""
    rows = clean_rows(X)
    some = np.flatnonzero(rows.lengths)  # empty rows are like nothing, not even each other
    low, high = row_digests(rows)[some].T
    copies, firsts = find_copies(low, high, some)
    own = np.setdiff1d(np.arange(X.shape[0]), copies)
    found = index.fit(X[own], ids=own).near_duplicates(threshold)
    left = np.concatenate([found.pairs[:, 0], firsts])
    right = np.concatenate([found.pairs[:, 1], copies])
    values = np.concatenate([found.similarities, np.ones(len(copies))])
    return _listed(
        left, right, values, copies, firsts,
        all_pairs=all_pairs, most_pairs=most_pairs, missed=found.expected_missed, n_rows=X.shape[0],
    )  # fmt: skip


def _listed(
    left: Array, right: Array, values: Array, copies: Array, firsts: Array, *,
    all_pairs: bool, most_pairs: int, missed: float, n_rows: int,
) -> FileDuplicates | None:  # fmt: skip
    """The result, in order; None if there are too many pairs."""
    if all_pairs:
        every = expanded(left, right, values, copies, firsts, most_pairs)
        if every is None:
            return None
        left, right, values = every
    if len(left) > most_pairs:
        return None
    order = np.lexsort((right, left))
    pairs = np.stack([left[order], right[order]], axis=1)
    return FileDuplicates(pairs, values[order], missed, n_rows, len(copies))


def _compared(
    source: Any, task: Scoring, portions: Iterator[Array], most_pairs: int, say: Say
) -> tuple[Array, Array, Array]:
    """Earlier rows, later rows and kernel values of the pairs that reach the threshold."""
    found, n_found = [], 0
    for pairs in portions:
        say("comparing")
        found.append(score_pairs(source, task, pairs))
        n_found += len(found[-1][0])
        if n_found > most_pairs:
            raise _too_many(source, most_pairs)
    left, right, values = (np.concatenate(column) for column in zip(*found, strict=True))
    return left, right, values
