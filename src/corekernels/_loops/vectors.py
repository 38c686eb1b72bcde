"""Numbers side by side, in one vector register where the machine has one that wide.

Left to itself LLVM keeps running sums and minima in memory and checks every index for its
sign, which costs up to three times as much; here a value of type `Vector` is a vector, and a
load is one instruction. Vectors come in two lengths: eight floats (the descent learns eight
classes at once), and a *line*, as many numbers as a cache line holds.
Without Numba the same functions work on slices of NumPy arrays.
"""

from functools import partial

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

LANES = 8
LINE = 64  # bytes

_INDEX = ir.IntType(32)
compiled = partial(overload, jit_options={"nogil": True}, inline="always")


class VectorType(types.Type):
    """Numba's name for `count` numbers in a register."""

    def __init__(self, dtype, count):
        self.dtype, self.count = dtype, count
        super().__init__(name=f"Vector({dtype}, {count})")


@register_model(VectorType)
class VectorModel(models.PrimitiveModel):
    """Numbers side by side are one LLVM vector."""

    def __init__(self, manager, kind):
        element = manager.lookup(kind.dtype).get_value_type()
        super().__init__(manager, kind, ir.VectorType(element, kind.count))


_lanes = VectorType(types.float32, LANES)


def line_type(dtype):
    """The vector that fills a cache line."""
    return VectorType(dtype, LINE * 8 // dtype.bitwidth)


def splat(value):
    """The same number in each of eight lanes."""
    return np.full(LANES, value, np.float32)


def load(array, start):
    """Eight consecutive numbers of a contiguous array of any shape."""
    return array.reshape(-1)[start : start + LANES].copy()


def splat_line(value):
    """The same number in all places of a line."""
    return np.full(LINE // value.itemsize, value)


def load_line(array, start):
    """A line of consecutive numbers of a contiguous array."""
    return array.reshape(-1)[start : start + LINE // array.itemsize].copy()


def store(vector, start, out):
    """Write a vector to consecutive places of a contiguous array."""
    out.reshape(-1)[start : start + len(vector)] = vector


def add(x, y):
    """x + y, lane by lane."""
    return x + y


def multiply_add(x, y, z):
    """x * y + z, lane by lane, rounded once."""
    return x * y + z


def lower(x, y):
    """The lower of x and y, lane by lane; both unsigned."""
    return np.minimum(x, y)


def where_not_above(x, y, yes, no):
    """Lane by lane, `yes` where x <= y, else `no`; x and y unsigned."""
    return np.where(x <= y, yes, no)


def low_halves(words):
    """The lower halves of 32-bit words as the numbers they begin (bfloat16)."""
    return (words << np.uint32(16)).view(np.float32)


def high_halves(words):
    """The upper halves of 32-bit words as the numbers they begin (bfloat16)."""
    return (words & np.uint32(0xFFFF0000)).view(np.float32)


def prefetch(array, start):
    """Ask for the cache line of one element of a contiguous array, without waiting for it."""


def element(context, builder, kind, array, start):
    """The address of one element of an array."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.gep(data, [start])


def read(context, builder, vector, address):
    """The vector at an address that only its elements are aligned to."""
    shape = context.get_value_type(vector)
    pointer = builder.bitcast(address, shape.as_pointer())
    return builder.load(pointer, align=vector.dtype.bitwidth // 8)


def fill(context, builder, vector, value):
    """A vector of equal numbers."""
    shape = context.get_value_type(vector)
    undefined = ir.Constant(shape, ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_INDEX, 0))
    order = ir.Constant(ir.VectorType(_INDEX, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, order)


def call(builder, name, values):
    """What one of LLVM's functions on vectors of one type gives."""
    shape = values[0].type
    kind = ir.FunctionType(shape, [shape] * len(values))
    suffix = f"v{shape.count}{'f' if shape.element == ir.FloatType() else 'i'}"
    bits = 32 if shape.element == ir.FloatType() else shape.element.width
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.{suffix}{bits}")
    return builder.call(function, values)


@intrinsic
def _splat(typingctx, value):
    def generate(context, builder, signature, args):
        return fill(context, builder, signature.return_type, args[0])

    return _lanes(types.float32), generate


@intrinsic
def _splat_line(typingctx, value):
    def generate(context, builder, signature, args):
        return fill(context, builder, signature.return_type, args[0])

    return line_type(value)(value), generate


def _generate_load(context, builder, signature, args):
    address = element(context, builder, signature.args[0], *args)
    return read(context, builder, signature.return_type, address)


@intrinsic
def _load(typingctx, array, start):
    return _lanes(array, types.intp), _generate_load


@intrinsic
def _load_line(typingctx, array, start):
    return line_type(array.dtype)(array, types.intp), _generate_load


@intrinsic
def _store(typingctx, vector, start, out):
    def generate(context, builder, signature, args):
        address = element(context, builder, signature.args[2], args[2], args[1])
        pointer = builder.bitcast(address, args[0].type.as_pointer())
        builder.store(args[0], pointer, align=vector.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(vector, types.intp, out), generate


@intrinsic
def _add(typingctx, x, y):
    def generate(context, builder, signature, args):
        return builder.fadd(*args)

    return x(x, x), generate


@intrinsic
def _multiply_add(typingctx, x, y, z):
    def generate(context, builder, signature, args):
        return call(builder, "fma", args)

    return x(x, x, x), generate


@intrinsic
def _lower(typingctx, x, y):
    def generate(context, builder, signature, args):
        return call(builder, "umin", args)

    return x(x, x), generate


@intrinsic
def _where_not_above(typingctx, x, y, yes, no):
    def generate(context, builder, signature, args):
        return builder.select(builder.icmp_unsigned("<=", *args[:2]), *args[2:])

    return yes(x, x, yes, yes), generate


@intrinsic
def _low_halves(typingctx, words):
    def generate(context, builder, signature, args):
        sixteen = ir.Constant(args[0].type, [16] * words.count)
        shape = context.get_value_type(signature.return_type)
        return builder.bitcast(builder.shl(args[0], sixteen), shape)

    return VectorType(types.float32, words.count)(words), generate


@intrinsic
def _high_halves(typingctx, words):
    def generate(context, builder, signature, args):
        upper = ir.Constant(args[0].type, [0xFFFF0000] * words.count)
        shape = context.get_value_type(signature.return_type)
        return builder.bitcast(builder.and_(args[0], upper), shape)

    return VectorType(types.float32, words.count)(words), generate


@intrinsic
def _prefetch(typingctx, array, start):
    def generate(context, builder, signature, args):
        address = ir.IntType(8).as_pointer()
        pointer = builder.bitcast(element(context, builder, signature.args[0], *args), address)
        kind = ir.FunctionType(ir.VoidType(), [address, _INDEX, _INDEX, _INDEX])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        flags = [ir.Constant(_INDEX, flag) for flag in (0, 3, 1)]  # read, keep in L1, data
        builder.call(function, [pointer, *flags])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@compiled(splat)
def _overload_splat(value):
    return lambda value: _splat(value)


@compiled(load)
def _overload_load(array, start):
    return lambda array, start: _load(array, start)


@compiled(splat_line)
def _overload_splat_line(value):
    return lambda value: _splat_line(value)


@compiled(load_line)
def _overload_load_line(array, start):
    return lambda array, start: _load_line(array, start)


@compiled(store)
def _overload_store(vector, start, out):
    return lambda vector, start, out: _store(vector, start, out)


@compiled(add)
def _overload_add(x, y):
    return lambda x, y: _add(x, y)


@compiled(multiply_add)
def _overload_multiply_add(x, y, z):
    return lambda x, y, z: _multiply_add(x, y, z)


@compiled(lower)
def _overload_lower(x, y):
    return lambda x, y: _lower(x, y)


@compiled(where_not_above)
def _overload_where_not_above(x, y, yes, no):
    return lambda x, y, yes, no: _where_not_above(x, y, yes, no)


@compiled(low_halves)
def _overload_low_halves(words):
    return lambda words: _low_halves(words)


@compiled(high_halves)
def _overload_high_halves(words):
    return lambda words: _high_halves(words)


@compiled(prefetch)
def _overload_prefetch(array, start):
    return lambda array, start: _prefetch(array, start)
