"""A navigable graph over bit sketches: one layer, searched with a beam.

A beam is a sorted array of packed entries: distance in the upper bits, row below it, and in
the lowest bit whether the row's links were followed. Row i has `degrees[i]` links in
`links[i]`; `visited` has one bit per row; `order` lists the rows as they came into the graph.
"""

import numpy as np
from numba import njit

from ..simd.halves import from_half
from ..simd.popcount import popcount
from ..simd.vectors import prefetch

_FOLLOWED = np.int64(1)
_ROW_BITS = np.int64(2**32 - 1)
ENTRY_POINTS = 128  # rows, evenly spaced in the order, where every search starts
# a neighbour is dropped when one already kept is closer to it by more than this ratio
_NUMERATOR, _DENOMINATOR = 11, 10


@njit(nogil=True, cache=True, inline="always")
def distance(x, y):
    """Number of bits that differ, eight words at a time."""
    count = np.uint64(0)
    for w in range(8):
        count += popcount(x[w] ^ y[w])
    return np.int64(count)


@njit(nogil=True, cache=True)
def pack_bits(codes, first, out):
    """Lowest bits of a row's codes as 64-bit words, from bit `first` on."""
    for row in range(codes.shape[0]):
        for j in range(codes.shape[1]):
            bit = np.uint64(codes[row, j]) & np.uint64(1)
            out[row, (first + j) >> 6] |= bit << np.uint64((first + j) & 63)


@njit(nogil=True, cache=True)
def pack_signs(weights, first, out):
    """Signs of a row's projections, which are halves, as 64-bit words, from bit `first` on."""
    for row in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            bit = np.uint64(from_half(weights[row, j]) > 0)
            out[row, (first + j) >> 6] |= bit << np.uint64((first + j) & 63)


@njit(nogil=True, cache=True)
def _insert_entry(entry, size, beam):
    """Insert a packed entry into a sorted beam, the last one falling out if it is full."""
    i = size if size < beam.shape[0] else size - 1
    while i > 0 and beam[i - 1] > entry:
        beam[i] = beam[i - 1]
        i -= 1
    beam[i] = entry
    return i


@njit(nogil=True, cache=True)
def _walk(sketch, order, sketches, links, degrees, visited, fresh, beam):
    """Fill a beam with rows near a sketch, among those in `order`; gives how many."""
    visited[:] = 0
    size = 0
    n_entries = min(ENTRY_POINTS, order.shape[0])
    for e in range(n_entries):
        prefetch(sketches, np.int64(order[e * order.shape[0] // n_entries]) * 8)
    for e in range(n_entries):
        row = np.int64(order[e * order.shape[0] // n_entries])
        visited[row >> 6] |= np.uint64(1) << np.uint64(row & 63)
        entry = (distance(sketch, sketches[row]) << 33) | (row << 1)
        if size < beam.shape[0] or entry < beam[size - 1]:
            _insert_entry(entry, size, beam)
            size = min(size + 1, beam.shape[0])
    at = 0
    while at < size:
        if beam[at] & _FOLLOWED:
            at += 1
            continue
        beam[at] |= _FOLLOWED
        row = (beam[at] >> 1) & _ROW_BITS
        n_fresh = 0
        for i in range(degrees[row]):
            other = np.int64(links[row, i])
            bit = np.uint64(1) << np.uint64(other & 63)
            if visited[other >> 6] & bit == 0:
                visited[other >> 6] |= bit
                prefetch(sketches, other * 8)
                fresh[n_fresh] = other
                n_fresh += 1
        for i in range(n_fresh):
            other = fresh[i]
            entry = (distance(sketch, sketches[other]) << 33) | (other << 1)
            if size < beam.shape[0] or entry < beam[size - 1]:
                place = _insert_entry(entry, size, beam)
                size = min(size + 1, beam.shape[0])
                at = min(at, place)
    return size


@njit(nogil=True, cache=True)
def _choose_links(entries, most, sketches, out):
    """Of entries sorted by distance, those that no chosen one is much closer to; their number."""
    n = 0
    for i in range(entries.shape[0]):
        row, far = (entries[i] >> 1) & _ROW_BITS, entries[i] >> 33
        keep = True
        for j in range(n):
            if distance(sketches[row], sketches[out[j]]) * _NUMERATOR < far * _DENOMINATOR:
                keep = False
                break
        if keep:
            out[n] = row
            n += 1
            if n == most:
                break
    return n


@njit(nogil=True, cache=True)
def insert(start, stop, order, sketches, width, most, visited, links, degrees):
    """Link the rows order[start:stop] into the graph of those before them, one by one."""
    room = links.shape[1]
    beam = np.empty(width, np.int64)
    fresh = np.empty(room, np.int64)
    chosen = np.empty(most, np.int64)
    kept = np.empty(room, np.int64)
    around = np.empty(room + 1, np.int64)
    for place in range(start, stop):
        row = np.int64(order[place])
        size = _walk(sketches[row], order[:place], sketches, links, degrees, visited, fresh, beam)
        n = _choose_links(beam[:size], most, sketches, chosen)
        degrees[row] = n
        for i in range(n):
            other = chosen[i]
            links[row, i] = other
            if degrees[other] < room:
                links[other, degrees[other]] = row
                degrees[other] += 1
                continue
            for j in range(room + 1):
                near = np.int64(links[other, j]) if j < room else row
                entry = (distance(sketches[other], sketches[near]) << 33) | (near << 1)
                _insert_entry(entry, j, around)
            m = _choose_links(around, room, sketches, kept)
            for j in range(m):
                links[other, j] = kept[j]
            degrees[other] = m


@njit(nogil=True, cache=True)
def walk_all(q_sketches, order, sketches, links, degrees, visited, out):
    """For each query the rows of its beam, the nearest sketch first, then -1."""
    beam = np.empty(out.shape[1], np.int64)
    fresh = np.empty(links.shape[1], np.int64)
    for q in range(q_sketches.shape[0]):
        size = _walk(q_sketches[q], order, sketches, links, degrees, visited, fresh, beam)
        for i in range(size):
            out[q, i] = (beam[i] >> 1) & _ROW_BITS
        out[q, size:] = -1
