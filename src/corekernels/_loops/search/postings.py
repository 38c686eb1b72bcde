"""Inverted lists: for each column the rows it is nonzero in, with their values."""

import numpy as np
from numba import njit

from ..kernels import kernel_value, support_weight, uses_values
from .heaps import offer, worse
from .pairs import erase, product, scatter

_SLACK = 1e-9  # far above what another order of rounding can change


@njit(nogil=True, cache=True)
def invert(indptr, columns, values, out_heads, out_rows, out_values):
    """List c is out_heads[c]:out_heads[c + 1]; rows ascend within it. Heads are 0 on entry."""
    for p in range(columns.shape[0]):
        out_heads[np.int64(columns[p]) + 1] += 1
    for c in range(out_heads.shape[0] - 1):
        out_heads[c + 1] += out_heads[c]
    for row in range(indptr.shape[0] - 2, -1, -1):
        for p in range(indptr[row], indptr[row + 1]):
            after = np.int64(columns[p]) + 1
            out_heads[after] -= 1
            out_rows[out_heads[after]] = row
            out_values[out_heads[after]] = values[p]
    for c in range(out_heads.shape[0] - 1):
        out_heads[c] = out_heads[c + 1]
    out_heads[-1] = columns.shape[0]


@njit(nogil=True, cache=True)
def accumulate(columns, values, heads, rows, values_of, dots, counts, touched):
    """Add some of a query's columns to dots and counts; gives the number of rows touched.

    `dots` and `counts` are zero on entry; `touched` lists the rows that no longer are.
    """
    n = 0
    for p in range(columns.shape[0]):
        value = values[p]
        start, stop = heads[columns[p]], heads[np.int64(columns[p]) + 1]
        list_rows, list_values = rows[start:stop], values_of[start:stop]
        for i in range(list_rows.shape[0]):
            row = list_rows[i]
            touched[n] = row
            n += counts[row] == 0
            counts[row] += 1
            dots[row] += value * list_values[i]
    return n


@njit(nogil=True, cache=True)
def offer_all(
    kernel,
    q_indptr, q_columns, q_values, q_lengths, q_squares,
    indptr, columns, values, squares, heads, list_rows, list_values,
    alive, first_row, dense, dots, counts, touched, sizes, keys, rows,
):  # fmt: skip
    """Offer every row of a store, those that share no column with the query as zeros.

    Sums along the lists are rounded in another order than `product` rounds; so a row that
    they do not rule out is multiplied once more, and every source gives the same values.
    """
    n_rows = squares.shape[0]
    for q in range(q_lengths.shape[0]):
        mine = q_columns[q_indptr[q] : q_indptr[q + 1]]
        weights = q_values[q_indptr[q] : q_indptr[q + 1]]
        scatter(mine, weights, dense)
        n = accumulate(mine, weights, heads, list_rows, list_values, dots, counts, touched)
        f1 = q_lengths[q]
        for i in range(n):
            row = touched[i]
            least = keys[q, 0] if sizes[q] == keys.shape[1] else -2.0
            start, stop = indptr[row], indptr[row + 1]
            both = q_squares[q] * squares[row]
            key = kernel_value(kernel, dots[row], both, f1, stop - start, counts[row])
            if key < least - _SLACK or not alive[first_row + row]:
                continue
            dot = product(columns[start:stop], values[start:stop], dense)
            key = kernel_value(kernel, dot, both, f1, stop - start, counts[row])
            sizes[q] = offer(key, first_row + row, sizes[q], keys[q], rows[q])
        for row in range(n_rows):
            if sizes[q] == keys.shape[1] and worse(0.0, first_row + row, keys[q, 0], rows[q, 0]):
                break
            if counts[row] == 0 and alive[first_row + row]:
                sizes[q] = offer(0.0, first_row + row, sizes[q], keys[q], rows[q])
        clear(touched[:n], dots, counts)
        erase(mine, dense)


@njit(nogil=True, cache=True)
def clear(touched, dots, counts):
    """Make dots and counts zero again."""
    for i in range(touched.shape[0]):
        dots[touched[i]] = 0.0
        counts[touched[i]] = 0


@njit(nogil=True, cache=True)
def _telling_columns(columns, weights, heads, budget):
    """Places of a query's columns, by weight squared over length of list, while they last."""
    worth = np.empty(columns.shape[0])
    for p in range(columns.shape[0]):
        c = np.int64(columns[p])
        worth[p] = -weights[p] * weights[p] / np.float64(heads[c + 1] - heads[c] + 8)
    best = np.argsort(worth, kind="mergesort")
    steps, n = 0, 0
    while n < best.shape[0] and steps < budget:
        c = np.int64(columns[best[n]])
        steps += heads[c + 1] - heads[c]
        n += 1
    return best[:n]


@njit(nogil=True, cache=True, error_model="numpy")
def gather_best(
    kernel, budget,
    q_indptr, q_columns, q_values, q_lengths, q_squares,
    lengths, heads, list_rows, list_values,
    sums, touched, out,
):  # fmt: skip
    """For each query the rows that its most telling columns speak for, then -1.

    Columns are taken until `budget` steps along lists are spent; rows are ranked by what
    the kernel would be if no other column counted. Values in the lists are those of unit
    rows; `sums` holds a product and a count for each row side by side, zero on entry.
    """
    n_kept = out.shape[1]
    keys, kept = np.empty(n_kept), np.empty(n_kept, np.int64)
    for q in range(q_lengths.shape[0]):
        mine = q_columns[q_indptr[q] : q_indptr[q + 1]]
        weights = q_values[q_indptr[q] : q_indptr[q + 1]]
        f1, scale = q_lengths[q], 1.0 / np.sqrt(q_squares[q])
        chosen = _telling_columns(mine, weights, heads, budget)
        n = 0
        for p in range(chosen.shape[0]):
            c = np.int64(mine[chosen[p]])
            weight = np.float32(weights[chosen[p]] * scale)
            rows, values = list_rows[heads[c] : heads[c + 1]], list_values[heads[c] : heads[c + 1]]
            for i in range(rows.shape[0]):
                row = rows[i]
                touched[n] = row
                n += sums[row, 1] == 0.0
                sums[row, 0] += weight * values[i]
                sums[row, 1] += np.float32(1.0)
        size, least = 0, -np.inf
        for i in range(n):
            row = touched[i]
            a = np.float64(sums[row, 1])
            f2 = np.float64(lengths[row])
            union = f1 + f2 - a
            share = support_weight(kernel, np.float64(f1), f2, a)
            if uses_values(kernel):
                share *= sums[row, 0]
            sums[row, 0] = 0.0
            sums[row, 1] = 0.0
            if share > least * union:
                size = offer(share / union, row, size, keys, kept)
                least = keys[0] if size == n_kept else -np.inf
        for i in range(size):
            out[q, i] = kept[i]
        out[q, size:] = -1
