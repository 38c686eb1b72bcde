"""The kernels: one object per kernel says what there is to know about it.

Other modules ask the object; none compares names. Strings are looked up here, in `exact_kernel`,
`hashed_kernel` and `duplicates_kernel`. A new kernel of the family is an entry here and, if it has
a part that no other has, a shape or a weight in `_loops/kernels.py`; a function in `kernels.py`;
and, if it can be hashed, a variance in `theory/pairs.py`. A kernel with a parameter has an entry
for each value of it. A kernel outside the family is a subclass of `Kernel`, here or anywhere.

Symbols are those of `corekernels.theory`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ._core.arguments import Array, require_choice, require_gamma
from ._loops.kernels import (
    COSINE,
    EXPONENTIAL,
    GEOMETRIC,
    ONE,
    PRODUCT,
    SHARED,
    SMALLER,
    UNION,
    LoopKernel,
    value_from,
)
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
PRODUCTS, MINIMA = "product", "minimum"


class PairSums(NamedTuple):
    """What a kernel value is made of: sums over the columns of two rows, for many pairs at once.

    Arrays that broadcast against each other; `Kernel.term` says what is summed up.
    """

    shared: Any  # sum of the terms of both rows
    own1: Any  # the sum that the first row has with itself
    own2: Any
    f1: Any  # number of nonzeros of the first row
    f2: Any
    a: Any  # number of columns where both are nonzero

    @property
    def rho(self) -> Any:
        """Cosine, where terms are products."""
        return self.shared / np.sqrt(self.own1 * self.own2)

    @property
    def R(self) -> Any:
        """Resemblance of the supports."""
        return self.a / (self.f1 + self.f2 - self.a)


class Kernel:
    """A kernel of two rows, computed exactly; subclass it for one of your own.

    A subclass has a `name` and a `value`, and works wherever a kernel is computed exactly: in
    `gram`, `gram_chunks`, `gram_to_file` and `CoRENeighbors`.

    Attributes
    ----------
    name : str
        As in arguments, options and files.
    label : str
        As people write it, in tables and figures.
    formula : str
    term : {"product", "minimum"}
        What a column adds to the sums of a pair: the product of both values or, where their
        signs agree, the smaller magnitude.
    unit_rows : bool
        Whether rows are scaled to length one before: then only their directions matter.
    unit_diagonal : bool
        Whether the value of a row with itself is 1, so that equal rows are near-duplicates.
    empty_value : float
        The value with a row that has no nonzeros, which `value` is never asked for.
    uses_values : bool
        Whether the values count, not only where they are.
    gamma : float or None
        The parameter of the kernel; None for those that have none.
    with_gamma : callable or None
        The same kernel with another gamma.
    for_loops : LoopKernel or None
        The kernel as compiled loops know it, which only those of the family have.

    Examples
    --------
    >>> import corekernels as ck
    >>> class Dice(ck.Kernel):
    ...     name = "dice"
    ...     def value(self, pair):
    ...         return 2 * pair.a / (pair.f1 + pair.f2)
    >>> ck.gram([[3.0, 4.0, 0.0]], [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]], Dice()).round(4)
    array([[0.6667, 0.    ]])
    """

    name: str
    label = formula = ""
    term = PRODUCTS
    unit_rows = unit_diagonal = False
    empty_value = 0.0
    uses_values = True
    gamma: float | None = None
    with_gamma: "Callable[[float], Kernel] | None" = None
    for_loops: LoopKernel | None = None

    def value(self, pair: PairSums) -> Any:
        """The kernel values of pairs of rows that are not empty, from their sums."""
        raise NotImplementedError(f"{type(self).__name__}: has no `value`.")

    def own_sums(self, indptr: Array, values: Array) -> Array:
        """The sum that each row of a CSR matrix has with itself."""
        begin, end = indptr[0], indptr[-1]
        values = np.append(values[begin:end], 0).astype(float)  # 0: for empty rows at the end
        terms = np.abs(values) if self.term == MINIMA else np.square(values)
        return np.where(np.diff(indptr) > 0, np.add.reduceat(terms, indptr[:-1] - begin), 0)

    def values(self, pair: PairSums) -> Array:
        """The kernel values of any pairs of rows."""
        with np.errstate(divide="ignore", invalid="ignore"):
            values = self.value(pair)
        return np.where((pair.f1 == 0) | (pair.f2 == 0), self.empty_value, values)

    def least_resemblance(self, value: float) -> float:
        """The resemblance that rows of at least this kernel value must have.

        Near-duplicates are looked for among rows of that resemblance; 0 says nothing.
        """
        return 0.0


@dataclass(frozen=True, kw_only=True)
class FamilyKernel(Kernel):
    """A kernel of the family in `_loops/kernels.py`: a shape of the cosine times a weight."""

    name: str
    label: str
    formula: str
    for_loops: LoopKernel
    with_gamma: Callable[[float], Kernel] | None = None

    def __reduce__(self) -> Any:
        """Pickled by name: each is there once."""
        return duplicates_kernel, (self.name, self.gamma)

    @property
    def gamma(self) -> float | None:  # type: ignore[override]
        """The parameter of the kernel, if it has one."""
        return self.for_loops.gamma if self.with_gamma else None

    @property
    def unit_rows(self) -> bool:  # type: ignore[override]
        """Whether only the directions of rows matter."""
        return self.for_loops.shape != PRODUCT

    unit_diagonal = unit_rows

    @property
    def uses_values(self) -> bool:  # type: ignore[override]
        """Whether the values count, not only where they are."""
        return self.for_loops.shape != ONE

    def value(self, pair: Any) -> Any:
        """The kernel values of pairs of rows, given as `PairSums` or `theory.Pair`."""
        cosine = pair.rho if self.unit_rows else pair.shared
        numbers = cosine, pair.f1, pair.f2, pair.a
        return value_from(self.for_loops, *(np.asarray(number, float) for number in numbers))

    def least_resemblance(self, value: float) -> float:
        """The resemblance that rows of at least this kernel value must have."""
        # CoRE 2: its denominator is (f1 + f2) / (1 + R), its numerator at most (f1 + f2) / 2
        least = {SHARED: value, GEOMETRIC: 2 * value - 1}
        return least.get(self.for_loops.weight, 0.0)


class SlotWeight(Enum):
    """What a signature keeps in a slot beside the code."""

    NONE = "none"  # nothing: every weight counts as 1
    PROJECTION = "projection"  # a random projection of the unit row
    COSINE = "cosine"  # the cosine of a scaled random projection and a random phase
    VALUE = "value"  # the unit row's value behind the minimum, times the root of its length


@dataclass(frozen=True, kw_only=True)
class HashedKernel(FamilyKernel):
    """A kernel that can also be hashed.

    Attributes
    ----------
    slot_weight : SlotWeight
        What stands beside the code of each slot.
    keeps_sums : bool
        Whether signatures keep the sum of each unit row's values.
    linear_form : callable
        The estimator of two rows (`theory.RowNumbers`) and their chance collisions as a
        `theory.LinearForm` in the slots.
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
    keeps_sums: bool = False
    linear_form: Callable[[RowNumbers, RowNumbers, Aliasing], LinearForm]
    variance: Callable[..., Any]
    observed_pair: Callable[..., Pair]
    rounded_weights: Callable[[int], WeightRounding] | None = None

    @property
    def projects(self) -> bool:
        """Whether weights are made of random projections."""
        return self.slot_weight in (SlotWeight.PROJECTION, SlotWeight.COSINE)


