"""Where to start a descent from, given the solutions for smaller costs."""

from typing import Any

import numpy as np
import numpy.typing as npt

from .._loops.learning.planes import mix_planes, plane_products
from .._loops.simd.vectors import LANES
from .descent import Block, State

Array = npt.NDArray[Any]

_ALIKE = 1e-4  # squared sine of the angle below which two solutions are one


def foresee(block: Block, state: State, before: State) -> None:
    """Move a solution, found for smaller costs, to where these costs will lead.

    `before` is the solution before that one (or zero, if there was none); it becomes the
    one that `state` was. Of all their combinations, `state` becomes the one that is best for
    the dual problem without its bounds: a parabola in two variables. What lies beyond
    a bound is put right as the first sweep visits it, one row after another, each
    answering to the ones before. (Cut off here and all at once it would move the planes by
    the sum of all that was cut, mostly of one sign; that costs more sweeps than it saves.)

    For the hinge loss, where most rows sit at a bound, `state` is only stretched, as far as
    the bounds allow. The log loss has no parabola; its solution is left alone.
    """
    factors = np.zeros((2, block.n_lanes))
    factors[0] = 1.0
    if block.loss == "hinge":
        factors[0] = _stretch(block, state)
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
    older = _divide(other_gain - share * gain, np.where(rest > _ALIKE * others, rest, 0), 0.0)
    return np.stack([_divide(gain, squares, 1.0) - share * older, older])


def _stretch(block: Block, state: State) -> Array:
    """For each lane, the factor that is best among those that keep to the bounds."""
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
    """x / y; something else where y is zero."""
    found: Array = np.divide(x, y, out=np.full(np.shape(x), otherwise), where=y > 0)
    return found
