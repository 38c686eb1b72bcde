"""Rows about random centres, as data to search look."""

import numpy as np
from scipy import sparse

from corekernels.neighbors import candidates

METHODS = tuple(candidates.METHODS)


def clustered(n_rows, n_columns, length, seed=0, spread=0.3, dense=False, evenness=1.0):
    """Rows about random centres, some of which have more than others where evenness is below 1."""
    rng = np.random.default_rng(seed)
    centres = rng.lognormal(size=(max(1, n_rows // 50), n_columns))
    if not dense:
        centres *= rng.random(centres.shape) < length / n_columns
    if evenness == 1:
        of_row = rng.integers(0, len(centres), n_rows)
    else:
        of_row = (len(centres) * rng.random(n_rows) ** (1 / evenness)).astype(int)
    rows = centres[of_row]
    rows = rows * rng.lognormal(sigma=spread, size=rows.shape)
    if not dense:
        rows *= rng.random(rows.shape) < 1 - spread / 2
    return sparse.csr_array(rows.astype(np.float32))


def topical(n_rows, n_columns=100_000, length=40, seed=0):
    """Rows of common columns, as of words in text, and as many of one of n_rows / 20 subjects."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(n_rows), length)
    commonness = 1 / np.arange(1, n_columns + 1)
    columns = rng.choice(n_columns, len(rows), p=commonness / commonness.sum())
    subjects = rng.integers(0, n_columns, (n_rows // 20, 60))
    of_row = rng.integers(0, len(subjects), n_rows)
    own = subjects[of_row[rows], rng.integers(0, 60, len(rows))]
    columns = np.where(rng.random(len(rows)) < 0.5, own, columns)
    X = sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), (n_rows, n_columns))
    X.sum_duplicates()
    return X
