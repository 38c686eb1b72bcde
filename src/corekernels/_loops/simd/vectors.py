"""Numbers side by side, in one vector register where the machine has one that wide.

Vectors come in two lengths: eight numbers (the learner trains eight classes at once), and a
*line*, as many numbers as a cache line holds.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from .integers import (
    BEHIND_TEXT,
    INDEX,
    LINE,
    VectorType,
    address,
    call,
    compiled,
    fill,
    has_feature,
    line_type,
    on_vectors,
    read,
)

LANES = 8


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


def widen(x):
    """Eight numbers in double precision."""
    return x.astype(np.float64)


def splat_double(value):
    """The same number in each of eight lanes, in double precision."""
    return np.full(LANES, value, np.float64)


def add(x, y):
    """x + y, lane by lane; integers wrap around."""
    return x + y


def subtract(x, y):
    """x - y, lane by lane; integers wrap around."""
    return x - y


def transform_line(x):
    """The Walsh-Hadamard transform of a line: sums of its numbers with all patterns of signs.

    Number j of it is the sum of all x[i], with a minus where i AND j has an odd number of ones.
    """
    for distance in _distances(len(x)):
        partners = np.arange(len(x)) ^ distance
        x = np.where(partners < np.arange(len(x)), x[partners] - x, x[partners] + x)
    return x


def multiply_add(x, y, z):
    """x * y + z, lane by lane, rounded once where the processor has an instruction for it."""
    return x * y + z


def lower(x, y):
    """The lower of x and y, lane by lane; both unsigned."""
    return np.minimum(x, y)


def higher(x, y):
    """The higher of x and y, lane by lane; both unsigned."""
    return np.maximum(x, y)


def lower_letters(text):
    """Bytes with ASCII capitals in lower case."""
    return np.where((text >= ord("A")) & (text <= ord("Z")), text + np.uint8(32), text)


def where_not_above(x, y, yes, no):
    """Lane by lane, `yes` where x <= y, else `no`; x and y unsigned."""
    return np.where(x <= y, yes, no)


def low_halves(words):
    """The lower halves of 32-bit words as the numbers they begin (bfloat16)."""
    return (words << np.uint32(16)).view(np.float32)


def high_halves(words):
    """The upper halves of 32-bit words as the numbers they begin (bfloat16)."""
    return (words & np.uint32(0xFFFF0000)).view(np.float32)


def upper_halves(words):
    """The upper halves of 32-bit words, as words."""
    return words >> np.uint32(16)


def many_registers():
    """Whether there are 32 registers as wide as a line, rather than 16 of half that width."""
    return True


def prefetch(array, start):
    """Ask for the cache line of one element of a contiguous array, without waiting for it."""


def _distances(count):
    """How far apart the partners of each step of a transform are."""
    return [1 << step for step in range(count.bit_length() - 1)]


def _emit_splat(context, builder, signature, args):
    number = context.cast(builder, args[0], signature.args[0], signature.return_type.dtype)
    return fill(context, builder, signature.return_type, number)


def _emit_load(context, builder, signature, args):
    array, start = signature.args
    n_behind = BEHIND_TEXT if array.dtype == types.uint8 else 0
    n_items = signature.return_type.count
    place = address(context, builder, array, args[0], start, args[1], n_items, n_behind)
    return read(context, builder, signature.return_type, place)


@compiled(splat)
def _splat(value):
    return VectorType(types.float32, LANES), _emit_splat


@compiled(splat_double)
def _splat_double(value):
    return VectorType(types.float64, LANES), _emit_splat


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
        numbers = ir.Constant(context.get_value_type(vector), ir.Undefined)
        for lane in range(LANES):
            kind, place = signature.args[1 + lane], args[1 + lane]
            number = builder.load(address(context, builder, array, args[0], kind, place, 1))
            numbers = builder.insert_element(numbers, number, ir.Constant(INDEX, lane))
        return numbers

    return vector, emit


@compiled(store)
def _store(vector, start, out):
    def emit(context, builder, signature, args):
        place = address(context, builder, out, args[2], start, args[1], vector.count)
        kept = args[0]
        if out.dtype != vector.dtype:
            resize = builder.trunc if out.dtype.bitwidth < vector.dtype.bitwidth else builder.zext
            kept = resize(kept, context.get_value_type(VectorType(out.dtype, vector.count)))
        pointer = builder.bitcast(place, kept.type.as_pointer())
        builder.store(kept, pointer, align=out.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void, emit


@compiled(widen)
def _widen(x):
    wide = VectorType(types.float64, x.count)

    def emit(context, builder, signature, args):
        return builder.fpext(args[0], context.get_value_type(wide))

    return wide, emit


def _has_floats(vector):
    return isinstance(vector.type.element, ir.FloatType | ir.DoubleType)


on_vectors(add, lambda builder, x, y: (builder.fadd if _has_floats(x) else builder.add)(x, y))
on_vectors(subtract, lambda builder, x, y: (builder.fsub if _has_floats(x) else builder.sub)(x, y))
# a processor without such an instruction multiplies, rounds and adds: not to round would take
# a call of a function for every number
on_vectors(multiply_add, lambda builder, x, y, z: call(builder, "fmuladd", [x, y, z]))
on_vectors(lower, lambda builder, x, y: call(builder, "umin", [x, y]))
on_vectors(higher, lambda builder, x, y: call(builder, "umax", [x, y]))
on_vectors(upper_halves, lambda builder, words: builder.lshr(words, _filled(words, 16)))
on_vectors(
    where_not_above,
    lambda builder, x, y, yes, no: builder.select(builder.icmp_unsigned("<=", x, y), yes, no),
)


def _filled(vector, number):
    """A constant vector like this one, of equal numbers."""
    return ir.Constant(vector.type, [number] * vector.type.count)


def _lower_letters(builder, text):
    start = builder.sub(text, _filled(text, ord("A")))
    is_capital = builder.icmp_unsigned("<", start, _filled(text, 26))
    return builder.select(is_capital, builder.add(text, _filled(text, 32)), text)


on_vectors(lower_letters, _lower_letters)


@compiled(transform_line)
def _transform_line(x):
    def emit(context, builder, signature, args):
        sums = args[0]
        for distance in _distances(x.count):
            partners = [place ^ distance for place in range(x.count)]
            order = ir.Constant(ir.VectorType(INDEX, x.count), partners)
            signs = [1.0 if partner > place else -1.0 for place, partner in enumerate(partners)]
            swapped = builder.shuffle_vector(sums, sums, order)
            sums = call(builder, "fmuladd", [sums, ir.Constant(sums.type, signs), swapped])
        return sums

    return x, emit


def _emit_halves(operation, number):
    """Emits an operation on words, after which each is a number of single precision."""

    def emit(context, builder, signature, args):
        words = getattr(builder, operation)(args[0], _filled(args[0], number))
        return builder.bitcast(words, context.get_value_type(signature.return_type))

    return emit


@compiled(low_halves)
def _low_halves(words):
    return VectorType(types.float32, words.count), _emit_halves("shl", 16)


@compiled(high_halves)
def _high_halves(words):
    return VectorType(types.float32, words.count), _emit_halves("and_", 0xFFFF0000)


@compiled(many_registers)
def _many_registers():
    def emit(context, builder, signature, args):
        return ir.Constant(ir.IntType(1), has_feature(context, "avx512f"))

    return types.boolean, emit


@compiled(prefetch)
def _prefetch(array, start):
    def emit(context, builder, signature, args):
        pointer = ir.IntType(8).as_pointer()
        place = address(context, builder, array, args[0], start, args[1], 0)
        place = builder.bitcast(place, pointer)
        kind = ir.FunctionType(ir.VoidType(), [pointer, INDEX, INDEX, INDEX])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        flags = [ir.Constant(INDEX, flag) for flag in (0, 3, 1)]  # read, keep in L1, data
        builder.call(function, [place, *flags])
        return context.get_dummy_value()

    return types.void, emit
