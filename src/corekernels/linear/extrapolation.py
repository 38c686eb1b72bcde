"""The start of a descent, extrapolated from the solutions for smaller costs."""

import numpy as np

from .._core.types import Array
from .._loops.learning.planes import mix_planes, plane_products
from .._loops.simd.vectors import LANES
from .problem import Block, State

_PARALLEL = 1e-4  # squared sine of the angle below which two solutions count as one


def extrapolate(block: Block, state: State, before: State) -> None:
    """Move a solution for smaller costs towards the solution for the costs of `block`.

    `before` is the solution before that one (or zero, if there was none); it becomes what
    `state` was. Of all combinations of both, `state` becomes the one that is best for the dual
    problem without its bounds: the minimum of a quadratic function of two variables. Dual
    variables beyond a bound are corrected as the first sweep visits their rows, one after
    another, each taking account of the ones before. (Clipped here, all at once, they would move
    the planes by the sum of all that was clipped, mostly of one sign; that costs more sweeps
    than it saves.)

    For the hinge loss, where most dual variables are at a bound, `state` is only scaled, as far
    as the bounds allow. The dual problem of the log loss is not quadratic; its solution is left
    alone.
    """
    factors = np.zeros((2, block.n_lanes))
    factors[0] = 1.0
    if block.loss == "hinge":
        factors[0] = _scaling(block, state)
    elif block.loss == "squared_hinge":
        factors = _combination(block, state, before)
    _mix(state.duals, before.duals, factors)
    _mix(state.biases, before.biases, factors)
    lanes = np.zeros((2, LANES), np.float32)
    lanes[:, : block.n_lanes] = factors
    mix_planes(lanes, state.planes, before.planes)


def _combination(block: Block, state: State, before: State) -> Array:
    """For each lane, the factors of both solutions that are best together."""
    now, then = state.duals[block.rows], before.duals[block.rows]
    halves = 0.5 / _costs(block)
    squares, crossed, others = _products(block, state, before)
    squares += (now * now * halves).sum(axis=0)
    crossed += (now * then * halves).sum(axis=0)
    others += (then * then * halves).sum(axis=0)
    gain, other_gain = now.sum(axis=0), then.sum(axis=0)
    # The older solution counts with what in it is orthogonal to the newer one.
    share = _divide(crossed, squares, 0.0)
    rest = others - share * crossed
    older = _divide(other_gain - share * gain, np.where(rest > _PARALLEL * others, rest, 0), 0.0)
    return np.stack([_divide(gain, squares, 1.0) - share * older, older])


def _scaling(block: Block, state: State) -> Array:
    """For each lane, the best factor among those that keep to the bounds."""
    duals = state.duals[block.rows]
    room = _divide(_costs(block), duals, np.inf).min(axis=0)
    best = _divide(duals.sum(axis=0), _products(block, state, state)[0], 1.0)
    factors: Array = np.minimum(best, room)
    return factors


def _products(block: Block, state: State, before: State) -> Array:
    """Inner products lane by lane: of the newer planes, of both, of the older ones."""
    out = np.empty((3, block.n_lanes))
    plane_products(state.planes, before.planes, out)
    new, old = state.biases, before.biases
    return out + np.stack([new * new, new * old, old * old])


def _costs(block: Block) -> Array:
    costs = np.where(block.targets[block.rows] > 0, block.costs[1], block.costs[0])
    found: Array = block.row_costs[block.rows, None] * costs
    return found


def _mix(now: Array, then: Array, factors: Array) -> None:
    mixed = factors[0] * now + factors[1] * then
    then[:], now[:] = now, mixed


def _divide(x: Array, y: Array, otherwise: float) -> Array:
    """x / y; `otherwise` where y is zero."""
    found: Array = np.divide(x, y, out=np.full(np.shape(x), otherwise), where=y > 0)
    return found
