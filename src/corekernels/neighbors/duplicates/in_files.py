"""Near-duplicate pairs of files larger than memory.

One pass hashes the rows to keys of 64 tables, which lie on the disk; rows of equal keys become
candidates table by table; further passes compute the kernel of the candidates, as the later
row of a pair comes by and the earlier one is held.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..._core.arguments import require_count, require_positive, seed_of
from ..._core.team import Team
from ..._core.types import Array, PathLike
from ..._core.validation import as_matrix, clean_rows
from ...documents.reader import DocumentReader
from ...errors import DataError
from ...io.chained import Chained
from ...io.kept import KeptRows
from ...io.readers import RowReader, require_rows, watched
from ...io.streams import require_file
from ...kernel_table import CONTAINMENT, Kernel, duplicates_kernel
from ...recipe import DEFAULT_KERNEL
from ..arguments import require_number
from ..candidates import Exact
from ..snapshot import Snapshot
from ..store import make_store
from .collisions import Collisions, candidate_pairs
from .comparison import Comparison
from .containment import Samples, missed_share
from .copies import Copies, find_copies_by_side, pairs_with_copies, row_digests
from .in_memory import FEW_ROWS, find_duplicates
from .key_file import KeyFile
from .result import FileDuplicates
from .tables import TablePlan, plan_tables

_TABLE_BYTES = 1300  # per row, in memory


@dataclass(frozen=True)
class Sizes:
    """How much is worked on at a time: decides memory and speed, never the result."""

    key_rows: int = 1 << 14  # rows whose keys form a block of the key file
    hashed_rows: int = 1 << 13
    pairs: int = 1 << 20  # pairs gathered before they are sorted
    bytes_per_value: int = 16  # of rows held: column and value, at most


_SIZES = Sizes()


def near_duplicates(
    reader: RowReader, threshold: float = 0.8, kernel: str = DEFAULT_KERNEL, *,
    all_pairs: bool = True, most_pairs: int = 50_000_000, working_memory: float = 1024.0,
    seed: int = 0, scratch: PathLike | None = None, progress: bool | None = None,
    n_jobs: int | None = None, gamma: float | None = None,
) -> FileDuplicates:  # fmt: skip
    """All pairs of rows of a reader with K >= threshold, as `CoRENeighbors.near_duplicates`.

    The file is read twice, or more often where the rows or pairs to compare exceed
    `working_memory`. Memory is at most 128 bytes per row, 100 bytes per pair found, twice
    `working_memory`, and 512 bytes for each row of a batch; the disk holds 528 bytes per row
    in the meantime, and of documents 12 bytes per n-gram. A file that fits in
    `working_memory`, tables included, is searched there at once: up to 4096 rows exactly, and
    more where tables would be of no use, below a threshold of 0.47, for core2 below 0.74, for
    the correlation always.

    Parameters
    ----------
    reader : RowReader
        From `files.open_reader`; not a pipe.
    threshold : float in (0, 1]
    kernel : str
        Any kernel of `gram_chunks`, or "containment": the share of a row's columns that a longer
        one has too, whatever their values. It is found by three readings, with 400 bytes of
        memory per row, in time that grows with the square of the rows where columns are common:
        take n-grams of 3 or more.
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
    progress, n_jobs
        As for `files.hash_to_file`.
    gamma : float, optional
        Parameter of the kernel, if it has one; its default if None.

    Examples
    --------
    >>> import corekernels as ck, os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "rows.svm")
    ...     ck.io.write_rows(path, [[1.0, 2, 0], [0, 0, 3], [1, 2.1, 0]])
    ...     found = ck.files.near_duplicates(ck.files.open_reader(path), 0.9)
    >>> found.pairs.tolist(), found.redundant().tolist(), found.rows
    ([[0, 2]], [2], 3)
    """
    require_rows(reader)
    entry = duplicates_kernel(kernel, gamma)
    least = require_number("threshold", require_positive("threshold", threshold), most=1.0)
    limit = require_positive("working_memory", working_memory)
    most_pairs, seed = require_count("most_pairs", most_pairs), seed_of(seed, "seed")
    require_file(reader.name, reader.is_stream)
    with kept_if_costly(reader, scratch) as rows:
        if entry is CONTAINMENT:
            return find_contained(
                rows, least, all_pairs, most_pairs, limit * 1e6, seed, progress, n_jobs
            )
        return find_in_file(
            rows, least, entry, plan_tables(entry, least), all_pairs, most_pairs, limit * 1e6,
            seed, scratch, progress, n_jobs,
        )  # fmt: skip


@contextmanager
def kept_if_costly(reader: RowReader, scratch: PathLike | None) -> Iterator[RowReader]:
    """The reader; documents, which are costly to read, are kept as rows after the first time."""
    if isinstance(reader, DocumentReader):
        with closing(KeptRows(reader, scratch)) as rows:
            yield rows
    else:
        yield reader


def find_in_file(
    reader: RowReader, threshold: float, kernel: Kernel, plan: TablePlan | None,
    all_pairs: bool, most_pairs: int, n_bytes: float, seed: int,
    scratch: PathLike | None, progress: bool | None, n_jobs: int | None,
    sizes: Sizes = _SIZES,
) -> FileDuplicates:  # fmt: skip
    """The same by given tables, or by exact search if there are none."""
    X = _whole_or_none(reader, plan, kernel, all_pairs, n_bytes, progress)
    if X is not None:
        boundary = _boundary(reader)
        pairs, copies, missed = _of_rows_in_memory(X, kernel, threshold, seed, boundary, n_jobs)
        n_rows = X.shape[0]
        if boundary is not None:
            across = (pairs[0] < boundary) & (pairs[1] >= boundary)
            pairs = pairs[0][across], pairs[1][across], pairs[2][across]
    else:
        assert plan is not None
        missed, found = plan.missed, []
        with closing(KeyFile(plan.n_tables + 2, scratch, sizes.key_rows)) as keys:
            lengths = _write_keys(reader, plan, seed, keys, sizes.hashed_rows, progress, n_jobs)
            n_rows = len(lengths)
            boundary = _boundary(reader)
            rows, copies = _first_rows(keys, plan.n_tables, lengths, boundary)
            candidates = candidate_pairs(
                keys, plan.n_tables, n_rows, rows, copies, n_bytes, sizes.pairs, progress
            )
            comparison = Comparison(
                kernel, threshold, lengths, n_bytes, sizes.bytes_per_value, progress, n_jobs
            )
            for portion in candidates:
                found.append(comparison.compare(reader, _across(portion, n_rows, boundary)))
                if sum(len(left) for left, _, _ in found) > most_pairs:
                    raise _too_many(reader.name, most_pairs)
        left, right, values = (np.concatenate(column) for column in zip(*found, strict=True))
        pairs = left, right, values
    return duplicates_of_pairs(
        reader.name, pairs, copies, all_pairs, most_pairs, missed, n_rows, boundary
    )


def find_contained(
    reader: RowReader, threshold: float, all_pairs: bool, most_pairs: int, n_bytes: float,
    seed: int, progress: bool | None, n_jobs: int | None, sizes: Sizes = _SIZES,
) -> FileDuplicates:  # fmt: skip
    """Pairs of rows of which one has so large a share of the other's columns."""
    samples = Samples(reader, seed, progress)
    boundary, n_rows = _boundary(reader), len(samples.lengths)
    copies = samples.copies(boundary)
    collected = Collisions(n_rows, 0, n_rows, sizes.pairs)
    if boundary is None:
        collected.add(copies.rows * n_rows + copies.firsts)
    for some in samples.candidates(reader, threshold, copies, progress):
        collected.add(_across(some, n_rows, boundary))
    comparison = Comparison(
        CONTAINMENT, threshold, samples.lengths, n_bytes, sizes.bytes_per_value, progress,
        n_jobs,
    )  # fmt: skip
    pairs = comparison.compare(reader, collected.pairs())
    missed = missed_share(threshold)
    return duplicates_of_pairs(
        reader.name, pairs, copies, all_pairs, most_pairs, missed, n_rows, boundary
    )


