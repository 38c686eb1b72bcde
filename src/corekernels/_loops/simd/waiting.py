"""How threads tell each other, without the system, how far they are.

A counter is one element of an array of 64-bit integers. Whoever has seen a count also sees all
that was written before it was set.
"""

import platform

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils

from .llvm import address, compiled

POLLS = 1000  # of a counter, some tens of microseconds, before the caller should do without it

_HINTS = {"x86_64": ("llvm.x86.sse2.pause", []), "aarch64": ("llvm.aarch64.hint", [1])}
_MACHINE = {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())


def set_count(counters, place, count):
    """Set a counter."""
    counters[place] = count


def get_count(counters, place):
    """What a counter was set to last."""
    return counters[place]


def pause():
    """A moment in which the processor may do something else."""


@njit(nogil=True, cache=True)
def wait_for(counters, place, count):
    """Wait until a counter has reached a count; False if that takes long."""
    for _ in range(POLLS):
        if get_count(counters, place) >= count:
            return True
        pause()
    return False


def _place_of(context, builder, counters, array, place):
    start = context.cast(builder, place[0], place[1], types.intp)
    return address(context, builder, counters, array, start)


@compiled(set_count)
def _set_count(counters, place, count):
    def emit(context, builder, signature, args):
        target = _place_of(context, builder, counters, args[0], (args[1], place))
        value = context.cast(builder, args[2], count, counters.dtype)
        builder.store_atomic(value, target, "release", 8)
        return context.get_dummy_value()

    return types.void, emit


@compiled(get_count)
def _get_count(counters, place):
    def emit(context, builder, signature, args):
        source = _place_of(context, builder, counters, args[0], (args[1], place))
        return builder.load_atomic(source, "acquire", 8)

    return counters.dtype, emit


@compiled(pause)
def _pause():
    def emit(context, builder, signature, args):
        if _MACHINE in _HINTS:
            name, numbers = _HINTS[_MACHINE]
            values = [ir.Constant(ir.IntType(32), number) for number in numbers]
            kind = ir.FunctionType(ir.VoidType(), [value.type for value in values])
            builder.call(cgutils.get_or_insert_function(builder.module, kind, name), values)
        return context.get_dummy_value()

    return types.void, emit
