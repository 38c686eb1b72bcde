"""Minwise hashing of CSR rows: k locations a row, cut to their lowest bits.

Rows arrive as `indptr` and, for each of their nonzeros, what the hash needs of its
column: where the column's slice of a table starts, or a mixed 64-bit number.
`indptr[0]` stands for position 0 of those arrays. Empty rows are left as they are.
"""

import numpy as np
from numba import njit

from .mixing import mix_columns, step

_TILE = 2048  # slots whose running minima stay in the L1 cache beside the table
_CUT = np.uint8(255)
_EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)
_PROBES = 32  # tries of optimal densification before the filled bins are ranked instead


@njit(nogil=True, cache=True)
def slice_minima(starts, table, out):
    """Elementwise minimum of the slices `table[s : s + len(out)]` over all starts s."""
    width = out.shape[0]
    first = table[starts[0] : starts[0] + width]
    for j in range(width):
        out[j] = first[j]
    p = 1
    while p + 8 <= starts.shape[0]:  # eight slices a pass: an eighth of the traffic of `out`
        t0 = table[starts[p] : starts[p] + width]
        t1 = table[starts[p + 1] : starts[p + 1] + width]
        t2 = table[starts[p + 2] : starts[p + 2] + width]
        t3 = table[starts[p + 3] : starts[p + 3] + width]
        t4 = table[starts[p + 4] : starts[p + 4] + width]
        t5 = table[starts[p + 5] : starts[p + 5] + width]
        t6 = table[starts[p + 6] : starts[p + 6] + width]
        t7 = table[starts[p + 7] : starts[p + 7] + width]
        for j in range(width):
            left = min(min(t0[j], t1[j]), min(t2[j], t3[j]))
            right = min(min(t4[j], t5[j]), min(t6[j], t7[j]))
            out[j] = min(out[j], min(left, right))
        p += 8
    while p < starts.shape[0]:
        a = table[starts[p] : starts[p] + width]
        for j in range(width):
            out[j] = min(out[j], a[j])
        p += 1


@njit(nogil=True, cache=True)
def row_minima(starts, table, low, long, shift, scratch, out):
    """Minima of one row's slices of `table`, the slots being `shift` further on.

    `low` is the table cut off at 255. The minima of rows of at least `long` nonzeros are
    small: they are found there, twice as fast, and those at the cut looked up in the table.
    """
    width = out.shape[0]
    if starts.shape[0] < long:
        slice_minima(starts, table[shift:], out)
        return
    small = scratch[:width]
    slice_minima(starts, low[shift:], small)
    cut = 0
    for j in range(width):
        out[j] = small[j]
        cut += small[j] == _CUT
    if cut:
        for j in range(width):
            if small[j] == _CUT:
                out[j] = table[starts[0] + shift + j]
                for p in range(1, starts.shape[0]):
                    out[j] = min(out[j], table[starts[p] + shift + j])


@njit(nogil=True, cache=True)
def table_codes(indptr, starts, table, low, long, mask, first, last, scratch, minima, out):
    """Codes of slots first to last: column slices of `table` begin at `starts` for slot `first`."""
    offset = indptr[0]
    for row in range(indptr.shape[0] - 1):
        mine = starts[indptr[row] - offset : indptr[row + 1] - offset]
        if mine.shape[0] == 0:
            continue
        for slot in range(first, last, _TILE):
            width = min(_TILE, last - slot)
            locations = minima[:width]
            row_minima(mine, table, low, long, slot - first, scratch, locations)
            codes = out[row, slot : slot + width]
            for j in range(width):
                codes[j] = locations[j] & mask


@njit(nogil=True, cache=True)
def inverted_values(
    indptr, starts, weights, table, low, long, inverse, mask, first, last,
    scratch, minima, by_position, out, out_values,
):  # fmt: skip
    """Codes as `table_codes` gives them, and the weight behind each minimum, table inverted.

    `inverse[location]` is the place of a location in the circular table; it minus the
    slot is where the column's slice starts, and `by_position` holds the row's weights
    by start, twice over: the circle is never left (whatever was in it before).
    """
    offset = indptr[0]
    n_positions = inverse.shape[0]
    for row in range(indptr.shape[0] - 1):
        mine = starts[indptr[row] - offset : indptr[row + 1] - offset]
        held = weights[indptr[row] - offset : indptr[row + 1] - offset]
        if mine.shape[0] == 0:
            continue
        for p in range(mine.shape[0]):
            by_position[mine[p]] = held[p]
            by_position[mine[p] + n_positions] = held[p]
        for slot in range(first, last, _TILE):
            width = min(_TILE, last - slot)
            locations = minima[:width]
            row_minima(mine, table, low, long, slot - first, scratch, locations)
            codes = out[row, slot : slot + width]
            values = out_values[row, slot : slot + width]
            for j in range(width):
                codes[j] = locations[j] & mask
            origin = np.uint64(n_positions - (slot - first))  # unsigned: no test of the sign
            for j in range(width):
                values[j] = by_position[origin + np.uint64(inverse[locations[j]]) - np.uint64(j)]


@njit(nogil=True, cache=True)
def searched_values(
    indptr, starts, weights, table, low, long, mask, first, last,
    scratch, minima, out, out_values,
):  # fmt: skip
    """Codes as `table_codes` gives them, and the weight behind each minimum, by a second pass."""
    offset = indptr[0]
    for row in range(indptr.shape[0] - 1):
        mine = starts[indptr[row] - offset : indptr[row + 1] - offset]
        held = weights[indptr[row] - offset : indptr[row + 1] - offset]
        if mine.shape[0] == 0:
            continue
        for slot in range(first, last, _TILE):
            width = min(_TILE, last - slot)
            shift = slot - first
            locations = minima[:width]
            row_minima(mine, table, low, long, shift, scratch, locations)
            values = out_values[row, slot : slot + width]
            for p in range(mine.shape[0]):
                places = table[mine[p] + shift : mine[p] + shift + width]
                weight = held[p]
                for j in range(width):
                    values[j] = weight if places[j] == locations[j] else values[j]
            codes = out[row, slot : slot + width]
            for j in range(width):
                codes[j] = locations[j] & mask


@njit(nogil=True, cache=True)
def mixed_values(indptr, mixed, weights, mask, scratch, out, out_values):
    """Codes of slots hashed one by one, and the weight behind each minimum."""
    offset = indptr[0]
    n_slots = out.shape[1]
    for row in range(indptr.shape[0] - 1):
        begin, end = indptr[row] - offset, indptr[row + 1] - offset
        if begin == end:
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
