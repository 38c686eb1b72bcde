"""Minima of rows of many columns in versions 4 to 7 of the hash contract; see `offsets`.

In version 7 positions served one slot each where values travel beside minima. In versions 4 to 6
columns did not fall into slots; instead, columns with locations in the lowest stratum, which long
rows reach in every slot, were told apart by rank.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import inner_loop
from .banks import GROUP
from .offsets import (
    NONE,
    POSITIONS,
    STRATUM,
    WRAP,
    Offsets,
    are_decided,
    fall_first,
    find_starts_and_offsets,
    set_fallen,
)
from .slices import slice_minima


class Strata(NamedTuple):
    """Working memory in versions 4 to 6."""

    offsets: Offsets
    positions: np.ndarray  # of each stratum of values in the table


@inner_loop
def minima_with_offsets(
    columns, values, offsets, banks, bank, n_slots, mask, scratch, at, out, out_values
):
    """What `ends_with_offsets` gives, in version 7 for values."""
    starts, table = scratch.starts[: columns.shape[0]], banks.tables[0]
    find_starts_and_offsets(columns, banks.mix_keys[bank], starts, offsets)
    decided = fall_first(offsets, values, columns.shape[0])
    _minima_of_slices(
        starts, offsets.offsets, values, table, decided, n_slots, mask, scratch, at, out, out_values
    )
    set_fallen(offsets, values, columns.shape[0], n_slots, mask, at, out, out_values)


@inner_loop
def minima_with_strata(
    columns, values, strata, banks, bank, n_slots, mask, scratch, at, out, out_values
):
    """The same in versions 4 to 6."""
    starts, table, offsets = scratch.starts[: columns.shape[0]], banks.tables[0], strata.offsets
    find_starts_and_offsets(columns, banks.mix_keys[bank], starts, offsets)
    _minima_of_slices(
        starts, offsets.offsets, values, table, offsets.firsts[:0], n_slots, mask, scratch, at, out,
        out_values,
    )  # fmt: skip
    _set_ranked(starts, strata, values, n_slots, mask, at, out, out_values)


@inner_loop
def _minima_of_slices(
    starts, offsets, values, table, decided, n_slots, mask, scratch, at, out, out_values
):
    """Codes, and values, of the minima of slices; those of groups that are decided are left."""
    zero = np.int64(0)  # not a literal, for which `slice_minima` would be compiled again
    n_whole = n_slots // GROUP * GROUP
    step = GROUP if decided.shape[0] else max(n_whole, GROUP)
    for slot in range(zero, n_whole, step):
        if not are_decided(decided, slot, GROUP):
            slice_minima(
                starts, offsets, values, table, slot, min(step, n_whole), mask, at + slot, out,
                out_values,
            )  # fmt: skip
    if n_whole == n_slots or are_decided(decided, n_whole, n_slots - n_whole):
        return
    spare = out_values
    if values is not None:
        spare = scratch.values
    slice_minima(
        starts, offsets, values, table, n_whole, n_slots - n_whole, mask, zero, scratch.codes, spare
    )
    for slot in range(n_whole, n_slots):
        out[at + slot] = scratch.codes[slot - n_whole]
        if values is not None:
            out_values[at + slot] = scratch.values[slot - n_whole]


@inner_loop
def _set_ranked(starts, strata, values, n_slots, mask, at, out, out_values):
    """Give slots with a value in the lowest stratum the code, and the value, of their first column.

    The first of its columns is that of lowest rank. The stratum has one position in the table,
    so that of each column it is quickly seen whether it lies in its slice, and where.
    """
    offsets, firsts = strata.offsets, strata.offsets.firsts
    for p in range(starts.shape[0]):
        stratum = (POSITIONS - np.intp(offsets.offsets[p]) // STRATUM) & WRAP
        slot = (np.intp(strata.positions[stratum]) - np.intp(starts[p])) & WRAP
        rank = np.uint64(offsets.ranks[p])
        if slot >= n_slots or rank >= firsts[slot]:
            continue
        firsts[slot] = rank
        out[at + slot] = rank & np.uint64(mask)
        if values is not None:
            out_values[at + slot] = values[p]
    firsts[:] = NONE
