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
    RowTerms,
    SlotSums,
    add_rows,
    line_blocks,
    product_blocks,
    score_blocks,
    term_blocks,
)
from .packed import ROWS_PER_TASK, Packed
from .problem import Block
from .vectors import Lanes, Vector

_SLOTS = 256  # that one thread sums at a time: fewer are read slowly, row after row
_SUM_NUMBERS = 1 << 20  # in the sums of a block of slots, at most
_PARTS = 8  # of the rows, at most, that are summed apart
_ROWS_PER_PART = 4096


class Passes:
    """Rows at a point w: their losses, the gradient, Hessian products, losses along a line."""

    def __init__(self, packed: Packed, block: Block, n_jobs: int | None) -> None:
        self._packed, self._block, self._team = packed, block, Team(n_jobs)
        self._chosen = read_only(np.sort(block.rows))  # in the order in which they are stored
        shape = (len(self._chosen), block.n_lanes)
        n_blocks = -(-shape[0] // ROWS_PER_TASK)
        self._scores = np.zeros(shape)
        self._moves = np.zeros(shape)
        self._terms = RowTerms(
            np.empty(shape, np.float32),
            np.empty(shape, np.float32),
            np.empty((n_blocks, 2, block.n_lanes)),
        )
        self._active = self._curved = self._chosen

    def move_to(self, w: Vector) -> None:
        """Take scores anew at w."""
        self._score(w, self._scores)

    def gradient(self, out: Vector) -> Lanes:
        """Add the gradient of the losses to `out`; the losses, lane by lane."""
        terms = self._terms
        arguments = (
            self._packed.scales, self._chosen, self._block.problem, self._scores, terms,
        )  # fmt: skip
        self._team.run(term_blocks, arguments, len(self._chosen), ROWS_PER_TASK)
        losses, slopes = terms.sums.sum(axis=0)
        out.biases[:] += slopes
        self._add(self._chosen, terms.factors, out)
        return np.asarray(losses)

    def choose_lanes(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Leave rows out of the products to come that have no curvature in any of these lanes."""
        places = np.flatnonzero((self._terms.curvatures[:, lanes] != 0).any(axis=1))
        self._active, self._curved = read_only(places), read_only(self._chosen[places])

    def product(self, direction: Vector, out: Vector) -> float:
        """Add the Hessian of the losses times a direction to `out`; the share of rows visited."""
        rows, block = self._curved, self._block
        factors = np.empty((len(rows), block.n_lanes), np.float32)
        sums = np.zeros((max(1, -(-len(rows) // ROWS_PER_TASK)), block.n_lanes))

        def arguments() -> tuple[object, ...]:
            return (
                self._packed.rows(), rows, self._active, direction.planes, direction.biases,
                block.intercept, self._terms.curvatures, factors, sums,
            )  # fmt: skip

        self._team.run(product_blocks, arguments, len(rows), ROWS_PER_TASK)
        out.biases[:] += sums.sum(axis=0)
        self._add(rows, factors, out)
        return len(rows) / max(1, len(self._chosen))

    def losses_along(self, direction: Vector, steps: Lanes) -> Array:
        """Losses at w + step * direction, one row per step."""
        self._score(direction, self._moves)
        sums = np.empty((len(self._terms.sums), len(steps), self._block.n_lanes))
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

    def _add(self, rows: npt.NDArray[np.int64], factors: Array, out: Vector) -> None:
        """Add rows times factors to the planes; threads share slots and parts of the rows."""
        packed = self._packed
        n_hashes = packed.codes.shape[1]
        width = 1 if out.planes.ndim == 2 else out.planes.shape[2]
        n_slots = max(1, min(_SLOTS, n_hashes, _SUM_NUMBERS // (packed.n_codes * width)))
        n_parts = max(1, min(_PARTS, len(rows) // _ROWS_PER_PART))
        sums = np.empty((n_parts, *out.planes.shape), np.float32)
        shape = packed.n_codes, n_slots, width

        def arguments() -> tuple[object, ...]:
            scratch = SlotSums(
                np.empty(shape), np.empty(shape, np.float32), np.empty(n_slots, np.float32)
            )
            return packed.rows(), rows, factors, n_slots, scratch, sums

        n_blocks = n_parts * -(-n_hashes // n_slots)
        self._team.run(add_rows, arguments, n_blocks, 1)
        for part in sums:
            out.planes[...] += part
