"""Blocks of rows that several threads take from a shared counter, each of them inspected first.

A loop over blocks hashes a few per call and returns whether there may be more. A block with a flaw
(see `inspect_rows`) is noted and left out. Projections are a loop of their own, over the blocks
that the thread hashed last: the loop of minima is compiled once for all kernels without values.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import loop
from ..rows import block_in_turn, inspect_rows, unit_values
from ..simd.integers import fetch_add

MOST_BLOCKS = 256  # per call


class Task(NamedTuple):
    """Rows to hash, in blocks: block b is rows cuts[b] to cuts[b + 1]."""

    counter: np.ndarray  # one number: how many blocks were taken
    n_stripes: int  # of blocks, from which they are taken in turn
    cuts: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray
    data: np.ndarray
    n_columns: int
    flaws: np.ndarray  # one number per block
    done: np.ndarray  # how many blocks the thread hashed in its last call, then which


@loop(inline="always")
def next_block(task):
    """Number of the next block without a flaw, which is noted as done; -1 if there is none."""
    n_blocks = task.flaws.shape[0]
    while True:
        turn = fetch_add(task.counter, 0, 1)
        if turn >= n_blocks:
            return -1
        block = block_in_turn(turn, n_blocks, task.n_stripes)
        indptr = task.indptr[task.cuts[block] : task.cuts[block + 1] + 1]
        task.flaws[block] = inspect_rows(indptr, task.indices, task.data, task.n_columns)
        if task.flaws[block] == 0:
            task.done[0] += 1
            task.done[task.done[0]] = block
            return block


@loop(inline="always")
def unit_rows(task, block, room):
    """Row pointers, columns and unit values of a block's rows, the values in `room`."""
    indptr = task.indptr[task.cuts[block] : task.cuts[block + 1] + 1]
    columns = task.indices[indptr[0] : indptr[-1]]
    values = room[: columns.shape[0]]
    unit_values(indptr, task.data, values)
    return indptr, columns, values
