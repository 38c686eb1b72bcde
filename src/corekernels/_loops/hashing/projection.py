"""Random projections of CSR rows, by rotations or onto k independent directions.

Numbers in the table of directions are bfloat16, two to a word: of each 32 slots the first 16 take
the lower halves of 16 consecutive words, the others the upper halves. One load then serves two
multiply-adds, which the vector units are fast enough for.

Projections become halves, cosines of them rounded to halves, or levels. No mathematical library is
asked for cosines, since they differ in the last digits: a cosine is a polynomial here, in
additions and multiplications that every machine rounds alike.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import inner_loop, loop
from ..mixing import step
from ..rows import unit_values
from ..simd.halves import to_half, write_halves, write_levels
from ..simd.vectors import (
    high_halves,
    load_line,
    low_halves,
    many_registers,
    multiply_add,
    prefetch,
    splat_line,
    store,
)
from .minwise import block_rows
from .rotation import BUCKETS, rotate_row

HALVES = 16  # slots in the lower halves of a line of words, before those in the upper halves
TILE = 128  # slots whose sums stay in registers
SUMS = 2 * TILE  # the same where there are 32 registers
_AHEAD = 4  # slices between the one that is read and the one that is prefetched

# q times the polynomial in q^2 is sqrt(2) sin(2 pi q) to within 2e-7, for q from -1/4 to 1/4
_C0 = np.float32(8.88576602935791)
_C1 = np.float32(-58.465965270996094)
_C2 = np.float32(115.40332794189453)
_C3 = np.float32(-108.30213165283203)
_C4 = np.float32(56.228885650634766)
_QUARTER = np.float32(0.25)


class CosinePhases(NamedTuple):
    """From projections to angles in turns: the projection times `scale`, plus the slot's phase."""

    scale: np.float32
    phases: np.ndarray  # one per slot, from 0 to 1


class Rounding(NamedTuple):
    """From weights to levels."""

    per_unit: np.float32  # intervals per unit
    halves: np.ndarray  # scratch: the weights of as many slots as are written together


@loop(inline="always")
def write_weights(projections, phases, rounding, first_slot, out):
    """Write projections as halves, from `first_slot` of a row on.

    With `phases`, unless they are None, their cosines; with `rounding`, unless it is None, the
    levels of the halves, put into slots that have only codes yet.
    """
    if rounding is None:
        _write_halves(projections, phases, first_slot, out)
    else:
        halves = rounding.halves[: projections.shape[0]]
        _write_halves(projections, phases, first_slot, halves)
        write_levels(halves, rounding.per_unit, out)


@loop(inline="always")
def _write_halves(projections, phases, first_slot, out):
    """Projections, or their cosines, as halves."""
    if phases is None:
        write_halves(projections, out)
    else:
        _write_cosines(projections, phases, first_slot, out)


@inner_loop(error_model="numpy")
def _write_cosines(projections, cosine_phases, first_slot, out):
    """sqrt(2) times the cosines of the angles, as halves."""
    phases = cosine_phases.phases[first_slot : first_slot + projections.shape[0]]
    for p in range(projections.shape[0]):
        turns = projections[p] * cosine_phases.scale + phases[p]
        # cos(2 pi t) = sin(2 pi (1/4 - abs(t - round(t))))
        q = _QUARTER - abs(turns - np.rint(turns))
        x = q * q
        out[p] = to_half(q * (_C0 + x * (_C1 + x * (_C2 + x * (_C3 + x * _C4)))))