CORRELATION = FamilyKernel(
    name="correlation", label="correlation", formula="rho = <u, v> / (|u| |v|)",
    for_loops=LoopKernel(COSINE, UNION),
)  # fmt: skip

RESEMBLANCE = HashedKernel(
    name="resemblance", label="resemblance", formula="R = a / (f1 + f2 - a)",
    for_loops=LoopKernel(ONE, SHARED), slot_weight=SlotWeight.NONE, linear_form=resemblance_form,
    variance=variance_resemblance, observed_pair=observed_resemblance,
)  # fmt: skip

INNER_PRODUCT = FamilyKernel(
    name="inner_product", label="inner product", formula="<u, v>",
    for_loops=LoopKernel(PRODUCT, UNION),
)  # fmt: skip

CORE1 = HashedKernel(
    name="core1", label="CoRE 1", formula="K1 = rho R", for_loops=LoopKernel(COSINE, SHARED),
    slot_weight=SlotWeight.PROJECTION, linear_form=projection_form, variance=variance_core1,
    observed_pair=observed_core1, rounded_weights=rounded_normal,
)  # fmt: skip

CORE2 = HashedKernel(
    name="core2", label="CoRE 2", formula="K2 = rho sqrt(f1 f2) / (f1 + f2 - a)",
    for_loops=LoopKernel(COSINE, GEOMETRIC), slot_weight=SlotWeight.VALUE, keeps_sums=True,
    linear_form=core2_form, variance=variance_core2, observed_pair=observed_core2,
)  # fmt: skip


