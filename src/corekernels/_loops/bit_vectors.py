"""Sets of 512 slots, one bit each, in one vector: read from a bitmap at any bit, `|`, `&`, `~`.

Without Numba such a set is an array of eight 64-bit words.
"""

import operator

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from .vectors import VectorType, call, compiled, element, fill, line_type, read

SLOTS = 512
WORD = 64

_set = line_type(types.uint64)


def bits_from(bitmap, bit):
    """512 bits of a bitmap of 64-bit words, from the given bit on; it ends a word or more later."""
    word, shift = bit // WORD, np.uint64(bit % WORD)
    low, high = bitmap[word : word + 8], bitmap[word + 1 : word + 9]
    return (low >> shift) | (high << np.uint64(1) << (np.uint64(63) - shift))


def any_bit(bits):
    """Whether the set has any slot."""
    return bits.any()


def pack_flags(flags, start):
    """A word of 64 bits: which of 64 consecutive bytes are not 0."""
    return np.packbits(flags[start : start + WORD] != 0, bitorder="little").view(np.uint64)[0]


def where_bit(word, value):
    """64 numbers: the value where the word has a 1, else 0."""
    return np.unpackbits(np.atleast_1d(word).view(np.uint8), bitorder="little") * value


@intrinsic
def _bits_from(typingctx, bitmap, bit):
    def generate(context, builder, signature, args):
        number = args[1].type
        address = element(
            context, builder, bitmap, args[0], builder.lshr(args[1], ir.Constant(number, 6))
        )
        low = read(context, builder, _set, address)
        high = read(context, builder, _set, builder.gep(address, [ir.Constant(number, 1)]))
        shift = fill(context, builder, _set, builder.and_(args[1], ir.Constant(number, 63)))
        return call(builder, "fshr", [high, low, shift])

    return _set(bitmap, types.intp), generate


@intrinsic
def _any_bit(typingctx, bits):
    def generate(context, builder, signature, args):
        word = ir.IntType(WORD)
        kind = ir.FunctionType(word, [args[0].type])
        name = "llvm.vector.reduce.or.v8i64"
        function = cgutils.get_or_insert_function(builder.module, kind, name)
        return builder.icmp_unsigned("!=", builder.call(function, args), ir.Constant(word, 0))

    return types.boolean(_set), generate


@intrinsic
def _pack_flags(typingctx, flags, start):
    def generate(context, builder, signature, args):
        line = line_type(types.uint8)
        bytes_ = read(context, builder, line, element(context, builder, flags, *args))
        found = builder.icmp_unsigned("!=", bytes_, ir.Constant(bytes_.type, [0] * line.count))
        return builder.bitcast(found, ir.IntType(WORD))

    return types.uint64(flags, types.intp), generate


@intrinsic
def _where_bit(typingctx, word, value):
    vector = VectorType(value, WORD)

    def generate(context, builder, signature, args):
        chosen = builder.bitcast(args[0], ir.VectorType(ir.IntType(1), WORD))
        values = fill(context, builder, vector, args[1])
        return builder.select(chosen, values, ir.Constant(values.type, [0] * WORD))

    return vector(types.uint64, value), generate


@intrinsic
def _or(typingctx, x, y):
    def generate(context, builder, signature, args):
        return builder.or_(*args)

    return x(x, x), generate


@intrinsic
def _and(typingctx, x, y):
    def generate(context, builder, signature, args):
        return builder.and_(*args)

    return x(x, x), generate


@intrinsic
def _not(typingctx, x):
    def generate(context, builder, signature, args):
        return builder.not_(args[0])

    return x(x), generate


@compiled(bits_from)
def _overload_bits_from(bitmap, bit):
    return lambda bitmap, bit: _bits_from(bitmap, bit)


@compiled(any_bit)
def _overload_any_bit(bits):
    return lambda bits: _any_bit(bits)


@compiled(pack_flags)
def _overload_pack_flags(flags, start):
    return lambda flags, start: _pack_flags(flags, start)


@compiled(where_bit)
def _overload_where_bit(word, value):
    return lambda word, value: _where_bit(word, value)


@compiled(operator.or_)
def _overload_or(x, y):
    return (lambda x, y: _or(x, y)) if isinstance(x, VectorType) else None


@compiled(operator.and_)
def _overload_and(x, y):
    return (lambda x, y: _and(x, y)) if isinstance(x, VectorType) else None


@compiled(operator.invert)
def _overload_invert(x):
    return (lambda x: _not(x)) if isinstance(x, VectorType) else None
