"""Near-duplicates as they are found, and as files: pairs, groups, and the rows that are kept."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..._core.types import Array, PathLike
from ...io.readers import RowReader, watched
from ...io.targets import Target, open_target
from ...io.writing import RowWriter

_LINES = 1 << 16


@dataclass(frozen=True)
class NearDuplicates:
    """Pairs of rows above a threshold.

    Attributes
    ----------
    pairs : ndarray of shape (n_pairs, 2)
        Ids; in each pair the row that came first is first.
    similarities : ndarray of shape (n_pairs,)
        Exact kernel values.
    expected_missed : float
        Largest expected share of pairs not found: that at the threshold itself.
    """

    pairs: Array
    similarities: Array
    expected_missed: float

    def groups(self) -> list[Array]:
        """Connected rows, as arrays of ids, ascending: keep one of each to drop duplicates."""
        if not len(self.pairs):
            return []
        ids, places = np.unique(self.pairs, return_inverse=True)
        left, right = places.reshape(-1, 2).T
        links = sparse.coo_array((np.ones(len(left)), (left, right)), shape=(len(ids), len(ids)))
        _, labels = sparse.csgraph.connected_components(links, directed=False)
        order = np.argsort(labels, kind="stable")
        return np.split(ids[order], np.flatnonzero(np.diff(labels[order])) + 1)

    def redundant(self) -> Array:
        """Ids of all rows but that of the smallest id of each group: those to drop."""
        rest = [group[1:] for group in self.groups()]
        return np.sort(np.concatenate(rest)) if rest else np.empty(0, np.int64)


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


def write_pairs(found: NearDuplicates, target: Target) -> None:
    """A line `i`, `j`, `similarity` for each pair, with tabs between, after a line of names."""
    with open_target(target) as file:
        file.write(b"i\tj\tsimilarity\n")
        for start in range(0, len(found.pairs), _LINES):
            some = slice(start, start + _LINES)
            pairs = zip(found.pairs[some].tolist(), found.similarities[some].tolist(), strict=True)
            file.write("".join(f"{i}\t{j}\t{value:.6f}\n" for (i, j), value in pairs).encode())


def write_groups(found: NearDuplicates, target: Target) -> None:
    """A line `row`, `group` for each row that has near-duplicates, after a line of names.

    A group has the number of its first row: the one to keep.
    """
    with open_target(target) as file:
        file.write(b"row\tgroup\n")
        for group in found.groups():
            file.write("".join(f"{row}\t{group[0]}\n" for row in group.tolist()).encode())


def write_kept(
    reader: RowReader,
    found: NearDuplicates,
    target: PathLike,
    format: str | None = None,  # noqa: A002
    *,
    progress: bool | None = None,
) -> int:
    """Write the rows and labels of a reader but for `found.redundant()`; number of rows.

    Formats as of `io.write_rows`.
    """
    dropped = found.redundant()
    n_rows = 0
    with RowWriter(target, format) as writer:
        for batch in watched(reader, "writing", progress):
            first = batch.first_row
            start, stop = np.searchsorted(dropped, [first, first + len(batch)])
            kept = np.ones(len(batch), bool)
            kept[dropped[start:stop] - first] = False
            if kept.any():
                writer.write(batch.X[kept], None if batch.y is None else batch.y[kept])
                n_rows += int(kept.sum())
    return n_rows
