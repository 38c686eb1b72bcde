"""Rows most of whose columns another row has, found by samples of their columns.

Of each row 16 columns are drawn at random, by a hash. If a share t of its columns is in another
row, so is about that share of the sample: the other row is a candidate if it has so many of
the sample that fewer would be a chance of 0.0005. Three readings of the file: samples,
candidates, comparison.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import special

from ..._core.arguments import Array
from ..._core.progress import Progress, Steps
from ..._core.validation import read_only
from ..._loops.mixing import mix
from ..._loops.search import similar as loops
from ..._loops.text.lookup import NOT_THERE
from ...errors import DataError
from ...io.readers import RowReader, watched
from ...io.workspace import Workspace
from ...kernel_table import CONTAINMENT
from ...text.frequencies import ColumnLookup
from .by_tables import SIZES
from .collisions import Collisions
from .comparison import Comparison
from .copies import Copies, find_copies_by_side, row_digests
from .ending import across, boundary_of, file_duplicates
from .result import FileDuplicates

SAMPLE = 16  # columns per row
_MISSED = 0.0005  # share of pairs at the threshold that needing so many columns may cost
_FIRST_ROOM = 1 << 16
_TOGETHER = 512  # rows whose pairs are gathered at a time


def find_contained(
    reader: RowReader, threshold: float, all_pairs: bool, most_pairs: int, n_bytes: float,
    seed: int, work: Workspace, steps: Steps, n_jobs: int | None,
) -> FileDuplicates:  # fmt: skip
    """Pairs of rows of which one has so large a share of the other's columns."""
    samples = Samples(reader, seed, steps)
    work.checkpoint(now=True)
    boundary, n_rows = boundary_of(reader), len(samples.lengths)
    copies = samples.copies(boundary)
    collected = Collisions(n_rows, 0, n_rows, SIZES.pairs)
    if boundary is None:
        collected.add(copies.rows * n_rows + copies.firsts)
    for some in samples.candidates(reader, threshold, copies, steps):
        collected.add(across(some, n_rows, boundary))
    comparison = Comparison(
        CONTAINMENT, threshold, samples.lengths, n_bytes, SIZES.bytes_per_value, work, steps, n_jobs
    )
    pairs = comparison.compare(reader, collected.pairs(), "pairs")
    missed = missed_share(threshold)
    return file_duplicates(
        reader.name, pairs, copies, all_pairs, most_pairs, boundary, missed, n_rows
    )


def needed_columns(threshold: float, n_columns: int = SAMPLE) -> int:
    """How many of so many sampled columns a row must have to be a candidate.

    >>> needed_columns(0.8), needed_columns(1.0)
    (7, 16)
    """
    counts = np.arange(1, n_columns + 1)
    return int(np.max(counts[_chance_of_fewer(counts, n_columns, threshold) <= _MISSED], initial=1))


def missed_share(threshold: float) -> float:
    """Largest expected share of pairs at the threshold that are missed."""
    return float(_chance_of_fewer(needed_columns(threshold), SAMPLE, threshold))


def _chance_of_fewer(counts: Any, n_columns: int, share: float) -> Any:
    """Chance that fewer than so many of n columns are there, if each is with a chance `share`."""
    return special.bdtr(counts - 1, n_columns, share)


class Samples:
    """The sampled columns of all rows of a file: about 400 bytes per row."""

    def __init__(self, reader: RowReader, seed: int, progress: Progress) -> None:
        key = mix(np.uint64(seed) + np.uint64(1))
        lengths, digests, sampled = [], [], []
        for batch in watched(reader, "sampling", progress):
            rows = batch.rows
            out = np.empty((len(rows), SAMPLE), np.int64)
            loops.sample_columns(
                read_only(rows.indptr, np.int64), read_only(rows.indices, np.int64), key, out
            )
            lengths.append(rows.lengths.astype(np.int32))
            digests.append(row_digests(rows))
            sampled.append(out)
        if not lengths:
            raise DataError(f"{reader.name}: holds no rows.")
        self.lengths: Array = np.concatenate(lengths)
        self._digests, self._columns = np.concatenate(digests), np.concatenate(sampled)

    def copies(self, boundary: int | None) -> Copies:
        """Rows that equal an earlier one."""
        rows = np.flatnonzero(self.lengths)
        low, high = self._digests[rows].T
        return find_copies_by_side(low, high, rows, boundary)

    def candidates(
        self, reader: RowReader, threshold: float, copies: Copies, progress: Progress
    ) -> Iterator[Array]:
        """Pairs of rows that are no copies, as numbers (later row) n_rows + (earlier row)."""
        n_rows = len(self.lengths)
        is_first = np.ones(n_rows, bool)
        is_first[copies.rows] = False
        self._columns[~is_first] = loops.NO_COLUMN
        rows, places = np.nonzero(self._columns != loops.NO_COLUMN)
        columns = self._columns[rows, places]
        order = np.argsort(columns, kind="stable")
        columns, rows = columns[order], rows[order]
        starts = np.flatnonzero(np.diff(columns, prepend=-1))
        lookup = ColumnLookup(columns[starts], reader.n_columns)
        postings = loops.Postings(
            read_only(np.append(starts, len(columns)), np.int64), read_only(rows, np.int32)
        )
        needed = np.array([needed_columns(threshold, n) if n else 1 for n in range(SAMPLE + 1)])
        sampled = loops.SampledRows(
            read_only(self.lengths),
            read_only(needed[np.minimum(self.lengths, SAMPLE)], np.int32),
        )
        counts, touched = np.zeros(n_rows, np.int32), np.empty(n_rows, np.int32)
        for batch in watched(reader, "matching", progress):
            for start in range(0, len(batch), _TOGETHER):
                some = batch.rows.block(start, min(start + _TOGETHER, len(batch))).compact()
                first = batch.first_row + start
                here = lookup.places(some.indices)
                here[~np.repeat(is_first[first : first + len(some)], some.lengths)] = NOT_THERE
                room = _FIRST_ROOM
                while True:
                    out = np.empty((2, room), np.int64)
                    n = loops.containing_rows(
                        read_only(some.indptr, np.int64), read_only(here), first, postings,
                        sampled, counts, touched, out,
                    )  # fmt: skip
                    if n <= room:
                        break
                    room = n
                later, earlier = out[:, :n].max(axis=0), out[:, :n].min(axis=0)
                yield later * n_rows + earlier
