"""The table of kernels: everything the rest of the package knows about each of them.

Other modules look a kernel up by its name and ask its entry; none of them compares names. A
new kernel of this family is a new entry here, its number and formula for the loops in
`_loops/kernels.py`, its function in `kernels.py` and, if it can be hashed, its variance in
`theory/pairs.py`. A kernel with a parameter has an entry for each value of it.

Symbols are those of `corekernels.theory`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any

import numpy as np

from ._core.arguments import require_choice, require_gamma
from ._loops import kernels as loops
from ._loops.kernels import LoopKernel
from .errors import ParameterError
from .theory.aliasing import Aliasing
from .theory.dependence import WeightRounding, rounded_cosine, rounded_normal
from .theory.estimators import (
    LinearForm,
    RowNumbers,
    core2_form,
    observed_core1,
    observed_core2,
    observed_core_rbf,
    observed_resemblance,
    projection_form,
    resemblance_form,
)
from .theory.pairs import (
    Pair,
    variance_core1,
    variance_core2,
    variance_core_rbf,
    variance_resemblance,
)

DEFAULT_GAMMA = 2.0


class SlotWeight(Enum):
    """What a signature keeps in a slot beside the code."""

    NONE = "none"  # nothing: every weight counts as 1
    PROJECTION = "projection"  # a random projection of the unit row
    COSINE = "cosine"  # the cosine of a scaled random projection and a random phase
    VALUE = "value"  # the unit row's value behind the minimum, times the root of its length


@dataclass(frozen=True, kw_only=True)
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
    least_resemblance : callable
        The resemblance that rows of at least this kernel value must have: search and
        near-duplicates look no further.
    gamma : float or None
        The parameter of the kernel; None for those that have none.
    with_gamma : callable or None
        The entry of the same kernel with another gamma.
    """

    name: str
    label: str
    formula: str
    number: int
    uses_values: bool
    value: Callable[[Pair], Any]
    least_resemblance: Callable[[float], float]
    gamma: float | None = None
    with_gamma: Callable[[float], Any] | None = None

    def __reduce__(self) -> Any:
        """Pickled by name: formulas are functions, which have none."""
        return exact_kernel, (self.name, self.gamma)

    @property
    def for_loops(self) -> LoopKernel:
        """The kernel as the loops take it."""
        return LoopKernel(self.number, 0.0 if self.gamma is None else self.gamma)


