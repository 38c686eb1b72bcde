"""Inner products of rows over the slots where their codes are equal: sixteen slots at a time."""

import numpy as np
from llvmlite import ir
from numba import types

from .llvm import INDEX, VectorType, address, call, compiled, fill, read

SLOTS = 16


def load_slots(array, start):
    """Sixteen consecutive numbers of a contiguous array of any shape."""
    return array.reshape(-1)[start : start + SLOTS].copy()


def zero_slots():
    """Sixteen zeros in single precision."""
    return np.zeros(SLOTS, np.float32)


def add_products(codes, others, x, y, z):
    """Slot by slot, x * y + z, rounded once, where the codes are equal, else z."""
    return np.where(codes == others, z + x * y, z)


def count_equal(codes, start, others, other_start):
    """In how many of sixteen consecutive places two contiguous arrays of codes are equal."""
    return np.int64(np.sum(load_slots(codes, start) == load_slots(others, other_start)))


def total(x):
    """The sum of sixteen numbers: of halves, then of halves of that, and so on."""
    while len(x) > 1:
        x = x[: len(x) // 2] + x[len(x) // 2 :]
    return x[0]


def _emit_load(context, builder, kind, array, place):
    start = context.cast(builder, place[0], place[1], types.intp)
    vector = VectorType(kind.dtype, SLOTS)
    return read(context, builder, vector, address(context, builder, kind, array, start))


@compiled(load_slots)
def _load_slots(array, start):
    def emit(context, builder, signature, args):
        return _emit_load(context, builder, array, args[0], (args[1], start))

    return VectorType(array.dtype, SLOTS), emit


@compiled(zero_slots)
def _zero_slots():
    vector = VectorType(types.float32, SLOTS)

    def emit(context, builder, signature, args):
        return fill(context, builder, vector, ir.Constant(ir.FloatType(), 0.0))

    return vector, emit


@compiled(add_products)
def _add_products(codes, others, x, y, z):
    def emit(context, builder, signature, args):
        equal = builder.icmp_unsigned("==", args[0], args[1])
        return builder.select(equal, call(builder, "fma", args[2:]), args[4])

    return z, emit


@compiled(count_equal)
def _count_equal(codes, start, others, other_start):
    def emit(context, builder, signature, args):
        mine = _emit_load(context, builder, codes, args[0], (args[1], start))
        theirs = _emit_load(context, builder, others, args[2], (args[3], other_start))
        equal = builder.icmp_unsigned("==", mine, theirs)
        word = builder.zext(builder.bitcast(equal, ir.IntType(SLOTS)), ir.IntType(64))
        return builder.ctpop(word)

    return types.int64, emit


@compiled(total)
def _total(x):
    def emit(context, builder, signature, args):
        rest, size = args[0], SLOTS
        while size > 1:
            size //= 2
            low, high = (
                builder.shuffle_vector(
                    rest,
                    ir.Constant(rest.type, ir.Undefined),
                    ir.Constant(ir.VectorType(INDEX, size), list(range(first, first + size))),
                )
                for first in (0, size)
            )
            rest = builder.fadd(low, high)
        return builder.extract_element(rest, ir.Constant(INDEX, 0))

    return types.float32, emit