def core_rbf(gamma: float) -> HashedKernel:
    """The entry of CoRE RBF with this gamma."""
    return HashedKernel(
        name="core_rbf", label="CoRE RBF", formula="K = R exp(-gamma (1 - rho))",
        for_loops=LoopKernel(EXPONENTIAL, SHARED, gamma), with_gamma=core_rbf,
        slot_weight=SlotWeight.COSINE, linear_form=projection_form,
        variance=partial(variance_core_rbf, gamma=gamma),
        observed_pair=partial(observed_core_rbf, gamma=gamma), rounded_weights=rounded_cosine,
    )  # fmt: skip


CORE_RBF = core_rbf(DEFAULT_GAMMA)

# no kernel in the strict sense, as it is not positive definite: for near-duplicates alone
CONTAINMENT = FamilyKernel(
    name="containment", label="containment", formula="C = a / min(f1, f2)",
    for_loops=LoopKernel(ONE, SMALLER),
)  # fmt: skip

KERNELS: dict[str, Kernel] = {
    kernel.name: kernel
    for kernel in (CORRELATION, RESEMBLANCE, CORE1, CORE2, CORE_RBF, INNER_PRODUCT)
}
HASHED_KERNELS: dict[str, HashedKernel] = {
    name: kernel for name, kernel in KERNELS.items() if isinstance(kernel, HashedKernel)
}
DUPLICATES_KERNELS: dict[str, Kernel] = {
    kernel.name: kernel for kernel in (*KERNELS.values(), CONTAINMENT) if kernel.unit_diagonal
}


def exact_kernel(kernel: Any, gamma: Any = None) -> Kernel:
    """The kernel of that name, or the object itself: any that can be computed exactly.

    `gamma` is None for the kernel's own default, and for kernels without it.

    >>> exact_kernel("core1").formula
    'K1 = rho R'
    >>> exact_kernel("core_rbf", 4).gamma
    4.0
    """
    entry = kernel if isinstance(kernel, Kernel) else _named(kernel, KERNELS)
    return _with_gamma(entry, gamma)


def hashed_kernel(name: Any, gamma: Any = None) -> HashedKernel:
    """The entry of a kernel that can be hashed; `gamma` as for `exact_kernel`.

    >>> hashed_kernel("core2").slot_weight
    <SlotWeight.VALUE: 'value'>
    """
    entry = _with_gamma(_named(name, HASHED_KERNELS, "is computed exactly only"), gamma)
    assert isinstance(entry, HashedKernel)
    return entry


def duplicates_kernel(name: Any, gamma: Any = None) -> Kernel:
    """The entry of what near-duplicates can be measured by, containment among them.

    >>> duplicates_kernel("containment").formula
    'C = a / min(f1, f2)'
    """
    return _with_gamma(_named(name, DUPLICATES_KERNELS, "of equal rows can be any number"), gamma)


def gamma_in_use(name: Any, gamma: float | None) -> float | None:
    """The gamma that exact values are computed with: as given, or the kernel's own default."""
    return exact_kernel(name).gamma if gamma is None else gamma


def _named(name: Any, table: Mapping[str, Kernel], otherwise: str = "") -> Kernel:
    """The entry of a table; `otherwise` says why kernels of the other tables are not in it."""
    if otherwise and isinstance(name, str) and name in KERNELS and name not in table:
        raise ParameterError(f"kernel: {name} {otherwise}; choose one of {', '.join(table)}.")
    return table[require_choice("kernel", name, tuple(table))]


def _with_gamma(entry: Kernel, gamma: Any) -> Kernel:
    if gamma is None:
        return entry
    if entry.with_gamma is None:
        raise ParameterError(
            f"gamma: got {gamma!r}, but {entry.name} has no gamma; leave it out. A search over "
            f'kernels takes a list of grids: [{{"kernel": ["{entry.name}"]}}, '
            '{"kernel": ["core_rbf"], "gamma": [1, 4]}].'
        )
    return entry.with_gamma(require_gamma(gamma))
