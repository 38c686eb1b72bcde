"""Minwise hashing of CSR rows: k locations a row, cut to their lowest bits.

Rows arrive as `indptr` and the columns, or mixed 64-bit numbers, of their nonzeros;
`indptr[0]` stands for position 0 of those arrays. Empty rows get zeros. Weights are halves.
"""

import numpy as np
from numba import njit

from ..simd.bit_sets import SLOTS
from ..simd.vectors import LINE, load_line, lower, splat_line, store, where_not_above
from .banks import find_starts
from .mixing import mix_columns, step
from .sieve import mark_starts, sieve_minima, values_behind

GROUP = 128  # slots of a table that are read together, at most
_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_PROBES = 32  # tries of optimal densification before the filled bins are ranked instead


@njit(nogil=True, cache=True)
def slice_minima(starts, held, table, shift, n_slots, mask, at, out, out_values):
    """Minima of the slices of `table` that begin `shift` after the starts, cut to their codes,
    and what is held for the start each comes from, the last of equals.

    No values if `held` is None; they travel in lanes as wide as the table's. Four lines of
    minima at a time stay in registers. They are written from `at` on, whole, also where that
    is more than `n_slots`: there has to be room.
    """
    line = LINE // table.itemsize
    cut = splat_line(mask)
    for slot in range(shift, shift + n_slots, 4 * line):
        start = np.intp(starts[0]) + slot
        a, b = load_line(table, start), load_line(table, start + line)
        c, d = load_line(table, start + 2 * line), load_line(table, start + 3 * line)
        if held is not None:
            mine = splat_line(table.dtype.type(held[0]))
            of_a, of_b, of_c, of_d = mine, mine, mine, mine
        for p in range(1, starts.shape[0]):
            start = np.intp(starts[p]) + slot
            w, x = load_line(table, start), load_line(table, start + line)
            y, z = load_line(table, start + 2 * line), load_line(table, start + 3 * line)
            if held is not None:
                mine = splat_line(table.dtype.type(held[p]))
                of_a, of_b = where_not_above(w, a, mine, of_a), where_not_above(x, b, mine, of_b)
                of_c, of_d = where_not_above(y, c, mine, of_c), where_not_above(z, d, mine, of_d)
            a, b, c, d = lower(a, w), lower(b, x), lower(c, y), lower(d, z)
        place = at + slot - shift
        store(a & cut, place, out)
        store(b & cut, place + line, out)
        store(c & cut, place + 2 * line, out)
        store(d & cut, place + 3 * line, out)
        if held is not None:
            store(of_a, place, out_values)
            store(of_b, place + line, out_values)
            store(of_c, place + 2 * line, out_values)
            store(of_d, place + 3 * line, out_values)


@njit(nogil=True, cache=True)
def table_values(indptr, indices, weights, banks, mask, scratch, out, out_values):
    """Codes of all slots, from the tables of their banks, and the weight behind each minimum.

    Only codes if `weights`, and what would hold them, are None. Slices go straight to their
    slots, but for the last few. Long rows go through the sieve. Of the scratch, `words` is
    `locations` again, seen as 64-bit words.
    """
    all_starts, marks, bitmap, planes, locations, words, carried = scratch
    n_hashes = out.shape[1]
    for row in range(indptr.shape[0] - 1):
        begin, end = indptr[row] - indptr[0], indptr[row + 1] - indptr[0]
        held = weights
        if weights is not None:
            held = weights[begin:end]
        if begin == end:
            out[row] = 0
            if weights is not None:
                out_values[row] = 0
            continue
        columns, starts = indices[begin:end], all_starts[: end - begin]
        long = columns.shape[0] >= banks.long
        for bank in range(banks.tables.shape[0]):
            table, places = banks.tables[bank], banks.places[bank]
            first, last = bank * banks.width, min((bank + 1) * banks.width, n_hashes)
            done = 0
            if long:
                by_column = banks.by_column[bank]
                mark_starts(columns, by_column, banks.n_positions, held, marks, bitmap)
            else:
                find_starts(columns, banks, bank, starts)
                done = (last - first) // GROUP * GROUP
                at = row * n_hashes + first
                slice_minima(starts, held, table, 0, done, mask, at, out, out_values)
            for slot in range(done, last - first, SLOTS):
                n_slots = min(SLOTS, last - first - slot)
                if long:
                    sieve_minima(bitmap, places, slot, planes, locations)
                else:
                    slice_minima(starts, held, table, slot, n_slots, mask, 0, locations, carried)
                codes = out[row, first + slot : first + slot + n_slots]
                for j in range(n_slots):
                    codes[j] = locations[j] & mask
                if weights is not None:
                    values = out_values[row, first + slot : first + slot + n_slots]
                    if long:
                        values_behind(words, places, slot, marks, values)
                    else:
                        for j in range(n_slots):
                            values[j] = carried[j]


