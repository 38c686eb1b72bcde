"""The table of kernels: everything the rest of the package knows about each of them.

Other modules look a kernel up by its name and ask its entry; none of them compares names. A
new kernel of this family is a new entry here, its number and formula for the loops in
`_loops/kernels.py`, and its function in `kernels.py`.

Symbols are those of `corekernels.theory`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from ._core.arguments import require_choice
from ._loops import kernels as loops
from .theory.aliasing import Aliasing
from .theory.estimators import LinearForm, RowNumbers, core1_form, core2_form, resemblance_form
from .theory.pairs import Pair, variance_core1, variance_core2, variance_resemblance


class SlotWeight(Enum):
    """What a signature keeps in a slot beside the code."""

    NONE = "none"  # nothing: every weight counts as 1
    PROJECTION = "projection"  # a random projection of the unit row
    VALUE = "value"  # the unit row's value behind the minimum, times the root of its length


@dataclass(frozen=True)
class Kernel:
    """A kernel that can be computed exactly.

    Attributes
    ----------
    name : str
        As in arguments, options and files.
    label : str
        As people write it, in tables and figures.
    formula : str
    number : int
        As the loops know it.
    uses_values : bool
        Whether the values count, not only where they are.
    value : callable
        The kernel value of a `theory.Pair`.
    """

    name: str
    label: str
    formula: str
    number: int
    uses_values: bool
    value: Callable[[Pair], Any]


@dataclass(frozen=True)
class HashedKernel(Kernel):
    """A kernel that can also be hashed.

    Attributes
    ----------
    slot_weight : SlotWeight
        What stands beside the code of each slot.
    keeps_sums : bool
        Whether signatures keep the sum of each unit row's values.
    linear_form : callable
        The estimator of two rows (`theory.RowNumbers`) and their chance collisions (None for
        whole locations) as a `theory.LinearForm` in the slots.
    variance : callable
        Variance of the estimator, from a `theory.Pair` and the number of independent hashes;
        options `chance` (the chance collisions) and `projection` (the kind of projection).
    least_resemblance : callable
        The resemblance that rows of at least this kernel value must have: search and
        near-duplicates look no further.
    """

    slot_weight: SlotWeight
    keeps_sums: bool
    linear_form: Callable[[RowNumbers, RowNumbers, Aliasing | None], LinearForm]
    variance: Callable[..., Any]
    least_resemblance: Callable[[float], float]


CORRELATION = Kernel(
    name="correlation", label="correlation", formula="rho = <u, v> / (|u| |v|)",
    number=loops.CORRELATION, uses_values=True, value=lambda pair: pair.rho,
)  # fmt: skip

RESEMBLANCE = HashedKernel(
    name="resemblance", label="resemblance", formula="R = a / (f1 + f2 - a)",
    number=loops.RESEMBLANCE, uses_values=False, value=lambda pair: pair.R,
    slot_weight=SlotWeight.NONE, keeps_sums=False, linear_form=resemblance_form,
    variance=variance_resemblance, least_resemblance=lambda value: value,
)  # fmt: skip

CORE1 = HashedKernel(
    name="core1", label="CoRE 1", formula="K1 = rho R",
    number=loops.CORE1, uses_values=True, value=lambda pair: pair.rho * pair.R,
    slot_weight=SlotWeight.PROJECTION, keeps_sums=False, linear_form=core1_form,
    variance=variance_core1, least_resemblance=lambda value: value,
)  # fmt: skip

CORE2 = HashedKernel(
    name="core2", label="CoRE 2", formula="K2 = rho sqrt(f1 f2) / (f1 + f2 - a)",
    number=loops.CORE2, uses_values=True,
    value=lambda pair: pair.rho * np.sqrt(np.multiply(pair.f1, pair.f2, dtype=float)) / pair.union,
    slot_weight=SlotWeight.VALUE, keeps_sums=True, linear_form=core2_form,
    # its denominator is (f1 + f2) / (1 + R), its numerator at most (f1 + f2) / 2
    variance=variance_core2, least_resemblance=lambda value: 2 * value - 1,
)  # fmt: skip

# no kernel in the strict sense, as it is not positive definite: for near-duplicates alone
CONTAINMENT = Kernel(
    name="containment",
    label="containment",
    formula="C = a / min(f1, f2)",
    number=loops.CONTAINMENT,
    uses_values=False,
    value=lambda pair: pair.a / min(pair.f1, pair.f2),
)

KERNELS: dict[str, Kernel] = {
    kernel.name: kernel for kernel in (CORRELATION, RESEMBLANCE, CORE1, CORE2)
}
HASHED_KERNELS: dict[str, HashedKernel] = {
    name: kernel for name, kernel in KERNELS.items() if isinstance(kernel, HashedKernel)
}


def exact_kernel(name: Any) -> Kernel:
    """The entry of a kernel that can be computed exactly: any of the table.

    >>> exact_kernel("core1").formula
    'K1 = rho R'
    """
    return KERNELS[require_choice("kernel", name, tuple(KERNELS))]


def hashed_kernel(name: Any) -> HashedKernel:
    """The entry of a kernel that can be hashed.

    >>> hashed_kernel("core2").slot_weight
    <SlotWeight.VALUE: 'value'>
    """
    return HASHED_KERNELS[require_choice("kernel", name, tuple(HASHED_KERNELS))]


def duplicates_kernel(name: Any) -> Kernel:
    """The entry of what near-duplicates can be measured by: a hashed kernel, or containment.

    >>> duplicates_kernel("containment").formula
    'C = a / min(f1, f2)'
    """
    require_choice("kernel", name, (*HASHED_KERNELS, CONTAINMENT.name))
    return CONTAINMENT if name == CONTAINMENT.name else HASHED_KERNELS[name]
