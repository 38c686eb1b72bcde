"""How rows were, or will be, hashed: the recipe, its limits and its defaults.

Limits, defaults and the version of the hash contract stand here and nowhere else.
"""

import math
import operator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from ._core.arguments import require_choice
from ._core.display import html_table
from .errors import ParameterError
from .kernel_table import CORE1, HASHED_KERNELS, HashedKernel, SlotWeight, hashed_kernel
from .theory.aliasing import Aliasing, aliasing
from .theory.banks import positions_per_bank, share_slots, slots_per_bank
from .theory.dependence import (
    INDEPENDENT,
    Dependence,
    circulant_change,
    falling_change,
    offset_change,
    one_permutation_change,
    two_ended_change,
)
from .theory.few_columns import aliasing_at_share
from .theory.rounding import WeightRounding
from .theory.ties import RANKED, aliasing_with_ties

ROUNDED_VERSION = 6  # of the contract, where weights are rounded to fewer than 16 bits
CONTRACT_VERSION = 8  # where a position of wide columns serves two slots also with values

SCHEMES = ("circulant", "independent", "one-permutation")

DEFAULT_KERNEL = CORE1.name
DEFAULT_HASHES = 1024
DEFAULT_BITS = 8
DEFAULT_SCHEME = "circulant"
DEFAULT_PROJECTION = "gaussian"
WEIGHT_BITS = (16, 8, 4)
DEFAULT_WEIGHT_BITS = 16  # a number of half precision

MAX_HASHES = 2**31 - 1
MAX_BITS = 16
MAX_COLUMNS = 2**63 - 1
MAX_SEED = 2**64 - 1
MAX_GAMMA = 10_000.0  # beyond, random numbers of 8 digits are too coarse for the cosines

