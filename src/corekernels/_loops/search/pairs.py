"""Exact kernel values of queries and stored rows.

A query is scattered into a dense array first; then a stored row needs one look-up per nonzero.
Dense rows of bytes, such as images, are kept dense too: their products are of vectors, in integers,
which gives the same values to the last bit.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import inlined_loop, inner_loop, loop
from ..kernels import kernel_value, largest_shape, support_bound, uses_overlap, uses_values
from ..rows import taken
from ..simd.integers import LINE, popcount
from ..simd.vectors import prefetch

NO_KEY = -np.inf  # of a place in a heap that is not filled: below every kernel value
NO_ROW = -1


class Heaps(NamedTuple):
    """One heap per query: `sizes[q]` kernel values and row numbers, the worst on top."""

    sizes: np.ndarray
    keys: np.ndarray
    rows: np.ndarray

    @classmethod
    def empty(cls, n_queries: int, n_kept: int) -> "Heaps":
        """Room for n_kept rows per query."""
        keys, rows = np.empty((n_queries, n_kept)), np.empty((n_queries, n_kept), np.int64)
        keys.fill(NO_KEY)  # np.full takes longer than a search of few rows
        rows.fill(NO_ROW)
        return cls(np.zeros(n_queries, np.int64), keys, rows)

    def block(self, start: int, stop: int) -> "Heaps":
        """The heaps of queries start to stop, without a copy."""
        return Heaps(self.sizes[start:stop], self.keys[start:stop], self.rows[start:stop])


@inner_loop
def worse(key, row, other_key, other_row):
    """Whether (key, row) ranks behind the other."""
    return key < other_key or (key == other_key and row > other_row)


@inlined_loop
def push(key, row, size, keys, rows):
    """Put a row into a heap of at most len(keys), the worst on top; gives the new size."""
    if size < keys.shape[0]:
        i = size
        while i > 0:
            parent = (i - 1) >> 1
            if not worse(key, row, keys[parent], rows[parent]):
                break
            keys[i], rows[i] = keys[parent], rows[parent]
            i = parent
        keys[i], rows[i] = key, row
        return size + 1
    if size > 0 and worse(keys[0], rows[0], key, row):
        _replace_top(key, row, size, keys, rows)
    return size


@inner_loop
def _replace_top(key, row, size, keys, rows):
    """Replace the worst row of a heap."""
    i = 0
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size and worse(keys[child + 1], rows[child + 1], keys[child], rows[child]):
            child += 1
        if not worse(keys[child], rows[child], key, row):
            break
        keys[i], rows[i] = keys[child], rows[child]
        i = child
    keys[i], rows[i] = key, row


@inner_loop
def sort_heap(size, keys, rows):
    """Turn a heap into a list, the best first."""
    for last in range(size - 1, 0, -1):
        key, row = keys[last], rows[last]
        keys[last], rows[last] = keys[0], rows[0]
        _replace_top(key, row, last, keys, rows)


@loop
def sort_heaps(blocks, n_blocks, heaps):
    """Turn heaps into lists, the best first."""
    for start, stop in taken(blocks, n_blocks):
        for q in range(start, stop):
            sort_heap(heaps.sizes[q], heaps.keys[q], heaps.rows[q])


SLACK = 1.0 - 1e-12  # rounding must not rule out a row that the exact value would keep
BELOW = -np.inf  # in the place of a kernel value that is below what was asked for
AHEAD = 6  # candidates between the one that is compared and the one that is prefetched


class StoredRows(NamedTuple):
    """Rows to search: CSR, the sum of squares of each, and its support as a bit set.

    Where columns are many, bit sets have no words. `byte_rows` has all columns of rows that are
    dense and of bytes; of other rows it has none.
    """

    indptr: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    squares: np.ndarray
    bits: np.ndarray
    byte_rows: np.ndarray


class Queries(NamedTuple):
    """Rows to be looked up; columns that no stored row has are left out."""

    starts: np.ndarray  # query q is columns[starts[q] : ends[q]], and the same of the values
    ends: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    squares: np.ndarray  # sums of squares, with the columns left out
    bits: np.ndarray
    lengths: np.ndarray  # number of nonzeros, with the columns left out
    byte_rows: np.ndarray  # all columns, where those of the stored rows are there
    byte_widths: np.ndarray  # how many: 0 for a query that is not of bytes


@loop(inline="always")
def query_row(queries, q):
    """Columns and values of a query."""
    begin, end = queries.starts[q], queries.ends[q]
    return queries.columns[begin:end], queries.values[begin:end]


@loop(inline="always")
def query_bytes(queries, q):
    """All columns of a query of bytes; none if it or the stored rows are of other numbers."""
    return queries.byte_rows[q, : queries.byte_widths[q]]


@inner_loop
def scatter(columns, values, dense):
    """Lay a query out densely; `dense` is zero on entry."""
    for p in range(columns.shape[0]):
        dense[columns[p]] = values[p]


@inner_loop
def erase(columns, dense):
    """Make `dense` zero again."""
    for p in range(columns.shape[0]):
        dense[columns[p]] = 0.0


@inlined_loop
def product(columns, values, dense):
    """Inner product of a stored row with a scattered query, in four running sums."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = columns.shape[0] & ~3
    for p in range(0, whole, 4):
        a += values[p] * dense[columns[p]]
        b += values[p + 1] * dense[columns[p + 1]]
        c += values[p + 2] * dense[columns[p + 2]]
        d += values[p + 3] * dense[columns[p + 3]]
    for p in range(whole, columns.shape[0]):
        a += values[p] * dense[columns[p]]
    return (a + b) + (c + d)


