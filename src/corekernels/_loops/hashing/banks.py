"""Hash tables of which each column has a slice for each slot, and where the slices start."""

from typing import NamedTuple

import numpy as np

from ..compilation import loop

GROUP = 128  # slots of a table that are read together, at most


class Banks(NamedTuple):
    """Slots are shared out in runs of `width`, one bank each; arrays have one row per bank."""

    width: int
    n_banks: int
    n_positions: int  # of a table before it wraps around
    tables: np.ndarray
    start_of_column: np.ndarray  # where each column's slice starts
    sieve_places: np.ndarray  # where the slots of each location begin in the sieve's bitmap
    sieve_length: int  # nonzeros from which a row goes through the sieve


@loop(inline="always")
def find_starts(columns, banks, bank, out):
    """Where the slices of a row's columns start in the table of a bank."""
    start_of_column = banks.start_of_column[bank]
    for p in range(columns.shape[0]):
        out[p] = start_of_column[np.uint64(columns[p])]