@dataclass(frozen=True, kw_only=True)
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
        Variance of the estimator, from a `theory.Pair` and the number of hashes; options
        `chance` (the chance collisions) and `change` (what slots that depend on each other
        change).
    observed_pair : callable
        The `theory.Pair` that slots show (`theory.observed.Slots`), for the standard error.
    rounded_weights : callable or None
        How weights are rounded to a number of bits (`theory.WeightRounding`); None where their
        law is not known, so that they keep 16 bits.
    """

    slot_weight: SlotWeight
    keeps_sums: bool
    linear_form: Callable[[RowNumbers, RowNumbers, Aliasing | None], LinearForm]
    variance: Callable[..., Any]
    observed_pair: Callable[..., Pair]
    rounded_weights: Callable[[int], WeightRounding] | None = None

    @property
    def projects(self) -> bool:
        """Whether weights are made of random projections."""
        return self.slot_weight in (SlotWeight.PROJECTION, SlotWeight.COSINE)


CORRELATION = Kernel(
    name="correlation", label="correlation", formula="rho = <u, v> / (|u| |v|)",
    number=loops.CORRELATION, uses_values=True, value=lambda pair: pair.rho,
    least_resemblance=lambda value: 0.0,
)  # fmt: skip

RESEMBLANCE = HashedKernel(
    name="resemblance", label="resemblance", formula="R = a / (f1 + f2 - a)",
    number=loops.RESEMBLANCE, uses_values=False, value=lambda pair: pair.R,
    slot_weight=SlotWeight.NONE, keeps_sums=False, linear_form=resemblance_form,
    variance=variance_resemblance, observed_pair=observed_resemblance,
    least_resemblance=lambda value: value,
)  # fmt: skip

CORE1 = HashedKernel(
    name="core1", label="CoRE 1", formula="K1 = rho R",
    number=loops.CORE1, uses_values=True, value=lambda pair: pair.rho * pair.R,
    slot_weight=SlotWeight.PROJECTION, keeps_sums=False,
    linear_form=projection_form, variance=variance_core1, observed_pair=observed_core1,
    least_resemblance=lambda value: value, rounded_weights=rounded_normal,
)  # fmt: skip

CORE2 = HashedKernel(
    name="core2", label="CoRE 2", formula="K2 = rho sqrt(f1 f2) / (f1 + f2 - a)",
    number=loops.CORE2, uses_values=True,
    value=lambda pair: pair.rho * np.sqrt(np.multiply(pair.f1, pair.f2, dtype=float)) / pair.union,
    slot_weight=SlotWeight.VALUE, keeps_sums=True, linear_form=core2_form,
    # its denominator is (f1 + f2) / (1 + R), its numerator at most (f1 + f2) / 2
    variance=variance_core2, observed_pair=observed_core2,
    least_resemblance=lambda value: 2 * value - 1,
)  # fmt: skip


def core_rbf(gamma: float) -> HashedKernel:
    """The entry of CoRE RBF with this gamma."""
    return HashedKernel(
        name="core_rbf", label="CoRE RBF", formula="K = R exp(-gamma (1 - rho))",
        number=loops.CORE_RBF, uses_values=True, gamma=gamma, with_gamma=core_rbf,
        value=lambda pair: pair.R * np.exp(-gamma * (1 - np.asarray(pair.rho, float))),
        slot_weight=SlotWeight.COSINE, keeps_sums=False,
        linear_form=projection_form, variance=partial(variance_core_rbf, gamma=gamma),
        observed_pair=partial(observed_core_rbf, gamma=gamma),
        least_resemblance=lambda value: value, rounded_weights=rounded_cosine,
    )  # fmt: skip


CORE_RBF = core_rbf(DEFAULT_GAMMA)

# no kernel in the strict sense, as it is not positive definite: for near-duplicates alone
CONTAINMENT = Kernel(
    name="containment",
    label="containment",
    formula="C = a / min(f1, f2)",
    number=loops.CONTAINMENT,
    uses_values=False,
    value=lambda pair: pair.a / np.minimum(pair.f1, pair.f2),
    least_resemblance=lambda value: 0.0,
)

KERNELS: dict[str, Kernel] = {
    kernel.name: kernel for kernel in (CORRELATION, RESEMBLANCE, CORE1, CORE2, CORE_RBF)
}
HASHED_KERNELS: dict[str, HashedKernel] = {
    name: kernel for name, kernel in KERNELS.items() if isinstance(kernel, HashedKernel)
}


def exact_kernel(name: Any, gamma: Any = None) -> Kernel:
    """The entry of a kernel that can be computed exactly: any of the table.

    `gamma` is None for the kernel's own default, and for kernels without it.

    >>> exact_kernel("core1").formula
    'K1 = rho R'
    >>> exact_kernel("core_rbf", 4).gamma
    4.0
    """
    entry = KERNELS[require_choice("kernel", name, tuple(KERNELS))]
    if gamma is None:
        return entry
    if entry.with_gamma is None:
        raise ParameterError(f"gamma: got {gamma!r}, but {name} has no gamma; leave it out.")
    return entry.with_gamma(require_gamma(gamma))


def gamma_in_use(name: Any, gamma: float | None) -> float | None:
    """The gamma that exact values are computed with: as given, or the kernel's own default."""
    return exact_kernel(name).gamma if gamma is None else gamma


def hashed_kernel(name: Any, gamma: Any = None) -> HashedKernel:
    """The entry of a kernel that can be hashed; `gamma` as for `exact_kernel`.

    >>> hashed_kernel("core2").slot_weight
    <SlotWeight.VALUE: 'value'>
    """
    found = exact_kernel(require_choice("kernel", name, tuple(HASHED_KERNELS)), gamma)
    assert isinstance(found, HashedKernel)
    return found


def duplicates_kernel(name: Any, gamma: Any = None) -> Kernel:
    """The entry of what near-duplicates can be measured by: any kernel, or containment.

    >>> duplicates_kernel("containment").formula
    'C = a / min(f1, f2)'
    """
    require_choice("kernel", name, (*KERNELS, CONTAINMENT.name))
    return CONTAINMENT if name == CONTAINMENT.name else exact_kernel(name, gamma)