@inner_loop
def byte_product(x, y):
    """Inner product of two rows of as many bytes."""
    total = np.int32(0)  # 4096 columns, the most that are kept so, fit
    for i in range(x.shape[0]):
        total += np.int32(x[i]) * np.int32(y[i])
    return np.float64(total)


@inner_loop
def shared_product(columns, values, dense):
    """Number of columns a stored row shares with a scattered query, and their `product`."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    count = 0
    whole = columns.shape[0] & ~3
    for p in range(0, whole, 4):
        t, u = dense[columns[p]], dense[columns[p + 1]]
        v, w = dense[columns[p + 2]], dense[columns[p + 3]]
        a += values[p] * t
        b += values[p + 1] * u
        c += values[p + 2] * v
        d += values[p + 3] * w
        count += (t != 0.0) + (u != 0.0) + (v != 0.0) + (w != 0.0)
    for p in range(whole, columns.shape[0]):
        a += values[p] * dense[columns[p]]
        count += dense[columns[p]] != 0.0
    return count, (a + b) + (c + d)


@inner_loop
def shared_bits(bits, bits_of_row):
    """Number of ones that two bit sets share."""
    count = np.uint64(0)
    for w in range(bits.shape[0]):
        count += popcount(bits[w] & bits_of_row[w])
    return np.int64(count)


@inner_loop
def set_bits(columns, out):
    """The support of a row as a bit set, zero on entry."""
    for p in range(columns.shape[0]):
        c = np.int64(columns[p])
        out[c >> 6] |= np.uint64(1) << np.uint64(c & 63)


@inner_loop
def sum_of_squares(values):
    """Sum of squares, added up as `product` does: the cosine of a row with itself is 1."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = values.shape[0] & ~3
    for p in range(0, whole, 4):
        t, u = np.float64(values[p]), np.float64(values[p + 1])
        v, w = np.float64(values[p + 2]), np.float64(values[p + 3])
        a += t * t
        b += u * u
        c += v * v
        d += w * w
    for p in range(whole, values.shape[0]):
        a += np.float64(values[p]) * np.float64(values[p])
    return (a + b) + (c + d)


@inner_loop
def kernel_at_least(least, kernel, dense, as_bytes, bits, f1, squares, row, stored):
    """The kernel of a scattered query and a stored row; BELOW where it is sure to be < least."""
    start, stop = stored.indptr[row], stored.indptr[row + 1]
    columns, values, f2 = stored.columns[start:stop], stored.values[start:stop], stop - start
    both = squares * stored.squares[row]
    if bits.shape[0] == 0 and uses_overlap(kernel):
        a, dot = shared_product(columns, values, dense)
        return kernel_value(kernel, dot, both, f1, f2, a)
    a = 1
    if uses_overlap(kernel):
        a = shared_bits(bits, stored.bits[row])
        if largest_shape(kernel, both) * support_bound(kernel, f1, f2, a) < least * SLACK:
            return BELOW
    dot = 0.0
    if uses_values(kernel):
        if as_bytes.shape[0]:
            dot = byte_product(as_bytes, stored.byte_rows[row])
        else:
            dot = product(columns, values, dense)
    if not uses_overlap(kernel) and dot == 0.0:
        return 0.0
    return kernel_value(kernel, dot, both, f1, f2, a)


