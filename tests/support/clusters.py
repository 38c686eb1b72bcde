"""Rows about random centres, as data to search look."""

import numpy as np
from scipy import sparse

from corekernels.neighbors import candidates

METHODS = tuple(candidates.METHODS)


def clustered(n_rows, n_columns, length, seed=0, spread=0.3, dense=False):
    """Rows about random centres; the first queries are rows of the same kind."""
    rng = np.random.default_rng(seed)
    centres = rng.lognormal(size=(max(1, n_rows // 50), n_columns))
    if not dense:
        centres *= rng.random(centres.shape) < length / n_columns
    rows = centres[rng.integers(0, len(centres), n_rows)]
    rows = rows * rng.lognormal(sigma=spread, size=rows.shape)
    if not dense:
        rows *= rng.random(rows.shape) < 1 - spread / 2
    return sparse.csr_array(rows.astype(np.float32))
