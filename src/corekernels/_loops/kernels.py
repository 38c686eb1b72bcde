"""The kernels as the loops know them: small numbers, and formulas of the numbers of two rows.

Every kernel value is a product of two parts,

    K = shape(rho) * support_weight(f1, f2, a) / (f1 + f2 - a),

where the shape rises with the cosine rho and lies within -1 and 1. So the second part alone
bounds K. `corekernels.kernel_table` says which number is which kernel.
"""

from typing import NamedTuple

import numpy as np

from .compilation import inner_loop, loop

CORRELATION, RESEMBLANCE, CORE1, CORE2, CORE_RBF, CONTAINMENT = range(6)


class LoopKernel(NamedTuple):
    """A kernel as the loops take it."""

    number: int
    gamma: float  # of kernels that have one; the others have no use for it


@loop(inline="always")
def uses_values(kernel):
    """Whether the kernel depends on more than the supports."""
    return (kernel.number != RESEMBLANCE) & (kernel.number != CONTAINMENT)


@loop(inline="always")
def uses_overlap(kernel):
    """Whether the kernel depends on the size of the overlap, not only on the cosine."""
    return kernel.number != CORRELATION


@loop(inline="always")
def is_exponential(kernel):
    """Whether the shape is an exponential of the cosine rather than the cosine itself."""
    return kernel.number == CORE_RBF


@loop(inline="always")
def shape(kernel, rho):
    """The cosine's part of a kernel value."""
    return np.exp(-kernel.gamma * (1.0 - rho)) if is_exponential(kernel) else rho


@loop(inline="always")
def support_weight(kernel, f1, f2, a):
    """The supports' part of a kernel value, times the size of their union.

    f1, f2 and a are floating point numbers of the precision to compute in. Where a is 0 the
    kernel is 0, whatever this says.
    """
    if kernel.number == CORE2:
        return np.sqrt(f1 * f2)
    if kernel.number == CORRELATION:
        return f1 + f2 - a
    if kernel.number == CONTAINMENT:
        return a * (f1 + f2 - a) / min(f1, f2)
    return a


@inner_loop(error_model="numpy")
def support_bound(kernel, f1, f2, a):
    """What no kernel value of rows with such supports exceeds."""
    if a == 0:
        return 0.0
    f1, f2, a = np.float64(f1), np.float64(f2), np.float64(a)
    return support_weight(kernel, f1, f2, a) / (f1 + f2 - a)


@inner_loop
def length_bound(kernel, f1, f2):
    """What no kernel value of rows of these lengths exceeds."""
    return support_bound(kernel, f1, f2, min(f1, f2))


@inner_loop(error_model="numpy")
def kernel_value(kernel, dot, squares, f1, f2, a):
    """The kernel of two rows; `squares` is the product of their sums of squares."""
    bound = support_bound(kernel, f1, f2, a)
    if a == 0 or not uses_values(kernel):
        return bound
    rho = min(max(dot / np.sqrt(squares), -1.0), 1.0)
    return min(max(shape(kernel, rho) * bound, -1.0), 1.0)
