"""Near-duplicates of a file by hash tables: rows are hashed, keys sorted, candidates compared."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..._core.arguments import Array
from ..._core.progress import Steps
from ..._core.team import Team
from ..._core.validation import as_matrix, clean_rows
from ...errors import DataError
from ...io.readers import Chained, RowReader, watched
from ...io.workspace import Workspace
from ...kernel_table import Kernel
from ..candidates import Exact
from ..candidates.base import Tuned
from ..snapshot import Snapshot
from ..store import make_store
from .collisions import Candidates
from .comparison import Comparison, Found, joined
from .copies import Copies, find_copies_by_side, find_copies_in_file, row_digests
from .ending import across, boundary_of, file_duplicates, too_many
from .in_memory import FEW_ROWS, find_duplicates
from .key_file import KeyFile, RepeatedKeys
from .result import FileDuplicates
from .tables import TablePlan

_TABLE_BYTES = 1300  # per row, in memory
_OTHER_TABLES = 3  # behind the keys: two halves of a digest, and the length of the row


@dataclass(frozen=True)
class Sizes:
    """How much is worked on at a time: decides memory and speed, never the result."""

    key_rows: int = 1 << 14  # rows whose keys form a block of the key file
    hashed_rows: int = 1 << 11
    pairs: int = 1 << 20  # pairs gathered before they are sorted
    bytes_per_value: int = 16  # of rows held: column and value, at most


SIZES = Sizes()


def find_in_file(
    reader: RowReader, threshold: float, kernel: Kernel, plan: TablePlan | None,
    all_pairs: bool, most_pairs: int, n_bytes: float, seed: int, work: Workspace, steps: Steps,
    n_jobs: int | None, sizes: Sizes = SIZES,
) -> FileDuplicates:  # fmt: skip
    """Pairs found by given tables, or by exact search if there are none."""
    X = None
    if not work.state:
        X = _whole_or_none(reader, plan, kernel, all_pairs, n_bytes, steps)
    if X is not None:
        boundary = boundary_of(reader)
        pairs, copies, missed = _of_rows_in_memory(X, kernel, threshold, seed, boundary, n_jobs)
        n_rows = X.shape[0]
        if boundary is not None:
            both = (pairs[0] < boundary) & (pairs[1] >= boundary)
            pairs = pairs[0][both], pairs[1][both], pairs[2][both]
        return file_duplicates(
            reader.name, pairs, copies, all_pairs, most_pairs, boundary, missed, n_rows
        )
    assert plan is not None
    keys = KeyFile(plan.n_tables + _OTHER_TABLES, work, sizes.key_rows)
    boundary = _hash_rows(reader, plan, seed, keys, sizes.hashed_rows, work, steps, n_jobs)
    lengths = _lengths(keys, plan.n_tables + 2)
    wanted = lengths > 0
    repeats = RepeatedKeys(keys, wanted, n_bytes)
    copies = find_copies_in_file(keys, plan.n_tables, repeats, boundary)
    wanted[copies.rows] = False
    candidates = Candidates(
        RepeatedKeys(keys, wanted, n_bytes), plan.n_tables, len(lengths), copies, n_bytes,
        sizes.pairs, steps,
    )  # fmt: skip
    comparison = Comparison(
        kernel, threshold, lengths, n_bytes, sizes.bytes_per_value, work, steps, n_jobs
    )
    pairs = _compared(reader, candidates, comparison, most_pairs, boundary, work)
    return file_duplicates(
        reader.name, pairs, copies, all_pairs, most_pairs, boundary, plan.missed, len(lengths)
    )


def _compared(
    reader: RowReader, candidates: Candidates, comparison: Comparison, most_pairs: int,
    boundary: int | None, work: Workspace,
) -> Found:  # fmt: skip
    """The pairs that reach the threshold, portion by portion."""
    found, n_rows = [], len(comparison.lengths)
    saved = work.load("portions")
    portions = candidates.portions() if saved is None else saved["ends"].tolist()
    work.save("portions", ends=np.array(portions, np.int64))
    for number, (first, last) in enumerate(portions):
        done = work.load(f"pairs-{number}")
        if done is None:
            pairs = across(candidates.pairs(first, last), n_rows, boundary)
            some = comparison.compare(reader, pairs, f"pairs-{number}")
            work.save(f"pairs-{number}", left=some[0], right=some[1], values=some[2])
        else:
            some = done["left"], done["right"], done["values"]
        found.append(some)
        if sum(len(left) for left, _, _ in found) > most_pairs:
            raise too_many(reader.name, most_pairs)
    return joined(found)


def _whole_or_none(
    reader: RowReader, plan: TablePlan | None, kernel: Kernel, all_pairs: bool, n_bytes: float,
    steps: Steps,
) -> sparse.csr_array | None:  # fmt: skip
    """All rows, if they are to be searched in memory; None if keys are to go to the disk.

    Copies that are to be named once stay out of the tables only there.
    """
    batches, n_rows, size = [], 0, 0
    for batch in watched(reader, "reading", steps):
        n_rows += len(batch)
        size += batch.rows.data.nbytes + batch.rows.indices.nbytes
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
    exact = Exact(make_store(rows.take(own), kernel, n_jobs))
    snapshot = Snapshot.begin(Tuned(exact, "all pairs are wanted", 1.0), own)
    found = find_duplicates(snapshot, threshold, seed, n_jobs)
    left = np.concatenate([found.pairs[:, 0], copies.firsts])
    right = np.concatenate([found.pairs[:, 1], copies.rows])
    values = np.concatenate([found.similarities, np.ones(len(copies))])
    return (left, right, values), copies, found.expected_missed


def _hash_rows(
    reader: RowReader, plan: TablePlan, seed: int, keys: KeyFile, n_together: int,
    work: Workspace, steps: Steps, n_jobs: int | None,
) -> int | None:  # fmt: skip
    """Write keys, two halves of the digests, and lengths of all rows; where a second file begins.

    Rows that an earlier run has hashed are passed over.
    """
    if not work.state.get("hashed"):
        team = Team(n_jobs)
        for batch in watched(reader, "hashing", steps):
            n_done = max(0, keys.n_rows - batch.first_row)
            for start in range(n_done, len(batch), n_together):
                rows = batch.rows.block(start, min(start + n_together, len(batch))).compact()
                lengths = rows.lengths.astype(np.uint64)[:, None]
                keys.append(np.hstack([plan.keys(team, rows, seed), row_digests(rows), lengths]))
            work.checkpoint()
        keys.finish()
        work.state |= {"hashed": True, "boundary": boundary_of(reader)}
        work.checkpoint(now=True)
    elif isinstance(reader, Chained):
        reader.boundary = work.state["boundary"]
    return boundary_of(reader)


def _lengths(keys: KeyFile, table: int) -> Array:
    """The lengths of all rows, from one of the tables."""
    out = np.empty(keys.n_rows, np.int32)
    for first, some in keys.blocks(table):
        out[first : first + len(some)] = some
    return out
