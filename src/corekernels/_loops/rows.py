"""Loops over raw CSR rows: inspection, conversion and normalisation.

Blocks of rows that several threads take from a shared counter.

A loop that shares out its rows takes `blocks` and the number of blocks to do in one call, which
may be more than there are left: see `corekernels._core.team.Team`.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from .compilation import inner_loop, loop
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


NOT_FINITE = 1
ZERO = 2
DISORDER = 4
OUT_OF_RANGE = 8


@loop
def inspect_rows(indptr, indices, data, n_columns):
    """Union of the flags above over all rows, found in flat passes that vectorise."""
    begin, end = indptr[0], indptr[-1]
    values, columns = data[begin:end], indices[begin:end]
    unfit, zeros, outside, falls = 0, 0, 0, 0
    for p in range(values.shape[0]):
        unfit += not (abs(values[p]) < np.inf)
        zeros += values[p] == 0
    for p in range(1, columns.shape[0]):
        falls += columns[p] <= columns[p - 1]
    for row in range(1, indptr.shape[0] - 1):  # columns may fall from one row to the next
        p = indptr[row]
        if begin < p < indptr[row + 1]:
            falls -= indices[p] <= indices[p - 1]
    if falls == 0:  # in order: the ends of each row tell
        for row in range(indptr.shape[0] - 1):
            if indptr[row] < indptr[row + 1]:
                outside += (indices[indptr[row]] < 0) | (indices[indptr[row + 1] - 1] >= n_columns)
    else:
        for p in range(columns.shape[0]):
            outside += (columns[p] < 0) | (columns[p] >= n_columns)
    return (
        NOT_FINITE * (unfit != 0)
        | ZERO * (zeros != 0)
        | DISORDER * (falls != 0)
        | OUT_OF_RANGE * (outside != 0)
    )


@loop
def first_not_finite(indptr, data):
    """The first row that holds a NaN or an infinity, or -1."""
    for row in range(indptr.shape[0] - 1):
        for p in range(indptr[row], indptr[row + 1]):
            if not np.isfinite(data[p]):
                return row
    return -1


@loop
def count_nonzeros(block, out):
    """Number of nonzeros of each dense row (a NaN counts: it is found later)."""
    for row in range(block.shape[0]):
        count = 0
        for column in range(block.shape[1]):
            count += block[row, column] != 0
        out[row] = count


@loop
def gather_nonzeros(block, position, out_indices, out_data):
    """Columns and values of the nonzeros of a dense block, row after row, from `position` on."""
    for row in range(block.shape[0]):
        for column in range(block.shape[1]):
            value = block[row, column]
            if value != 0:
                out_indices[position] = column
                out_data[position] = value
                position += 1


@inner_loop(fastmath={"reassoc", "contract"})
def _sum_of_squares(data, scale):
    total = 0.0
    for p in range(data.shape[0]):  # in any order, so that it vectorises
        scaled = np.float64(data[p]) * scale
        total += scaled * scaled
    return total


@loop(error_model="numpy")
def unit_values(indptr, data, out):
    """Values of the rows scaled to length one, `out[0]` being the first value of the first row.

    Where squares would overflow or vanish, the row is brought to scale by a power of two
    first, so that values of any magnitude are fine.
    """
    offset = indptr[0]
    for row in range(indptr.shape[0] - 1):
        values = data[indptr[row] : indptr[row + 1]]
        units = out[indptr[row] - offset : indptr[row + 1] - offset]
        if values.shape[0] == 0:
            continue
        scale = 1.0
        squares = _sum_of_squares(values, scale)
        if not 1e-200 < squares < 1e200:
            scale = 2.0**-600 if squares > 1.0 else (2.0**500 if squares > 1e-290 else 2.0**900)
            squares = _sum_of_squares(values, scale)
        factor = 1.0 / np.sqrt(squares)
        for p in range(values.shape[0]):
            units[p] = np.float64(values[p]) * scale * factor


@loop(fastmath={"reassoc"})
def sum_and_scale(indptr, values, sums):
    """Sums of each row's values, which then are multiplied by the root of their number."""
    for row in range(indptr.shape[0] - 1):
        of_row = values[indptr[row] - indptr[0] : indptr[row + 1] - indptr[0]]
        root = np.sqrt(np.float32(of_row.shape[0]))
        total = 0.0
        for p in range(of_row.shape[0]):  # in any order, so that it vectorises
            total += of_row[p]
        for p in range(of_row.shape[0]):
            of_row[p] *= root
        sums[row] = total
