"""Hash tables of signatures: in each table, m slots of a row are its key.

Rows of different keys may share a bucket: what counts are collisions in several tables.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import allocating_loop, inner_loop, loop
from ..mixing import mix, step
from ..rows import taken
from ..simd.halves import from_half

_ONE, _SIX, _SIXTY_THREE = np.uint64(1), np.uint64(6), np.uint64(63)
# of the digests: odd numbers without a pattern
_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_OTHER_KEY = np.uint64(0xA0761D6478BD642F)


class Tables(NamedTuple):
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


class NumberScratch(NamedTuple):
    """Keys that have a number, by their lowest bits; working memory of one thread."""

    keys: np.ndarray
    numbers: np.ndarray  # -1 where there is no key

    @classmethod
    def new(cls, n_rows):
        """Working memory for so many rows: more than half of it stays free."""
        size = 1 << (2 * n_rows).bit_length()
        return cls(np.empty(size, np.uint64), np.empty(size, np.int32))


@loop
def number_keys(blocks, n_blocks, keys, scratch, out):
    """For each row and table the number of its key: those of a table are numbered as they come.

    Keys are evenly spread hashes. A key that finds its place taken goes to the next one.
    """
    mask = np.uint64(scratch.keys.shape[0] - 1)
    for start, stop in taken(blocks, n_blocks):
        for t in range(start, stop):
            scratch.numbers[:] = -1
            n_numbers = 0
            for row in range(keys.shape[0]):
                key = keys[row, t]
                place = key & mask
                while scratch.numbers[place] >= 0 and scratch.keys[place] != key:
                    place = (place + _ONE) & mask
                if scratch.numbers[place] < 0:
                    scratch.keys[place], scratch.numbers[place] = key, n_numbers
                    n_numbers += 1
                out[row, t] = scratch.numbers[place]


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
                n = _count_collisions(numbers[q], tables, counts, touched)
                n = _drop_dead(touched[:n], alive, counts)
            _keep_most(touched[:n], counts, histogram, out[q])


@inner_loop
def _count_collisions(numbers, tables, counts, touched):
    """Count the buckets that a query shares with each row; gives the number of rows touched."""
    heads, rows = tables
    n = 0
    for t in range(heads.shape[0]):
        b = np.int64(numbers[t])
        bucket = rows[t, heads[t, b] : heads[t, b + 1]]
        for i in range(bucket.shape[0]):
            row = bucket[i]
            touched[n] = row
            n += counts[row] == 0
            counts[row] += 1
    return n


@inner_loop
def _drop_dead(touched, alive, counts):
    """Leave the dead out of the rows touched, their counts 0 again; how many are left."""
    n = 0
    for i in range(touched.shape[0]):
        row = touched[i]
        touched[n] = row
        n += alive[row]
        counts[row] *= alive[row]
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


@loop
def count_pairs(keys, rows, first, last, out):
    """Add to out[row - first] the number of later rows of the same key, for rows first to last.

    Keys ascend, and rows ascend within a key. Gives the sum of these numbers; that is all if
    `out` is empty.
    """
    n, stop = 0, keys.shape[0]
    for i in range(keys.shape[0] - 1, -1, -1):
        if i + 1 < keys.shape[0] and keys[i] != keys[i + 1]:
            stop = i + 1
        if first <= rows[i] < last:
            if out.shape[0] > 0:
                out[rows[i] - first] += stop - i - 1
            n += stop - i - 1
    return n


@loop
def write_pairs(keys, rows, first, last, n_rows, out):
    """The pairs that `count_pairs` counts, as (later row) n_rows + (earlier row)."""
    n = 0
    for i in range(keys.shape[0]):
        if first <= rows[i] < last:
            for j in range(i + 1, keys.shape[0]):
                if keys[j] != keys[i]:
                    break
                out[n] = rows[j] * n_rows + rows[i]
                n += 1


@loop
def mark_keys(keys, wanted, shift, once, twice):
    """Set a bit for each wanted key in `once` or, where that is set, in `twice`.

    The bit is that of the key's upper bits: those that `shift` leaves.
    """
    for i in range(keys.shape[0]):
        if wanted[i]:
            place = keys[i] >> shift
            word, bit = place >> _SIX, _ONE << (place & _SIXTY_THREE)
            twice[word] |= once[word] & bit
            once[word] |= bit


@loop
def take_marked(keys, wanted, first_row, low, high, shift, twice, out_keys, out_rows):
    """Write wanted keys from `low` to `high` whose bit is set, and their rows; how many."""
    n = np.uint64(0)
    for i in range(keys.shape[0]):
        key = keys[i]
        place = key >> shift
        is_marked = twice[place >> _SIX] >> (place & _SIXTY_THREE) & _ONE
        out_keys[n], out_rows[n] = key, first_row + i
        n += is_marked & np.uint64(wanted[i] & (key >= low) & (key <= high))
    return np.int64(n)


@allocating_loop
def ascend_within_keys(keys, rows):
    """Sort the rows of each key, where equal keys stand together."""
    start = 0
    for i in range(1, keys.shape[0] + 1):
        if i == keys.shape[0] or keys[i] != keys[start]:
            if i - start == 2:
                a, b = rows[start], rows[start + 1]
                rows[start], rows[start + 1] = min(a, b), max(a, b)
            elif i - start > 2:
                rows[start:i].sort()
            start = i


@loop
def row_digests(indptr, indices, values, out):
    """128 bits of each row, equal for equal rows; `values` are the bits of the values.

    Sums of what each column and value is mixed to: their terms do not wait for each other.
    """
    for row in range(indptr.shape[0] - 1):
        start, stop = indptr[row], indptr[row + 1]
        columns, bits = indices[start:stop], values[start:stop]
        low, high = np.uint64(stop - start), np.uint64(0)
        for p in range(columns.shape[0]):
            both = np.uint64(columns[p]) * _FIRST_FACTOR + np.uint64(bits[p]) * _SECOND_FACTOR
            low += mix(both)
            high += mix(both ^ _OTHER_KEY)
        out[row, 0], out[row, 1] = mix(low), mix(high)
