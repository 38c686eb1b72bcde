"""Inverted lists: for each column the rows it is nonzero in, with their values."""

from typing import NamedTuple

import numpy as np

from ..compilation import allocating_loop, inner_loop, loop
from ..kernels import kernel_value, largest_shape, shape, support_weight, uses_values
from ..rows import taken
from .pairs import NO_KEY, erase, product, push, query_row, scatter, sort_heap, worse

_SLACK = 1e-9  # far above what another order of rounding can change


class Lists(NamedTuple):
    """List c is heads[c]:heads[c + 1] of the rows and their values; rows ascend within it."""

    heads: np.ndarray
    rows: np.ndarray
    values: np.ndarray


def list_sums(n_rows, dtype):
    """Working memory for so many stored rows: products and counts, and room for the rows touched.

    A row has both side by side, 0 whenever it is not in use.
    """
    return np.zeros((n_rows, 2), dtype), np.empty(n_rows + 1, np.int32)


@inner_loop
def add_list(column, weight, one, lists, n, sums, touched):
    """Add a list to products and counts, after n rows were touched; gives how many they are then.

    `one` is a 1 of the type of the sums.
    """
    start, stop = lists.heads[column], lists.heads[np.int64(column) + 1]
    rows, values = lists.rows[start:stop], lists.values[start:stop]
    for i in range(rows.shape[0]):
        row = rows[i]
        touched[n] = row
        n += sums[row, 1] == 0
        sums[row, 0] += weight * values[i]
        sums[row, 1] += one
    return n


@loop
def push_all(
    blocks, n_blocks, kernel, queries, stored, lists, alive, first_row, dense, sums, touched, heaps
):  # fmt: skip
    """Push every stored row, those that share no column with the query as zeros.

    Sums along the lists are rounded in another order than those of `product`; so a row that
    they do not rule out is multiplied once more, and every method gives the same values.
    """
    for start, stop in taken(blocks, n_blocks):
        for q in range(start, stop):
            columns, weights = query_row(queries, q)
            keys, rows, size = heaps.keys[q], heaps.rows[q], heaps.sizes[q]
            scatter(columns, weights, dense)
            n, f1 = 0, queries.lengths[q]
            for p in range(columns.shape[0]):
                n = add_list(columns[p], weights[p], 1.0, lists, n, sums, touched)
            for i in range(n):
                row = touched[i]
                least = keys[0] if size == keys.shape[0] else NO_KEY
                begin, end = stored.indptr[row], stored.indptr[row + 1]
                both, a = queries.squares[q] * stored.squares[row], sums[row, 1]
                key = kernel_value(kernel, sums[row, 0], both, f1, end - begin, a)
                is_likely = key >= least - _SLACK * largest_shape(kernel, both)
                if is_likely and alive[first_row + row]:
                    dot = product(stored.columns[begin:end], stored.values[begin:end], dense)
                    key = kernel_value(kernel, dot, both, f1, end - begin, a)
                    size = push(key, first_row + row, size, keys, rows)
            for row in range(stored.squares.shape[0]):
                if size == keys.shape[0] and worse(0.0, first_row + row, keys[0], rows[0]):
                    break
                if sums[row, 1] == 0.0 and alive[first_row + row]:
                    size = push(0.0, first_row + row, size, keys, rows)
            heaps.sizes[q] = size
            for i in range(n):
                sums[touched[i], 0] = 0.0
                sums[touched[i], 1] = 0.0
            erase(columns, dense)


@loop
def sum_lists(start, stop, with_minima, queries, lists, sums, counts):
    """Sums over the columns that queries start to stop share with each stored row, which is a
    column of `sums` and `counts`: of products or, where signs agree, of smaller magnitudes."""
    for q in range(start, stop):
        columns, values = query_row(queries, q)
        products, shared = sums[q - start], counts[q - start]
        for p in range(columns.shape[0]):
            value = values[p]
            for i in range(lists.heads[columns[p]], lists.heads[np.int64(columns[p]) + 1]):
                row, other = lists.rows[i], np.float64(lists.values[i])
                shared[row] += 1
                if not with_minima:
                    products[row] += value * other
                elif (value > 0) == (other > 0):
                    products[row] += min(abs(value), abs(other))


