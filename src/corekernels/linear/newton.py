"""Truncated Newton: steps found by conjugate gradients, from sums over the rows alone.

Newton's method on the primal problem, for losses with a second derivative. Each step solves for
the Hessian by conjugate gradients, one pass over the rows per iteration, and looks along the
direction found for the lowest objective. A pass is shared out over threads, or machines; a descent
visits one row after another.

With the dual variables that belong to the scores, a_i = -loss'(m_i), the gap of every row is zero
and w differs from the sum of the rows by the gradient. The duality gap is then |gradient|^2 / 2.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from .._core.threads import stop_if_asked
from .._core.types import Array
from .gaps import Measure, require_finite
from .problem import Options, Outcome
from .vectors import Lanes, Vector

_RESIDUAL = 0.1  # over the gradient: where conjugate gradients stop
_MOST_PRODUCTS = 200  # of one step
_STEPS = np.array(
    [1.0, 1.5, 1.25, 1.1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.001]
)  # tried along a direction; the first is Newton's

Report = Callable[[Vector, Measure], None]


class Sums(Protocol):
    """Sums over all rows at a point w, wherever the rows are: see `passes.Passes`."""

    def move_to(self, w: Vector) -> None:
        """Take scores anew at w."""

    def gradient(self, out: Vector) -> Lanes:
        """Add the gradient of the losses to `out`; the losses, lane by lane."""

    def choose_lanes(self, lanes: npt.NDArray[np.bool_]) -> None:
        """Say which lanes the products to come are for."""

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

    sums: Sums
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

        Scores move along with w. Before the end they are taken anew, as their errors add up.
        """
        w, options = self.w, self.options
        ones = np.ones(w.n_lanes)
        squares, _ = w.add(0 * ones, w, w, self.n_jobs)
        self.sums.move_to(w)
        is_fresh, is_stuck = True, False
        while True:
            stop_if_asked()
            found = self._measure(squares)
            unfinished = found.gaps > options.tol * found.objectives
            if self.report is not None:
                self.report(w, found)
            if is_stuck or self._n_passes >= options.max_iter or not unfinished.any():
                if is_fresh:
                    break
                self.sums.move_to(w)
                self._n_passes += 0.5
                is_fresh = True
                continue
            steps = self._lowest(*self._conjugate(unfinished), squares, found, unfinished)
            is_stuck = not steps.any()
            if not is_stuck:
                squares, _ = w.add(steps, self._step, w, self.n_jobs)
                self.sums.step(steps)
                is_fresh = False
        return Outcome(
            int(np.ceil(self._n_passes)),
            found.objectives,
            found.relative_gaps(),
            not unfinished.any(),
        )

    def _measure(self, squares: Lanes) -> Measure:
        """Objectives and gaps at w, whose squared length is known; finds the gradient."""
        self._gradient.clear()
        losses = self.sums.gradient(self._gradient)
        self._n_passes += 0.5
        slopes, _ = self._gradient.add(np.ones(self.w.n_lanes), self.w, self.w, self.n_jobs)
        found = Measure(0.5 * squares + losses, 0.5 * slopes)
        require_finite(found)
        return found

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
        self, products: Lanes, norms: Lanes, squares: Lanes, found: Measure,
        lanes: npt.NDArray[np.bool_],
    ) -> Lanes:  # fmt: skip
        """How far to go along the step; 0 where no length tried lowers the objective."""
        lengths = _STEPS[:, None]
        along = self.sums.losses_along(self._step, _STEPS)
        self._n_passes += 0.5
        along += 0.5 * squares + lengths * products + 0.5 * lengths**2 * norms
        lower = lanes & (along.min(axis=0) < found.objectives)
        steps = np.where(lower, _STEPS[along.argmin(axis=0)], 0.0)
        # as the planes will move
        return steps.astype(np.float32).astype(np.float64)
