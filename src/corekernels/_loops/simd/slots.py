"""What a slot holds: its code, and its weight.

Codes are unsigned integers of an array of their own, weights halves of another. Where weights are
rounded, a slot is one signed integer that has both: the code in the lower half of its bits, the
level of the weight in the upper half, as a number with a sign. Level n stands for 2 n + 1 units.
Loops take such an array in the place of both.
"""

import numpy as np
from llvmlite import ir
from numba import types

from ..compilation import inlined_loop
from .halves import describe_from_half, from_half
from .llvm import compiled

_UNSIGNED = {types.int8: types.uint8, types.int16: types.uint16}


def code_of(slot):
    """The code of a slot."""
    if not isinstance(slot, np.signedinteger):
        return slot
    unsigned = np.uint8 if slot.itemsize == 1 else np.uint16
    return unsigned(int(slot) & (1 << 4 * slot.itemsize) - 1)


def weight_of(slot):
    """The weight of a slot: that of a half, or the number of units of a level."""
    if not isinstance(slot, np.signedinteger):
        return from_half(slot)
    return np.float32(2 * (int(slot) >> 4 * slot.itemsize) + 1)


@inlined_loop
def read_weights(weights, row, first, last, out):
    """Weights first to last of a row as numbers of single precision."""
    i, origin = np.uint64(row), np.uint64(first)
    for p in range(last - first):
        out[np.uint64(p)] = weight_of(weights[i, origin + np.uint64(p)])


@inlined_loop
def write_levels(halves, per_unit, out):
    """Put the levels of weights into slots that have only codes yet; `per_unit` intervals each."""
    n_bits = 4 * out.itemsize
    most = (1 << n_bits - 1) - 1
    for p in range(halves.shape[0]):
        level = np.int64(np.floor(from_half(halves[p]) * per_unit))
        out[p] |= min(max(level, -most - 1), most) << n_bits


@compiled(code_of)
def _code_of(slot):
    def emit(context, builder, signature, args):
        if slot not in _UNSIGNED:
            return args[0]
        return builder.and_(args[0], ir.Constant(args[0].type, (1 << slot.bitwidth // 2) - 1))

    return (_UNSIGNED.get(slot, slot), emit) if isinstance(slot, types.Integer) else None


@compiled(weight_of)
def _weight_of(slot):
    def emit(context, builder, signature, args):
        kind = args[0].type
        level = builder.ashr(args[0], ir.Constant(kind, slot.bitwidth // 2))
        odd = builder.or_(builder.shl(level, ir.Constant(kind, 1)), ir.Constant(kind, 1))
        return builder.sitofp(odd, ir.FloatType())

    return (types.float32, emit) if slot in _UNSIGNED else describe_from_half(slot)
