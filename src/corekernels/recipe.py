"""How rows were, or will be, hashed: the recipe, its limits and its defaults.

Limits, defaults and the version of the hash contract stand here and nowhere else.
"""

import math
import operator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ._core.arguments import require_choice
from ._core.escaping import html_table
from .errors import ParameterError
from .kernel_table import CORE1, HASHED_KERNELS, HashedKernel, SlotWeight, hashed_kernel
from .theory.aliasing import Aliasing, aliasing, aliasing_at_share, aliasing_with_ties
from .theory.dependence import (
    WeightRounding,
    binning_change,
    circulant_change,
    positions_per_bank,
    share_slots,
    slots_per_bank,
    two_ended_change,
)

CONTRACT = 1  # number of the hash contract, which every file of hashed rows names

SCHEMES = ("circulant", "independent")

DEFAULT_KERNEL = CORE1.name
DEFAULT_HASHES = 1024
DEFAULT_BITS = 8
DEFAULT_SCHEME = "circulant"
WEIGHT_BITS = (16, 8, 4)
DEFAULT_WEIGHT_BITS = 16  # a number of half precision

MAX_HASHES = 2**31 - 1
MAX_BITS = 16
MAX_COLUMNS = 2**63 - 1
MAX_SEED = 2**64 - 1
MAX_GAMMA = 10_000.0  # beyond, random numbers of 8 digits are too coarse for the cosines

# parts of the hash contract
NARROW_COLUMNS = 1 << 16  # up to here columns have tables of their own; beyond, they are mixed
BINNED_LOCATIONS = 1 << 16  # size of the space of locations beyond, where columns fall into bins
WIDE_LOCATIONS = 1 << 32  # size of that of locations hashed on the fly
BINNED_WIDTH = 512  # bins, which are the slots of a bank, at most
INDEPENDENT_ENTRIES = 1 << 22  # the most columns x hashes for which "independent" keeps tables

# beyond, the line that `theory.aliasing` takes for a curve is off by less than 0.001
FEW_COLUMNS = 128


