"""Exact search among rows whose supports are bit sets: most are ruled out unread."""

from typing import NamedTuple

import numpy as np

from ..compilation import allocating_loop, inner_loop, loop
from ..kernels import kernel_value, length_bound, shape, support_bound, uses_values
from ..rows import taken
from .pairs import (
    AHEAD,
    SLACK,
    byte_product,
    erase,
    prefetch_bytes,
    prefetch_row,
    product,
    push,
    query_bytes,
    query_row,
    scatter,
    shared_bits,
)

_CHUNK = 256
_FIRST = 2048  # rows on either side that are ranked by their bounds first
_SEEDS = 64  # of these, how many are compared before all others
_DONE = -3.0  # in the place of the bound of a row that has been compared


class ByLength(NamedTuple):
    """Stored rows in order of their lengths."""

    order: np.ndarray  # their numbers
    lengths: np.ndarray
    bits: np.ndarray


@allocating_loop
def largest_shapes(kernel, values, squares, out):
    """out[a]: what the cosine's part of a kernel value is at most, with a shared columns.

    By the inequality of Cauchy and Schwarz, rho is at most the length of the largest `a` values
    of a row over that of all of them.
    """
    ascending = np.sort(values * values)
    total = 0.0
    out[0] = 0.0
    for a in range(1, values.shape[0] + 1):
        total += ascending[values.shape[0] - a]
        out[a] = shape(kernel, np.sqrt(min(total / squares, 1.0)) / SLACK)


class ScanScratch(NamedTuple):
    """Working memory of `scan`; dense is zero on entry."""

    dense: np.ndarray
    bounds: np.ndarray
    places: np.ndarray
    place_bounds: np.ndarray
    seed_keys: np.ndarray
    largest: np.ndarray

    @classmethod
    def new(cls, n_rows: int, n_columns: int) -> "ScanScratch":
        """For stored rows of so many columns."""
        n_bounds = max(_CHUNK, min(n_rows, 2 * _FIRST))
        return cls(
            np.zeros(n_columns), np.empty(n_bounds), np.empty(n_bounds + _SEEDS, np.int64),
            np.empty(n_bounds + _SEEDS), np.empty(_SEEDS), np.ones(n_columns + 1),
        )  # fmt: skip


@loop
def scan(
    blocks, n_blocks, kernel, queries, stored, by_length, alive, first_row, scratch, heaps
):  # fmt: skip
    """Push every row that its support does not already rule out, for each query."""
    for start, stop in taken(blocks, n_blocks):
        for q in range(start, stop):
            _scan_one(kernel, queries, q, stored, by_length, alive, first_row, scratch, heaps)


@inner_loop
def _scan_one(kernel, queries, q, stored, by_length, alive, first_row, scratch, heaps):
    """Push every row that its support does not already rule out.

    The rows nearest in length are ranked by their bounds, and the best of them are compared
    first, which fills the heap with high values. From there outward the bound by the lengths
    alone falls, so the scan of either side ends where that is below the worst row kept; up to
    there, shared bits decide whether an inner product is worth its time.
    """
    n = by_length.order.shape[0]
    dense, bounds, left, left_bounds, seed_keys, largest = scratch
    mine, weights = query_row(queries, q)
    keys, rows, size = heaps.keys[q], heaps.rows[q], heaps.sizes[q]
    scatter(mine, weights, dense)
    if uses_values(kernel):
        largest_shapes(kernel, weights, queries.squares[q], largest)
    f1 = queries.lengths[q]
    middle = np.searchsorted(by_length.lengths, f1)
    low, high = max(0, middle - _FIRST), min(n, middle + _FIRST)
    first, start, stop = True, low, high
    while True:
        _bound_rows(kernel, f1, queries.bits[q], largest, by_length, start, stop, bounds)
        if first:
            n_seeds = 0
            for i in range(stop - start):
                n_seeds = push(bounds[i], i, n_seeds, seed_keys, left)
            for j in range(n_seeds):
                seed = left[j]
                left[j] = start + seed
                left_bounds[j] = bounds[seed]
                bounds[seed] = _DONE
            size = _push_rows(
                kernel, dense, queries, q, stored, by_length, alive, first_row,
                left[:n_seeds], left_bounds, size, keys, rows,
            )  # fmt: skip
        least = keys[0] * SLACK if size == keys.shape[0] else -1.0
        n_left = 0
        for i in range(stop - start):
            left[n_left] = start + i
            left_bounds[n_left] = bounds[i]
            n_left += bounds[i] >= least and bounds[i] > _DONE
        size = _push_rows(
            kernel, dense, queries, q, stored, by_length, alive, first_row,
            left[:n_left], left_bounds, size, keys, rows,
        )  # fmt: skip
        least = keys[0] if size == keys.shape[0] else -1.0
        first = False
        below = length_bound(kernel, f1, by_length.lengths[low - 1]) if low > 0 else -2.0
        above = length_bound(kernel, f1, by_length.lengths[high]) if high < n else -2.0
        if max(below, above) < max(least * SLACK, -1.0):
            break
        if below > above:
            start, stop = max(0, low - _CHUNK), low
            low = start
        else:
            start, stop = high, min(n, high + _CHUNK)
            high = stop
    heaps.sizes[q] = size
    erase(mine, dense)


@inner_loop(error_model="numpy")
def _bound_rows(kernel, f1, bits, largest, by_length, start, stop, out):
    """For rows start to stop of the order, what their kernel values cannot exceed."""
    lengths, bits_of = by_length.lengths[start:stop], by_length.bits[start:stop]
    for i in range(lengths.shape[0]):
        a = shared_bits(bits, bits_of[i])
        out[i] = support_bound(kernel, f1, lengths[i], a) * largest[a]


@inner_loop
def _push_rows(
    kernel, dense, queries, q, stored, by_length, alive, first_row, places, bounds,
    size, keys, rows,
):  # fmt: skip
    """Push the rows at some places of the order by their exact kernel values."""
    indptr, columns, values = stored.indptr, stored.columns, stored.values
    order, bits_of, squares_of = by_length.order, by_length.bits, stored.squares
    bits, f1, squares = queries.bits[q], queries.lengths[q], queries.squares[q]
    as_bytes, byte_rows = query_bytes(queries, q), stored.byte_rows
    for i in range(places.shape[0]):
        if i + AHEAD < places.shape[0]:
            ahead = order[places[i + AHEAD]]
            if as_bytes.shape[0]:
                prefetch_bytes(ahead, byte_rows)
            else:
                prefetch_row(ahead, indptr, columns, values)
        row = order[places[i]]
        if not alive[first_row + row]:
            continue
        if size == keys.shape[0] and bounds[i] < keys[0] * SLACK:
            continue
        p, r = indptr[row], indptr[row + 1]
        a = shared_bits(bits, bits_of[places[i]])
        dot = 0.0
        if uses_values(kernel):
            if as_bytes.shape[0]:
                dot = byte_product(as_bytes, byte_rows[row])
            else:
                dot = product(columns[p:r], values[p:r], dense)
        key = kernel_value(kernel, dot, squares * squares_of[row], f1, r - p, a)
        size = push(key, first_row + row, size, keys, rows)
    return size