def _across(pairs: Array, n_rows: int, boundary: int | None) -> Array:
    """Those pairs, as numbers, whose rows lie on both sides of the boundary, if there is one."""
    if boundary is None:
        return pairs
    later, earlier = np.divmod(pairs, max(1, n_rows))
    return pairs[(earlier < boundary) & (later >= boundary)]


def duplicates_of_pairs(
    name: str, pairs: tuple[Array, Array, Array], copies: Copies, all_pairs: bool,
    most_pairs: int, missed: float, n_rows: int, boundary: int | None = None,
) -> FileDuplicates:  # fmt: skip
    """What was found in the file of this name, with all pairs of copies if these are wanted."""
    every: tuple[Array, Array, Array] | None = pairs
    if all_pairs:
        every = pairs_with_copies(*pairs, copies, most_pairs, within_sets=boundary is None)
    if every is None or len(every[0]) > most_pairs:
        raise _too_many(name, most_pairs)
    left, right, values = every
    order = np.lexsort((right, left))
    in_order = np.stack([left[order], right[order]], axis=1)
    return FileDuplicates(in_order, values[order], missed, n_rows, len(copies))


def _boundary(reader: RowReader) -> int | None:
    """Where the second of two files begins, if only pairs across them are wanted."""
    return reader.boundary if isinstance(reader, Chained) else None


