"""Hash tables of which each column has a slice for each slot, and where the slices start."""

from typing import NamedTuple

import numpy as np
from numba import njit

from .mixing import mix


class Banks(NamedTuple):
    """Slots are shared out in runs of `width`, a bank each; arrays have a row for each bank."""

    width: int
    n_positions: int  # of a table before it goes round
    tables: np.ndarray
    by_column: np.ndarray  # start of each column's slice; no columns: starts are mixed
    mix_keys: np.ndarray
    mix_shift: np.uint64  # leaves as many bits of a mix as tell the positions apart
    places: np.ndarray  # where the slots of each location begin in the sieve's bitmap
    long: int  # nonzeros from which a row goes through the sieve


@njit(nogil=True, cache=True)
def find_starts(columns, banks, bank, out):
    """Where the slices of a row's columns start in the table of a bank."""
    if banks.by_column.shape[1] > 0:
        by_column = banks.by_column[bank]
        for p in range(columns.shape[0]):
            out[p] = by_column[np.uint64(columns[p])]
        return
    for p in range(columns.shape[0]):
        out[p] = mix(np.uint64(columns[p]) ^ banks.mix_keys[bank]) >> banks.mix_shift
