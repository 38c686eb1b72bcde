"""Near-duplicates: digests of rows, pairs of equal keys, rows compared by merging their columns.

Columns keep their numbers, however large: no array has an entry per column.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import allocating_loop, inner_loop, loop
from ..kernels import kernel_value, support_bound, uses_values
from ..mixing import mix
from .pairs import BELOW, SLACK, erase, scatter, shared_product, sum_of_squares

# of the digests: odd numbers without a pattern
_FIRST_FACTOR, _SECOND_FACTOR = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)
_OTHER_KEY = np.uint64(0xA0761D6478BD642F)


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


@loop
def write_table_keys(codes, n_slots, out):
    """The key of each row in each table (n_tables, n_rows), made of so many of its codes."""
    for row in range(codes.shape[0]):
        for table in range(out.shape[0]):
            key = np.uint64(table)
            for j in range(table * n_slots, (table + 1) * n_slots):
                key = (key ^ np.uint64(codes[row, j])) * _FIRST_FACTOR
            out[table, row] = mix(key)


NO_LINK = -1


@loop
def write_linked_pairs(links, rows, n_rows, boundary, state, seen, out):
    """Write the pairs of rows that share a key in some table, each once, as numbers.

    links[t, i] is the next place whose row has the key of place i in table t, or NO_LINK; one
    below that, -2 - links[t, i] is the next one, but place i makes no pairs with those after it.
    rows[i] is the number of the row. A pair is (earlier row) n_rows + (later row); with a
    boundary, not -1, it is (later row) n_rows + (earlier row), of rows on both sides. `state`
    holds the place to go on from, and the number of pairs written: where `out` is full, the next
    call goes on. `seen` is zero on entry and on return.
    """
    n = 0
    while state[0] < links.shape[1]:
        i, begin, is_full = state[0], n, False
        if boundary >= 0 and rows[i] >= boundary:
            state[0] += 1
            continue
        for t in range(links.shape[0]):
            other = links[t, i]
            while other >= 0 and n < out.shape[0]:
                if rows[other] >= boundary and seen[other] == 0:
                    seen[other] = 1
                    out[n] = other
                    n += 1
                other = links[t, other]
                if other < NO_LINK:
                    other = NO_LINK - 1 - other
            is_full |= other >= 0
        for p in range(begin, n):
            seen[out[p]] = 0
        if is_full:
            n = begin
            break
        for p in range(begin, n):
            other = rows[out[p]]
            out[p] = rows[i] * n_rows + other if boundary < 0 else other * n_rows + rows[i]
        state[0] += 1
    state[1] = n


class SortedRows(NamedTuple):
    """CSR rows of ascending columns, and the sum of squares of each.

    Without values, each value is 1.
    """

    indptr: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    squares: np.ndarray


@loop
def gather_rows(indptr, columns, values, chosen, first, out):
    """Copy the chosen rows into `out`, the first of them as row `first`; its `indptr` is known."""
    for i in range(chosen.shape[0]):
        start = indptr[chosen[i]]
        begin, end = out.indptr[first + i], out.indptr[first + i + 1]
        for p in range(end - begin):
            out.columns[begin + p] = columns[start + p]
        if out.values.shape[0] == 0:
            continue
        for p in range(end - begin):
            out.values[begin + p] = values[start + p] if values.shape[0] > 0 else 1.0


@loop
def sums_of_squares(indptr, values, is_narrow, out):
    """Sum of squares of each row, added up as products are: a row's cosine with itself is 1."""
    for row in range(indptr.shape[0] - 1):
        if is_narrow:
            out[row] = sum_of_squares(values[indptr[row] : indptr[row + 1]])
            continue
        total = 0.0
        for p in range(indptr[row], indptr[row + 1]):
            total += np.float64(values[p]) * np.float64(values[p])
        out[row] = total


_STRIDE = 64  # steps between looks at whether the threshold can still be reached


@inner_loop
def _shared(least, kernel, columns, others):
    """Number of shared columns; -1 where the kernel is sure to be below `least`."""
    n, m = columns.shape[0], others.shape[0]
    i, j, a = 0, 0, 0
    while i < n and j < m:
        if support_bound(kernel, n, m, a + min(n - i, m - j)) < least * SLACK:
            return -1
        for _ in range(min(_STRIDE, n - i, m - j)):
            x, y = columns[i], others[j]
            a += x == y
            i += x <= y
            j += y <= x
    return a


@inner_loop
def _product(columns, values, others, other_values):
    """Inner product of two rows."""
    n, m = columns.shape[0], others.shape[0]
    i, j, total = 0, 0, 0.0
    while i < n and j < m:
        x, y = columns[i], others[j]
        if x == y:
            total += np.float64(values[i]) * np.float64(other_values[j])
        i += x <= y
        j += y <= x
    return total


