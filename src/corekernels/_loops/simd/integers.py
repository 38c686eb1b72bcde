"""Integer operations that Numba has no name for."""

import numpy as np
from llvmlite import ir
from numba import types

from .llvm import BEHIND_TEXT, address, compiled

_WORD, _DOUBLE_WORD = ir.IntType(64), ir.IntType(128)
_NO, _YES = (ir.Constant(ir.IntType(1), flag) for flag in range(2))  # whether 0 is undefined


def high_product(x, y):
    """The upper 64 bits of the product of two unsigned 64-bit integers."""
    return np.uint64(int(x) * int(y) >> 64)


def leading_zeros(x):
    """Number of zero bits before the first one of an unsigned 64-bit integer that is not 0."""
    return np.uint64(64 - int(x).bit_length())


def trailing_zeros(x):
    """Number of zero bits after the last one of an unsigned 64-bit integer; 64 of 0."""
    return np.uint64((int(x) & -int(x)).bit_length() - 1 if x else 64)


def popcount(word):
    """Number of ones in an unsigned integer: one instruction, of vectors too where there is one."""
    return np.bitwise_count(word)


def float_from_bits(x):
    """The double precision number with these bits."""
    return np.uint64(x).view(np.float64)


def bits_from_float(x):
    """The bits of a double precision number."""
    return np.float64(x).view(np.uint64)


def load_word(text, start):
    """Eight bytes of an array as one integer, the first one lowest."""
    return text[start : start + 8].copy().view("<u8")[0]


def store_word(word, start, out):
    """Write an integer to eight bytes of an array, the lowest one first."""
    out[start : start + 8] = np.array([word], "<u8").view(np.uint8)


def fetch_add(counters, place, amount):
    """Add to an element of an array of integers and give what it was, as one atomic step."""
    before = counters[place]
    counters[place] += amount
    return before


@compiled(high_product)
def _high_product(x, y):
    def emit(context, builder, signature, args):
        product = builder.mul(*(builder.zext(arg, _DOUBLE_WORD) for arg in args))
        upper = builder.lshr(product, ir.Constant(_DOUBLE_WORD, 64))
        return builder.trunc(upper, _WORD)

    return types.uint64, emit


@compiled(leading_zeros)
def _leading_zeros(x):
    return types.uint64, lambda context, builder, signature, args: builder.ctlz(args[0], _YES)


@compiled(trailing_zeros)
def _trailing_zeros(x):
    return types.uint64, lambda context, builder, signature, args: builder.cttz(args[0], _NO)


@compiled(popcount)
def _popcount(word):
    return word, lambda context, builder, signature, args: builder.ctpop(args[0])


@compiled(float_from_bits)
def _float_from_bits(x):
    number = ir.DoubleType()
    return types.float64, lambda context, builder, signature, args: builder.bitcast(args[0], number)


@compiled(bits_from_float)
def _bits_from_float(x):
    return types.uint64, lambda context, builder, signature, args: builder.bitcast(args[0], _WORD)


@compiled(load_word)
def _load_word(text, start):
    def emit(context, builder, signature, args):
        place = address(context, builder, text, args[0], start, args[1], 8, BEHIND_TEXT)
        return builder.load(builder.bitcast(place, _WORD.as_pointer()), align=1)

    return types.uint64, emit


@compiled(store_word)
def _store_word(word, start, out):
    def emit(context, builder, signature, args):
        place = address(context, builder, out, args[2], start, args[1], 8)
        builder.store(args[0], builder.bitcast(place, _WORD.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void, emit


@compiled(fetch_add)
def _fetch_add(counters, place, amount):
    def emit(context, builder, signature, args):
        more = context.cast(builder, args[2], amount, counters.dtype)
        target = address(context, builder, counters, args[0], place, args[1], 1)
        return builder.atomic_rmw("add", target, more, "monotonic")

    return counters.dtype, emit