@dataclass(frozen=True)
class Recipe:
    """Everything that a hash depends on: equal recipes give equal signatures, everywhere.

    Parameters
    ----------
    kernel : str
        A name in `kernel_table.HASHED_KERNELS`.
    n_hashes : int >= 1
    n_bits : int from 1 to 16, or None
        Bits kept of each location; None keeps locations whole.
    scheme : {"circulant", "independent"}
    seed : int from 0 to 2**64 - 1
    n_columns : int >= 1
    gamma : float from 0 to 10,000, optional
        Parameter of the kernel, its default unless given; None for kernels without one, always.
    weight_bits : {16, 8, 4}
        Bits of each weight. Weights of 16 bits stand beside the codes; those of 8 or 4 bits share
        an integer of twice as many bits with the code, so `n_bits` is at most `weight_bits`: a
        slot takes two bytes, or one. They are for core1 and core_rbf.

    Examples
    --------
    >>> from corekernels import Recipe
    >>> recipe = Recipe(kernel="core1", n_hashes=256, n_columns=784)
    >>> recipe.n_features, recipe.bytes_per_row
    (65536, 776)
    >>> Recipe(kernel="core1", n_hashes=256, n_columns=784, n_bits=4, weight_bits=4).bytes_per_row
    264
    """

    kernel: str = DEFAULT_KERNEL
    n_hashes: int = DEFAULT_HASHES
    n_bits: int | None = DEFAULT_BITS
    scheme: str = DEFAULT_SCHEME
    seed: int = 0
    n_columns: int = 1
    gamma: float | None = None
    weight_bits: int = DEFAULT_WEIGHT_BITS

    def __post_init__(self) -> None:
        require_choice("scheme", self.scheme, SCHEMES)
        kernel = self.entry
        object.__setattr__(self, "gamma", kernel.gamma)
        if kernel.gamma is not None and kernel.gamma > MAX_GAMMA:
            raise ParameterError(
                f"gamma: got {kernel.gamma!r}; hashed, it is {MAX_GAMMA:g} at most."
            )
        self._require_integer("n_hashes", 1, MAX_HASHES)
        self._require_integer("n_columns", 1, MAX_COLUMNS)
        self._require_integer("seed", 0, MAX_SEED)
        if self.n_bits is not None:
            self._require_integer("n_bits", 1, MAX_BITS)
        self._require_weight_bits(kernel)

    def _require_integer(self, name: str, low: int, high: int) -> None:
        value = getattr(self, name)
        try:
            number = operator.index(value)
        except TypeError:
            raise ParameterError(f"{name}: got {value!r}; give an integer.") from None
        if isinstance(value, bool | np.bool_) or not low <= number <= high:
            raise ParameterError(f"{name}: got {value!r}; give an integer from {low} to {high}.")
        object.__setattr__(self, name, number)

    def _require_weight_bits(self, kernel: HashedKernel) -> None:
        bits = self.weight_bits
        if isinstance(bits, bool) or bits not in WEIGHT_BITS:
            raise ParameterError(
                f"weight_bits: got {bits!r}; give one of {', '.join(map(str, WEIGHT_BITS))}."
            )
        object.__setattr__(self, "weight_bits", int(bits))
        if not self.has_rounded_weights:
            return
        if kernel.rounded_weights is None:
            fitting = [one.name for one in HASHED_KERNELS.values() if one.rounded_weights]
            raise ParameterError(
                f"weight_bits: got {bits}, which is for {' and '.join(fitting)}; leave it at "
                f"{DEFAULT_WEIGHT_BITS}."
            )
        if self.n_bits is None or self.n_bits > bits:
            raise ParameterError(
                f"n_bits: got {self.n_bits}; with weight_bits={bits} a code and a weight share "
                f"{2 * bits} bits: give n_bits={bits} or fewer."
            )

    @property
    def entry(self) -> HashedKernel:
        """The entry of the kernel in the table of kernels."""
        return hashed_kernel(self.kernel, self.gamma)

    @property
    def has_own_tables(self) -> bool:
        """Whether the scheme "independent" keeps a number for each column and slot."""
        return (
            self.n_columns <= NARROW_COLUMNS
            and self.n_columns * self.n_hashes <= INDEPENDENT_ENTRIES
        )

    @property
    def is_binned(self) -> bool:
        """Whether columns fall into bins: those of wide rows do, with the scheme "circulant"."""
        return self.scheme == "circulant" and self.n_columns > NARROW_COLUMNS

    @property
    def n_locations(self) -> int:
        """Size of the space that locations come from."""
        if self.is_binned:
            return BINNED_LOCATIONS
        if self.scheme == "independent" and not self.has_own_tables:
            return WIDE_LOCATIONS
        return self.n_columns

    @property
    def has_few_columns(self) -> bool:
        """Whether columns are so few that chance collisions have to be summed for each overlap."""
        bits = self.n_bits
        return bits is not None and 2**bits < self.n_locations <= FEW_COLUMNS

    def aliasing(self, f1: Any, f2: Any, share: Any = None) -> Aliasing | None:
        """How often codes of rows of f1 and f2 nonzeros are equal by chance; None for never.

        The share of equal codes, where it is known, matters for few columns.
        """
        if self.is_binned:
            _, n_bins = share_slots(self.n_hashes, BINNED_WIDTH)
            return aliasing_with_ties(f1, f2, self.n_bits, 1 / n_bins)
        if self.n_bits is None:
            return None
        if share is not None and self.has_few_columns:
            return aliasing_at_share(f1, f2, self.n_locations, self.n_bits, share)
        return aliasing(f1, f2, self.n_locations, self.n_bits)

    def variance_change(self, union: Any) -> Any:
        """Relative change of the variance of a mean over the slots, against independent slots.

        For two rows that together have `union` columns.
        """
        if self.scheme == "independent":
            return 0.0
        if not self.is_binned:
            per_bank = slots_per_bank(self.n_hashes, self.n_columns)
            return circulant_change(union, self.n_columns, per_bank)
        _, n_bins = share_slots(self.n_hashes, BINNED_WIDTH)
        per_bank = slots_per_bank(self.n_hashes, BINNED_WIDTH)
        of_slices = two_ended_change(union, *positions_per_bank(self.n_hashes, BINNED_WIDTH))
        return binning_change(union, n_bins, per_bank, of_slices)

    @property
    def has_rounded_weights(self) -> bool:
        """Whether code and weight of a slot share an integer."""
        return self.weight_bits < DEFAULT_WEIGHT_BITS

    @property
    def weight_rounding(self) -> WeightRounding | None:
        """How weights are rounded; None for those of half precision."""
        rounded = self.entry.rounded_weights
        return rounded(self.weight_bits) if rounded and self.has_rounded_weights else None

    @property
    def code_mask(self) -> int:
        """The bits of a location that are kept."""
        return 2**32 - 1 if self.n_bits is None else 2**self.n_bits - 1

    @property
    def code_type(self) -> np.dtype[Any]:
        """The unsigned integer that holds a code."""
        if self.n_bits is None:
            return np.dtype(np.uint16 if self.n_locations <= 2**16 else np.uint32)
        return np.dtype(np.uint8 if self.n_bits <= 8 else np.uint16)

    @property
    def n_features(self) -> int:
        """Columns of the expanded rows: 2**n_bits, or all locations, for each hash."""
        return self.n_hashes * (self.n_locations if self.n_bits is None else 2**self.n_bits)

    @property
    def arrays(self) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
        """The arrays of a signature: for each its type and its shape per row."""
        kernel = self.entry
        found: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}
        if self.has_rounded_weights:
            found["slots"] = np.dtype(f"i{self.weight_bits // 4}"), (self.n_hashes,)
        else:
            found["codes"] = self.code_type, (self.n_hashes,)
            if kernel.slot_weight is not SlotWeight.NONE:
                found["weights"] = np.dtype(np.float16), (self.n_hashes,)
        found["lengths"] = np.dtype(np.int64), ()
        if kernel.keeps_sums:
            found["sums"] = np.dtype(np.float32), ()
        return found

    @property
    def bytes_per_row(self) -> int:
        """Bytes that the signature of one row takes."""
        return sum(dtype.itemsize * math.prod(shape) for dtype, shape in self.arrays.values())

    def facts(self) -> dict[str, Any]:
        """The recipe in the words of a reader, for displays."""
        return {
            "kernel": self.kernel,
            "gamma": self.gamma,
            "hashes per row": self.n_hashes,
            "bits per hash": "all" if self.n_bits is None else self.n_bits,
            "bits per weight": self.weight_bits if self.has_rounded_weights else None,
            "bytes per row": self.bytes_per_row,
            "columns": self.n_columns,
            "scheme": self.scheme,
            "seed": str(self.seed),
        }

    def _repr_html_(self) -> str:
        return html_table("Recipe", self.facts())

    def asdict(self) -> dict[str, Any]:
        """The fields, and the number of the contract, for a file."""
        return {"contract": CONTRACT, **asdict(self)}

    @classmethod
    def fromdict(cls, fields: Any) -> "Recipe":
        """The recipe a file describes."""
        if not isinstance(fields, dict):
            raise ParameterError("recipe: is not a table of fields.")
        require_contract(fields.get("contract"))
        known: dict[str, Any] = {name: fields.get(name) for name in cls.__dataclass_fields__}
        recipe = cls(**known)
        if recipe.asdict() != fields:
            raise ParameterError("recipe: fields are missing or unknown.")
        return recipe


def require_contract(number: Any) -> None:
    """Refuse what was hashed by another contract than this package's."""
    if type(number) is not int or number != CONTRACT:
        raise ParameterError(
            f"hashed by contract {str(number)[:20]}, this corekernels hashes by contract {CONTRACT}"
        )