@loop
def compare_pairs(least, kernel, rows, left, right, out):
    """Kernel values of rows left[p] and right[p]; BELOW where below `least`."""
    for p in range(left.shape[0]):
        begin, end = rows.indptr[left[p]], rows.indptr[left[p] + 1]
        start, stop = rows.indptr[right[p]], rows.indptr[right[p] + 1]
        columns, others = rows.columns[begin:end], rows.columns[start:stop]
        a = _shared(least, kernel, columns, others)
        if a < 0:
            out[p] = BELOW
            continue
        dot, both = np.float64(a), 1.0
        if uses_values(kernel):
            both = rows.squares[left[p]] * rows.squares[right[p]]
            if rows.values.shape[0] > 0:
                dot = _product(columns, rows.values[begin:end], others, rows.values[start:stop])
        value = kernel_value(kernel, dot, both, end - begin, stop - start, a)
        out[p] = value if value >= least else BELOW


@loop
def connect(left, right, heads):
    """Write the first node of each node's component, given edges; `heads` counts up from 0."""
    for p in range(left.shape[0]):
        a, b = left[p], right[p]
        while heads[a] != a:
            heads[a] = heads[heads[a]]
            a = heads[a]
        while heads[b] != b:
            heads[b] = heads[heads[b]]
            b = heads[b]
        heads[max(a, b)] = min(a, b)
    for node in range(heads.shape[0]):
        heads[node] = heads[heads[node]]


@loop
def compare_narrow_pairs(least, kernel, rows, left, right, dense, out):
    """As `compare_pairs`, for rows with values; `dense` has an entry per column, zero on entry.

    A row on the left is laid out once for all pairs that it comes first in.
    """
    laid_out = -1
    for p in range(left.shape[0]):
        begin, end = rows.indptr[left[p]], rows.indptr[left[p] + 1]
        start, stop = rows.indptr[right[p]], rows.indptr[right[p] + 1]
        n, m = end - begin, stop - start
        out[p] = BELOW
        if support_bound(kernel, n, m, min(n, m)) < least * SLACK:
            continue
        if laid_out != left[p]:
            if laid_out >= 0:
                erase(rows.columns[rows.indptr[laid_out] : rows.indptr[laid_out + 1]], dense)
            laid_out = left[p]
            scatter(rows.columns[begin:end], rows.values[begin:end], dense)
        a, dot = shared_product(rows.columns[start:stop], rows.values[start:stop], dense)
        both = rows.squares[left[p]] * rows.squares[right[p]]
        value = kernel_value(kernel, dot, both, n, m, a)
        if value >= least:
            out[p] = value


NO_COLUMN = -1


@allocating_loop
def sample_columns(indptr, columns, key, out):
    """Of each row the columns of the smallest mixes, NO_COLUMN where it has too few."""
    size = out.shape[1]
    mixes = np.empty(size, np.uint64)
    for row in range(indptr.shape[0] - 1):
        out[row, :] = NO_COLUMN
        n = 0
        for p in range(indptr[row], indptr[row + 1]):
            z = mix(np.uint64(columns[p]) ^ key)
            if n == size and z >= mixes[size - 1]:
                continue
            place = n if n < size else size - 1
            while place > 0 and mixes[place - 1] > z:
                mixes[place], out[row, place] = mixes[place - 1], out[row, place - 1]
                place -= 1
            mixes[place], out[row, place] = z, columns[p]
            n = min(n + 1, size)


class SampledRows(NamedTuple):
    """Which rows have each sampled column, and what makes one of them a candidate.

    Column c is in the samples of rows[starts[c] : starts[c + 1]]. `lengths` are the numbers of
    columns of all rows; `needed` says how many of a row's sample another row must have.
    """

    starts: np.ndarray
    rows: np.ndarray
    lengths: np.ndarray
    needed: np.ndarray


@loop
def containing_rows(indptr, places, first_row, sampled, counts, touched, out):
    """Write pairs (earlier, later) of a row and one that may be contained in it; how many.

    `places` are those of the rows' columns among the sampled ones, or below 0. A row is
    contained in longer ones, and in equally long ones after it. `counts` is zero on entry and
    on return. Where `out`, of shape (2, size), is too small, pairs are only counted.
    """
    n = 0
    for q in range(indptr.shape[0] - 1):
        row, n_touched = first_row + q, 0
        for p in range(indptr[q], indptr[q + 1]):
            if places[p] < 0:
                continue
            for k in range(sampled.starts[places[p]], sampled.starts[places[p] + 1]):
                other = sampled.rows[k]
                if counts[other] == 0:
                    touched[n_touched] = other
                    n_touched += 1
                counts[other] += 1
        for k in range(n_touched):
            other = touched[k]
            is_enough = counts[other] >= sampled.needed[other]
            counts[other] = 0
            f1, f2 = sampled.lengths[other], sampled.lengths[row]
            if is_enough and (f1 < f2 or (f1 == f2 and other < row)):
                if n < out.shape[1]:
                    out[0, n], out[1, n] = min(row, other), max(row, other)
                n += 1
    return n
