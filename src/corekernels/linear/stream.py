"""Learning from a stream: batches one after another, each forgotten once it is learned from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._loops.learning.descent import Solution
from ..recipe import Recipe
from .coefficients import Coefficients, codes_in_use, lane_blocks, zero_coef
from .descent import solve
from .problem import Block, Options
from .rows import Packed

_MAX_SWEEPS = 10
_TOL = 1e-3
_POWER = 3


@dataclass
class Stream:
    """State between the batches of a stream: the latest weight vectors, and their average.

    Those after n rows weigh n^3 times the size of their batch in the average.
    """

    latest: Sequence[Solution]
    average: Coefficients
    n_rows: int
    total_weight: float

    @classmethod
    def start(cls, recipe: Recipe, packed: Packed, n_problems: int) -> "Stream":
        """A stream before its first batch."""
        blocks = [
            zero_coef(packed.n_codes, recipe.n_hashes, len(lanes))
            for lanes in lane_blocks(n_problems)
        ]
        return cls.resume(Coefficients(recipe, blocks, np.zeros(n_problems)), 0, 1.0)

    @classmethod
    def resume(cls, coefficients: Coefficients, n_rows: int, intercept: float) -> "Stream":
        """A stream that goes on from coefficients learned from `n_rows` rows.

        Later batches change `coefficients.blocks` in place.
        """
        latest = []
        intercepts, blocks = coefficients.intercepts, coefficients.blocks
        for lanes, block in zip(lane_blocks(len(intercepts)), blocks, strict=True):
            biases = intercepts[lanes.start : lanes.stop] / (intercept or 1.0)
            latest.append(Solution(np.zeros((0, len(lanes))), block.copy(), biases))
        average = replace(coefficients, intercepts=intercepts.copy())
        return cls(latest, average, n_rows, float(n_rows) ** (_POWER + 1))

    def learn(
        self, packed: Packed, blocks: Sequence[Block], options: Options, n_jobs: int | None
    ) -> None:
        """Solve the problems of one batch, starting from the latest vectors; add to the average."""
        starts = [
            solution._replace(duals=np.zeros((len(packed), len(solution.biases))))
            for solution in self.latest
        ]
        options = replace(
            options,
            tol=max(_TOL, options.tol),
            max_iter=min(_MAX_SWEEPS, options.max_iter),
            seed=(*options.seed, self.n_rows),
        )
        solve(packed, blocks, options, n_jobs, starts, is_sum=False)
        self.n_rows += len(packed)
        weight = float(len(packed)) * float(self.n_rows) ** _POWER
        self.total_weight += weight
        self._move_average(
            Coefficients.of(self.average.recipe, starts, blocks[0].intercept),
            weight / self.total_weight,
        )

    def _move_average(self, latest: Coefficients, share: float) -> None:
        """Move the average towards the latest weight vectors by a share of the way."""
        for new, average in zip(latest.blocks, self.average.blocks, strict=True):
            used = codes_in_use(new, average)
            average[used] += np.float32(share) * (new[used] - average[used])
        self.average.intercepts[:] += share * (latest.intercepts - self.average.intercepts)