@njit(nogil=True, cache=True)
def mixed_values(indptr, mixed, weights, mask, scratch, out, out_values):
    """Codes of slots hashed one by one, and the weight behind each minimum."""
    offset = indptr[0]
    n_slots = out.shape[1]
    for row in range(indptr.shape[0] - 1):
        begin, end = indptr[row] - offset, indptr[row + 1] - offset
        if begin == end:
            out[row] = 0
            out_values[row : row + 1] = 0
            continue
        scratch[:] = _EMPTY
        for p in range(begin, end):
            for j in range(n_slots):
                scratch[j] = min(scratch[j], step(mixed[p], j))
        for p in range(begin, end if out_values.shape[0] > 0 else begin):
            for j in range(n_slots):
                if step(mixed[p], j) == scratch[j]:
                    out_values[row, j] = weights[p]
        for j in range(n_slots):
            out[row, j] = (scratch[j] >> np.uint64(32)) & mask


@njit(nogil=True, cache=True)
def binned_values(
    indptr, indices, weights, key, probe_key, mask, scratch, bins, held, filled, out, out_values
):
    """One-permutation hashing with optimal densification (Shrivastava 2017).

    Each nonzero falls into one of k bins by the high half of its mix, and the lowest
    low half of a bin is its location. An empty bin copies the first filled bin of a
    random sequence of its own: `_PROBES` draws, then all bins in a random order.
    A bin holds the location and, below it, which of the row's nonzeros it came from.
    Without rows in `out_values` only the codes are wanted.
    """
    offset = indptr[0]
    n_slots = np.uint64(out.shape[1])
    half = np.uint64(32)
    low = np.uint64(0xFFFFFFFF)
    for row in range(indptr.shape[0] - 1):
        columns = indices[indptr[row] - offset : indptr[row + 1] - offset]
        values = weights[indptr[row] - offset : indptr[row + 1] - offset]
        if columns.shape[0] == 0:
            out[row] = 0
            out_values[row : row + 1] = 0
            continue
        bins[:] = _EMPTY
        for first in range(0, columns.shape[0], scratch.shape[0]):
            tile = columns[first : first + scratch.shape[0]]
            mix_columns(tile, key, scratch)
            for p in range(tile.shape[0]):
                place = ((scratch[p] >> half) * n_slots) >> half
                bins[place] = min(bins[place], (scratch[p] << half) | np.uint64(first + p))
        n_filled = 0
        for j in range(bins.shape[0]):
            filled[n_filled] = j
            n_filled += bins[j] != _EMPTY
        for j in range(bins.shape[0]):
            held[j] = bins[j]
            if bins[j] == _EMPTY:
                held[j] = bins[_filled_bin(j, probe_key, bins, filled[:n_filled])]
        codes = out[row]
        for j in range(held.shape[0]):
            # mixed with the slot: copies of one bin do not collide by chance all at once
            codes[j] = (step(held[j] >> half, j) >> half) & mask
        if out_values.shape[0] > 0:
            for j in range(held.shape[0]):
                out_values[row, j] = values[held[j] & low]


@njit(nogil=True, cache=True)
def _filled_bin(j, key, bins, filled):
    """The first filled bin in the random sequence of bin j."""
    state = step(key, j)
    n_slots = np.uint64(bins.shape[0])
    for probe in range(_PROBES):
        place = ((step(state, probe) >> np.uint64(32)) * n_slots) >> np.uint64(32)
        if bins[place] != _EMPTY:
            return np.int64(place)
    best, lowest = filled[0], step(state, _PROBES + filled[0])
    for q in range(1, filled.shape[0]):
        rank = step(state, _PROBES + filled[q])
        if rank < lowest:
            best, lowest = filled[q], rank
    return best
