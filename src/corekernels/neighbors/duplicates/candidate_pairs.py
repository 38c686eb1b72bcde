"""Which pairs of rows of a file are to be compared: those of equal keys in some table."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._core.validation import as_matrix, clean_rows
from .collisions import N_TABLES, Meetings, TablePlan, find_copies, row_digests
from .key_file import KeyFile

Array = npt.NDArray[Any]
Say = Callable[[str], None]

_HASHED_ROWS = 1 << 13
_BYTES_A_PAIR = 64


def write_keys(source: Any, plan: TablePlan, seed: int, keys: KeyFile, n_jobs: int | None) -> Array:
    """Write the keys of all rows, then two halves of their digests; lengths of the rows."""
    lengths = []
    for batch in source:
        matrix = as_matrix(batch.X, source.name)
        for start in range(0, matrix.shape[0], _HASHED_ROWS):
            stop = min(start + _HASHED_ROWS, matrix.shape[0])
            rows = clean_rows(matrix, source.name, start, stop)
            keys.append(np.hstack([plan.keys(rows, seed, n_jobs), row_digests(rows)]))
            lengths.append(rows.lengths.astype(np.int32))
    return np.concatenate(lengths)


def first_rows(keys: KeyFile, lengths: Array) -> tuple[Array, Array, Array]:
    """Rows that are not empty and equal no earlier one; copies, and the row that each equals."""
    rows = np.flatnonzero(lengths)
    copies, firsts = find_copies(keys.table(N_TABLES)[rows], keys.table(N_TABLES + 1)[rows], rows)
    alone = lengths > 0
    alone[copies] = False
    return np.flatnonzero(alone), copies, firsts


def portions_of_pairs(
    keys: KeyFile, n_rows: int, rows: Array, copies: Array, firsts: Array, n_bytes: float, say: Say
) -> Iterator[Array]:
    """Pairs to compare: all, or where they are many, in portions by their earlier row.

    Only first rows meet in the tables; a copy meets the row it equals.
    """
    most = max(1.0, n_bytes / _BYTES_A_PAIR)

    def meet(first: int, last: int, most: float) -> tuple[Meetings, bool]:
        met, fits = Meetings(n_rows, first, last), True
        mine = (firsts >= first) & (firsts < last)
        met.add(copies[mine] * n_rows + firsts[mine])
        for table in range(N_TABLES):
            say(f"sorting {table + 1}/{N_TABLES}")
            fits = met.add_table(keys.table(table)[rows], rows, most if fits else 0) and fits
        return met, fits

    met, fits = meet(0, n_rows, most)
    if fits:
        yield met.pairs()
        return
    portion = np.cumsum(met.counts) // int(most)
    del met
    starts = np.flatnonzero(np.diff(portion, prepend=-1))
    for first, last in zip(starts, [*starts[1:], n_rows], strict=True):
        yield meet(int(first), int(last), np.inf)[0].pairs()
