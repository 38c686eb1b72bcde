"""Slots whose code and weight share a signed integer (`_loops/simd/slots.py`), as whole arrays."""

import numpy as np

from .._core.threads import row_blocks
from .._core.types import Array

_BLOCK_SLOTS = 1 << 22


def codes_of(slots: Array) -> Array:
    """Codes of slots; an array of codes, which is unsigned, is its own."""
    if slots.dtype.kind == "u":
        return slots
    codes: Array = slots.view(f"u{slots.itemsize}") & ((1 << 4 * slots.itemsize) - 1)
    return codes


def weights_of(slots: Array, unit: float) -> Array:
    """Weights of slots in single precision; level n stands for 2 n + 1 units."""
    levels = (slots >> 4 * slots.itemsize).astype(np.float32)
    weights: Array = (2 * levels + 1) * np.float32(unit)
    return weights


def largest_code(slots: Array) -> int:
    """The largest of all codes, 0 if there are none; slots may be memory-mapped."""
    blocks = row_blocks(0, len(slots), max(1, _BLOCK_SLOTS // max(1, slots.shape[1])))
    return max((int(codes_of(slots[slice(*block)]).max(initial=0)) for block in blocks), default=0)
