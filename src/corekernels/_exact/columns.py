"""How the columns of a Gram matrix are computed: densely through BLAS, or by inverted lists."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .._core.validation import Rows, read_only

# Time of one inverted-index update over the time BLAS and the bit sets need for one
# column of one pair, by value size: `benchmarks/exact.py --sweep` measures it.
UPDATES_PER_PRODUCT = {4: 60.0, 8: 30.0}
_TABLE_COLUMNS = 1 << 20  # with more, only the columns in use are numbered
_COUNTED_TOGETHER = 1 << 18  # column numbers


@dataclass(frozen=True)
class Columns:
    """Where each column goes: `slot >= 0` is a dense column, `~slot` an inverted list."""

    slot: npt.NDArray[np.int32]
    n_dense: int


def compact_columns(X: Rows, Y: Rows | None) -> tuple[Rows, Rows | None]:
    """The same rows over the columns in use, where most columns are not."""
    if X.n_columns <= _TABLE_COLUMNS:
        return X, Y
    matrices = [rows.compact() for rows in (X, Y) if rows is not None]
    columns = np.unique(np.concatenate([rows.indices for rows in matrices]))
    numbers = (read_only(np.searchsorted(columns, rows.indices), np.int32) for rows in matrices)
    found = [
        replace(rows, indices=indices, n_columns=max(1, len(columns)))
        for rows, indices in zip(matrices, numbers, strict=True)
    ]
    return found[0], None if Y is None else found[1]


def plan_columns(X: Rows, Y: Rows | None, updates_per_product: float | None = None) -> Columns:
    """Give each column its cheaper way, by the number of rows it is nonzero in."""
    if updates_per_product is None:
        updates_per_product = UPDATES_PER_PRODUCT[X.data.itemsize]
    in_x = _column_lengths(X)
    in_y = in_x if Y is None else _column_lengths(Y)
    updates = in_x.astype(float) * in_y * updates_per_product
    dense = updates > float(len(X)) * len(X if Y is None else Y)
    n_dense = int(dense.sum())
    slot = np.empty(X.n_columns, np.int32)
    slot[dense] = np.arange(n_dense)
    slot[~dense] = ~np.arange(X.n_columns - n_dense)
    return Columns(read_only(slot), n_dense)


def _column_lengths(rows: Rows) -> npt.NDArray[np.int64]:
    """Number of nonzeros of each column; in parts, because NumPy copies what it counts."""
    lengths = np.zeros(rows.n_columns, np.int64)
    indices = rows.compact().indices
    size = max(_COUNTED_TOGETHER, rows.n_columns)
    for start in range(0, len(indices), size):
        lengths += np.bincount(indices[start : start + size], minlength=rows.n_columns)
    return lengths
