"""Minwise hashing of CSR rows: k locations per row, cut to their lowest bits.

Rows arrive as `indptr` and the columns, or mixed 64-bit numbers, of their nonzeros;
`indptr[0]` stands for position 0 of those arrays. Empty rows get zeros. `values` are halves,
one per nonzero, and `out_values` gets the one behind each minimum.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import loop
from ..mixing import step
from ..simd.bit_sets import SLOTS
from .banks import GROUP, find_starts
from .offsets import Offsets, ends_with_offsets
from .sieve import mark_starts, sieve_minima, values_behind
from .slices import slice_minima

_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)


class MinimaScratch(NamedTuple):
    """Working memory for one row in `table_minima`."""

    starts: np.ndarray  # of the slices, one per nonzero
    codes: np.ndarray  # of a group of slots that are not all wanted
    values: np.ndarray  # behind their minima


class SieveScratch(NamedTuple):
    """The same for long rows."""

    marks: np.ndarray  # 1, or the value, at the bit of each nonzero
    bitmap: np.ndarray  # in 64-bit words
    bit_planes: np.ndarray  # bit b of the locations of 512 slots in row b
    locations: np.ndarray  # of 512 slots
    location_words: np.ndarray  # the same memory, seen as 64-bit words


class Way(NamedTuple):
    """How minima are found: working memory of one of these, None for the others.

    The loops are compiled for the way that is not None. With `sieve`, long rows go through the
    sieve and short ones look at slices; `ends` are for many columns.
    """

    sieve: SieveScratch | None = None
    ends: Offsets | None = None


@loop(inline="always")
def table_minima(
    indptr, indices, values, sieve, ends, banks, mask, scratch, n_hashes, out, out_values
):
    """Codes of all slots, from the tables of their banks, and the value behind each minimum.

    `out` and `out_values` hold the slots of one row after those of another. Only codes if
    `values` and `out_values` are None. The two arguments after `values` are a `Way`.
    """
    for row in range(indptr.shape[0] - 1):
        begin, end = indptr[row] - indptr[0], indptr[row + 1] - indptr[0]
        if begin == end:
            out[row * n_hashes : (row + 1) * n_hashes] = 0
            if values is not None:
                out_values[row * n_hashes : (row + 1) * n_hashes] = 0
            continue
        columns, mine = indices[begin:end], values
        if values is not None:
            mine = values[begin:end]
        for bank in range(banks.n_banks):
            first, last = bank * banks.width, min((bank + 1) * banks.width, n_hashes)
            at, n = row * n_hashes + first, last - first
            if sieve is not None:
                bank_minima(
                    columns, mine, sieve, banks, bank, n, mask, scratch, at, out, out_values
                )
            if ends is not None:
                ends_with_offsets(
                    columns, mine, ends, banks, bank, n, mask, scratch, at, out, out_values
                )


@loop(inline="always")
def bank_minima(columns, values, sieve, banks, bank, n_slots, mask, scratch, at, out, out_values):
    """Codes of the slots of a bank for one row, from `at` on, and the value behind each.

    Minima of slices are written straight to their slots, but for the last few. Long rows go
    through the sieve.
    """
    first_slot = np.int64(0)  # not a literal, for which `slice_minima` would be compiled again
    table, places = banks.tables[bank], banks.sieve_places[bank]
    starts, done, spare = scratch.starts[: columns.shape[0]], 0, out_values
    if values is not None:
        spare = scratch.values
    sieved = columns.shape[0] >= banks.sieve_length
    if sieved:
        start_of_column = banks.start_of_column[bank]
        mark_starts(columns, start_of_column, banks.n_positions, values, sieve.marks, sieve.bitmap)
    else:
        find_starts(columns, banks, bank, starts)
        done = n_slots // GROUP * GROUP
        slice_minima(starts, values, table, first_slot, done, mask, at, out, out_values)
    for slot in range(done, n_slots, SLOTS):
        n_left = min(SLOTS, n_slots - slot)
        codes = out[at + slot : at + slot + n_left]
        if sieved:
            sieve_minima(sieve.bitmap, places, slot, sieve.bit_planes, sieve.locations)
            for j in range(n_left):
                codes[j] = sieve.locations[j] & mask
        else:
            slice_minima(
                starts, values, table, slot, n_left, mask, first_slot, scratch.codes, spare
            )
            for j in range(n_left):
                codes[j] = scratch.codes[j]
        if values is not None:
            found = out_values[at + slot : at + slot + n_left]
            if sieved:
                values_behind(sieve.location_words, places, slot, sieve.marks, found)
            else:
                for j in range(n_left):
                    found[j] = scratch.values[j]


@loop
def mixed_minima(indptr, mixed, values, mask, minima, out, out_values):
    """Codes of slots hashed one by one, and the value behind each minimum.

    `minima` is room for one row's. Without rows in `out_values` only the codes are wanted.
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
