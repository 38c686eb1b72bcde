"""Truncated Newton: steps found by conjugate gradients, from sums over the rows alone.

Newton's method on the primal problem, for losses with a second derivative. Each step solves for
the Hessian by conjugate gradients, one pass over the rows per iteration, and looks along the
direction found for the lowest objective. With the dual variables that belong to the scores,
a_i = -loss'(m_i), the gap of every row is zero and w differs from the sum of the rows by the
gradient. The duality gap is then |gradient|^2 / 2.

Every pass over the rows is a sum, shared out over threads (`Passes`). The sums of several parts of
the rows add up to those of the whole, wherever the parts are.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import numpy.typing as npt

from .._core.arguments import Array
from .._core.team import Team
from .._core.threads import stop_if_asked
from .._core.validation import read_only
from .._loops.learning.passes import (
    TILE,
    add_parts,
    combine_blocks,
    gradient_parts,
    line_blocks,
    product_parts,
    score_blocks,
)
from .._loops.simd.vectors import LANES
from .coefficients import zero_coef
from .problem import Block, Measure, Options, Outcome
from .rows import ROWS_PER_TASK, Packed

Lanes = npt.NDArray[np.float64]  # one number per lane

_NUMBERS_PER_BLOCK = 1 << 16


@dataclass(frozen=True)
class Vector:
    """A block of weight vectors, and the weight of the constant column in each lane."""

    coef: npt.NDArray[np.float32]
    biases: Lanes

    @classmethod
    def zero(cls, packed: Packed, n_lanes: int) -> "Vector":
        """Zero in every lane."""
        coef = zero_coef(packed.n_codes, packed.codes.shape[1], n_lanes)
        return cls(coef, np.zeros(n_lanes))

    def zeros_like(self) -> "Vector":
        """Zero, of the same shape."""
        return Vector(np.zeros_like(self.coef), np.zeros_like(self.biases))

    def clear(self) -> None:
        """Set to zero."""
        self.coef[...] = 0
        self.biases[:] = 0

    def add(
        self, factors: Lanes, other: "Vector", against: "Vector", n_jobs: int | None,
        base: "Vector | None" = None,
    ) -> tuple[Lanes, Lanes]:  # fmt: skip
        """Set to `base` (this vector, if None) plus `other` times the factor of each lane.

        Gives the inner products of the result with itself and with `against`, summed in an order
        that does not depend on the number of threads.
        """
        base = self if base is None else base
        flat = self.coef.reshape(-1)
        n_blocks = -(-len(flat) // _NUMBERS_PER_BLOCK)
        shares = np.empty((n_blocks, 2, LANES))
        lanes = np.zeros(LANES, np.float32)
        lanes[: len(factors)] = factors
        if self.coef.ndim == 2:
            lanes[:] = factors[0]
        arguments = (
            base.coef.reshape(-1), lanes, other.coef.reshape(-1), against.coef.reshape(-1),
            flat, shares,
        )  # fmt: skip
        Team(n_jobs).run(combine_blocks, arguments, len(flat), _NUMBERS_PER_BLOCK)
        # biases move by the same rounded factor as coefficients
        self.biases[:] = base.biases + lanes[: len(factors)] * other.biases
        squares, products = self._per_lane(shares.sum(axis=0))
        return squares + self.biases**2, products + self.biases * against.biases

    def _per_lane(self, sums: Array) -> Array:
        """Sums by lane; a single weight vector has all eight lanes to itself."""
        return sums.sum(axis=1, keepdims=True) if self.coef.ndim == 2 else sums[:, : self.n_lanes]

    @property
    def n_lanes(self) -> int:
        """Number of problems."""
        return len(self.biases)


_ROWS_PER_PART = 4096  # at least
_MOST_PARTS = 64
_PART_NUMBERS = 1 << 26  # in the sums of all parts, at most
_SUMS_PER_BLOCK = 1 << 14


class Passes:
    """Rows at a point w: their losses, the gradient, Hessian products, losses along a line."""

    def __init__(self, packed: Packed, block: Block, n_jobs: int | None) -> None:
        self._packed, self._block, self._team = packed, block, Team(n_jobs)
        self._chosen = read_only(np.sort(block.rows))  # in the order in which they are stored
        shape = (len(self._chosen), block.n_lanes)
        self._scores, self._moves = np.zeros(shape), np.zeros(shape)
        self._curvatures = np.empty(shape, np.float32)
        self._active = self._curved = self._chosen
        coef = zero_coef(packed.n_codes, packed.codes.shape[1], block.n_lanes)
        n_parts = min(_MOST_PARTS, _PART_NUMBERS // coef.size, shape[0] // _ROWS_PER_PART)
        n_parts = max(1, n_parts)
        self._sums = np.empty((n_parts, *coef.shape), np.float32)
        self._numbers = np.empty((n_parts, 2, block.n_lanes))

    def move_to(self, w: Vector) -> None:
        """Compute the scores at w."""
        self._score(w, self._scores)

    def gradient(self, out: Vector) -> Lanes:
        """Add the gradient of the losses to `out`; the losses, lane by lane."""

        def arguments() -> tuple[object, ...]:
            return (
                self._packed.rows(), self._chosen, self._block.problem, self._scores,
                self._new_tile(), self._curvatures, self._sums, self._numbers,
            )  # fmt: skip

        loop = self._block.loss.compiled(gradient_parts)
        self._team.run(loop, arguments, len(self._sums), 1)
        return self._add_up(out)

    def choose_lanes(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Restrict later products to the rows that have a curvature in one of these lanes."""
        places = np.flatnonzero((self._curvatures[:, lanes] != 0).any(axis=1))
        self._active, self._curved = read_only(places), read_only(self._chosen[places])

    def product(self, direction: Vector, out: Vector) -> float:
        """Add the Hessian of the losses times a direction to `out`; the share of rows visited."""

        def arguments() -> tuple[object, ...]:
            return (
                self._packed.rows(), self._curved, self._active, direction.coef,
                direction.biases, self._block.intercept, self._curvatures, self._new_tile(),
                self._sums, self._numbers,
            )  # fmt: skip

        self._team.run(product_parts, arguments, len(self._sums), 1)
        self._add_up(out)
        return len(self._curved) / max(1, len(self._chosen))

    def losses_along(self, direction: Vector, steps: Lanes) -> Array:
        """Losses at w + step * direction, one row per step."""
        self._score(direction, self._moves)
        n_blocks = -(-len(self._chosen) // ROWS_PER_TASK)
        sums = np.empty((n_blocks, len(steps), self._block.n_lanes))
        arguments = (self._chosen, self._block.problem, self._scores, self._moves, steps, sums)
        loop = self._block.loss.compiled(line_blocks)
        self._team.run(loop, arguments, len(self._chosen), ROWS_PER_TASK)
        return sums.sum(axis=0)

    def step(self, steps: Lanes) -> None:
        """Move each lane along the direction of `losses_along`."""
        self._scores += steps * self._moves

    def _score(self, vector: Vector, out: Array) -> None:
        intercepts = read_only(vector.biases * self._block.intercept)

        def arguments() -> tuple[object, ...]:
            return self._packed.rows(), self._chosen, vector.coef, intercepts, out

        self._team.run(score_blocks, arguments, len(self._chosen), ROWS_PER_TASK)

    def _new_tile(self) -> Array:
        """Working memory of one thread."""
        return np.empty((TILE, self._block.n_lanes), np.float32)

    def _add_up(self, out: Vector) -> Lanes:
        """Add the sums of all parts to `out`; their losses."""
        flat = out.coef.reshape(-1)
        arguments = (self._sums.reshape(len(self._sums), -1), flat)
        self._team.run(add_parts, arguments, len(flat), _SUMS_PER_BLOCK)
        biases, losses = self._numbers.sum(axis=0)
        out.biases[:] += biases
        return np.asarray(losses)


_RESIDUAL = 0.1  # over the gradient: where conjugate gradients stop
_MOST_PRODUCTS = 200  # of one step
_STEPS = np.array(
    [1.0, 1.5, 1.25, 1.1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001]
)  # tried along a direction; the first is Newton's

Report = Callable[[Vector, Measure], None]


class RowSums(Protocol):
    """Sums over all rows at a point w, wherever the rows are: `Passes`, or those of many parts."""

    def move_to(self, w: Vector) -> None:
        """Compute the scores at w."""

    def gradient(self, out: Vector) -> Lanes:
        """Add the gradient of the losses to `out`; the losses, lane by lane."""

    def choose_lanes(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Say which lanes later products are for."""

    def product(self, direction: Vector, out: Vector) -> float:
        """Add the Hessian of the losses times a direction to `out`; the share of rows visited."""

    def losses_along(self, direction: Vector, steps: Lanes) -> Array:
        """Losses at w + step * direction, one row per step."""

    def step(self, steps: Lanes) -> None:
        """Move each lane along the direction of `losses_along`."""


@dataclass
class Newton:
    """Newton steps of the lanes of one block, side by side, from `w` on, which is changed.

    `report` is called with w and its objectives and gaps before each step.
    """

    sums: RowSums
    w: Vector
    options: Options
    n_jobs: int | None
    report: Report | None = None

    def __post_init__(self) -> None:
        self._gradient, self._direction, self._residual, self._step, self._image = (
            self.w.zeros_like() for _ in range(5)
        )
        self._n_passes = 0.0

    def solve(self) -> Outcome:
        """Step until the gap of every lane is small enough, or no step lowers an objective.

        Scores are updated with w, so that rounding errors add up: before the end, they are computed
        anew.
        """
        w, options = self.w, self.options
        ones = np.ones(w.n_lanes)
        squares, _ = w.add(0 * ones, w, w, self.n_jobs)
        self.sums.move_to(w)
        is_fresh, is_stuck = True, False
        while True:
            stop_if_asked()
            at = self._measure(squares)
            unfinished = at.gaps > options.tol * at.objectives
            if self.report is not None:
                self.report(w, at)
            if is_stuck or self._n_passes >= options.max_iter or not unfinished.any():
                if is_fresh:
                    break
                self.sums.move_to(w)
                self._n_passes += 0.5
                is_fresh = True
                continue
            steps = self._lowest(*self._conjugate(unfinished), squares, at, unfinished)
            is_stuck = not steps.any()
            if not is_stuck:
                squares, _ = w.add(steps, self._step, w, self.n_jobs)
                self.sums.step(steps)
                is_fresh = False
        n_iter = int(np.ceil(self._n_passes))
        return Outcome(n_iter, at.objectives, at.relative_gaps, not unfinished.any())

    def _measure(self, squares: Lanes) -> Measure:
        """Objectives and duality gaps at w, of these squared lengths; finds the gradient too."""
        self._gradient.clear()
        losses = self.sums.gradient(self._gradient)
        self._n_passes += 0.5
        slopes, _ = self._gradient.add(np.ones(self.w.n_lanes), self.w, self.w, self.n_jobs)
        at = Measure(0.5 * squares + losses, 0.5 * slopes)
        at.require_finite()
        return at

    def _conjugate(self, lanes: npt.NDArray[np.bool_]) -> tuple[Lanes, Lanes]:
        """Find the steps of some lanes by conjugate gradients.

        Gives the inner products of each step with w and with itself.
        """
        step, direction, residual, image = self._step, self._direction, self._residual, self._image
        n_jobs, zeros, ones = self.n_jobs, np.zeros(len(lanes)), np.ones(len(lanes))
        step.clear()
        residual.clear()
        squares, _ = residual.add(-ones, self._gradient, residual, n_jobs)
        direction.add(zeros, residual, residual, n_jobs, base=residual)
        limits = _RESIDUAL**2 * squares
        going = lanes & (squares > 0)
        products, norms = zeros, zeros
        self.sums.choose_lanes(lanes)
        for _ in range(_MOST_PRODUCTS):
            stop_if_asked()
            image.clear()
            self._n_passes += self.sums.product(direction, image)
            _, curvatures = image.add(ones, direction, direction, n_jobs)
            shares = np.where(going, squares / np.where(going, curvatures, 1), 0.0)
            norms, products = step.add(shares, direction, self.w, n_jobs)
            after, _ = residual.add(-shares, image, residual, n_jobs)
            going &= after > limits
            if not going.any() or self._n_passes >= self.options.max_iter:
                break
            direction.add(
                np.where(going, after / squares, 0.0), direction, residual, n_jobs, base=residual
            )
            squares = after
        return products, norms

    def _lowest(
        self, products: Lanes, norms: Lanes, squares: Lanes, at: Measure,
        lanes: npt.NDArray[np.bool_],
    ) -> Lanes:  # fmt: skip
        """The length of the step in each lane; 0 where no length tried lowers the objective."""
        lengths = _STEPS[:, None]
        along = self.sums.losses_along(self._step, _STEPS)
        self._n_passes += 0.5
        along += 0.5 * squares + lengths * products + 0.5 * lengths**2 * norms
        lower = lanes & (along.min(axis=0) < at.objectives)
        steps = np.where(lower, _STEPS[along.argmin(axis=0)], 0.0)
        # rounded as `Vector.add` rounds them
        return steps.astype(np.float32).astype(np.float64)


def solve(
    packed: Packed, blocks: Sequence[Block], options: Options, n_jobs: int | None
) -> tuple[list[Vector], list[Outcome]]:
    """Newton steps from zero for one block after another, on no more codes than occur."""
    used = replace(packed, n_codes=packed.largest_code() + 1)
    solutions, outcomes = [], []
    for block in blocks:
        block.require_costs()
        w, whole = (Vector.zero(rows, block.n_lanes) for rows in (used, packed))
        outcomes.append(Newton(Passes(used, block, n_jobs), w, options, n_jobs).solve())
        whole.coef[: used.n_codes] = w.coef
        solutions.append(Vector(whole.coef, w.biases))
    return solutions, outcomes
