"""Codes and weights of signatures as whole arrays; `_loops/simd/slots.py` says what a slot is."""

from collections.abc import Mapping

import numpy as np

from .._core.threads import row_blocks
from .._core.types import Array
from .._core.validation import read_only

_BLOCK_SLOTS = 1 << 22


def loop_slots(arrays: Mapping[str, Array]) -> tuple[Array, Array | None]:
    """Codes and weights of signatures as loops take them.

    Weights are the bits of halves; None where all are 1. Where code and weight share an integer,
    both are the same array.
    """
    if "slots" in arrays:
        slots = read_only(arrays["slots"])
        return slots, slots
    codes, weights = read_only(arrays["codes"]), arrays.get("weights")
    return codes, None if weights is None else read_only(weights.view(np.uint16))


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
