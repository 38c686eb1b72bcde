"""Sets of 512 slots, one bit each, in one vector, with `|`, `&`, `^` and `~`.

Without Numba such a set is an array of eight 64-bit words.
"""

import operator

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from .integers import (
    BEHIND_TEXT,
    VectorType,
    address,
    call,
    compiled,
    fill,
    line_type,
    on_vectors,
    read,
)

SLOTS = 512
WORD = 64

_SET = line_type(types.uint64)


def bits_from(bitmap, bit):
    """512 bits of a bitmap of 64-bit words, from the given bit on; nine words are read."""
    word, shift = bit // WORD, np.uint64(bit % WORD)
    low, high = bitmap[word : word + 8], bitmap[word + 1 : word + 9]
    return (low >> shift) | (high << np.uint64(1) << (np.uint64(63) - shift))


def any_bit(bits):
    """Whether the set has any slot."""
    return bits.any()


def pack_marks(marks, start):
    """A word of 64 bits: which of 64 consecutive integers are not 0."""
    return np.packbits(marks[start : start + WORD] != 0, bitorder="little").view(np.uint64)[0]


def equal_bytes(text, start, byte):
    """A word of 64 bits: which of 64 consecutive bytes equal this one."""
    return np.packbits(text[start : start + WORD] == byte, bitorder="little").view(np.uint64)[0]


def bytes_between(text, start, least, most):
    """A word of 64 bits: which of 64 consecutive bytes lie between these two, both included."""
    block = text[start : start + WORD]
    return np.packbits((least <= block) & (block <= most), bitorder="little").view(np.uint64)[0]


def splat_word(value):
    """The same number for each bit of a word."""
    return np.full(WORD, value)


def add_where_bit(word, value, numbers):
    """64 numbers, the value added to those where the word has a 1."""
    return numbers + np.unpackbits(np.atleast_1d(word).view(np.uint8), bitorder="little") * value


@compiled(bits_from)
def _bits_from(bitmap, bit):
    def emit(context, builder, signature, args):
        number = context.cast(builder, args[1], bit, types.intp)
        word = builder.lshr(number, ir.Constant(number.type, 6))
        place = address(context, builder, bitmap, args[0], types.intp, word, SLOTS // WORD + 1)
        low = read(context, builder, _SET, place)
        high = read(context, builder, _SET, builder.gep(place, [ir.Constant(number.type, 1)]))
        shift = builder.and_(number, ir.Constant(number.type, 63))
        return call(builder, "fshr", [high, low, fill(context, builder, _SET, shift)])

    return _SET, emit


@compiled(any_bit)
def _any_bit(bits):
    def emit(context, builder, signature, args):
        word = ir.IntType(WORD)
        kind = ir.FunctionType(word, [args[0].type])
        name = "llvm.vector.reduce.or.v8i64"
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.icmp_unsigned("!=", builder.call(function, args), ir.Constant(word, 0))

    return types.boolean, emit


@compiled(pack_marks)
def _pack_marks(marks, start):
    def emit(context, builder, signature, args):
        place = address(context, builder, marks, args[0], start, args[1], WORD)
        block = read(context, builder, VectorType(marks.dtype, WORD), place)
        is_set = builder.icmp_unsigned("!=", block, ir.Constant(block.type, [0] * WORD))
        return builder.bitcast(is_set, ir.IntType(WORD))

    return types.uint64, emit


@compiled(bytes_between)
def _bytes_between(text, start, least, most):
    vector = VectorType(types.uint8, WORD)

    def emit(context, builder, signature, args):
        place = address(context, builder, text, args[0], start, args[1], WORD, BEHIND_TEXT)
        block = read(context, builder, vector, place)
        low, high = (
            context.cast(builder, arg, kind, types.uint8)
            for arg, kind in zip(args[2:], (least, most), strict=True)
        )
        above = builder.sub(block, fill(context, builder, vector, low))  # wraps around below
        span = fill(context, builder, vector, builder.sub(high, low))
        return builder.bitcast(builder.icmp_unsigned("<=", above, span), ir.IntType(WORD))

    return types.uint64, emit


@compiled(equal_bytes)
def _equal_bytes(text, start, byte):
    kind, emit = _bytes_between(text, start, byte, byte)
    return kind, lambda context, builder, signature, args: emit(
        context, builder, signature, (*args, args[2])
    )


@compiled(splat_word)
def _splat_word(value):
    vector = VectorType(value, WORD)
    return vector, lambda context, builder, signature, args: fill(context, builder, vector, args[0])


@compiled(add_where_bit)
def _add_where_bit(word, value, numbers):
    def emit(context, builder, signature, args):
        chosen = builder.bitcast(args[0], ir.VectorType(ir.IntType(1), WORD))
        sums = builder.add(args[2], fill(context, builder, numbers, args[1]))
        return builder.select(chosen, sums, args[2])

    return numbers, emit


on_vectors(operator.or_, lambda builder, x, y: builder.or_(x, y))
on_vectors(operator.and_, lambda builder, x, y: builder.and_(x, y))
on_vectors(operator.xor, lambda builder, x, y: builder.xor(x, y))
on_vectors(operator.invert, lambda builder, x: builder.not_(x))
