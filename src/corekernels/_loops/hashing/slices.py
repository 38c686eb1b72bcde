"""Running minima and maxima of slices of a table, in registers."""

import numpy as np

from ..compilation import inlined_loop, inner_loop, loop
from ..simd.integers import LINE
from ..simd.vectors import (
    add,
    higher,
    load_line,
    lower,
    splat_line,
    store,
    upper_halves,
    where_not_above,
)


@inlined_loop
def slice_minima(starts, values, table, first, mask, at, out, out_values):
    """Codes of the minima of slices, from `at` on, and the value of each: four lines of slots.

    The value is that of the last of equal minima; there are none if `values` is None.
    """
    line = LINE // table.itemsize
    cut = splat_line(mask)
    start = np.intp(starts[0]) + first
    a, b = load_line(table, start), load_line(table, start + line)
    c, d = load_line(table, start + 2 * line), load_line(table, start + 3 * line)
    if values is not None:
        value = splat_line(table.dtype.type(values[0]))
        of_a, of_b, of_c, of_d = value, value, value, value
    for p in range(1, starts.shape[0]):
        start = np.intp(starts[p]) + first
        w, x = load_line(table, start), load_line(table, start + line)
        y, z = load_line(table, start + 2 * line), load_line(table, start + 3 * line)
        if values is not None:
            value = splat_line(table.dtype.type(values[p]))
            of_a, of_b = where_not_above(w, a, value, of_a), where_not_above(x, b, value, of_b)
            of_c, of_d = where_not_above(y, c, value, of_c), where_not_above(z, d, value, of_d)
        a, b, c, d = lower(a, w), lower(b, x), lower(c, y), lower(d, z)
    store(a & cut, at, out)
    store(b & cut, at + line, out)
    store(c & cut, at + 2 * line, out)
    store(d & cut, at + 3 * line, out)
    if values is not None:
        store(of_a, at, out_values)
        store(of_b, at + line, out_values)
        store(of_c, at + 2 * line, out_values)
        store(of_d, at + 3 * line, out_values)


@inner_loop
def slice_extremes(starts, offsets, table, first, n_positions, mask, at, at_top, out, out_values):
    """Codes of minima, from `at` on, and of maxima counted from the top, from `at_top` on.

    Of positions from `first` on, four lines at a time. Unless `out_values` is None, table and
    offsets have a location in the upper half of each number and a value in the lower half.
    """
    line = LINE // table.itemsize
    for place in range(0, n_positions, 4 * line):
        slot = first + place
        a, b = _two_lines(starts, offsets, table, 0, slot, line)
        c, d = _two_lines(starts, offsets, table, 0, slot + 2 * line, line)
        e, f, g, h = a, b, c, d
        for p in range(1, starts.shape[0]):
            w, x = _two_lines(starts, offsets, table, p, slot, line)
            y, z = _two_lines(starts, offsets, table, p, slot + 2 * line, line)
            a, b, c, d = lower(a, w), lower(b, x), lower(c, y), lower(d, z)
            e, f, g, h = higher(e, w), higher(f, x), higher(g, y), higher(h, z)
        _store_two(a, b, a, b, at + place, line, mask, out, out_values)
        _store_two(c, d, c, d, at + place + 2 * line, line, mask, out, out_values)
        _store_two(~e, ~f, e, f, at_top + place, line, mask, out, out_values)
        _store_two(~g, ~h, g, h, at_top + place + 2 * line, line, mask, out, out_values)


@inner_loop
def two_line_extremes(starts, offsets, table, first, mask, at, at_top, out, out_values):
    """`slice_extremes` of two lines of positions."""
    line = LINE // table.itemsize
    a, b = _two_lines(starts, offsets, table, 0, first, line)
    e, f = a, b
    for p in range(1, starts.shape[0]):
        w, x = _two_lines(starts, offsets, table, p, first, line)
        a, b, e, f = lower(a, w), lower(b, x), higher(e, w), higher(f, x)
    _store_two(a, b, a, b, at, line, mask, out, out_values)
    _store_two(~e, ~f, e, f, at_top, line, mask, out, out_values)


@loop(inline="always")
def _two_lines(starts, offsets, table, p, first, line):
    """The slice of nonzero p at two lines of positions, its offset added."""
    start, offset = np.intp(starts[p]) + first, splat_line(offsets[p])
    return add(load_line(table, start), offset), add(load_line(table, start + line), offset)


@loop(inline="always")
def _store_two(locations_a, locations_b, a, b, at, line, mask, out, out_values):
    """Write the codes of two lines of locations, and the values in the lower halves of a and b."""
    cut = splat_line(mask)
    if out_values is None:
        store(locations_a & cut, at, out)
        store(locations_b & cut, at + line, out)
    else:
        store(upper_halves(locations_a) & cut, at, out)
        store(upper_halves(locations_b) & cut, at + line, out)
        store(a, at, out_values)
        store(b, at + line, out_values)