# parts of the hash contract
NARROW_COLUMNS = 1 << 16  # up to here columns have tables of their own; beyond, they are mixed
OFFSET_LOCATIONS = 1 << 16  # size of the space of locations beyond, with offsets (version 4 on)
WIDE_LOCATIONS = 1 << 32  # the same without (version 3 and other schemes)
OFFSET_WIDTH = 512  # slots per bank with offsets, at most
DIRECTIONS = 1 << 16  # random directions of projections, per bank
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
    scheme : {"circulant", "independent", "one-permutation"}
    projection : {"gaussian", "rademacher"} or None
        Kind of random projections, one that the kernel's entry allows; None for kernels without
        projections, always.
    seed : int from 0 to 2**64 - 1
    n_columns : int >= 1
    version : int, optional
        Version of the hash contract: that in which this hash was last changed. It is that of the
        kernel's entry, but 6 with `weight_bits` below 16; 7 for Gaussian projections, unless the
        scheme is "independent", and for the scheme "circulant" with more than 65,536 columns, where
        that of core2 is 8. Older ones are known as well, for files written before.
    gamma : float from 0 to 10,000, optional
        Parameter of the kernel, its default unless given; None for kernels without one, always.
    weight_bits : {16, 8, 4}
        Bits of each weight. Weights of 16 bits stand beside the codes; those of 8 or 4 bits share
        an integer of twice as many bits with the code, so `n_bits` is at most `weight_bits`: a
        slot takes two bytes, or one. They are for core1 with Gaussian projections and for
        core_rbf.

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
    projection: str | None = DEFAULT_PROJECTION
    seed: int = 0
    n_columns: int = 1
    version: int = 0
    gamma: float | None = None
    weight_bits: int = DEFAULT_WEIGHT_BITS

    def __post_init__(self) -> None:
        require_choice("scheme", self.scheme, SCHEMES)
        kernel = self.entry
        if kernel.projections:
            require_choice("projection", self.projection, kernel.projections)
        else:
            object.__setattr__(self, "projection", None)
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
        known = self._known_versions
        if self.version == 0:
            object.__setattr__(self, "version", known[0])
        if self.version not in known:
            raise ParameterError(
                f"version: got {self.version!r}; such rows are hashed by version "
                f"{' or '.join(map(str, known))} of the hash contract: hash them again."
            )

    @property
    def _known_versions(self) -> tuple[int, ...]:
        """The versions in which this hash was changed, as far as they are known; the last first."""
        changed = {3, 4, 7} if self._is_wide_circulant else {3}
        if self._has_structured_projections:
            changed.add(7)
        if self._is_wide_circulant and self.entry.slot_weight is SlotWeight.VALUE:
            changed.add(8)
        least = ROUNDED_VERSION if self.has_rounded_weights else self.entry.version
        return tuple(sorted({least, *(version for version in changed if version > least)}))[::-1]

    def as_of(self, version: int) -> "Recipe":
        """This recipe as it was when the hash contract had that version.

        >>> Recipe(n_columns=784).version, Recipe(n_columns=784).as_of(6).version
        (7, 3)
        """
        if version > CONTRACT_VERSION or version < self._known_versions[-1]:
            raise ParameterError(
                f"version: got {version!r}; versions {self._known_versions[-1]} to "
                f"{CONTRACT_VERSION} of the hash contract are known."
            )
        return replace(self, version=next(one for one in self._known_versions if one <= version))

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
        if kernel.rounded_weights is None or self.projection != DEFAULT_PROJECTION:
            fitting = [one.name for one in HASHED_KERNELS.values() if one.rounded_weights]
            raise ParameterError(
                f"weight_bits: got {bits}, which is for {' and '.join(fitting)} with Gaussian "
                f"projections; leave it at {DEFAULT_WEIGHT_BITS}."
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
    def _is_wide_circulant(self) -> bool:
        return self.scheme == "circulant" and self.n_columns > NARROW_COLUMNS

    @property
    def has_own_tables(self) -> bool:
        """Whether the scheme "independent" keeps a number for each column and slot."""
        return (
            self.n_columns <= NARROW_COLUMNS
            and self.n_columns * self.n_hashes <= INDEPENDENT_ENTRIES
        )

    @property
    def has_offsets(self) -> bool:
        """Whether locations are 16-bit numbers that columns may share, in tables with offsets."""
        return self._is_wide_circulant and self.version >= 4

    @property
    def has_strata(self) -> bool:
        """Whether columns with locations in the lowest stratum are told apart by rank."""
        return self.has_offsets and not self.has_falls

    @property
    def has_falls(self) -> bool:
        """Whether each column falls into one slot of a bank, before slices are looked at."""
        return self._is_wide_circulant and self.version >= 7

    @property
    def is_two_ended(self) -> bool:
        """Whether positions serve two slots: their least location is first in one, in the other
        their greatest."""
        return self.has_falls and (
            self.version >= 8 or self.entry.slot_weight is not SlotWeight.VALUE
        )

    @property
    def has_rotations(self) -> bool:
        """Whether rows are projected by rotations, not by tables or hashes of random numbers."""
        return self._has_structured_projections and self.version >= 7

    @property
    def _has_structured_projections(self) -> bool:
        return self.projection == "gaussian" and self.scheme != "independent"

    @property
    def n_locations(self) -> int:
        """Size of the space that locations come from."""
        if self.has_offsets:
            return OFFSET_LOCATIONS
        if self.scheme == "one-permutation" or self.n_columns > NARROW_COLUMNS:
            return WIDE_LOCATIONS
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
        if self.has_offsets:
            return aliasing_with_ties(f1, f2, self.n_bits, self._ranked_share)
        if self.n_bits is None:
            return None
        if share is not None and self.has_few_columns:
            return aliasing_at_share(f1, f2, self.n_locations, self.n_bits, share)
        return aliasing(f1, f2, self.n_locations, self.n_bits)

    def dependence(self, union: Any) -> Dependence:
        """How slots depend on each other, for rows that together have `union` columns."""
        if self.scheme == "independent":
            return INDEPENDENT
        wide, change = self.n_columns > NARROW_COLUMNS, 0.0
        if self.scheme == "one-permutation":
            change = one_permutation_change(union, self.n_hashes)
        elif self.has_offsets:
            per_bank = slots_per_bank(self.n_hashes, OFFSET_WIDTH)
            change = offset_change(union, per_bank)
            if self.has_falls:
                if self.is_two_ended:
                    positions = positions_per_bank(self.n_hashes, OFFSET_WIDTH)
                    change = two_ended_change(union, *positions)
                change = falling_change(union, self._offset_bank_width, per_bank, change)
        elif not wide:
            per_bank = slots_per_bank(self.n_hashes, self.n_columns)
            change = circulant_change(union, self.n_columns, per_bank)
        if self.has_rotations:
            return Dependence(change, 0.0)
        # banks have directions of their own
        share = slots_per_bank(self.n_hashes, DIRECTIONS) / self.n_hashes
        return Dependence(change, share / DIRECTIONS if wide else 0.0)

    @property
    def _ranked_share(self) -> float:
        """The probability with which a column has a rank in a slot, where tables have offsets."""
        return 1 / self._offset_bank_width if self.has_falls else RANKED / OFFSET_LOCATIONS

    @property
    def _offset_bank_width(self) -> int:
        return share_slots(self.n_hashes, OFFSET_WIDTH)[1]

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

    def in_version_of(self, other: "Recipe") -> "Recipe":
        """The other recipe if only the version of the contract differs, else this one."""
        mine, theirs = self.asdict(), other.asdict()
        return other if mine == {**theirs, "version": self.version} else self

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
            "projection": self.projection,
            "seed": str(self.seed),
        }

    def _repr_html_(self) -> str:
        return html_table("Recipe", self.facts())

    def asdict(self) -> dict[str, Any]:
        """The fields, for a file; those that older files lack only where they matter."""
        fields = asdict(self)
        if self.gamma is None:
            del fields["gamma"]
        if not self.has_rounded_weights:
            del fields["weight_bits"]
        return fields

    @classmethod
    def fromdict(cls, fields: Any) -> "Recipe":
        """The recipe a file describes."""
        names = set(cls.__dataclass_fields__)
        newer = {"gamma", "weight_bits"}
        if not isinstance(fields, dict) or set(fields) | newer != names:
            raise ParameterError("recipe: fields are missing or unknown.")
        recipe = cls(**fields)
        if recipe.gamma is not None and "gamma" not in fields:
            raise ParameterError("recipe: its gamma is missing.")
        return recipe
