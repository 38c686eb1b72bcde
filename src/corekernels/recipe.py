"""How rows were, or will be, hashed: the recipe, its limits and its defaults.

Limits, defaults and the version of the hash contract stand here and nowhere else.
"""

import math
import operator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ._core.arguments import require_choice
from .errors import ParameterError
from .kernel_table import CORE1, SlotWeight, hashed_kernel
from .theory.aliasing import Aliasing, aliasing
from .theory.ties import aliasing_with_ties

CONTRACT_VERSION = 4

SCHEMES = ("circulant", "independent", "one-permutation")
PROJECTIONS = ("gaussian", "rademacher")

DEFAULT_KERNEL = CORE1.name
DEFAULT_HASHES = 1024
DEFAULT_BITS = 8
DEFAULT_SCHEME = "circulant"
DEFAULT_PROJECTION = "gaussian"

MAX_HASHES = 2**31 - 1
MAX_BITS = 16
MAX_COLUMNS = 2**63 - 1
MAX_SEED = 2**64 - 1

# parts of the hash contract
NARROW_COLUMNS = 1 << 16  # up to here columns have tables of their own; beyond, they are mixed
OFFSET_LOCATIONS = 1 << 16  # size of the space of locations beyond, with offsets (version 4)
WIDE_LOCATIONS = 1 << 32  # the same without (version 3 and other schemes)
INDEPENDENT_ENTRIES = 1 << 22  # the most columns x hashes for which "independent" keeps tables


@dataclass(frozen=True)
class Recipe:
    """Everything that a hash depends on: equal recipes give equal signatures, everywhere.

    Parameters
    ----------
    kernel : {"resemblance", "core1", "core2"}
    n_hashes : int >= 1
    n_bits : int from 1 to 16, or None
        Bits kept of each location; None keeps locations whole.
    scheme : {"circulant", "independent", "one-permutation"}
    projection : {"gaussian", "rademacher"} or None
        Kind of random projections of core1; None for the other kernels, always.
    seed : int from 0 to 2**64 - 1
    n_columns : int >= 1
    version : int, optional
        Version of the hash contract: that in which this hash was last changed, 4 for the scheme
        "circulant" and more than 65,536 columns, else 3. In the first case 3 is known as well,
        for files written before.

    Examples
    --------
    >>> from corekernels import Recipe
    >>> recipe = Recipe(kernel="core1", n_hashes=256, n_columns=784)
    >>> recipe.n_features, recipe.bytes_per_row
    (65536, 776)
    """

    kernel: str = DEFAULT_KERNEL
    n_hashes: int = DEFAULT_HASHES
    n_bits: int | None = DEFAULT_BITS
    scheme: str = DEFAULT_SCHEME
    projection: str | None = DEFAULT_PROJECTION
    seed: int = 0
    n_columns: int = 1
    version: int = 0

    def __post_init__(self) -> None:
        require_choice("scheme", self.scheme, SCHEMES)
        if hashed_kernel(self.kernel).slot_weight is SlotWeight.PROJECTION:
            require_choice("projection", self.projection, PROJECTIONS)
        else:
            object.__setattr__(self, "projection", None)
        self._require_integer("n_hashes", 1, MAX_HASHES)
        self._require_integer("n_columns", 1, MAX_COLUMNS)
        self._require_integer("seed", 0, MAX_SEED)
        if self.n_bits is not None:
            self._require_integer("n_bits", 1, MAX_BITS)
        wide = self.scheme == "circulant" and self.n_columns > NARROW_COLUMNS
        known = (4, 3) if wide else (3,)
        if self.version == 0:
            object.__setattr__(self, "version", known[0])
        if self.version not in known:
            raise ParameterError(
                f"version: got {self.version!r}; such rows are hashed by version "
                f"{' or '.join(map(str, known))} of the hash contract: hash them again."
            )

    def _require_integer(self, name: str, low: int, high: int) -> None:
        value = getattr(self, name)
        try:
            number = operator.index(value)
        except TypeError:
            raise ParameterError(f"{name}: got {value!r}; give an integer.") from None
        if isinstance(value, bool | np.bool_) or not low <= number <= high:
            raise ParameterError(f"{name}: got {value!r}; give an integer from {low} to {high}.")
        object.__setattr__(self, name, number)

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
        return self.version >= 4

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

    def aliasing(self, f1: Any, f2: Any) -> Aliasing | None:
        """How often codes of rows of f1 and f2 nonzeros are equal by chance; None for never."""
        if self.has_offsets:
            return aliasing_with_ties(f1, f2, self.n_bits)
        return None if self.n_bits is None else aliasing(f1, f2, self.n_locations, self.n_bits)

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
        kernel = hashed_kernel(self.kernel)
        found: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {
            "codes": (self.code_type, (self.n_hashes,))
        }
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

    def asdict(self) -> dict[str, Any]:
        """The fields, for a file."""
        return asdict(self)

    @classmethod
    def fromdict(cls, fields: Any) -> "Recipe":
        """The recipe a file describes."""
        if not isinstance(fields, dict) or set(fields) != set(cls.__dataclass_fields__):
            raise ParameterError("recipe: fields are missing or unknown.")
        return cls(**fields)
