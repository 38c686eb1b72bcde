"""Blocks of rows that several threads take from a shared counter.

A loop that shares out its rows takes `blocks` and the number of blocks to do in one call, which
may be more than there are left: see `corekernels._core.team.Team`.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from .compilation import loop
from .simd.integers import fetch_add


class Blocks(NamedTuple):
    """Rows 0 to n_rows in blocks of `size`."""

    counter: np.ndarray  # its first element is the number of the next block
    n_rows: int
    size: int


@loop(inline="always")
def next_block(blocks):
    """First row of the next block and the row after its last; no rows if there are no more."""
    start = min(fetch_add(blocks.counter, 0, 1) * blocks.size, blocks.n_rows)
    return start, min(start + blocks.size, blocks.n_rows)


# As `loop`, but not kept: Numba cannot compile a loop with a generator that came from its cache.
@njit(nogil=True, _nrt=False)
def taken(blocks, n_blocks):
    """The next blocks, up to `n_blocks` of them: first row, and row after the last, of each."""
    for _ in range(n_blocks):
        start, stop = next_block(blocks)
        if start == stop:
            return
        yield start, stop
