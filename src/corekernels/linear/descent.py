"""Training from packed rows: one block of classes at a time, until its duality gap is small.

A block is up to eight two-class problems (or regressions) that are learned side by
side. Blocks depend on nothing but the data, so they may run on any thread at any time.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.validation import read_only
from .._loops.learning import descent, losses
from .._loops.learning.planes import copy_planes, plane_products
from .planes import Packed, new_planes

Array = npt.NDArray[Any]

LOSSES = {
    "squared_hinge": losses.SQUARED_HINGE,
    "hinge": losses.HINGE,
    "log_loss": losses.LOG,
    "squared_error": losses.SQUARED,
}


@dataclass(frozen=True)
class Block:
    """Up to eight problems over the same rows, one a lane.

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


@dataclass(frozen=True)
class State:
    """Where a descent stands: changed in place, and good to start the next one from."""

    duals: npt.NDArray[np.float64]
    planes: npt.NDArray[np.float32]
    biases: npt.NDArray[np.float64]

    @classmethod
    def zero(cls, packed: Packed, n_lanes: int) -> "State":
        """The start of a descent without a better one."""
        planes = new_planes(packed.n_codes, packed.codes.shape[1], n_lanes)
        return cls(np.zeros((len(packed), n_lanes)), planes, np.zeros(n_lanes))

    def half_squares(self) -> npt.NDArray[np.float64]:
        """For each lane |w|^2 / 2, the intercept included: what the losses are weighed against."""
        products = np.empty((3, len(self.biases)))
        plane_products(self.planes, self.planes, products)
        found: npt.NDArray[np.float64] = 0.5 * (products[0] + self.biases**2)
        return found

    def take(self, other: "State") -> None:
        """Become a copy of another state, which goes its own way."""
        self.duals[:], self.biases[:] = other.duals, other.biases
        copy_planes(other.planes, self.planes)


@dataclass(frozen=True)
class Outcome:
    """How a descent ended, lane by lane: objective, duality gap over objective."""

    n_iter: int
    objectives: npt.NDArray[np.float64]
    relative_gaps: npt.NDArray[np.float64]
    converged: bool


def descend(
    packed: Packed, block: Block, state: State, *,
    tol: float, max_iter: int, seed: int | list[int], plane_tol: float = 0.0,
) -> Outcome:  # fmt: skip
    """Sweep until every lane's duality gap is at most `tol` times its objective.

    Or, if that is easier, `plane_tol` times |w|^2 / 2. The gap is at least half the squared
    distance to the best plane; that is then at most the root of `plane_tol`, times |w|.

    Each sweep yields an estimate of the gaps as it goes; once that is small enough
    for all lanes, one pass over all rows finds the true ones. Lanes that pass stop
    moving, the others go on with no row at rest.
    """
    loss = LOSSES[block.loss]
    data = (packed.codes, packed.weights, packed.room(), packed.scales)
    problem = (block.targets, block.row_costs, read_only(block.costs), block.intercept)
    solution = (state.duals, state.planes, state.biases)
    n_lanes = block.n_lanes
    live = np.ones(n_lanes, np.bool_)
    resting = np.zeros(len(packed), np.uint8)
    limits = np.array([[-np.inf], [np.inf]]).repeat(n_lanes, axis=1)
    found, objectives, gaps = np.empty((2, n_lanes)), np.empty(n_lanes), np.empty(n_lanes)
    for epoch in range(1, max_iter + 1):
        order = np.random.default_rng([*np.ravel(seed), epoch]).permutation(block.rows)
        moved = descent.sweep(
            loss, *data, read_only(order), *problem,
            read_only(live), read_only(limits), resting, *solution, found, objectives, gaps,
        )  # fmt: skip
        short = _fall_short(gaps, objectives, state, tol, plane_tol)
        if moved and epoch < max_iter and short[live].any():
            limits[0] = np.where(found[0] < 0, found[0], -np.inf)
            limits[1] = np.where(found[1] > 0, found[1], np.inf)
            continue
        descent.gaps(loss, *data, block.rows, *problem, *solution, objectives, gaps)
        live = _fall_short(gaps, objectives, state, tol, plane_tol)
        if not live.any():
            break
        resting[:] = 0
        limits[0], limits[1] = -np.inf, np.inf
    relative = gaps / np.where(objectives > 0, objectives, 1)
    return Outcome(epoch, objectives, relative, not live.any())


def _fall_short(
    gaps: Array, objectives: Array, state: State, tol: float, plane_tol: float
) -> npt.NDArray[np.bool_]:
    """Lanes whose gap is too large."""
    short: npt.NDArray[np.bool_] = gaps > max(tol, plane_tol) * objectives
    if plane_tol > 0 and not short.all():  # |w|^2 / 2 is part of the objective, and less at hand
        short = gaps > np.maximum(tol * objectives, plane_tol * state.half_squares())
    return short
