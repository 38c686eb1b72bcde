"""Blocks of rows that several threads take from a shared counter, each of them inspected first.

A loop over blocks hashes a few per call and returns whether there may be more. A block with a flaw
(see `inspect_rows`) is noted and left out. Projections are a loop of their own, over the blocks
that the thread hashed last: the loop of minima is compiled once for all kernels without values.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import loop
from ..rows import block_in_turn, inspect_rows
from ..simd.integers import fetch_add

MOST_BLOCKS = 256  # per call


class HashTask(NamedTuple):
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
def block_rows(task, block):
    """The first row of a block, its row pointers and its columns."""
    start = task.cuts[block]
    indptr = task.indptr[start : task.cuts[block + 1] + 1]
    return start, indptr, task.indices[indptr[0] : indptr[-1]]


@loop(inline="always")
def next_block(task):
    """`block_rows` of the next block without a flaw, noted as done; from row -1 if none is left."""
    n_blocks = task.flaws.shape[0]
    while True:
        turn = fetch_add(task.counter, 0, 1)
        if turn >= n_blocks:
            return -1, task.indptr[:0], task.indices[:0]
        block = block_in_turn(turn, n_blocks, task.n_stripes)
        start, indptr, columns = block_rows(task, block)
        task.flaws[block] = inspect_rows(indptr, task.indices, task.data, task.n_columns)
        if task.flaws[block] == 0:
            task.done[0] += 1
            task.done[task.done[0]] = block
            return start, indptr, columns
