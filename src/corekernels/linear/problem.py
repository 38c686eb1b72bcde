"""What is solved: blocks of problems, where a solution stands, when it is good enough."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._core.types import Array
from .._core.validation import read_only
from .._loops.learning import losses
from .._loops.learning.descent import Problem
from .._loops.learning.planes import copy_planes
from ..errors import ParameterError
from .packed import Packed
from .planes import new_planes

_LEAST_COST = 1e-30  # planes of smaller costs would vanish in single precision

LOSSES = {
    "squared_hinge": losses.SQUARED_HINGE,
    "hinge": losses.HINGE,
    "log_loss": losses.LOG,
    "squared_error": losses.SQUARED,
}


@dataclass(frozen=True)
class Block:
    """Up to eight problems over the same rows, one per lane.

    `targets[i, lane]` is ±1, or the value to predict. The cost of row i in a lane
    is `row_costs[i]` times `costs[0, lane]` or, for a positive target, `costs[1, lane]`.
    `rows` are the rows to learn from: all with a positive cost.
    """

    loss: str
    rows: npt.NDArray[np.int64]
    targets: Array
    row_costs: npt.NDArray[np.float64]
    costs: npt.NDArray[np.float64]
    intercept: float

    @property
    def n_lanes(self) -> int:
        """Number of problems."""
        return int(self.targets.shape[1])

    @property
    def problem(self) -> Problem:
        """The problems as the loops take them."""
        return Problem(
            LOSSES[self.loss], self.targets, self.row_costs, read_only(self.costs), self.intercept
        )

    def require_costs(self) -> None:
        """Refuse costs that underflow or overflow, alone or in the planes they lead to."""
        weights = self.row_costs[self.rows]
        least = float(weights.min()) * float(self.costs.min())
        most = float(weights.max()) * float(self.costs.max())
        if not (least > 0 and _LEAST_COST <= most < np.inf):
            raise ParameterError(
                f"C: times the weights of rows and classes it ranges from {least:.1e} to "
                f"{most:.1e}, but the least must not be 0 and the largest be from "
                f"{_LEAST_COST:.0e} to 1e308; change C, sample_weight or class_weight."
            )


@dataclass(frozen=True)
class State:
    """Where a descent stands: changed in place, and good to start the next one from.

    The planes are the sum of the rows times their dual variables or, if `is_sum` is False, differ
    from it by the planes that the descent was started from.
    """

    duals: npt.NDArray[np.float64]
    planes: npt.NDArray[np.float32]
    biases: npt.NDArray[np.float64]
    is_sum: bool = True

    @classmethod
    def zero(cls, packed: Packed, n_lanes: int) -> "State":
        """The start of a descent without a better one."""
        planes = new_planes(packed.n_codes, packed.codes.shape[1], n_lanes)
        return cls(np.zeros((len(packed), n_lanes)), planes, np.zeros(n_lanes))

    def copy_from(self, other: "State") -> None:
        """Become equal to another state."""
        self.duals[:], self.biases[:] = other.duals, other.biases
        copy_planes(other.planes, self.planes)


@dataclass(frozen=True)
class Options:
    """When a solver ends, and the seed of the order in which a descent visits the rows.

    It ends when every lane's duality gap is at most `tol` times its objective or, if that is
    easier, `plane_tol` times |w|^2 / 2; or after `max_iter` passes over the rows. The gap is at
    least half the squared distance to the best plane; that is then at most the root of
    `plane_tol`, times |w|.
    """

    tol: float
    max_iter: int
    seed: tuple[int, ...]
    plane_tol: float = 0.0


@dataclass(frozen=True)
class Outcome:
    """How a solver ended, lane by lane: objective, duality gap over objective."""

    n_iter: int
    objectives: npt.NDArray[np.float64]
    relative_gaps: npt.NDArray[np.float64]
    converged: bool
