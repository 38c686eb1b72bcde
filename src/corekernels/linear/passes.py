"""The rows of one block of problems, as truncated Newton sees them: through sums over the rows.

Every sum is a function of the rows and of vectors alone, so that the sums of several parts of the
rows add up to those of the whole, wherever the parts are.
"""

import numpy as np
import numpy.typing as npt

from .._core.team import Team
from .._core.types import Array
from .._core.validation import read_only
from .._loops.learning.passes import (
    TILE,
    PartSums,
    add_parts,
    gradient_parts,
    line_blocks,
    product_parts,
    score_blocks,
)
from .packed import ROWS_PER_TASK, Packed
from .planes import new_planes
from .problem import Block
from .vectors import Lanes, Vector

_ROWS_PER_PART = 4096  # at least
_MOST_PARTS = 64
_PART_NUMBERS = 1 << 26  # in the sums of all parts, at most
_NUMBERS_PER_BLOCK = 1 << 14


class Passes:
    """Rows at a point w: their losses, the gradient, Hessian products, losses along a line."""

    def __init__(self, packed: Packed, block: Block, n_jobs: int | None) -> None:
        self._packed, self._block, self._team = packed, block, Team(n_jobs)
        self._chosen = read_only(np.sort(block.rows))  # in the order in which they are stored
        shape = (len(self._chosen), block.n_lanes)
        self._scores, self._moves = np.zeros(shape), np.zeros(shape)
        self._curvatures = np.empty(shape, np.float32)
        self._active = self._curved = self._chosen
        planes = new_planes(packed.n_codes, packed.codes.shape[1], block.n_lanes)
        n_parts = min(_MOST_PARTS, _PART_NUMBERS // planes.size, shape[0] // _ROWS_PER_PART)
        n_parts = max(1, n_parts)
        self._sums = PartSums(
            np.empty((n_parts, *planes.shape), np.float32), np.empty((n_parts, 2, block.n_lanes))
        )

    def move_to(self, w: Vector) -> None:
        """Take scores anew at w."""
        self._score(w, self._scores)

    def gradient(self, out: Vector) -> Lanes:
        """Add the gradient of the losses to `out`; the losses, lane by lane."""

        def arguments() -> tuple[object, ...]:
            return (
                self._packed.rows(), self._chosen, self._block.problem, self._scores,
                self._new_tile(), self._curvatures, self._sums,
            )  # fmt: skip

        self._team.run(gradient_parts, arguments, len(self._sums.planes), 1)
        return self._add_up(out)

    def choose_lanes(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Leave rows out of the products to come that have no curvature in any of these lanes."""
        places = np.flatnonzero((self._curvatures[:, lanes] != 0).any(axis=1))
        self._active, self._curved = read_only(places), read_only(self._chosen[places])

    def product(self, direction: Vector, out: Vector) -> float:
        """Add the Hessian of the losses times a direction to `out`; the share of rows visited."""

        def arguments() -> tuple[object, ...]:
            return (
                self._packed.rows(), self._curved, self._active, direction.planes,
                direction.biases, self._block.intercept, self._curvatures, self._new_tile(),
                self._sums,
            )  # fmt: skip

        self._team.run(product_parts, arguments, len(self._sums.planes), 1)
        self._add_up(out)
        return len(self._curved) / max(1, len(self._chosen))

    def losses_along(self, direction: Vector, steps: Lanes) -> Array:
        """Losses at w + step * direction, one row per step."""
        self._score(direction, self._moves)
        n_blocks = -(-len(self._chosen) // ROWS_PER_TASK)
        sums = np.empty((n_blocks, len(steps), self._block.n_lanes))
        arguments = (self._chosen, self._block.problem, self._scores, self._moves, steps, sums)
        self._team.run(line_blocks, arguments, len(self._chosen), ROWS_PER_TASK)
        found: Array = sums.sum(axis=0)
        return found

    def step(self, steps: Lanes) -> None:
        """Move each lane along the direction of `losses_along`."""
        for first in range(0, len(self._scores), ROWS_PER_TASK):
            rows = slice(first, first + ROWS_PER_TASK)
            self._scores[rows] += steps * self._moves[rows]

    def _score(self, vector: Vector, out: Array) -> None:
        intercepts = read_only(vector.biases * self._block.intercept)

        def arguments() -> tuple[object, ...]:
            return self._packed.rows(), self._chosen, vector.planes, intercepts, out

        self._team.run(score_blocks, arguments, len(self._chosen), ROWS_PER_TASK)

    def _new_tile(self) -> Array:
        """Working memory of one thread."""
        return np.empty((TILE, self._block.n_lanes), np.float32)

    def _add_up(self, out: Vector) -> Lanes:
        """Add the sums of all parts to `out`; their losses."""
        planes, numbers = self._sums
        flat = out.planes.reshape(-1)
        arguments = (planes.reshape(len(planes), -1), flat)
        self._team.run(add_parts, arguments, len(flat), _NUMBERS_PER_BLOCK)
        biases, losses = numbers.sum(axis=0)
        out.biases[:] += biases
        return np.asarray(losses)