def _too_many(name: str, most_pairs: int) -> DataError:
    return DataError(
        f"{name}: more than {most_pairs:,} pairs of rows are alike; raise the threshold, "
        "list copies only once, or allow more pairs (most_pairs)."
    )


def _whole_or_none(
    reader: RowReader, plan: TablePlan | None, kernel: Kernel, all_pairs: bool, n_bytes: float,
    progress: bool | None,
) -> sparse.csr_array | None:  # fmt: skip
    """All rows, if they are to be searched in memory; None if keys are to go to the disk.

    Copies that are to be named once stay out of the tables only there.
    """
    batches, n_rows, size = [], 0, 0
    for batch in watched(reader, "reading", progress):
        n_rows += len(batch)
        size += batch.X.data.nbytes + batch.X.indices.nbytes
        needed = 4 * size + _TABLE_BYTES * n_rows
        if plan is not None and (needed > n_bytes or (n_rows > FEW_ROWS and not all_pairs)):
            return None
        if size > n_bytes:
            raise DataError(
                f"{reader.name}: rows take more than {n_bytes / 1e6:,.0f} MB, and hash tables "
                f"would find too few pairs of {kernel.name} at this threshold; raise it, or the "
                "working memory to search exactly."
            )
        batches.append(batch.X)
    if not batches:
        raise DataError(f"{reader.name}: holds no rows.")
    return sparse.csr_array(sparse.vstack(batches, format="csr"))


def _of_rows_in_memory(
    X: Any, kernel: Kernel, threshold: float, seed: int, boundary: int | None, n_jobs: int | None
) -> tuple[tuple[Array, Array, Array], Copies, float]:
    """Pairs among first rows and those of copies with their first row; the share missed."""
    rows = clean_rows(as_matrix(X))
    some = np.flatnonzero(rows.lengths)  # empty rows are like nothing, not even each other
    low, high = row_digests(rows)[some].T
    copies = find_copies_by_side(low, high, some, boundary)
    own = np.setdiff1d(np.arange(len(rows)), copies.rows)
    snapshot = Snapshot.begin(Exact(make_store(rows.take(own), kernel, n_jobs)), own)
    found = find_duplicates(snapshot, threshold, seed, n_jobs)
    left = np.concatenate([found.pairs[:, 0], copies.firsts])
    right = np.concatenate([found.pairs[:, 1], copies.rows])
    values = np.concatenate([found.similarities, np.ones(len(copies))])
    return (left, right, values), copies, found.expected_missed


def _write_keys(
    reader: RowReader, plan: TablePlan, seed: int, keys: KeyFile, n_together: int,
    progress: bool | None, n_jobs: int | None,
) -> Array:  # fmt: skip
    """Write the keys of all rows, then two halves of their digests; lengths of the rows."""
    lengths = []
    team = Team(n_jobs)
    for batch in watched(reader, "hashing", progress):
        matrix = as_matrix(batch.X, reader.name)
        for start in range(0, matrix.shape[0], n_together):
            stop = min(start + n_together, matrix.shape[0])
            rows = clean_rows(matrix, reader.name, start, stop)
            keys.append(np.hstack([plan.keys(team, rows, seed), row_digests(rows)]))
            lengths.append(rows.lengths.astype(np.int32))
    return np.concatenate(lengths)


def _first_rows(
    keys: KeyFile, n_tables: int, lengths: Array, boundary: int | None
) -> tuple[Array, Copies]:
    """Rows that are not empty and equal no earlier one, and the copies."""
    rows = np.flatnonzero(lengths)
    low, high = (keys.table(n_tables + half)[rows] for half in range(2))
    copies = find_copies_by_side(low, high, rows, boundary)
    return np.setdiff1d(rows, copies.rows, assume_unique=True), copies
