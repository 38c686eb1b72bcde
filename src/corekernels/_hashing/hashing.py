"""From a matrix to the arrays of its rows' signatures, in threads.

Rows are hashed as they are. Blocks with a flaw, such as unsorted columns or stored zeros, are
cleaned first.
"""

import itertools
from typing import Any

import numpy as np
from scipy import sparse

from .._core.team import Team
from .._core.threads import row_blocks, run_blocks
from .._core.validation import Rows, clean_rows, raw_rows
from .base import BLOCK_NONZEROS, Arrays, Sketch, cut_rows

_CLEANED_NONZEROS = 1 << 18  # cleaned at a time, about, each time by a call from Python
_DENSE_VALUES = 1 << 23  # of a dense matrix that are taken together


def hash_matrix(
    matrix: Any, sketch: Sketch, n_jobs: int | None, name: str = "X",
    block_nonzeros: int = BLOCK_NONZEROS,
) -> Arrays:  # fmt: skip
    """Arrays of the signatures of all rows of what `as_matrix` gave; read block by block."""
    out = sketch.empty_arrays(matrix.shape[0])
    team = Team(n_jobs)

    def part(start: int, stop: int) -> Arrays:
        return {name: array[start:stop] for name, array in out.items()}

    def clean_and_hash(rows: tuple[int, int]) -> None:
        sketch.hash(clean_rows(matrix, name, *rows), part(*rows), Team(1))

    n_rows, n_columns = matrix.shape
    together = n_rows if sparse.issparse(matrix) else _DENSE_VALUES // n_columns
    for start, stop in row_blocks(0, n_rows, max(1, together)):
        rows = raw_rows(matrix, name, start, stop, n_jobs)
        flawed = [(0, len(rows))]
        if rows.data.dtype in (np.float32, np.float64):
            flawed = sketch.hash(rows, part(start, stop), team, block_nonzeros)
        parts = [
            (start + first + begin, start + first + end)
            for first, last in flawed
            for begin, end in itertools.pairwise(
                cut_rows(rows.indptr[first : last + 1], 1, _CLEANED_NONZEROS).tolist()
            )
        ]
        run_blocks(clean_and_hash, parts, n_jobs)
    return out


def hash_rows(rows: Rows, sketch: Sketch, team: Team) -> Arrays:
    """Arrays of the signatures of clean rows."""
    out = sketch.empty_arrays(len(rows))
    sketch.hash(rows.compact(), out, team)
    return out


def require_finite(matrix: Any, n_jobs: int | None, name: str = "X") -> None:
    """Raise unless every value of what `as_matrix` gave can be hashed."""
    n_rows, n_columns = matrix.shape
    if sparse.issparse(matrix):
        cuts = cut_rows(matrix.indptr, 1, _CLEANED_NONZEROS).tolist()
    else:
        cuts = [*range(0, n_rows, max(1, _CLEANED_NONZEROS // n_columns)), n_rows]
    run_blocks(lambda rows: clean_rows(matrix, name, *rows), itertools.pairwise(cuts), n_jobs)
