"""Minwise hashing of CSR rows: k locations a row, cut to their lowest bits.

Rows arrive as `indptr` and, for each of their nonzeros, what the hash needs of its
column: where the column's slice of a table starts, or a mixed 64-bit number.
`indptr[0]` stands for position 0 of those arrays. Empty rows are left as they are.
"""

import numpy as np
from numba import njit

from .mixing import step

_TILE = 2048  # slots whose running minima stay in the L1 cache beside the table
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
def table_codes(indptr, starts, table, mask, first, last, scratch, out):
    """Codes of slots first to last: column slices of `table` begin at `starts` for slot `first`."""
    offset = indptr[0]
    for row in range(indptr.shape[0] - 1):
        mine = starts[indptr[row] - offset : indptr[row + 1] - offset]
        if mine.shape[0] == 0:
            continue
        for slot in range(first, last, _TILE):
            width = min(_TILE, last - slot)
            minima = scratch[:width]
            slice_minima(mine, table[slot - first :], minima)
            codes = out[row, slot : slot + width]
            for j in range(width):
                codes[j] = minima[j] & mask


@njit(nogil=True, cache=True)
def inverted_values(
    indptr,
    starts,
    weights,
    table,
    inverse,
    first,
    last,
    mask,
    scratch,
    by_position,
    out,
    out_values,
):
    """Codes as `table_codes` gives them, and the weight behind each minimum, table inverted.

    `inverse[location]` is the place of a location in the circular table; it minus the
    slot is where the column's slice starts, and `by_position` holds the row's weights
    by start, twice over: the circle is never left (whatever was in it before).
    """
    offset = indptr[0]
    n_positions = inverse.shape[0]
    for row in range(indptr.shape[0] - 1):
        begin, end = indptr[row] - offset, indptr[row + 1] - offset
        if begin == end:
            continue
        for p in range(begin, end):
            by_position[starts[p]] = weights[p]
            by_position[starts[p] + n_positions] = weights[p]
        for slot in range(first, last, _TILE):
            width = min(_TILE, last - slot)
            minima = scratch[:width]
            slice_minima(starts[begin:end], table[slot - first :], minima)
            codes = out[row, slot : slot + width]
            values = out_values[row, slot : slot + width]
            origin = n_positions - (slot - first)
            for j in range(width):
                values[j] = by_position[origin + inverse[minima[j]] - j]
            for j in range(width):
                codes[j] = minima[j] & mask


@njit(nogil=True, cache=True)
def searched_values(indptr, starts, weights, table, first, last, mask, scratch, out, out_values):
    """Codes as `table_codes` gives them, and the weight behind each minimum, by a second pass."""
    offset = indptr[0]
    for row in range(indptr.shape[0] - 1):
        begin, end = indptr[row] - offset, indptr[row + 1] - offset
        if begin == end:
            continue
        for slot in range(first, last, _TILE):
            width = min(_TILE, last - slot)
            minima = scratch[:width]
            slice_minima(starts[begin:end], table[slot - first :], minima)
            values = out_values[row, slot : slot + width]
            for p in range(begin, end):
                begin_slice = starts[p] + slot - first
                mine = table[begin_slice : begin_slice + width]
                weight = weights[p]
                for j in range(width):
                    values[j] = weight if mine[j] == minima[j] else values[j]
            codes = out[row, slot : slot + width]
            for j in range(width):
                codes[j] = minima[j] & mask


@njit(nogil=True, cache=True)
def mixed_values(indptr, mixed, weights, mask, scratch, out, out_values):
    """Codes of slots hashed one by one, and the weight behind each minimum."""
    offset = indptr[0]
    n_slots = out.shape[1]
    for row in range(indptr.shape[0] - 1):
        begin, end = indptr[row] - offset, indptr[row + 1] - offset
        if begin == end:
            continue
        scratch[:] = np.uint64(0xFFFFFFFFFFFFFFFF)
        values = out_values[row]
        for p in range(begin, end):
            state = mixed[p]
            weight = weights[p]
            for j in range(n_slots):
                location = step(state, j)
                nearer = location < scratch[j]
                scratch[j] = location if nearer else scratch[j]
                values[j] = weight if nearer else values[j]
        for j in range(n_slots):
            out[row, j] = (scratch[j] >> np.uint64(32)) & mask


@njit(nogil=True, cache=True)
def binned_values(indptr, mixed, weights, key, mask, minima, holder, filled, out, out_values):
    """One-permutation hashing with optimal densification (Shrivastava 2017).

    Each nonzero falls into one of k bins by the high half of its mix, and the lowest
    low half of a bin is its location. An empty bin copies the first filled bin of a
    random sequence of its own: `_PROBES` draws, then all bins in a random order.
    """
    offset = indptr[0]
    n_slots = out.shape[1]
    for row in range(indptr.shape[0] - 1):
        begin, end = indptr[row] - offset, indptr[row + 1] - offset
        if begin == end:
            continue
        holder[:] = -1
        n_filled = 0
        for p in range(begin, end):
            bin_ = np.int64(((mixed[p] >> np.uint64(32)) * np.uint64(n_slots)) >> np.uint64(32))
            location = mixed[p] & np.uint64(0xFFFFFFFF)
            if holder[bin_] < 0:
                filled[n_filled] = bin_
                n_filled += 1
            if holder[bin_] < 0 or location < minima[bin_]:
                minima[bin_] = location
                holder[bin_] = p
        for j in range(n_slots):
            source = j
            if holder[j] < 0:
                source = _filled_bin(j, key, holder, filled[:n_filled])
            out[row, j] = minima[source] & mask
            out_values[row, j] = weights[holder[source]]


@njit(nogil=True, cache=True)
def _filled_bin(j, key, holder, filled):
    """The first filled bin in the random sequence of bin j."""
    state = step(key, j)
    n_slots = np.uint64(holder.shape[0])
    for probe in range(_PROBES):
        bin_ = np.int64(((step(state, probe) >> np.uint64(32)) * n_slots) >> np.uint64(32))
        if holder[bin_] >= 0:
            return bin_
    best, lowest = filled[0], step(state, _PROBES + filled[0])
    for q in range(1, filled.shape[0]):
        rank = step(state, _PROBES + filled[q])
        if rank < lowest:
            best, lowest = filled[q], rank
    return best
