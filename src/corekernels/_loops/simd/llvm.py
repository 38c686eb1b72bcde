"""How Numba is taught vector types and functions on them, through LLVM's own instructions."""

from functools import wraps

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


def has_feature(context, name):
    """Whether the processor that code is made for has what LLVM calls by this name."""
    return f"+{name}" in context.codegen().magic_tuple()[2].split(",")


def address(context, builder, kind, array, place_kind, place, n_items, n_behind=0):
    """The address of some elements of a contiguous array, of which the first has that place.

    With `NUMBA_BOUNDSCHECK=1` all of them have to be in the array, or up to `n_behind` behind it.
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
