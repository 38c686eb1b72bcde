"""Hashing of blocks of rows, one after the other, as long as a shared counter gives some.

Several threads call these loops with the same counter. Each call does a few blocks and tells
whether there may be more; a block with a flaw (see `inspect_rows`) is left alone and noted.
`sieve` and `ends` are a `minwise.Way`. Projections are loops of their own,
over the blocks that the thread has just done, so that those of minima are compiled once for all
kernels without values. Codes hold the k slots of one row after those of another.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import loop
from ..rows import block_in_turn, inspect_rows, sum_and_scale, unit_values
from ..simd.halves import write_halves
from ..simd.integers import fetch_add
from .minwise import table_minima
from .projection import table_projections
from .rotation import rotated_projections

MOST_BLOCKS = 256  # that a call does
_HALF_SIZE = np.uint16(0x7FFF)  # the bits of a half but for its sign


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
    done: np.ndarray  # how many blocks the thread did in its last call, then which


class BlockScratch(NamedTuple):
    """Working memory for one block: a number per nonzero."""

    values: np.ndarray
    halves: np.ndarray


@loop(inline="always")
def _next_block(task):
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
def _write_lengths(indptr, out):
    for row in range(out.shape[0]):
        out[row] = indptr[row + 1] - indptr[row]


@loop
def hash_supports(task, n_blocks, sieve, ends, banks, mask, scratch, k, codes, lengths):
    """Codes of up to `n_blocks` blocks; False if there is no more."""
    task.done[0] = 0
    for _ in range(min(n_blocks, MOST_BLOCKS)):
        block = _next_block(task)
        if block < 0:
            return False
        start, stop = task.cuts[block], task.cuts[block + 1]
        indptr = task.indptr[start : stop + 1]
        columns = task.indices[indptr[0] : indptr[-1]]
        _write_lengths(indptr, lengths[start:stop])
        table_minima(
            indptr, columns, None, sieve, ends, banks, mask, scratch, k,
            codes[start * k :], None,
        )  # fmt: skip
    return True


@loop
def hash_values(
    task, n_blocks, sieve, ends, banks, mask, scratch, block_scratch, k, codes, weights, lengths,
    sums,
):  # fmt: skip
    """Codes and values of up to `n_blocks` blocks; False if there is no more."""
    task.done[0] = 0
    for _ in range(min(n_blocks, MOST_BLOCKS)):
        block = _next_block(task)
        if block < 0:
            return False
        start, stop = task.cuts[block], task.cuts[block + 1]
        indptr = task.indptr[start : stop + 1]
        columns = task.indices[indptr[0] : indptr[-1]]
        values = block_scratch.values[: columns.shape[0]]
        halves = block_scratch.halves[: columns.shape[0]]
        _write_lengths(indptr, lengths[start:stop])
        unit_values(indptr, task.data, values)
        sum_and_scale(indptr, values, sums[start:stop])
        write_nonzero_halves(values, halves)
        table_minima(
            indptr, columns, halves, sieve, ends, banks, mask, scratch, k,
            codes[start * k :], weights[start * k :],
        )  # fmt: skip
    return True


@loop
def hash_projections(task, directions, waves, rounding, all_values, tiles, weights):
    """Projections of the blocks that were done in the last call.

    `waves` and `rounding` as for `write_weights`.
    """
    for block in task.done[1 : task.done[0] + 1]:
        start, stop = task.cuts[block], task.cuts[block + 1]
        indptr = task.indptr[start : stop + 1]
        columns = task.indices[indptr[0] : indptr[-1]]
        values = all_values[: columns.shape[0]]
        unit_values(indptr, task.data, values)
        table_projections(
            indptr, columns, values, directions, waves, rounding, tiles, weights[start:stop]
        )


@loop
def hash_rotations(task, rotations, waves, rounding, all_values, scratch, weights):
    """Projections as `hash_projections` gives them, by rotations."""
    for block in task.done[1 : task.done[0] + 1]:
        start, stop = task.cuts[block], task.cuts[block + 1]
        indptr = task.indptr[start : stop + 1]
        columns = task.indices[indptr[0] : indptr[-1]]
        values = all_values[: columns.shape[0]]
        unit_values(indptr, task.data, values)
        rotated_projections(
            indptr, columns, values, rotations, waves, rounding, scratch, weights[start:stop]
        )


@loop(inline="always")
def write_nonzero_halves(values, out):
    """Values rounded to halves; the least half, whose bits are 1, where that would be 0."""
    write_halves(values, out)
    for p in range(out.shape[0]):
        out[p] |= np.uint16(out[p] & _HALF_SIZE == 0)
