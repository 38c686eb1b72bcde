"""A navigable graph over bit sketches: one layer, searched with a beam.

A sketch is eight 64-bit words per row, made of the bits of its signature.

A beam is a sorted array of packed entries: distance in the upper bits, row below it, and in
the lowest bit whether the row's links were followed. Row i has `degrees[i]` links in
`links[i]`; `visited` has one bit per row; `order` lists the rows as they came into the graph.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import allocating_loop, inner_loop, loop
from ..rows import taken
from ..simd.halves import from_half
from ..simd.integers import popcount
from ..simd.vectors import prefetch

_FOLLOWED = np.int64(1)
_ROW_BITS = np.int64(2**32 - 1)
ENTRY_POINTS = 128  # rows, evenly spaced in the order, where every search starts
# a neighbour is dropped when one already kept is closer to it by more than this ratio
_NUMERATOR, _DENOMINATOR = 11, 10


class GraphScratch(NamedTuple):
    """Working memory of one thread."""

    beam: np.ndarray
    visited: np.ndarray
    fresh: np.ndarray
    chosen: np.ndarray
    kept: np.ndarray
    around: np.ndarray

    @classmethod
    def new(cls, n_rows: int, room: int, width: int) -> "GraphScratch":
        """For a graph of so many rows and links per row, searched with beams of a width."""
        return cls(
            np.empty(width, np.int64), np.empty((n_rows >> 6) + 1, np.uint64),
            *(np.empty(room + 1, np.int64) for _ in range(4)),
        )  # fmt: skip


class BatchLinks(NamedTuple):
    """Rows that a batch links to: target t from the rows sources[heads[t] : heads[t + 1]]."""

    targets: np.ndarray
    heads: np.ndarray
    sources: np.ndarray

    @classmethod
    def new(cls, n_links: int) -> "BatchLinks":
        """Room for so many links."""
        return cls(
            np.empty(n_links + 1, np.int32), np.empty(n_links + 1, np.int64),
            np.empty(n_links, np.int32),
        )  # fmt: skip


@loop(inline="always")
def distance(x, y):
    """Number of bits that differ, eight words at a time."""
    count = np.uint64(0)
    for w in range(8):
        count += popcount(x[w] ^ y[w])
    return np.int64(count)


@loop
def pack_bits(blocks, n_blocks, codes, halves, n_signs, out):
    """Sketches, zero on entry: lowest bits of rows' codes, then signs of their projections."""
    for start, stop in taken(blocks, n_blocks):
        for row in range(start, stop):
            n_codes = 64 * out.shape[1] - n_signs
            for j in range(n_codes):
                bit = np.uint64(codes[row, j]) & np.uint64(1)
                out[row, j >> 6] |= bit << np.uint64(j & 63)
            for j in range(n_signs):
                bit = np.uint64(from_half(halves[row, j]) > 0)
                out[row, (n_codes + j) >> 6] |= bit << np.uint64((n_codes + j) & 63)


@inner_loop
def _insert_entry(entry, size, beam):
    """Insert a packed entry into a sorted beam, the last one falling out if it is full."""
    i = size if size < beam.shape[0] else size - 1
    while i > 0 and beam[i - 1] > entry:
        beam[i] = beam[i - 1]
        i -= 1
    beam[i] = entry
    return i


@inner_loop
def _walk(sketch, order, sketches, links, degrees, visited, fresh, n_followed, beam):
    """Fill a beam with rows near a sketch, among those in `order`; gives how many.

    Links are followed until those of the first `n_followed` entries have been.
    """
    visited[:] = 0
    size = 0
    room = np.int64(links.shape[1])
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
    while at < min(size, n_followed):
        if beam[at] & _FOLLOWED:
            at += 1
            continue
        beam[at] |= _FOLLOWED
        row = (beam[at] >> 1) & _ROW_BITS
        if at + 1 < size:  # likely to be followed next
            ahead = (beam[at + 1] >> 1) & _ROW_BITS
            prefetch(degrees, ahead)
            prefetch(links, ahead * room)
            prefetch(links, ahead * room + 16)
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


@inner_loop
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


