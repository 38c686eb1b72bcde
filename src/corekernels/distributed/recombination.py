"""How much of each part's change to take after a round: a small problem, solved on the driver.

Parts have changed their dual variables a by d, each on its own, and with them the vector w by v.
The dual problem at a + t d, with one multiplier t per part and class, is

    -sum of conjugates(a + t d) - |w + sum of t v|^2 / 2.

The first term depends on each part alone; the second on the inner products of all v and w. With
hinge losses both are quadratic, and the best multipliers are found exactly; for the log loss,
a parabola stands for the conjugates between t = 0 and t = 1.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import optimize

from .._core.arguments import Array
from .._loops.learning.coefficients import plane_products
from ..linear.newton import Lanes, Vector
from ..linear.problem import Block

PLACES = (0.0, 0.5, 1.0)  # multipliers at which conjugates are taken
_INSIDE = 1 - 1e-9  # of the largest multiplier, so that rounding leaves no variable outside
_LEAST = 1e-12  # of the curvatures over the largest: below, rounding has made them


class Least(NamedTuple):
    """Numbers of which the least count where others would be added."""

    values: Lanes

    def __add__(self, other: object) -> "Least":
        assert isinstance(other, Least)
        return Least(np.minimum(self.values, other.values))


class Change(NamedTuple):
    """What sweeps over the rows of some parts have done."""

    planes: npt.NDArray[np.float32]
    biases: Lanes
    conjugates: Array  # one row per multiplier in `PLACES`
    largest: Least  # multipliers that leave all dual variables in their domain

    @property
    def vector(self) -> Vector:
        """The change of w."""
        return Vector(self.planes, self.biases)


def row_costs(block: Block) -> Array:
    """The cost of each row of a block in each lane."""
    return block.row_costs[:, None] * np.where(block.targets > 0, block.costs[1], block.costs[0])


def dual_bounds(block: Block) -> Array:
    """The least and the largest dual variable of each row in each lane."""
    values = np.vectorize(block.loss.dual_bounds, otypes=[float, float])
    return np.stack(values(block.targets, row_costs(block)))


def conjugates(block: Block, duals: Array, change: Array) -> Array:
    """Sums over the rows of the losses' conjugates, one row per multiplier in `PLACES`."""
    a, d, c = duals[block.rows], change[block.rows], row_costs(block)[block.rows]
    y = block.targets[block.rows]
    values = np.vectorize(block.loss.conjugate, otypes=[float])
    return np.array([values(a + t * d, y, c).sum(axis=0) for t in PLACES])


def largest_multipliers(block: Block, duals: Array, change: Array) -> Least:
    """Up to where all dual variables stay in their domain, lane by lane; 1 at least."""
    a, d = duals[block.rows], change[block.rows]
    low, high = dual_bounds(block)
    room = np.where(d < 0, a - low[block.rows], high[block.rows] - a)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(d == 0, np.inf, room / np.abs(d))
    return Least(np.maximum(1.0, _INSIDE * ratios.min(axis=0, initial=np.inf)))


def best_multipliers(w: Vector, changes: Sequence[Change]) -> Array:
    """How much of each change is best for the dual problem: one row per change."""
    n, n_lanes = len(changes), w.n_lanes
    quadratic, linear = np.empty((n, n, n_lanes)), np.empty((n, n_lanes))
    for i, one in enumerate(changes):
        _, half, whole = one.conjugates - one.conjugates[0]
        linear[i] = whole - 4 * half - _products(w, one.vector)
        for j, other in enumerate(changes[: i + 1]):
            quadratic[i, j] = quadratic[j, i] = _products(one.vector, other.vector)
        quadratic[i, i] += 4 * whole - 8 * half
    limits = np.array([change.largest.values for change in changes])
    lanes = range(n_lanes)
    best = [_highest(linear[:, lane], quadratic[..., lane], limits[:, lane]) for lane in lanes]
    return np.transpose(best)


def _products(one: Vector, other: Vector) -> Lanes:
    """Inner products, lane by lane."""
    out = np.empty((3, one.n_lanes))
    plane_products(one.planes, other.planes, out)
    return out[1] + one.biases * other.biases


def _highest(linear: Lanes, quadratic: Array, limits: Lanes) -> Array:
    """Where linear t - t quadratic t / 2 is highest, for t from 0 to the limits.

    As least squares with bounds: |A t - b|^2 / 2, where A'A is the quadratic term and A'b the
    linear one.
    """
    squares, directions = np.linalg.eigh(quadratic)
    if squares[-1] <= 0:
        return np.ones(len(linear))  # nothing has changed
    roots = np.sqrt(np.maximum(squares, _LEAST * squares[-1]))
    found: Array = optimize.lsq_linear(
        roots[:, None] * directions.T, directions.T @ linear / roots, (0, limits), method="bvls"
    ).x
    return np.clip(found, 0, limits)
