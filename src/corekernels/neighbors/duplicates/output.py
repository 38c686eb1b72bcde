"""Near-duplicates as files: pairs, groups, and the rows that are kept."""

import numpy as np

from ..._core.types import PathLike
from ...io.readers import RowReader, watched
from ...io.targets import Target, open_target
from ...io.writing import RowWriter
from .result import NearDuplicates

_LINES = 1 << 16


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