@loop
def choose_links(blocks, n_blocks, first, order, sketches, width, most, scratch, links, degrees):
    """Choose the links of the rows order[first:], a batch, among all rows before them.

    Rows before the batch are found by walking their graph, which stays as it is; those of the
    batch itself, which nothing links to yet, by comparing with each. So the rows of a batch can
    be shared out over threads.
    """
    beam, visited, fresh, chosen, _, _ = scratch
    for start, stop in taken(blocks, n_blocks):
        for place in range(first + start, first + stop):
            row = np.int64(order[place])
            size = _walk(
                sketches[row], order[:first], sketches, links, degrees, visited, fresh, width,
                beam[:width],
            )  # fmt: skip
            size = _scan(sketches[row], order[first:place], sketches, size, beam[:width])
            n = _choose_links(beam[:size], most, sketches, chosen)
            for i in range(n):
                links[row, i] = chosen[i]
            degrees[row] = n


@inner_loop
def _scan(sketch, rows, sketches, size, beam):
    """Compare a sketch with each of some rows, the nearest of which come into its beam."""
    for i in range(rows.shape[0]):
        row = np.int64(rows[i])
        entry = (distance(sketch, sketches[row]) << 33) | (row << 1)
        if size < beam.shape[0] or entry < beam[size - 1]:
            _insert_entry(entry, size, beam)
            size = min(size + 1, beam.shape[0])
    return size


@loop
def group_links(batch, links, degrees, counts, out):
    """The rows that the rows of a batch link to, and for each of these the rows that link to it.

    `counts` has an entry per stored row, zero on entry and on return. Gives how many they are.
    """
    targets, heads, sources = out
    n = 0
    for i in range(batch.shape[0]):
        for j in range(degrees[batch[i]]):
            target = links[batch[i], j]
            targets[n] = target
            n += counts[target] == 0
            counts[target] += 1
    heads[0] = 0
    for t in range(n):
        heads[t + 1] = heads[t] + counts[targets[t]]
        counts[targets[t]] = heads[t + 1]
    for i in range(batch.shape[0] - 1, -1, -1):
        for j in range(degrees[batch[i]]):
            target = links[batch[i], j]
            counts[target] -= 1
            sources[counts[target]] = batch[i]
    for t in range(n):
        counts[targets[t]] = 0
    return n


@loop
def link_back(blocks, n_blocks, batch_links, sketches, scratch, links, degrees):
    """Link the rows that a batch links to back to its rows, in the order of the batch.

    Where a row has no room left, its links are chosen anew.
    """
    targets, heads, sources = batch_links
    room = links.shape[1]
    _, _, _, _, kept, around = scratch
    for start, stop in taken(blocks, n_blocks):
        for t in range(start, stop):
            target = np.int64(targets[t])
            for p in range(heads[t], heads[t + 1]):
                row = np.int64(sources[p])
                if degrees[target] < room:
                    links[target, degrees[target]] = row
                    degrees[target] += 1
                    continue
                for j in range(room + 1):
                    near = np.int64(links[target, j]) if j < room else row
                    entry = (distance(sketches[target], sketches[near]) << 33) | (near << 1)
                    _insert_entry(entry, j, around)
                m = _choose_links(around, room, sketches, kept)
                for j in range(m):
                    links[target, j] = kept[j]
                degrees[target] = m


@loop
def walk_all(
    blocks, n_blocks, q_sketches, lengths, order, sketches, links, degrees, scratch, n_followed, out
):  # fmt: skip
    """For each query that is not empty the rows of its beam, nearest sketch first; then -1."""
    beam = scratch.beam[: out.shape[1]]
    for start, stop in taken(blocks, n_blocks):
        for q in range(start, stop):
            size = 0
            if lengths[q]:
                size = _walk(
                    q_sketches[q], order, sketches, links, degrees, scratch.visited, scratch.fresh,
                    n_followed, beam,
                )  # fmt: skip
            for i in range(size):
                out[q, i] = (beam[i] >> 1) & _ROW_BITS
            out[q, size:] = -1


@allocating_loop
def closer_sketches(blocks, n_blocks, q_sketches, neighbors, sample, out):
    """How many sketches of a sample are closer to each query than each of its neighbours is.

    Equally close ones count half. Query q's neighbours are as many rows of `neighbors` as `out`
    has columns, from q times that on.
    """
    histogram = np.empty(8 * 64 + 1, np.int64)
    for start, stop in taken(blocks, n_blocks):
        for q in range(start, stop):
            histogram[:] = 0
            for i in range(sample.shape[0]):
                histogram[distance(q_sketches[q], sample[i])] += 1
            for j in range(out.shape[1]):
                d = distance(q_sketches[q], neighbors[q * out.shape[1] + j])
                out[q, j] = histogram[:d].sum() + 0.5 * histogram[d]
