"""Packed rows: k pairs of a code and a weight each.

Weights are halves, as the 16 bits they are stored in, or None where every weight is 1. Where code
and weight share an integer (`simd/slots.py`), that array stands for both of them. Numba
compiles a function twice then, without the branches on `weights is None`; it does so for plain
arguments only, not for the fields of a tuple, so that functions with such a branch take
`weights` by itself.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import allocating_loop, inner_loop, loop
from ..simd.llvm import LINE
from ..simd.slots import read_weights
from ..simd.vectors import LANES, load, multiply_add, prefetch, splat, store

PREFETCH_SLOTS = 64  # slots of a row that are prefetched at a time

_U = np.uint64
_RUN = 512  # slots summed in single precision, over which rounding errors do not build up
_MULTIPLIER = _U(0x9E3779B97F4A7C15)


class PackedRows(NamedTuple):
    """Rows, and room for what a loop keeps of the row it is at."""

    codes: np.ndarray
    weights: np.ndarray | None
    scales: np.ndarray  # factor that makes a row's weights unit length; 0 for an empty row
    buffer: np.ndarray | None  # room for one row's weights in single precision


@allocating_loop
def row_scales(weights, lengths, n_hashes, out):
    """The factor that makes each row's weights unit length; 0 for an empty row."""
    numbers = np.empty(_RUN, np.float32)
    partial = np.empty(LANES, np.float32)
    for i in range(out.shape[0]):
        squares = 0.0
        if weights is None:
            squares = float(n_hashes)
        else:
            for first in range(0, n_hashes, _RUN):
                n_slots = min(_RUN, n_hashes - first)
                read_weights(weights, i, first, first + n_slots, numbers)
                whole = n_slots // LANES * LANES
                lanes = splat(np.float32(0))
                for j in range(0, whole, LANES):
                    x = load(numbers, j)
                    lanes = multiply_add(x, x, lanes)
                store(lanes, 0, partial)
                for lane in range(LANES):
                    squares += partial[lane]
                for j in range(whole, n_slots):
                    squares += np.float64(numbers[j]) * np.float64(numbers[j])
        if not squares < np.inf:
            out[i] = np.nan  # the caller says which row
        else:
            out[i] = 1 / np.sqrt(squares) if lengths[i] > 0 and squares > 0 else 0.0


@loop
def row_digests(codes, weights, lengths, out):
    """A hash of each row's contents: equal rows have equal ones."""
    for i in range(out.shape[0]):
        digest = _U(1)
        for j in range(codes.shape[1]):
            word = _U(codes[i, j])
            if weights is not None:
                word |= _U(weights[i, j]) << _U(32)
            digest = (digest ^ word) * _MULTIPLIER
            digest ^= digest >> _U(29)
        out[i] = digest if lengths[i] > 0 else ~digest


@loop
def equal_rows(codes, weights, lengths, rows, others, out):
    """Whether each of some rows has the same contents as another one."""
    for p in range(out.shape[0]):
        i, j = rows[p], others[p]
        same = (lengths[i] > 0) == (lengths[j] > 0)
        for slot in range(codes.shape[1]):
            same &= codes[i, slot] == codes[j, slot]
            if weights is not None:
                same &= weights[i, slot] == weights[j, slot]
        out[p] = same


@inner_loop
def prefetch_slots(codes, weights, row, first):
    """Prefetch `PREFETCH_SLOTS` slots of a row, from `first` on.

    Rows are visited in random order, which the processor cannot predict.
    """
    p = row * codes.shape[1] + first
    for j in range(0, PREFETCH_SLOTS, LINE // codes.itemsize):
        prefetch(codes, p + j)
    if weights is not None:
        for j in range(0, PREFETCH_SLOTS, LINE // weights.itemsize):
            prefetch(weights, p + j)
