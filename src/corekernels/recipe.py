"""How rows were, or will be, hashed."""

import operator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ._core.arguments import require_choice
from ._hashing.tables import CONTRACT_VERSION, location_count
from .errors import ParameterError

KERNELS = ("resemblance", "core1", "core2")
SCHEMES = ("circulant", "independent", "one-permutation")
PROJECTIONS = ("gaussian", "rademacher")


@dataclass(frozen=True)
class Recipe:
    """All that a hash depends on: equal recipes give equal signatures, everywhere.

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
    version : int
        Version of the hash contract.

    Examples
    --------
    >>> from corekernels import Recipe
    >>> recipe = Recipe(kernel="core1", n_hashes=256, n_columns=784)
    >>> recipe.n_features
    65536
    """

    kernel: str = "core1"
    n_hashes: int = 1024
    n_bits: int | None = 8
    scheme: str = "circulant"
    projection: str | None = "gaussian"
    seed: int = 0
    n_columns: int = 1
    version: int = CONTRACT_VERSION

    def __post_init__(self) -> None:
        require_choice("kernel", self.kernel, KERNELS)
        require_choice("scheme", self.scheme, SCHEMES)
        if self.kernel == "core1":
            require_choice("projection", self.projection, PROJECTIONS)
        else:
            object.__setattr__(self, "projection", None)
        self._require_integer("n_hashes", 1, 2**31 - 1)
        self._require_integer("n_columns", 1, 2**63 - 1)
        self._require_integer("seed", 0, 2**64 - 1)
        if self.n_bits is not None:
            self._require_integer("n_bits", 1, 16)
        if self.version != CONTRACT_VERSION:
            raise ParameterError(
                f"version: got {self.version!r}; this corekernels knows hash contract "
                f"{CONTRACT_VERSION}: hash the rows again."
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
    def n_locations(self) -> int:
        """Size of the space that locations come from."""
        return location_count(self)

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

    def asdict(self) -> dict[str, Any]:
        """The fields, for a file."""
        return asdict(self)

    @classmethod
    def fromdict(cls, fields: Any) -> "Recipe":
        """The recipe a file describes."""
        if not isinstance(fields, dict) or set(fields) != set(cls.__dataclass_fields__):
            raise ParameterError("recipe: fields are missing or unknown.")
        return cls(**fields)
