"""Running minima and maxima of slices of a table, in registers."""

import numpy as np
from numba import njit

from ..compilation import loop
from ..simd.llvm import LINE
from ..simd.vectors import (
    add,
    higher,
    load_line,
    lower,
    splat_line,
    store,
    subtract,
    where_not_above,
)
from .banks import GROUP

_TOP = np.uint16(0xFFFF)  # the greatest value of a slice with offsets


@loop
def slice_minima(starts, offsets, values, table, shift, n_slots, mask, at, out, out_values):
    """Minima of the slices of `table` that begin `shift` after the starts, cut to their codes,
    and the value of the start each comes from, the last of equals.

    Unless `offsets` is None, the offset of a start is added to all numbers of its slice, which
    wrap around. No values if `values` is None; they travel in lanes as wide as the table's.
    Four lines of minima at a time stay in registers. They are written from `at` on, in whole
    lines, also where that is more than `n_slots`: there has to be room.
    """
    line = LINE // table.itemsize
    cut = splat_line(mask)
    for slot in range(shift, shift + n_slots, 4 * line):
        start = np.intp(starts[0]) + slot
        a, b = load_line(table, start), load_line(table, start + line)
        c, d = load_line(table, start + 2 * line), load_line(table, start + 3 * line)
        if offsets is not None:
            more = splat_line(offsets[0])
            a, b, c, d = add(a, more), add(b, more), add(c, more), add(d, more)
        if values is not None:
            mine = splat_line(table.dtype.type(values[0]))
            of_a, of_b, of_c, of_d = mine, mine, mine, mine
        for p in range(1, starts.shape[0]):
            start = np.intp(starts[p]) + slot
            w, x = load_line(table, start), load_line(table, start + line)
            y, z = load_line(table, start + 2 * line), load_line(table, start + 3 * line)
            if offsets is not None:
                more = splat_line(offsets[p])
                w, x, y, z = add(w, more), add(x, more), add(y, more), add(z, more)
            if values is not None:
                mine = splat_line(table.dtype.type(values[p]))
                of_a, of_b = where_not_above(w, a, mine, of_a), where_not_above(x, b, mine, of_b)
                of_c, of_d = where_not_above(y, c, mine, of_c), where_not_above(z, d, mine, of_d)
            a, b, c, d = lower(a, w), lower(b, x), lower(c, y), lower(d, z)
        place = at + slot - shift
        store(a & cut, place, out)
        store(b & cut, place + line, out)
        store(c & cut, place + 2 * line, out)
        store(d & cut, place + 3 * line, out)
        if values is not None:
            store(of_a, place, out_values)
            store(of_b, place + line, out_values)
            store(of_c, place + 2 * line, out_values)
            store(of_d, place + 3 * line, out_values)


@loop
def slice_ends(starts, offsets, table, first, n_groups, mask, at, at_top, out):
    """Codes of groups of positions from `first` on: of minima and, counted from the top, maxima.

    Minima are written from `at` on, maxima from `at_top` on.
    """
    line = LINE // table.itemsize
    cut, top = splat_line(mask), splat_line(_TOP)
    for group in range(n_groups):
        slot, place = first + group * GROUP, group * GROUP
        a, b = _two_lines(starts, offsets, table, 0, slot, line)
        c, d = _two_lines(starts, offsets, table, 0, slot + 2 * line, line)
        e, f, g, h = a, b, c, d
        for p in range(1, starts.shape[0]):
            w, x = _two_lines(starts, offsets, table, p, slot, line)
            y, z = _two_lines(starts, offsets, table, p, slot + 2 * line, line)
            a, b, c, d = lower(a, w), lower(b, x), lower(c, y), lower(d, z)
            e, f, g, h = higher(e, w), higher(f, x), higher(g, y), higher(h, z)
        e, f, g, h = subtract(top, e), subtract(top, f), subtract(top, g), subtract(top, h)
        _store_two(a & cut, b & cut, at + place, line, out)
        _store_two(c & cut, d & cut, at + place + 2 * line, line, out)
        _store_two(e & cut, f & cut, at_top + place, line, out)
        _store_two(g & cut, h & cut, at_top + place + 2 * line, line, out)


@loop
def half_group_ends(starts, offsets, table, first, mask, at, at_top, out):
    """The same of half a group of positions."""
    line = LINE // table.itemsize
    cut, top = splat_line(mask), splat_line(_TOP)
    a, b = _two_lines(starts, offsets, table, 0, first, line)
    e, f = a, b
    for p in range(1, starts.shape[0]):
        w, x = _two_lines(starts, offsets, table, p, first, line)
        a, b, e, f = lower(a, w), lower(b, x), higher(e, w), higher(f, x)
    _store_two(a & cut, b & cut, at, line, out)
    _store_two(subtract(top, e) & cut, subtract(top, f) & cut, at_top, line, out)


@njit(nogil=True, cache=True, inline="always")
def _two_lines(starts, offsets, table, p, first, line):
    """Values of nonzero p at two lines of positions."""
    start, more = np.intp(starts[p]) + first, splat_line(offsets[p])
    return add(load_line(table, start), more), add(load_line(table, start + line), more)


@njit(nogil=True, cache=True, inline="always")
def _store_two(a, b, at, line, out):
    store(a, at, out)
    store(b, at + line, out)
