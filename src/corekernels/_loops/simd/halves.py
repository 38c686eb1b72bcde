"""Numbers of half precision, as the 16 bits they are stored in: Numba has no arrays of them.

Most processors convert them in one instruction. For the others LLVM would call a function
that is not there; they do it in integer arithmetic, which becomes vectors as well.

What a slot holds: its code, and its weight.

Codes are unsigned integers of an array of their own, weights halves of another. Where weights are
rounded, a slot is one signed integer that has both: the code in the lower half of its bits, the
level of the weight in the upper half, as a number with a sign. Level n stands for 2 n + 1 units.
Loops take such an array in the place of both.
"""

import numpy as np
from llvmlite import ir
from numba import types

from ..compilation import inlined_loop
from .integers import compiled, has_feature

_WORD, _HALF, _SINGLE = ir.IntType(32), ir.IntType(16), ir.FloatType()
_SIGN = 0x8000
_INFINITE = 0x7C00
_NORMAL = 0x0400  # the least half with all its digits, 2^-14
_BIAS = (127 - 15) << 23  # between the exponents of both kinds, in single precision
_UNIT = 2.0**-24  # what halves below 2^-14 are multiples of


def to_half(number):
    """The half next to a finite single precision number, the even one of two."""
    return np.float32(number).astype(np.float16).view(np.uint16)


def from_half(half):
    """The single precision number that equals a half."""
    return np.uint16(half).view(np.float16).astype(np.float32)


@inlined_loop
def write_halves(numbers, out):
    """Numbers of single precision, rounded to halves."""
    for p in range(numbers.shape[0]):
        out[p] = to_half(numbers[p])


def _converts(context):
    """Whether the processor that code is made for has the instructions."""
    machine = context.codegen().magic_tuple()[0]
    return has_feature(context, "f16c") or machine.startswith(("aarch64", "arm64"))


def _word(value):
    return ir.Constant(_WORD, value)


@compiled(to_half)
def _to_half(number):
    def emit(context, builder, signature, args):
        if _converts(context):
            return builder.bitcast(builder.fptrunc(args[0], ir.HalfType()), _HALF)
        bits = builder.bitcast(args[0], _WORD)
        size = builder.and_(bits, _word(0x7FFFFFFF))
        # a half has 13 digits less; half of its last one is added before they are cut off
        odd = builder.and_(builder.lshr(size, _word(13)), _word(1))
        rounded = builder.add(builder.sub(size, _word(_BIAS - 0xFFF)), odd)
        normal = builder.lshr(rounded, _word(13))
        is_finite = builder.icmp_unsigned("<", normal, _word(_INFINITE))
        normal = builder.select(is_finite, normal, _word(_INFINITE))
        # the last digit of numbers from 0.5 to 1 is the unit of the least halves
        shifted = builder.fadd(builder.bitcast(size, _SINGLE), ir.Constant(_SINGLE, 0.5))
        small = builder.sub(builder.bitcast(shifted, _WORD), _word(126 << 23))
        is_small = builder.icmp_unsigned("<", size, _word((127 - 14) << 23))
        sign = builder.and_(builder.lshr(bits, _word(16)), _word(_SIGN))
        half = builder.or_(sign, builder.select(is_small, small, normal))
        return builder.trunc(half, _HALF)

    return (types.uint16, emit) if number == types.float32 else None


@compiled(from_half)
def describe_from_half(half):
    """The type of the result and the function that emits it, as `compiled` asks for."""

    def emit(context, builder, signature, args):
        word = builder.zext(args[0], _WORD)
        if _converts(context):
            return builder.fpext(builder.bitcast(args[0], ir.HalfType()), _SINGLE)
        size = builder.and_(word, _word(0x7FFF))
        normal = builder.add(builder.shl(size, _word(13)), _word(_BIAS))
        small = builder.fmul(builder.sitofp(size, _SINGLE), ir.Constant(_SINGLE, _UNIT))
        is_small = builder.icmp_unsigned("<", size, _word(_NORMAL))
        number = builder.select(is_small, builder.bitcast(small, _WORD), normal)
        is_finite = builder.icmp_unsigned("<", size, _word(_INFINITE))
        number = builder.select(is_finite, number, builder.add(normal, _word(_BIAS)))
        sign = builder.shl(builder.and_(word, _word(_SIGN)), _word(16))
        return builder.bitcast(builder.or_(number, sign), _SINGLE)

    return (types.float32, emit) if half == types.uint16 else None


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
