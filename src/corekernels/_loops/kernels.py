"""The kernel of two rows: one text for the loops and, in `value_from`, for NumPy arrays too.

Every kernel of the table is a product of two parts,

    K = shape(rho) * support_weight(f1, f2, a) / (f1 + f2 - a),

and an entry of `corekernels.kernel_table` names the two. Shapes rise with the cosine rho and lie
within -1 and 1, so that the second part alone bounds K; but for the inner product, which is not
divided by the lengths of the rows, and is bounded by them.
"""

from typing import NamedTuple

import numpy as np
from numba.extending import register_jitable

from .compilation import inner_loop, loop

ONE, PRODUCT, COSINE, EXPONENTIAL = range(4)  # shapes
SHARED, GEOMETRIC, UNION, SMALLER = range(4)  # weights


class LoopKernel(NamedTuple):
    """A kernel as the loops take it."""

    shape: int
    weight: int
    gamma: float = 0.0  # of the exponential shape; the others have no use for it
    one: float = 1.0  # in the precision to compute in, as gamma


# plain functions in Python, so that they take arrays; the text is put into the loops that call them
in_numpy_too = register_jitable(inline="always")


@in_numpy_too
def uses_values(kernel):
    """Whether the kernel depends on more than the supports."""
    return kernel.shape != ONE


@in_numpy_too
def uses_overlap(kernel):
    """Whether the kernel depends on the size of the overlap, not only on the values."""
    return (kernel.shape == ONE) | (kernel.shape == EXPONENTIAL) | (kernel.weight != UNION)


@in_numpy_too
def shape(kernel, rho):
    """What a kernel makes of the cosine; `rho` is the inner product for the shape PRODUCT."""
    if kernel.shape == ONE:
        return kernel.one
    if kernel.shape == EXPONENTIAL:
        return np.exp(-kernel.gamma * (kernel.one - rho))
    return rho


@in_numpy_too
def support_weight(kernel, f1, f2, a):
    """The supports' part of a kernel value, times the size of their union.

    f1, f2 and a are floating point numbers of the precision to compute in. Where a is 0 the
    kernel is 0, whatever this says.
    """
    if kernel.weight == GEOMETRIC:
        return np.sqrt(f1 * f2)
    if kernel.weight == UNION:
        return f1 + f2 - a
    if kernel.weight == SMALLER:
        return a / np.minimum(f1, f2) * (f1 + f2 - a)
    return a


@in_numpy_too
def value_from(kernel, rho, f1, f2, a):
    """The kernel value from the cosine, within -1 and 1, and the supports."""
    return shape(kernel, rho) * (support_weight(kernel, f1, f2, a) / (f1 + f2 - a))


@loop(inline="always")
def cosine(kernel, dot, squares):
    """The cosine from the inner product and the product of both sums of squares.

    For the shape PRODUCT it is the inner product, for ONE what nobody looks at.
    """
    if kernel.shape < COSINE:
        return dot
    return min(max(dot / np.sqrt(squares), -kernel.one), kernel.one)


@in_numpy_too
def is_bounded(kernel):
    """Whether values lie within -1 and 1, as those of unit rows do."""
    return kernel.shape != PRODUCT


@loop(inline="always")
def largest_shape(kernel, squares):
    """What no shape exceeds; `squares` is the product of the rows' sums of squares."""
    return 1.0 if is_bounded(kernel) else np.sqrt(squares)


@inner_loop(error_model="numpy")
def support_bound(kernel, f1, f2, a):
    """What no kernel value of rows with such supports exceeds, for a shape of at most 1."""
    if a == 0:
        return 0.0
    f1, f2, a = np.float64(f1), np.float64(f2), np.float64(a)
    return support_weight(kernel, f1, f2, a) / (f1 + f2 - a)


@inner_loop
def length_bound(kernel, f1, f2):
    """What no kernel value of rows of these lengths exceeds, for a shape of at most 1."""
    return support_bound(kernel, f1, f2, min(f1, f2))


@inner_loop(error_model="numpy")
def kernel_value(kernel, dot, squares, f1, f2, a):
    """The kernel of two rows; `squares` is the product of their sums of squares."""
    if a == 0:
        return 0.0
    f1, f2, a = np.float64(f1), np.float64(f2), np.float64(a)
    return value_from(kernel, cosine(kernel, dot, squares), f1, f2, a)