@inner_loop
def prefetch_bytes(row, byte_rows):
    """Ask for all cache lines of a row of bytes."""
    for p in range(row * byte_rows.shape[1], (row + 1) * byte_rows.shape[1], LINE):
        prefetch(byte_rows, p)


@inner_loop
def prefetch_candidates(kernel, ahead, candidates, as_bytes, stored):
    """Ask for what the comparison with candidate `ahead` reads, and for where a later one is."""
    n_words, later = stored.bits.shape[1], ahead + AHEAD
    if later < candidates.shape[0] and candidates[later] >= 0:
        prefetch(stored.indptr, np.int64(candidates[later]))
        prefetch(stored.squares, np.int64(candidates[later]))
    if ahead >= candidates.shape[0] or candidates[ahead] < 0:
        return
    row = np.int64(candidates[ahead])
    if as_bytes.shape[0]:
        prefetch_bytes(row, stored.byte_rows)
    else:
        prefetch_row(row, stored.indptr, stored.columns, stored.values)
    if uses_overlap(kernel):
        for w in range(0, n_words, 8):
            prefetch(stored.bits, row * n_words + w)


@inner_loop
def prefetch_row(row, indptr, columns, values):
    """Ask for all cache lines of a row's columns and values."""
    start, stop = indptr[row], indptr[row + 1]
    for p in range(start, stop, LINE // columns.itemsize):
        prefetch(columns, p)
    for p in range(start, stop, LINE // values.itemsize):
        prefetch(values, p)


@loop
def rerank(
    blocks, n_blocks, kernel, queries, stored, alive, first_row, candidates, dense, heaps
):  # fmt: skip
    """Push each query's candidates (-1: none) by their exact kernel values, in their order.

    `alive` and the row numbers in the heaps count the first stored row as `first_row`.
    """
    for start, stop in taken(blocks, n_blocks):
        for q in range(start, stop):
            columns, weights = query_row(queries, q)
            as_bytes = query_bytes(queries, q)
            if as_bytes.shape[0] == 0:
                scatter(columns, weights, dense)
            keys, rows, size = heaps.keys[q], heaps.rows[q], heaps.sizes[q]
            for ahead in range(AHEAD):
                prefetch_candidates(kernel, ahead, candidates[q], as_bytes, stored)
            for c in range(candidates.shape[1]):
                row = candidates[q, c]
                if row < 0:
                    break
                prefetch_candidates(kernel, c + AHEAD, candidates[q], as_bytes, stored)
                if not alive[first_row + row]:
                    continue
                least = keys[0] if size == keys.shape[0] else NO_KEY
                key = kernel_at_least(
                    least, kernel, dense, as_bytes, queries.bits[q], queries.lengths[q],
                    queries.squares[q], row, stored,
                )  # fmt: skip
                if key >= least:
                    size = push(key, first_row + row, size, keys, rows)
            heaps.sizes[q] = size
            if as_bytes.shape[0] == 0:
                erase(columns, dense)


@loop
def pairs_at_least(
    blocks, n_blocks, least, kernel, queries, stored, ends, candidates, dense, out
):  # fmt: skip
    """Kernel values of query i and the rows candidates[ends[i]:ends[i + 1]]; BELOW if < least."""
    for start, stop in taken(blocks, n_blocks):
        for q in range(start, stop):
            columns, weights = query_row(queries, q)
            scatter(columns, weights, dense)
            as_bytes = query_bytes(queries, q)
            for c in range(ends[q], ends[q + 1]):
                out[c] = kernel_at_least(
                    least, kernel, dense, as_bytes, queries.bits[q], queries.lengths[q],
                    queries.squares[q], candidates[c], stored,
                )  # fmt: skip
            erase(columns, dense)