@loop
def project_blocks(task, rotations, directions, phases, rounding, room, scratch, weights):
    """Weights, as `write_weights` makes them, of the blocks that were hashed last.

    Projections are by `rotations`, with a `RotationScratch`, or by the table of `directions`, with
    room for the sums of SUMS slots; the other is None. `room` is for the values of a block.
    """
    together = SUMS if many_registers() else TILE
    for block in task.done[1 : task.done[0] + 1]:
        start, indptr, columns = block_rows(task, block)
        values, out = room[: columns.shape[0]], weights[start:]
        unit_values(indptr, task.data, values)
        for row in range(indptr.shape[0] - 1):
            begin, end = indptr[row] - indptr[0], indptr[row + 1] - indptr[0]
            row_columns, row_values = columns[begin:end], values[begin:end]
            if begin == end:
                out[row, :] = 0
                continue
            if rotations is not None:
                for bank in range(rotations.keys.shape[0]):
                    first = bank * BUCKETS
                    slots = out[row, first : first + BUCKETS]
                    n = slots.shape[0]
                    rotate_row(row_columns, row_values, rotations, bank, n, scratch)
                    write_weights(scratch.sums[:n], phases, rounding, first, slots)
            if directions is not None:
                for first in range(0, out.shape[1], together):
                    slots = out[row, first : first + together]
                    n = slots.shape[0]
                    _sum_tiles(row_columns, row_values, directions, first, n > TILE, scratch)
                    write_weights(scratch[:n], phases, rounding, first, slots)


@inner_loop
def _sum_tiles(columns, values, directions, slot, both, out):
    """Sum of the columns' directions, each times its value, for a tile of slots, or for `both`.

    On processors with few registers it is never both: the compiler leaves the second tile out.
    """
    both = both and many_registers()
    first, second = _no_sums(), _no_sums()
    n_words, word = np.intp(directions.shape[1]), np.intp(slot // 2)
    for p in range(columns.shape[0]):
        value = splat_line(values[p])
        start = np.intp(columns[p]) * n_words + word
        soon = np.intp(columns[min(p + _AHEAD, columns.shape[0] - 1)]) * n_words + word
        first = _add_slice(value, directions, start, soon, first)
        if both:
            second = _add_slice(value, directions, start + TILE // 2, soon + TILE // 2, second)
    _store_sums(first, 0, out)
    if both:
        _store_sums(second, TILE, out)


@loop(inline="always")
def _no_sums():
    """Zeros: the sums of a tile before anything is added, eight lines of them."""
    none = splat_line(np.float32(0))
    return none, none, none, none, none, none, none, none


@loop(inline="always")
def _add_slice(value, table, start, soon, sums):
    """Sums of a tile with its weighted slice, 64 words or 128 slots; a later one is called for."""
    for word in range(soon, soon + TILE // 2, 16):
        prefetch(table, word)
    a, b, c, d, e, f, g, h = sums
    words = load_line(table, start)
    a = multiply_add(value, low_halves(words), a)
    b = multiply_add(value, high_halves(words), b)
    words = load_line(table, start + 16)
    c = multiply_add(value, low_halves(words), c)
    d = multiply_add(value, high_halves(words), d)
    words = load_line(table, start + 32)
    e = multiply_add(value, low_halves(words), e)
    f = multiply_add(value, high_halves(words), f)
    words = load_line(table, start + 48)
    g = multiply_add(value, low_halves(words), g)
    h = multiply_add(value, high_halves(words), h)
    return a, b, c, d, e, f, g, h


@loop(inline="always")
def _store_sums(sums, at, out):
    """Write the sums of a tile."""
    a, b, c, d, e, f, g, h = sums
    store(a, at, out)
    store(b, at + 16, out)
    store(c, at + 32, out)
    store(d, at + 48, out)
    store(e, at + 64, out)
    store(f, at + 80, out)
    store(g, at + 96, out)
    store(h, at + 112, out)


@loop
def mixed_projections(indptr, mixed, values, numbers, phases, rounding, sums, out):
    """All slots of each row, as `write_weights` makes them; each random number is one of the 2^16
    `numbers`, hashed on the fly. `sums` is room for one row.
    """
    offset = indptr[0]
    for row in range(indptr.shape[0] - 1):
        if indptr[row] == indptr[row + 1]:
            out[row, :] = 0
            continue
        sums[:] = 0
        for p in range(indptr[row] - offset, indptr[row + 1] - offset):
            for j in range(sums.shape[0]):
                sums[j] += values[p] * numbers[np.int64(step(mixed[p], j) >> np.uint64(48))]
        write_weights(sums, phases, rounding, 0, out[row])
