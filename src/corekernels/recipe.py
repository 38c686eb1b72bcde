"""How rows were, or will be, hashed: the recipe, its limits and its defaults."""

import math
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._core.arguments import require_choice, require_integer
from ._core.escaping import html_table
from ._hashing import SCHEMES
from .errors import ParameterError
from .kernel_table import CORE1, HASHED_KERNELS, HashedKernel, hashed_kernel
from .theory.dependence import WeightRounding

if TYPE_CHECKING:
    from ._hashing.base import Sketch

CONTRACT = 1  # number of the hash contract, which every file of hashed rows names

DEFAULT_KERNEL = CORE1.name
DEFAULT_HASHES = 1024
DEFAULT_BITS = 8
WEIGHT_BITS = (16, 8, 4)
DEFAULT_WEIGHT_BITS = 16  # a number of half precision
MAX_HASHES = 2**31 - 1
MAX_BITS = 16
MAX_COLUMNS = 2**63 - 1
MAX_SEED = 2**64 - 1
MAX_GAMMA = 10_000.0  # beyond, random numbers of 8 digits are too coarse for the cosines


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
        Bits of each weight. A weight of 8 or 4 bits (core1 and core_rbf) shares an integer of twice
        as many bits with the code, so `n_bits` is at most `weight_bits`.

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
    scheme: str = SCHEMES[0]
    seed: int = 0
    n_columns: int = 1
    gamma: float | None = None
    weight_bits: int = DEFAULT_WEIGHT_BITS

    def __post_init__(self) -> None:
        require_choice("scheme", self.scheme, SCHEMES)
        limits = {"n_hashes": (1, MAX_HASHES), "n_columns": (1, MAX_COLUMNS), "seed": (0, MAX_SEED)}
        if self.n_bits is not None:
            limits["n_bits"] = 1, MAX_BITS
        for name, (low, high) in limits.items():
            object.__setattr__(self, name, require_integer(name, getattr(self, name), low, high))
        gamma, bits = self.entry.gamma, self.weight_bits
        if gamma is not None and gamma > MAX_GAMMA:
            raise ParameterError(f"gamma: got {gamma!r}; hashed, it is {MAX_GAMMA:g} at most.")
        object.__setattr__(self, "gamma", gamma)
        if bits not in WEIGHT_BITS:
            raise ParameterError(
                f"weight_bits: got {bits!r}; give one of {str(WEIGHT_BITS)[1:-1]}."
            )
        object.__setattr__(self, "weight_bits", int(bits))
        if not self.has_rounded_weights:
            return
        if self.entry.rounded_weights is None:
            fitting = [name for name, one in HASHED_KERNELS.items() if one.rounded_weights]
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
    def sketch(self) -> "Sketch":
        """What hashes by this recipe, and knows how its slots behave."""
        sketch: Sketch = import_module(f"._hashing.{self.scheme}", __package__).make_sketch(self)
        return sketch

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
    def n_features(self) -> int:
        """Columns of the expanded rows: 2**n_bits, or all locations, for each hash."""
        return self.n_hashes * (self.sketch.n_locations if self.n_bits is None else 2**self.n_bits)

    @property
    def bytes_per_row(self) -> int:
        """Bytes that the signature of one row takes."""
        return sum(
            dtype.itemsize * math.prod(shape) for dtype, shape in self.sketch.arrays.values()
        )

    def facts(self) -> dict[str, Any]:
        """The fields that say something, and the bytes per row, for displays."""
        weight_bits = self.weight_bits if self.has_rounded_weights else None
        facts = {**asdict(self), "seed": str(self.seed), "weight_bits": weight_bits}
        return {**facts, "bytes_per_row": self.bytes_per_row}

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
        values: dict[str, Any] = {name: fields.get(name) for name in cls.__dataclass_fields__}
        recipe = cls(**values)
        if recipe.asdict() != fields:
            raise ParameterError("recipe: fields are missing or unknown.")
        return recipe


def require_contract(number: Any) -> None:
    """Refuse what was hashed by another contract than this package's."""
    if type(number) is not int or number != CONTRACT:
        raise ParameterError(
            f"hashed by contract {str(number)[:20]}, this corekernels hashes by contract {CONTRACT}"
        )
