"""Hash tables of signatures: in each table, m slots of a row are its key.

Rows of different keys may share a bucket: what counts are collisions in several tables.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import allocating_loop, inner_loop, loop
from ..mixing import step
from ..rows import taken
from ..simd.halves import from_half


class Buckets(NamedTuple):
    """Bucket b of table t holds rows[t, heads[t, b] : heads[t, b + 1]]; rows ascend."""

    heads: np.ndarray
    rows: np.ndarray


@loop
def write_keys(blocks, n_blocks, codes, weights, m, shift, out):
    """For each row and table the key of slots t m to (t + 1) m, without its lowest bits.

    A key is made of the codes and, unless `weights` (halves) has no rows, of their signs.
    """
    for start, stop in taken(blocks, n_blocks):
        for row in range(start, stop):
            for t in range(out.shape[1]):
                key = np.uint64(t)
                for j in range(t * m, (t + 1) * m):
                    part = np.uint64(codes[row, j]) << np.uint64(1)
                    if weights.shape[0] > 0:
                        part |= np.uint64(from_half(weights[row, j]) > 0)
                    key = step(key ^ part, j)
                out[row, t] = key >> np.uint64(shift)


@loop
def fill_tables(blocks, n_blocks, numbers, out):
    """Sort the rows of each table into their buckets; heads are zero on entry."""
    n_rows = numbers.shape[0]
    for start, stop in taken(blocks, n_blocks):
        for t in range(start, stop):
            heads, rows = out.heads[t], out.rows[t]
            for row in range(n_rows):
                heads[np.int64(numbers[row, t]) + 1] += 1
            for b in range(heads.shape[0] - 1):
                heads[b + 1] += heads[b]
            for row in range(n_rows - 1, -1, -1):
                after = np.int64(numbers[row, t]) + 1
                heads[after] -= 1
                rows[heads[after]] = row
            for b in range(heads.shape[0] - 1):
                heads[b] = heads[b + 1]
            heads[-1] = n_rows


@allocating_loop
def most_collisions(blocks, n_blocks, numbers, lengths, tables, alive, counts, touched, out):
    """For each query the living rows that share most buckets with it, then -1.

    Rows of equal counts come in the order of their first collision. An empty query has no
    locations, so it has no candidates. `counts` is zero on entry.
    """
    histogram = np.empty(tables.heads.shape[0] + 2, np.int64)
    for start, stop in taken(blocks, n_blocks):
        for q in range(start, stop):
            n = 0
            if lengths[q]:
                n = _count_collisions(numbers[q], tables, alive, counts, touched)
            _keep_most(touched[:n], counts, histogram, out[q])


@inner_loop
def _count_collisions(numbers, tables, alive, counts, touched):
    """Count the buckets that a query shares with each living row; gives how many these are."""
    heads, rows = tables
    n = 0
    for t in range(heads.shape[0]):
        b = np.int64(numbers[t])
        bucket = rows[t, heads[t, b] : heads[t, b + 1]]
        for i in range(bucket.shape[0]):
            row = bucket[i]
            touched[n] = row
            n += alive[row] * (counts[row] == 0)
            counts[row] += alive[row]
    return n


@inner_loop
def _keep_most(touched, counts, histogram, out):
    """The rows touched that have the highest counts, then -1; counts become 0 again."""
    histogram[:] = 0
    for i in range(touched.shape[0]):
        histogram[counts[touched[i]]] += 1
    room, least = out.shape[0], histogram.shape[0] - 1
    while least > 1 and room > 0:  # the lowest count of which some rows are still wanted
        least -= 1
        room -= histogram[least]
    spare = room + histogram[least] if room < 0 else touched.shape[0]
    size = 0
    for i in range(touched.shape[0]):
        count = counts[touched[i]]
        if count > least or (count == least and spare > 0):
            spare -= count == least
            out[size] = touched[i]
            size += 1
        counts[touched[i]] = 0
    out[size:] = -1
