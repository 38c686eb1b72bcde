"""Heaps of fixed size: the best rows seen so far, ranked by key, ties by lower row number."""

from numba import njit


@njit(nogil=True, cache=True)
def worse(key, row, other_key, other_row):
    """Whether (key, row) ranks behind the other."""
    return key < other_key or (key == other_key and row > other_row)


@njit(nogil=True, cache=True)
def offer(key, row, size, keys, rows):
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
        _sink(key, row, size, keys, rows)
    return size


@njit(nogil=True, cache=True)
def _sink(key, row, size, keys, rows):
    """Replace the top of a heap."""
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


@njit(nogil=True, cache=True)
def sort_heaps(sizes, keys, rows):
    """Turn heaps into lists, the best first."""
    for q in range(sizes.shape[0]):
        for last in range(sizes[q] - 1, 0, -1):
            key, row = keys[q, last], rows[q, last]
            keys[q, last], rows[q, last] = keys[q, 0], rows[q, 0]
            _sink(key, row, last, keys[q], rows[q])
