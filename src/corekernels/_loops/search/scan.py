"""Exact search among rows whose supports are bit sets: most are ruled out unread."""

import numpy as np
from numba import njit

from ..kernels import kernel_value, length_bound, support_bound, uses_values
from .heaps import offer
from .pairs import (
    AHEAD,
    SLACK,
    erase,
    fetch,
    product,
    scatter,
    shared_bits,
)

_CHUNK = 256
_FIRST = 2048  # rows on either side that are ranked by their bounds first
_SEEDS = 64


@njit(nogil=True, cache=True)
def longest_shares(values, squares, out):
    """out[a]: the length of the largest `a` values of a row over that of all of them.

    With a shared columns, rho is at most this, by the inequality of Cauchy and Schwarz.
    """
    ascending = np.sort(values * values)
    total = 0.0
    out[0] = 0.0
    for a in range(1, values.shape[0] + 1):
        total += ascending[values.shape[0] - a]
        out[a] = np.sqrt(min(total / squares, 1.0)) / SLACK


@njit(nogil=True, cache=True)
def scan(
    kernel,
    q_indptr, q_columns, q_values, q_lengths, q_squares, q_bits,
    indptr, columns, values, squares,
    order, ordered_lengths, ordered_bits,
    alive, first_row, dense, sizes, keys, rows,
):  # fmt: skip
    """Offer every row whose support does not already rule it out.

    `order` lists the rows by length. The rows nearest in length are ranked by their bounds,
    and the best of them are offered first, which sets a high mark. From there outward the
    bound by the lengths alone falls, so the scan of either side ends where it passes the
    worst row kept; between, shared bits decide whether an inner product is worth its time.
    """
    n = order.shape[0]
    bounds = np.empty(max(_CHUNK, min(n, 2 * _FIRST)))
    left = np.empty(bounds.shape[0] + _SEEDS, np.int64)
    left_bounds = np.empty(left.shape[0])
    seed_keys = np.empty(_SEEDS)
    share = np.ones(ordered_bits.shape[1] * 64 + 1)
    for q in range(q_lengths.shape[0]):
        mine = q_columns[q_indptr[q] : q_indptr[q + 1]]
        weights = q_values[q_indptr[q] : q_indptr[q + 1]]
        scatter(mine, weights, dense)
        if uses_values(kernel):
            longest_shares(weights, q_squares[q], share)
        f1, bits = q_lengths[q], q_bits[q]
        middle = np.searchsorted(ordered_lengths, f1)
        low, high = max(0, middle - _FIRST), min(n, middle + _FIRST)
        first, start, stop = True, low, high
        while True:
            _bound_chunk(
                kernel, f1, bits, share, ordered_lengths[start:stop], ordered_bits[start:stop],
                bounds,
            )  # fmt: skip
            if first:
                n_seeds = 0
                for i in range(stop - start):
                    n_seeds = offer(bounds[i], i, n_seeds, seed_keys, left)
                for j in range(n_seeds):
                    seed = left[j]
                    left[j] = start + seed
                    left_bounds[j] = bounds[seed]
                    bounds[seed] = -3.0
                sizes[q] = _offer_rows(
                    kernel, dense, bits, f1, q_squares[q], first_row, order, ordered_bits,
                    left[:n_seeds], left_bounds, indptr, columns, values, squares, alive,
                    sizes[q], keys[q], rows[q],
                )  # fmt: skip
            least = keys[q, 0] * SLACK if sizes[q] == keys.shape[1] else -1.0
            n_left = 0
            for i in range(stop - start):
                left[n_left] = start + i
                left_bounds[n_left] = bounds[i]
                n_left += bounds[i] >= least and bounds[i] > -3.0
            sizes[q] = _offer_rows(
                kernel, dense, bits, f1, q_squares[q], first_row, order, ordered_bits,
                left[:n_left], left_bounds, indptr, columns, values, squares, alive,
                sizes[q], keys[q], rows[q],
            )  # fmt: skip
            least = keys[q, 0] if sizes[q] == keys.shape[1] else -1.0
            first = False
            below = length_bound(kernel, f1, ordered_lengths[low - 1]) if low > 0 else -2.0
            above = length_bound(kernel, f1, ordered_lengths[high]) if high < n else -2.0
            if max(below, above) < max(least * SLACK, -1.0):
                break
            if below > above:
                start, stop = max(0, low - _CHUNK), low
                low = start
            else:
                start, stop = high, min(n, high + _CHUNK)
                high = stop
        erase(mine, dense)


@njit(nogil=True, cache=True, error_model="numpy")
def _bound_chunk(kernel, f1, bits, share, lengths, bits_of, out):
    """For rows of a chunk, what their kernel values cannot exceed."""
    for i in range(lengths.shape[0]):
        a = shared_bits(bits, bits_of[i])
        out[i] = support_bound(kernel, f1, lengths[i], a) * share[a]


@njit(nogil=True, cache=True)
def _offer_rows(
    kernel, dense, bits, f1, q_squares, first_row, order, ordered_bits, places, bounds,
    indptr, columns, values, squares, alive, size, keys, rows,
):  # fmt: skip
    """Offer the rows at some places of the order by their exact kernel values."""
    for i in range(places.shape[0]):
        if i + AHEAD < places.shape[0]:
            fetch(order[places[i + AHEAD]], indptr, columns, values)
        row = order[places[i]]
        if not alive[first_row + row]:
            continue
        if size == keys.shape[0] and bounds[i] < keys[0] * SLACK:
            continue
        p, r = indptr[row], indptr[row + 1]
        a = shared_bits(bits, ordered_bits[places[i]])
        dot = product(columns[p:r], values[p:r], dense) if uses_values(kernel) else 0.0
        key = kernel_value(kernel, dot, q_squares * squares[row], f1, r - p, a)
        size = offer(key, first_row + row, size, keys, rows)
    return size
