"""Values as levels: how many each value has, and the columns of these levels."""

import numpy as np

from .compilation import loop
from .rows import taken
from .simd.vectors import add, load_line, splat_line, store


@loop
def round_to_levels(blocks, n_blocks, indptr, indices, data, per_unit, offsets, n_levels, out):
    """Levels of each value, below 0 for values below 0: level j if j - 1 + offset < |v| per_unit.

    `per_unit` and `offsets` have a number for each column.
    """
    for start, stop in taken(blocks, n_blocks):
        for p in range(indptr[start], indptr[stop]):
            value, column = np.float64(data[p]), indices[p]
            level = np.ceil(abs(value) * per_unit[column] - offsets[column])
            level = np.int32(min(max(level, 0.0), n_levels))
            out[p] = level if value > 0 else -level


@loop
def first_not_level(data, least, most):
    """The first place of a value that is no whole number from `least` to `most`, or -1."""
    unfit = 0
    for p in range(data.shape[0]):
        unfit += not (least <= data[p] <= most and np.floor(data[p]) == data[p])
    if unfit:
        for p in range(data.shape[0]):
            if not (least <= data[p] <= most and np.floor(data[p]) == data[p]):
                return p
    return -1


@loop
def count_levels(indptr, levels, out):
    """The number of levels of each row."""
    for row in range(indptr.shape[0] - 1):
        total = np.int64(0)
        for p in range(indptr[row], indptr[row + 1]):
            total += abs(levels[p])
        out[row] = total


@loop
def expand_levels(
    blocks, n_blocks, indptr, indices, levels, width, n_signs, line, ends, out_indices, out_data
):
    """A column of value 1 for each level; `ends[row]` is where those of a row begin in `out`.

    Column i has `width` columns for its positive levels and, if `n_signs` is 2, as many for its
    negative ones. `line` has the numbers from 0 on that fill a cache line.
    """
    ascending, n_lanes = load_line(line, 0), line.shape[0]
    for start, stop in taken(blocks, n_blocks):
        place, end = ends[start], ends[stop]
        out_data[place:end] = 1
        for p in range(indptr[start], indptr[stop]):
            first, level = np.int64(indices[p]) * n_signs * width, levels[p]
            if level < 0:
                level, first = -level, first + width
            # in whole lines: what is written beyond the last level is overwritten by the next value
            done, by_lines = 0, level if place + level + n_lanes <= end else 0
            while done < by_lines:
                column = splat_line(line.dtype.type(first + done))
                store(add(column, ascending), place + done, out_indices)
                done += n_lanes
            while done < level:
                out_indices[place + done] = first + done
                done += 1
            place += level
