"""A block of planes with its biases as one vector per lane, for conjugate gradients."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._core.team import Team
from .._core.types import Array
from .._loops.learning.planes import combine_blocks
from .._loops.simd.vectors import LANES
from .packed import Packed
from .planes import new_planes

Lanes = npt.NDArray[np.float64]  # one number per lane

_NUMBERS_PER_BLOCK = 1 << 16


@dataclass(frozen=True)
class Vector:
    """One block of planes and the weights of the constant column, one per lane."""

    planes: npt.NDArray[np.float32]
    biases: Lanes

    @classmethod
    def zero(cls, packed: Packed, n_lanes: int) -> "Vector":
        """Zero in every lane."""
        planes = new_planes(packed.n_codes, packed.codes.shape[1], n_lanes)
        return cls(planes, np.zeros(n_lanes))

    def zeros_like(self) -> "Vector":
        """Zero, of the same shape."""
        return Vector(np.zeros_like(self.planes), np.zeros_like(self.biases))

    def clear(self) -> None:
        """Become zero."""
        self.planes[...] = 0
        self.biases[:] = 0

    def add(
        self, factors: Lanes, other: "Vector", against: "Vector", n_jobs: int | None,
        base: "Vector | None" = None,
    ) -> tuple[Lanes, Lanes]:  # fmt: skip
        """Become `base` (or itself) plus the other vector times each lane's factor.

        Gives the inner products of the result with itself and with `against`, summed block by
        block, whatever the number of threads.
        """
        base = self if base is None else base
        flat = self.planes.reshape(-1)
        n_blocks = -(-len(flat) // _NUMBERS_PER_BLOCK)
        shares = np.empty((n_blocks, 2, LANES))
        lanes = np.zeros(LANES, np.float32)
        lanes[: len(factors)] = factors
        if self.planes.ndim == 2:
            lanes[:] = factors[0]
        arguments = (
            base.planes.reshape(-1), lanes, other.planes.reshape(-1), against.planes.reshape(-1),
            flat, shares,
        )  # fmt: skip
        Team(n_jobs).run(combine_blocks, arguments, len(flat), _NUMBERS_PER_BLOCK)
        # planes move by a rounded factor, and biases by the same
        self.biases[:] = base.biases + lanes[: len(factors)] * other.biases
        squares, products = self._per_lane(shares.sum(axis=0))
        return squares + self.biases**2, products + self.biases * against.biases

    def _per_lane(self, sums: Array) -> Array:
        """Sums of a block: a single plane has all eight to itself."""
        return sums.sum(axis=1, keepdims=True) if self.planes.ndim == 2 else sums[:, : self.n_lanes]

    @property
    def n_lanes(self) -> int:
        """Number of problems."""
        return len(self.biases)
