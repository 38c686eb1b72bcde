"""How Numba is taught vectors and operations on them; operations on integers."""

from functools import wraps

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import lower_builtin, models, register_model, type_callable

LINE = 64  # bytes of a cache line
BEHIND_TEXT = LINE  # bytes that can be read behind text, which comes in larger buffers
INDEX = ir.IntType(32)


class VectorType(types.Type):
    """Numba's type of `count` numbers in a register."""

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
    a function that emits the instructions; None if the arguments are of other types. Numba's
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


def on_vectors(function, emit):
    """Teach Numba a function of vectors of one type; `emit` takes the builder and the vectors."""

    @wraps(function)
    def describe(*kinds):
        if not isinstance(kinds[0], VectorType):
            return None
        return kinds[0], lambda context, builder, signature, args: emit(builder, *args)

    compiled(function)(describe)


def has_feature(context, name):
    """Whether the processor that code is made for has what LLVM calls by this name."""
    return f"+{name}" in context.codegen().magic_tuple()[2].split(",")


def address(context, builder, kind, array, place_kind, place, n_items, n_behind=0):
    """The address of the element of a contiguous array at a place.

    With `NUMBA_BOUNDSCHECK=1` the `n_items` elements from there on must lie in the array, or up to
    `n_behind` behind its end.
    """
    assert kind.layout == "C", f"{kind} is not contiguous"
    fields = context.make_array(kind)(context, builder, array)
    first = context.cast(builder, place, place_kind, types.intp)
    if context.enable_boundscheck and n_items:
        end = builder.add(fields.nitems, ir.Constant(first.type, n_behind))
        for number in (0, n_items - 1):
            item = builder.add(first, ir.Constant(first.type, number))
            cgutils.do_boundscheck(context, builder, item, end)
    return builder.gep(fields.data, [first])


def read(context, builder, vector, place):
    """The vector at an address that only its elements are aligned to."""
    pointer = builder.bitcast(place, context.get_value_type(vector).as_pointer())
    return builder.load(pointer, align=vector.dtype.bitwidth // 8)


def fill(context, builder, vector, value):
    """A vector of equal numbers."""
    undefined = ir.Constant(context.get_value_type(vector), ir.Undefined)
    first = builder.insert_element(undefined, value, ir.Constant(INDEX, 0))
    order = ir.Constant(ir.VectorType(INDEX, vector.count), [0] * vector.count)
    return builder.shuffle_vector(first, undefined, order)


def call(builder, name, values):
    """What one of LLVM's functions on vectors of one type gives."""
    shape = values[0].type
    number = {ir.FloatType(): "f32", ir.DoubleType(): "f64"}.get(shape.element)
    suffix = f"v{shape.count}{number or f'i{shape.element.width}'}"
    kind = ir.FunctionType(shape, [shape] * len(values))
    function = cgutils.get_or_insert_function(builder.module, kind, f"llvm.{name}.{suffix}")
    return builder.call(function, values)


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
        addend = context.cast(builder, args[2], amount, counters.dtype)
        target = address(context, builder, counters, args[0], place, args[1], 1)
        return builder.atomic_rmw("add", target, addend, "monotonic")

    return counters.dtype, emit
