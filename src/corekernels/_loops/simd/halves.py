"""Numbers of half precision, as the 16 bits they are stored in: Numba has no arrays of them.

Most processors convert them in one instruction. For the others LLVM would call a function
that is not there; they do it in integer arithmetic, which becomes vectors as well.
"""

import numpy as np
from llvmlite import ir
from numba import types

from ..compilation import inlined_loop
from .llvm import compiled, has_feature

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
        if _converts(context):
            return builder.fpext(builder.bitcast(args[0], ir.HalfType()), _SINGLE)
        word = builder.zext(args[0], _WORD)
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
