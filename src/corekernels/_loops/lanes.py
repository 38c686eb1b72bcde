"""Eight floats side by side, in one vector register where the machine has one that wide.

The descent learns eight classes at once. Left to itself LLVM keeps their running
sums in memory and checks every index for its sign, which costs three times as
much; here a value of type `Lanes` is a vector, and a load is one instruction.
Without Numba the same functions are slices of NumPy arrays.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, models, overload, register_model

LANES = 8

_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_INDEX = ir.IntType(32)
_OPTIONS = {"nogil": True}


class LanesType(types.Type):
    """Numba's name for eight float32 in a register."""

    def __init__(self):
        super().__init__(name="Lanes")


_lanes = LanesType()


@register_model(LanesType)
class LanesModel(models.PrimitiveModel):
    """Eight float32 are one LLVM vector."""

    def __init__(self, manager, kind):
        super().__init__(manager, kind, _VECTOR)


def splat(value):
    """The same number in every lane."""
    return np.full(LANES, value, np.float32)


def load(array, start):
    """Eight consecutive numbers of a contiguous array of any shape."""
    return array.reshape(-1)[start : start + LANES].copy()


def store(lanes, start, out):
    """Write the lanes to eight consecutive places of a contiguous array."""
    out.reshape(-1)[start : start + LANES] = lanes


def add(x, y):
    """x + y, lane by lane."""
    return x + y


def multiply_add(x, y, z):
    """x * y + z, lane by lane, rounded once."""
    return x * y + z


def prefetch(array, start):
    """Ask for the cache line of one element of a contiguous array, without waiting for it."""


def _element(context, builder, kind, array, start):
    data = context.make_array(kind)(context, builder, array).data
    return builder.gep(data, [start])


def _vector_at(context, builder, kind, array, start):
    return builder.bitcast(_element(context, builder, kind, array, start), _VECTOR.as_pointer())


@intrinsic
def _splat(typingctx, value):
    def generate(context, builder, signature, args):
        undefined = ir.Constant(_VECTOR, ir.Undefined)
        first = builder.insert_element(undefined, args[0], ir.Constant(_INDEX, 0))
        order = ir.Constant(ir.VectorType(_INDEX, LANES), [0] * LANES)
        return builder.shuffle_vector(first, undefined, order)

    return _lanes(types.float32), generate


@intrinsic
def _load(typingctx, array, start):
    def generate(context, builder, signature, args):
        pointer = _vector_at(context, builder, signature.args[0], *args)
        return builder.load(pointer, align=4)

    return _lanes(array, types.intp), generate


@intrinsic
def _store(typingctx, lanes, start, out):
    def generate(context, builder, signature, args):
        pointer = _vector_at(context, builder, signature.args[2], args[2], args[1])
        builder.store(args[0], pointer, align=4)
        return context.get_dummy_value()

    return types.void(_lanes, types.intp, out), generate


@intrinsic
def _add(typingctx, x, y):
    def generate(context, builder, signature, args):
        return builder.fadd(*args)

    return _lanes(_lanes, _lanes), generate


@intrinsic
def _multiply_add(typingctx, x, y, z):
    def generate(context, builder, signature, args):
        kind = ir.FunctionType(_VECTOR, [_VECTOR] * 3)
        name = f"llvm.fma.v{LANES}f32"
        return builder.call(cgutils.get_or_insert_function(builder.module, kind, name), args)

    return _lanes(_lanes, _lanes, _lanes), generate


@intrinsic
def _prefetch(typingctx, array, start):
    def generate(context, builder, signature, args):
        address = ir.IntType(8).as_pointer()
        pointer = builder.bitcast(_element(context, builder, signature.args[0], *args), address)
        kind = ir.FunctionType(ir.VoidType(), [address, _INDEX, _INDEX, _INDEX])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        flags = [ir.Constant(_INDEX, flag) for flag in (0, 3, 1)]  # read, keep in L1, data
        builder.call(function, [pointer, *flags])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@overload(splat, jit_options=_OPTIONS, inline="always")
def _overload_splat(value):
    return lambda value: _splat(value)


@overload(load, jit_options=_OPTIONS, inline="always")
def _overload_load(array, start):
    return lambda array, start: _load(array, start)


@overload(store, jit_options=_OPTIONS, inline="always")
def _overload_store(lanes, start, out):
    return lambda lanes, start, out: _store(lanes, start, out)


@overload(add, jit_options=_OPTIONS, inline="always")
def _overload_add(x, y):
    return lambda x, y: _add(x, y)


@overload(multiply_add, jit_options=_OPTIONS, inline="always")
def _overload_multiply_add(x, y, z):
    return lambda x, y, z: _multiply_add(x, y, z)


@overload(prefetch, jit_options=_OPTIONS, inline="always")
def _overload_prefetch(array, start):
    return lambda array, start: _prefetch(array, start)
