"""Numbers side by side, in one vector register where the machine has one that wide.

Left to itself LLVM keeps running sums and minima in memory and checks every index for its
sign, which costs up to three times as much; here a value of type `Vector` is a vector, and a
load is one instruction. Vectors come in two lengths: eight numbers (the descent learns eight
classes at once), and a *line*, as many numbers as a cache line holds.
Without Numba the same functions work on slices of NumPy arrays.
"""

from functools import wraps

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, models, register_model, type_callable

LANES = 8
LINE = 64  # bytes

_INDEX = ir.IntType(32)


class VectorType(types.Type):
    """Numba's name for `count` numbers in a register."""

    def __init__(self, dtype, count):
        self.dtype, self.count = dtype, count
        super().__init__(name=f"Vector({dtype}, {count})")


@register_model(VectorType)
class VectorModel(models.PrimitiveModel):
    """Numbers side by side are one LLVM vector."""

    def __init__(self, manager, kind):
        number = manager.lookup(kind.dtype).get_value_type()
        super().__init__(manager, kind, ir.VectorType(number, kind.count))


def line_type(dtype):
    """The vector that fills a cache line."""
    return VectorType(dtype, LINE * 8 // dtype.bitwidth)


def compiled(function):
    """Teach Numba a function.

    What is decorated takes the types of the arguments and gives the type of the result and
    what emits the instructions; None if the arguments are none of its business. Numba's
    `overload` does the same, but compiles each call of it anew.
    """

    def decorate(describe):
        @type_callable(function)
        def type_of_call(context):
            @wraps(describe)  # Numba looks at the names of the arguments
            def give_type(*kinds):
                described = describe(*kinds)
                return described and described[0]

            return give_type

        @lower_builtin(function, types.VarArg(types.Any))
        def emit(context, builder, signature, args):
            return describe(*signature.args)[1](context, builder, signature, args)

        return describe

    return decorate


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


def pick(array, a, b, c, d, e, f, g, h):
    """Eight numbers of an array, from these places."""
    return array[np.array([a, b, c, d, e, f, g, h])]


def store(vector, start, out):
    """Write a vector to consecutive places of a contiguous array, unsigned numbers cut to fit."""
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


def many_registers():
    """Whether there are 32 registers as wide as a line, rather than 16 of half that width."""
    return True


def prefetch(array, start):
    """Ask for the cache line of one element of a contiguous array, without waiting for it."""


def has_feature(context, name):
    """Whether the processor that code is made for has what LLVM calls by this name."""
    return f"+{name}" in context.codegen().magic_tuple()[2].split(",")


def address(context, builder, kind, array, start):
    """The address of one element of an array."""
    data = context.make_array(kind)(context, builder, array).data
    return builder.gep(data, [start])


def read(context, builder, vector, place):
    """The vector at an address that only its elements are aligned to."""
    pointer = builder.bitcast(place, context.get_value_type(vector).as_pointer())
    return builder.load(pointer, align=vector.dtype.bitwidth // 8)


def fill(context, builder, vector, value):
    """A vector of equal numbers."""
    undefined = ir.Constant(context.get_value_type(vector), ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(_INDEX, 0))
    order = ir.Constant(ir.VectorType(_INDEX, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, order)


def call(builder, name, values):
    """What one of LLVM's functions on vectors of one type gives."""
    shape = values[0].type
    is_float = shape.element == ir.FloatType()
    suffix = f"v{shape.count}{'f32' if is_float else f'i{shape.element.width}'}"
    kind = ir.FunctionType(shape, [shape] * len(values))
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.{suffix}")
    return builder.call(function, values)


def _emit_splat(context, builder, signature, args):
    number = context.cast(builder, args[0], signature.args[0], signature.return_type.dtype)
    return fill(context, builder, signature.return_type, number)


def _emit_load(context, builder, signature, args):
    start = context.cast(builder, args[1], signature.args[1], types.intp)
    place = address(context, builder, signature.args[0], args[0], start)
    return read(context, builder, signature.return_type, place)


@compiled(splat)
def _splat(value):
    return VectorType(types.float32, LANES), _emit_splat


@compiled(splat_line)
def _splat_line(value):
    return line_type(value), _emit_splat


@compiled(load)
def _load(array, start):
    return VectorType(array.dtype, LANES), _emit_load


@compiled(load_line)
def _load_line(array, start):
    return line_type(array.dtype), _emit_load


@compiled(pick)
def _pick(array, a, b, c, d, e, f, g, h):
    vector = VectorType(array.dtype, LANES)

    def emit(context, builder, signature, args):
        picked = ir.Constant(context.get_value_type(vector), ir.Undefined)
        for lane, place in enumerate(args[1:]):
            start = context.cast(builder, place, signature.args[1 + lane], types.intp)
            number = builder.load(address(context, builder, array, args[0], start))
            picked = builder.insert_element(picked, number, ir.Constant(_INDEX, lane))
        return picked

    return vector, emit


@compiled(store)
def _store(vector, start, out):
    def emit(context, builder, signature, args):
        number = context.cast(builder, args[1], start, types.intp)
        place = address(context, builder, out, args[2], number)
        kept = args[0]
        if out.dtype != vector.dtype:
            resize = builder.trunc if out.dtype.bitwidth < vector.dtype.bitwidth else builder.zext
            kept = resize(kept, context.get_value_type(VectorType(out.dtype, vector.count)))
        pointer = builder.bitcast(place, kept.type.as_pointer())
        builder.store(kept, pointer, align=out.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void, emit


@compiled(add)
def _add(x, y):
    return x, lambda context, builder, signature, args: builder.fadd(*args)


@compiled(multiply_add)
def _multiply_add(x, y, z):
    return x, lambda context, builder, signature, args: call(builder, "fma", args)


@compiled(lower)
def _lower(x, y):
    return x, lambda context, builder, signature, args: call(builder, "umin", args)


@compiled(where_not_above)
def _where_not_above(x, y, yes, no):
    def emit(context, builder, signature, args):
        return builder.select(builder.icmp_unsigned("<=", *args[:2]), *args[2:])

    return yes, emit


@compiled(low_halves)
def _low_halves(words):
    def emit(context, builder, signature, args):
        moved = builder.shl(args[0], ir.Constant(args[0].type, [16] * words.count))
        return builder.bitcast(moved, context.get_value_type(signature.return_type))

    return VectorType(types.float32, words.count), emit


@compiled(high_halves)
def _high_halves(words):
    def emit(context, builder, signature, args):
        kept = builder.and_(args[0], ir.Constant(args[0].type, [0xFFFF0000] * words.count))
        return builder.bitcast(kept, context.get_value_type(signature.return_type))

    return VectorType(types.float32, words.count), emit


@compiled(many_registers)
def _many_registers():
    def emit(context, builder, signature, args):
        return ir.Constant(ir.IntType(1), has_feature(context, "avx512f"))

    return types.boolean, emit


@compiled(prefetch)
def _prefetch(array, start):
    def emit(context, builder, signature, args):
        number = context.cast(builder, args[1], start, types.intp)
        pointer = ir.IntType(8).as_pointer()
        place = builder.bitcast(address(context, builder, array, args[0], number), pointer)
        kind = ir.FunctionType(ir.VoidType(), [pointer, _INDEX, _INDEX, _INDEX])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        flags = [ir.Constant(_INDEX, flag) for flag in (0, 3, 1)]  # read, keep in L1, data
        builder.call(function, [place, *flags])
        return context.get_dummy_value()

    return types.void, emit
