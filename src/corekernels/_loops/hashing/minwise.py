"""Minwise hashing of CSR rows: k locations per row, cut to their lowest bits.

Several threads take blocks of rows from a shared counter. Each block is inspected first; one with
a flaw (see `inspect_rows`) is noted and left out. Projections are a loop of their own, over the
blocks that the thread hashed last: this one is compiled once for all kernels without values.
"""

from typing import Any, NamedTuple

import numpy as np

from ..compilation import loop
from ..mixing import step
from ..rows import block_in_turn, inspect_rows, sum_and_scale, unit_values
from ..simd.bit_sets import SLOTS
from ..simd.halves import write_halves
from ..simd.integers import fetch_add
from .bins import wide_row_minima
from .sieve import mark_starts, sieve_minima, values_behind
from .slices import slice_minima

MOST_BLOCKS = 256  # per call
GROUP = 128  # slots of a table that are read together
_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_HALF_SIZE = np.uint16(0x7FFF)  # the bits of a half but for its sign


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


class Banks(NamedTuple):
    """Circular tables of locations, in which a column has a slice that begins at its start.

    Slots are shared out in runs of `width`, one bank each; arrays have one row per bank.
    """

    width: int
    n_banks: int
    n_positions: int  # of a table before it wraps around
    tables: np.ndarray
    start_of_column: np.ndarray
    sieve_places: np.ndarray  # where the slots of each location begin in the sieve's bitmap
    sieve_length: int  # nonzeros from which a row goes through the sieve


class RowScratch(NamedTuple):
    """Scratch for one row."""

    starts: np.ndarray  # of the slices, one per nonzero
    codes: np.ndarray  # of the last slots of a bank, fewer than a group
    values: np.ndarray  # the same of their values


class ValueScratch(NamedTuple):
    """Scratch for the values of a block's nonzeros."""

    values: np.ndarray
    halves: np.ndarray


@loop
def hash_blocks(
    task, n_blocks, sieve, bins, banks, mask, scratch, k, codes, value_scratch, weights, sums
):  # fmt: skip
    """Codes of up to `n_blocks` blocks; False if there is no more.

    The slots of one row follow those of another; those of a row without nonzeros are 0. Unless
    `weights` is None, also the value of each minimum, as a half, and the sums of the rows' values.
    Of `sieve`, for `Banks`, and `bins`, for `BinnedBanks`, the other is None.
    """
    task.done[0] = 0
    for _ in range(min(n_blocks, MOST_BLOCKS)):
        start, indptr, columns = next_block(task)
        if start < 0:
            return False
        halves: Any = None
        if weights is not None:
            values = value_scratch.values[: columns.shape[0]]
            halves = value_scratch.halves[: columns.shape[0]]
            unit_values(indptr, task.data, values)
            sum_and_scale(indptr, values, sums[start:])
            write_nonzero_halves(values, halves)
        for row in range(indptr.shape[0] - 1):
            begin, end = indptr[row] - indptr[0], indptr[row + 1] - indptr[0]
            first = (start + row) * k
            if begin == end:
                codes[first : first + k] = 0
                if weights is not None:
                    weights[first : first + k] = 0
                continue
            row_columns, row_values = columns[begin:end], halves
            if weights is not None:
                row_values = halves[begin:end]
            for bank in range(banks.n_banks):
                n_slots = min(banks.width, k - bank * banks.width)
                at = first + bank * banks.width
                if sieve is not None:
                    row_minima(
                        row_columns, row_values, sieve, banks, bank, n_slots, mask, scratch, at,
                        codes, weights,
                    )  # fmt: skip
                if bins is not None:
                    wide_row_minima(
                        row_columns, row_values, bins, banks, bank, n_slots, mask, scratch, at,
                        codes, weights,
                    )  # fmt: skip
    return True


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


@loop(inline="always")
def block_rows(task, block):
    """The first row of a block, its row pointers and its columns."""
    start = task.cuts[block]
    indptr = task.indptr[start : task.cuts[block + 1] + 1]
    return start, indptr, task.indices[indptr[0] : indptr[-1]]


@loop(inline="always")
def row_minima(columns, values, sieve, banks, bank, n_slots, mask, scratch, at, out, out_values):
    """Codes of the slots of a bank for one row, from `at` on, and the value of each.

    Long rows go through the sieve, the others through slices.
    """
    if columns.shape[0] >= banks.sieve_length:
        places = banks.sieve_places[bank]
        start_of_column = banks.start_of_column[bank]
        mark_starts(columns, start_of_column, banks.n_positions, values, sieve.marks, sieve.bitmap)
        for slot in range(0, n_slots, SLOTS):
            sieve_minima(sieve.bitmap, places, slot, sieve.bit_planes, sieve.locations)
            n = min(SLOTS, n_slots - slot)
            codes = out[at + slot : at + slot + n]
            for j in range(n):
                codes[j] = sieve.locations[j] & mask
            if values is not None:
                slot_values = out_values[at + slot : at + slot + n]
                values_behind(sieve.words, places, slot, sieve.marks, slot_values)
    else:
        table, starts = banks.tables[bank], scratch.starts[: columns.shape[0]]
        find_starts(columns, banks, bank, starts)
        for slot in range(0, n_slots, GROUP):
            n, place, target, target_values = GROUP, at + slot, out, out_values
            if slot + GROUP > n_slots:  # minima are written in whole groups
                n, place, target = n_slots - slot, np.int64(0), scratch.codes
                if values is not None:
                    target_values = scratch.values
            slice_minima(starts, values, table, slot, mask, place, target, target_values)
            for j in range(n % GROUP):
                out[at + slot + j] = scratch.codes[j]
                if values is not None:
                    out_values[at + slot + j] = scratch.values[j]


@loop(inline="always")
def find_starts(columns, banks, bank, out):
    """Where the slices of a row's columns start in the table of a bank."""
    start_of_column = banks.start_of_column[bank]
    for p in range(columns.shape[0]):
        out[p] = start_of_column[np.uint64(columns[p])]


@loop(inline="always")
def write_nonzero_halves(values, out):
    """Values rounded to halves; the least half, whose bits are 1, where that would be 0."""
    write_halves(values, out)
    for p in range(out.shape[0]):
        out[p] |= np.uint16(out[p] & _HALF_SIZE == 0)


@loop
def mixed_minima(indptr, mixed, values, mask, minima, out, out_values):
    """Codes of slots hashed one by one, and the value of each minimum.

    Rows are `indptr` and the mixes of their columns; `indptr[0]` stands for place 0 of these.
    `minima` is room for those of a row. Only codes if `out_values` has no rows.
    """
    offset = indptr[0]
    n_slots = out.shape[1]
    for row in range(indptr.shape[0] - 1):
        begin, end = indptr[row] - offset, indptr[row + 1] - offset
        if begin == end:
            out[row] = 0
            out_values[row : row + 1] = 0
            continue
        minima[:] = _EMPTY
        for p in range(begin, end):
            for j in range(n_slots):
                minima[j] = min(minima[j], step(mixed[p], j))
        for p in range(begin, end if out_values.shape[0] > 0 else begin):
            for j in range(n_slots):
                if step(mixed[p], j) == minima[j]:
                    out_values[row, j] = values[p]
        for j in range(n_slots):
            out[row, j] = (minima[j] >> np.uint64(32)) & mask