@loop
def push_values(values, alive, first_row, heaps):
    """Push every stored row, a column of `values`, for each query."""
    for q in range(values.shape[0]):
        keys, rows, size = heaps.keys[q], heaps.rows[q], heaps.sizes[q]
        for row in range(values.shape[1]):
            if alive[first_row + row]:
                size = push(values[q, row], first_row + row, size, keys, rows)
        heaps.sizes[q] = size


@allocating_loop
def _most_selective(columns, weights, heads, budget, out):
    """Places of a query's columns, by weight squared per length of list, up to a budget of steps.

    Gives how many they are, and the steps along their lists.
    """
    worth = np.empty(columns.shape[0])
    for p in range(columns.shape[0]):
        c = np.int64(columns[p])
        worth[p] = -weights[p] * weights[p] / np.float64(heads[c + 1] - heads[c] + 8)
    best = np.argsort(worth, kind="mergesort")
    steps, n = 0, 0
    while n < best.shape[0] and steps < budget:
        out[n] = best[n]
        c = np.int64(columns[best[n]])
        steps += heads[c + 1] - heads[c]
        n += 1
    return n, steps


@loop
def count_steps(blocks, n_blocks, budget, queries, heads, chosen, out):
    """Steps along lists that `best_by_lists` takes for each query."""
    for start, stop in taken(blocks, n_blocks):
        for q in range(start, stop):
            columns, weights = query_row(queries, q)
            _, out[q] = _most_selective(columns, weights, heads, budget, chosen)


class Ranking(NamedTuple):
    """Working memory of `best_by_lists`."""

    sums: np.ndarray  # with `touched` as from `list_sums`
    touched: np.ndarray
    keys: np.ndarray  # one entry per row to keep
    kept: np.ndarray
    chosen: np.ndarray  # one entry per column of a query

    @classmethod
    def new(cls, n_rows: int, n_kept: int, longest: int) -> "Ranking":
        """For so many stored rows, of which some are kept, and queries of at most `longest`."""
        sums, touched = list_sums(n_rows, np.float32)
        keys, kept = np.empty(n_kept), np.empty(n_kept, np.int64)
        return cls(sums, touched, keys, kept, np.empty(longest, np.int64))


@loop(error_model="numpy")
def best_by_lists(
    blocks, n_blocks, kernel, budget, queries, lengths, lists, alive, ranking, out
):  # fmt: skip
    """For each query the rows that its most selective columns rank highest, best first, then -1.

    Columns are taken until `budget` steps along lists are spent; rows are ranked by what the
    kernel would be if no other column counted. Values in the lists are those of unit rows.
    """
    sums, touched, keys, kept, chosen = ranking
    n_kept = out.shape[1]
    for start, stop in taken(blocks, n_blocks):
        for q in range(start, stop):
            columns, weights = query_row(queries, q)
            f1, scale = np.float64(queries.lengths[q]), 1.0 / np.sqrt(queries.squares[q])
            n_chosen, _ = _most_selective(columns, weights, lists.heads, budget, chosen)
            n = 0
            for p in range(n_chosen):
                weight = np.float32(weights[chosen[p]] * scale)
                n = add_list(columns[chosen[p]], weight, np.float32(1), lists, n, sums, touched)
            size, least = 0, -np.inf
            for i in range(n):
                row = touched[i]
                f2, a = np.float64(lengths[row]), np.float64(sums[row, 1])
                union = f1 + f2 - a
                share = support_weight(kernel, f1, f2, a)
                if uses_values(kernel):
                    share *= shape(kernel, sums[row, 0])
                sums[row, 0] = 0.0
                sums[row, 1] = 0.0
                if share > least * union and alive[row]:
                    size = push(share / union, row, size, keys, kept)
                    least = keys[0] if size == n_kept else -np.inf
            sort_heap(size, keys, kept)
            for i in range(size):
                out[q, i] = kept[i]
            out[q, size:] = -1
