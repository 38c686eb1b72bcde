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


def loss_value(loss, score, target, cost):
    """Loss of a row."""
    return loss.of.value(loss, score, target, cost)


def loss_slope(loss, score, target, cost):
    """Derivative of the loss in the score."""
    return loss.of.slope(loss, score, target, cost)


def loss_curvature(loss, score, target, cost):
    """Second derivative of the loss in the score."""
    return loss.of.curvature(loss, score, target, cost)


def conjugate(loss, dual, target, cost):
    """Convex conjugate of the loss at minus the dual variable."""
    return loss.of.conjugate(loss, dual, target, cost)


def dual_bounds(loss, target, cost):
    """Least and largest dual variable."""
    return loss.of.dual_bounds(loss, target, cost)


def dual_slope(loss, score, target, cost, dual):
    """Derivative of the dual problem (as a minimum) in the dual variable."""
    return loss.of.dual_slope(loss, score, target, cost, dual)


def best_dual(loss, score, target, cost, dual, square):
    """The dual variable that is best while all others stay; `square` is the row's |x|^2."""
    return loss.of.best_dual(loss, score, target, cost, dual, square)


def shrinks(loss):
    """Whether rows whose dual variables are at a bound may be skipped."""
    return loss.of.shrinks


def _method_of(name: str) -> Callable[..., Any]:
    """How Numba finds a method of the loss that a tuple stands for."""

    def find(loss, *_):
        return getattr(_loss_of(loss), name, None)

    return find


def _loss_of(loss: Any) -> Any:
    is_tuple = isinstance(loss, types.BaseNamedTuple)
    return getattr(loss.instance_class, "of", None) if is_tuple else None


for _name, _question in (
    ("value", loss_value),
    ("slope", loss_slope),
    ("curvature", loss_curvature),
    ("conjugate", conjugate),
    ("dual_bounds", dual_bounds),
    ("dual_slope", dual_slope),
    ("best_dual", best_dual),
):
    overload(_question, jit_options=_INLINED, strict=False)(_method_of(_name))


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
