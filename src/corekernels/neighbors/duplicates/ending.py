"""From pairs that were compared to what a search of files gives."""

import numpy as np

from ..._core.arguments import Array
from ...errors import DataError
from ...io.readers import Chained, RowReader
from .copies import Copies, pairs_with_copies
from .result import FileDuplicates


def across(pairs: Array, n_rows: int, boundary: int | None) -> Array:
    """Those pairs, as numbers, whose rows lie on both sides of the boundary, if there is one."""
    if boundary is None:
        return pairs
    later, earlier = np.divmod(pairs, max(1, n_rows))
    return pairs[(earlier < boundary) & (later >= boundary)]


def file_duplicates(
    name: str, pairs: tuple[Array, Array, Array], copies: Copies, all_pairs: bool,
    most_pairs: int, boundary: int | None, missed: float, n_rows: int,
) -> FileDuplicates:  # fmt: skip
    """What was found, with all pairs of copies if these are wanted."""
    every: tuple[Array, Array, Array] | None = pairs
    if all_pairs:
        every = pairs_with_copies(*pairs, copies, most_pairs, within_sets=boundary is None)
    if every is None or len(every[0]) > most_pairs:
        raise too_many(name, most_pairs)
    left, right, values = every
    order = np.lexsort((right, left))
    in_order = np.stack([left[order], right[order]], axis=1)
    return FileDuplicates(in_order, values[order], missed, n_rows, len(copies))


def boundary_of(reader: RowReader) -> int | None:
    """Where the second of two files begins, if only pairs across them are wanted."""
    return reader.boundary if isinstance(reader, Chained) else None


def too_many(name: str, most_pairs: int) -> DataError:
    return DataError(
        f"{name}: more than {most_pairs:,} pairs of rows are alike; raise the threshold, "
        "list copies only once, or allow more pairs (most_pairs)."
    )
