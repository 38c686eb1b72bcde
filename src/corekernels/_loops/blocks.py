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
    """Rows 0 to n_rows in blocks of `size`, which are taken from several stripes in turn."""

    counter: np.ndarray  # its first element is how many blocks were taken
    n_rows: int
    size: int
    n_stripes: int


@loop(inline="always")
def block_in_turn(turn, n_blocks, n_stripes):
    """The block that is taken in this turn: the first of each stripe, then the second, and so on.

    Threads that write side by side to new memory would meet in one page, of 2 MB as a rule, and
    each of them would clear all of it.
    """
    stripe, place = turn % n_stripes, turn // n_stripes
    return stripe * (n_blocks // n_stripes) + min(stripe, n_blocks % n_stripes) + place


@loop(inline="always")
def next_block(blocks):
    """First row of the next block and the row after its last; no rows if there are no more."""
    n_blocks, turn = -(-blocks.n_rows // blocks.size), fetch_add(blocks.counter, 0, 1)
    if turn >= n_blocks:
        return blocks.n_rows, blocks.n_rows
    start = block_in_turn(turn, n_blocks, blocks.n_stripes) * blocks.size
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
