"""What the solvers ask a loss, one row and one class at a time.

Loops get a loss as a named tuple of its parameters, whose class names the loss: see
`linear/losses.py`. The methods of that loss are compiled into every loop that calls the functions
below, once per class of tuple. Numba keeps such loops on the disk, as it would not if functions
were arguments.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import jit, types
from numba.extending import overload

_INLINED = {"error_model": "numpy", "forceinline": True, "nogil": True, "_nrt": False}


def _loss_of(loss: Any) -> Any:
    is_tuple = isinstance(loss, types.BaseNamedTuple)
    return getattr(loss.instance_class, "of", None) if is_tuple else None


def _method(name: str) -> Callable[..., Any]:
    """The function by which loops call a method of the loss that a tuple stands for."""

    def call(loss, *arguments):
        return getattr(loss.of, name)(loss, *arguments)

    @overload(call, jit_options=_INLINED, strict=False)
    def _find(loss, *_):
        return getattr(_loss_of(loss), name, None)

    return call


loss_value, loss_slope, loss_curvature = _method("value"), _method("slope"), _method("curvature")
conjugate, best_dual = _method("conjugate"), _method("best_dual")
dual_bounds, dual_slope = _method("dual_bounds"), _method("dual_slope")


def shrinks(loss):
    """Whether rows whose dual variables are at a bound may be skipped."""
    return loss.of.shrinks


@overload(shrinks, jit_options=_INLINED)
def _shrinks(loss):
    answer = _loss_of(loss).shrinks
    return lambda loss: answer


@cache
def unkept(loop: Any) -> Any:
    """A loop that is not kept on the disk, for losses from outside the package.

    Numba's index of what it keeps would name their classes, which other programs cannot import.
    """
    if not hasattr(loop, "py_func"):  # loops are not compiled
        return loop
    return jit(**loop.targetoptions)(loop.py_func)
