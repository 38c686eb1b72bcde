"""Minwise hashing of CSR rows: k locations per row, cut to their lowest bits.

Rows are `indptr` and the columns of their nonzeros, or the mixes of these; `indptr[0]` stands for
place 0 of those arrays. The slots of a row without nonzeros are 0. Where values are hashed too,
each nonzero has one, a half, and each slot gets that of its minimum.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import loop
from ..mixing import step
from ..rows import sum_and_scale, unit_values
from ..simd.bit_sets import SLOTS
from ..simd.halves import write_halves
from .bins import BinScratch, wide_row_minima
from .blocks import MOST_BLOCKS, next_block
from .sieve import SieveScratch, mark_starts, sieve_minima, values_behind
from .slices import slice_minima

GROUP = 128  # slots of a table that are read together, at most
_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_HALF_SIZE = np.uint16(0x7FFF)  # the bits of a half but for its sign


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


class BlockScratch(NamedTuple):
    """Scratch for the values of a block's nonzeros."""

    values: np.ndarray
    halves: np.ndarray


class MinimaScratch(NamedTuple):
    """Scratch of the one algorithm in use, None for the other; loops are compiled for either.

    With `sieve` long rows go through the sieve and short ones through slices of `Banks`; `bins`
    are for `BinnedBanks`.
    """

    sieve: SieveScratch | None = None
    bins: BinScratch | None = None


@loop
def hash_codes(task, n_blocks, sieve, bins, banks, mask, scratch, k, codes):
    """Codes of up to `n_blocks` blocks; False if there is no more.

    `sieve` and `bins` are a `MinimaScratch`. Codes hold the k slots of one row after those of
    another.
    """
    task.done[0] = 0
    for _ in range(min(n_blocks, MOST_BLOCKS)):
        start, indptr, columns = next_block(task)
        if start < 0:
            return False
        table_minima(
            indptr, columns, None, sieve, bins, banks, mask, scratch, k, codes[start * k :], None
        )
    return True


@loop
def hash_codes_and_values(
    task, n_blocks, sieve, bins, banks, mask, scratch, k, codes, block_scratch, weights, sums
):  # fmt: skip
    """The same, and the value of each minimum as a half; and the sums of the rows' values."""
    task.done[0] = 0
    for _ in range(min(n_blocks, MOST_BLOCKS)):
        start, indptr, columns = next_block(task)
        if start < 0:
            return False
        values = block_scratch.values[: columns.shape[0]]
        halves = block_scratch.halves[: columns.shape[0]]
        unit_values(indptr, task.data, values)
        sum_and_scale(indptr, values, sums[start:])
        write_nonzero_halves(values, halves)
        table_minima(
            indptr, columns, halves, sieve, bins, banks, mask, scratch, k,
            codes[start * k :], weights[start * k :],
        )  # fmt: skip
    return True


@loop(inline="always")
def table_minima(
    indptr, indices, values, sieve, bins, banks, mask, scratch, n_hashes, out, out_values
):
    """Codes of all slots, from the tables of their banks, and the value of each minimum.

    Only codes if `values` and `out_values` are None. The arguments after `values` are a
    `MinimaScratch`.
    """
    for row in range(indptr.shape[0] - 1):
        begin, end = indptr[row] - indptr[0], indptr[row + 1] - indptr[0]
        if begin == end:
            out[row * n_hashes : (row + 1) * n_hashes] = 0
            if values is not None:
                out_values[row * n_hashes : (row + 1) * n_hashes] = 0
            continue
        columns, row_values = indices[begin:end], values
        if values is not None:
            row_values = values[begin:end]
        for bank in range(banks.n_banks):
            first, last = bank * banks.width, min((bank + 1) * banks.width, n_hashes)
            at, n = row * n_hashes + first, last - first
            if sieve is not None:
                bank_minima(
                    columns, row_values, sieve, banks, bank, n, mask, scratch, at, out, out_values
                )
            if bins is not None:
                wide_row_minima(
                    columns, row_values, bins, banks, bank, n, mask, scratch, at, out, out_values
                )


@loop(inline="always")
def bank_minima(columns, values, sieve, banks, bank, n_slots, mask, scratch, at, out, out_values):
    """Codes of the slots of a bank for one row, from `at` on, and the value of each.

    Long rows go through the sieve. Minima of slices are written in whole groups of slots, those of
    the last group to the scratch first.
    """
    first_slot = np.int64(0)  # not a literal, for which `slice_minima` would be compiled again
    table, places = banks.tables[bank], banks.sieve_places[bank]
    starts, n_done, last_values = scratch.starts[: columns.shape[0]], 0, out_values
    if values is not None:
        last_values = scratch.values
    is_long = columns.shape[0] >= banks.sieve_length
    if is_long:
        start_of_column = banks.start_of_column[bank]
        mark_starts(columns, start_of_column, banks.n_positions, values, sieve.marks, sieve.bitmap)
    else:
        find_starts(columns, banks, bank, starts)
        n_done = n_slots // GROUP * GROUP
        slice_minima(starts, values, table, first_slot, n_done, mask, at, out, out_values)
    for slot in range(n_done, n_slots, SLOTS):
        n_more = min(SLOTS, n_slots - slot)
        codes = out[at + slot : at + slot + n_more]
        if is_long:
            sieve_minima(sieve.bitmap, places, slot, sieve.bit_planes, sieve.locations)
            for j in range(n_more):
                codes[j] = sieve.locations[j] & mask
        else:
            slice_minima(
                starts, values, table, slot, n_more, mask, first_slot, scratch.codes, last_values
            )
            for j in range(n_more):
                codes[j] = scratch.codes[j]
        if values is not None:
            slot_values = out_values[at + slot : at + slot + n_more]
            if is_long:
                values_behind(sieve.locations, places, slot, sieve.marks, slot_values)
            else:
                for j in range(n_more):
                    slot_values[j] = scratch.values[j]


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
