"""Exact search among rows whose supports are bit sets: most are ruled out unread."""

from typing import NamedTuple

import numpy as np

from ..compilation import allocating_loop, inner_loop, loop
from ..kernels import (
    is_bounded,
    kernel_value,
    length_bound,
    shape,
    support_bound,
    uses_values,
)
from ..rows import taken
from .pairs import (
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

_AHEAD = 3  # rows between the one that is compared and the one that is prefetched
_CHUNK = 256
_FIRST = 2048  # rows on either side that are ranked by their bounds first
_SEEDS = 64  # of these, how many are compared before all others
_DONE = -3.0  # in the place of the bound of a row that has been compared


class BySize(NamedTuple):
    """Stored rows in order of their sizes: numbers of nonzeros or, for inner products, norms."""

    order: np.ndarray  # their numbers
    sizes: np.ndarray
    lengths: np.ndarray
    bits: np.ndarray


@allocating_loop
def largest_shapes(kernel, values, squares, out):
    """out[a]: what the cosine's part of a kernel value is at most, with a shared columns.

    By the inequality of Cauchy and Schwarz, rho is at most the norm of the largest `a` values of
    a row over that of all of them. An inner product is at most the former times the other's norm.
    """
    ascending = np.sort(values * values)
    total = 0.0
    out[0] = 0.0
    for a in range(1, values.shape[0] + 1):
        total += ascending[values.shape[0] - a]
        part = min(total / squares, 1.0) if is_bounded(kernel) else total
        out[a] = shape(kernel, np.sqrt(part) / SLACK)


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
    blocks, n_blocks, kernel, queries, stored, by_size, alive, first_row, scratch, heaps
):  # fmt: skip
    """Push every row that its support does not already rule out, for each query."""
    for start, stop in taken(blocks, n_blocks):
        for q in range(start, stop):
            _scan_one(kernel, queries, q, stored, by_size, alive, first_row, scratch, heaps)


@inner_loop
def _scan_one(kernel, queries, q, stored, by_size, alive, first_row, scratch, heaps):
    """Push every row that its support does not already rule out.

    The rows nearest in size are ranked by their bounds, and the best of them are compared
    first, which fills the heap with high values. From there outward the bound by the sizes
    alone falls, so the scan of either side ends where that is below the worst row kept; up to
    there, shared bits decide whether an inner product is worth its time.
    """
    n = by_size.order.shape[0]
    dense, bounds, places, place_bounds, seed_keys, largest = scratch
    columns, values = query_row(queries, q)
    keys, rows, size = heaps.keys[q], heaps.rows[q], heaps.sizes[q]
    scatter(columns, values, dense)
    f1, squares = queries.lengths[q], queries.squares[q]
    if uses_values(kernel):
        largest_shapes(kernel, values, squares, largest)
    middle = np.searchsorted(by_size.sizes, np.float64(f1)) if is_bounded(kernel) else n
    low, high = max(0, middle - _FIRST), min(n, middle + _FIRST)
    first, start, stop = True, low, high
    while True:
        _bound_rows(kernel, f1, queries.bits[q], largest, by_size, start, stop, bounds)
        if first:
            n_seeds = 0
            for i in range(stop - start):
                n_seeds = push(bounds[i], i, n_seeds, seed_keys, places)
            for j in range(n_seeds):
                seed = places[j]
                places[j] = start + seed
                place_bounds[j] = bounds[seed]
                bounds[seed] = _DONE
            size = _push_rows(
                kernel, dense, queries, q, stored, by_size, alive, first_row,
                places[:n_seeds], place_bounds, size, keys, rows,
            )  # fmt: skip
        least = keys[0] * SLACK if size == keys.shape[0] else -1.0
        n_left = 0
        for i in range(stop - start):
            places[n_left] = start + i
            place_bounds[n_left] = bounds[i]
            n_left += bounds[i] >= least and bounds[i] > _DONE
        size = _push_rows(
            kernel, dense, queries, q, stored, by_size, alive, first_row,
            places[:n_left], place_bounds, size, keys, rows,
        )  # fmt: skip
        least = keys[0] if size == keys.shape[0] else -1.0
        first = False
        below = above = -2.0
        if low > 0:
            below = _size_bound(kernel, f1, squares, by_size.sizes[low - 1])
        if high < n:
            above = _size_bound(kernel, f1, squares, by_size.sizes[high])
        if max(below, above) < max(least * SLACK, -1.0):
            break
        if below > above:
            start, stop = max(0, low - _CHUNK), low
            low = start
        else:
            start, stop = high, min(n, high + _CHUNK)
            high = stop
    heaps.sizes[q] = size
    erase(columns, dense)


@inner_loop
def _size_bound(kernel, f1, squares, size):
    """What no kernel value of a query exceeds with rows of this size, or further from its own."""
    if is_bounded(kernel):
        return length_bound(kernel, f1, size)
    return np.sqrt(squares) * size / SLACK


@inner_loop(error_model="numpy")
def _bound_rows(kernel, f1, bits, largest, by_size, start, stop, out):
    """For rows start to stop of the order, what their kernel values cannot exceed."""
    lengths, bits_of = by_size.lengths[start:stop], by_size.bits[start:stop]
    for i in range(lengths.shape[0]):
        a = shared_bits(bits, bits_of[i])
        out[i] = support_bound(kernel, f1, lengths[i], a) * largest[a]
    if not is_bounded(kernel):
        for i in range(lengths.shape[0]):
            out[i] *= by_size.sizes[start + i]


@inner_loop
def _push_rows(
    kernel, dense, queries, q, stored, by_size, alive, first_row, places, bounds,
    size, keys, rows,
):  # fmt: skip
    """Push the rows at some places of the order by their exact kernel values."""
    indptr, columns, values = stored.indptr, stored.columns, stored.values
    order, bits_of, squares_of = by_size.order, by_size.bits, stored.squares
    bits, f1, squares = queries.bits[q], queries.lengths[q], queries.squares[q]
    as_bytes, byte_rows = query_bytes(queries, q), stored.byte_rows
    for i in range(places.shape[0]):
        if i + _AHEAD < places.shape[0]:
            ahead = order[places[i + _AHEAD]]
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
