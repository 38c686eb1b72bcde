"""Learning from a stream: batch after batch, of which only the planes are kept."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._loops.learning.planes import move_towards
from ..recipe import Recipe
from .descent import as_planes, solve
from .packed import Packed
from .planes import Planes, lane_blocks, new_planes
from .problem import Block, Options, State

_MAX_SWEEPS = 10
_TOL = 1e-3
_POWER = 3


@dataclass
class Stream:
    """What is carried from batch to batch: the planes now, and their average.

    The planes after n rows weigh n^3 times the size of their batch in the average.
    """

    states: list[State]
    average: Planes
    n_rows: int
    total_weight: float

    @classmethod
    def start(cls, recipe: Recipe, packed: Packed, n_planes: int) -> "Stream":
        """A stream that nothing has been learned from yet."""
        blocks = [
            new_planes(packed.n_codes, recipe.n_hashes, len(lanes))
            for lanes in lane_blocks(n_planes)
        ]
        return cls.resume(Planes(recipe, blocks, np.zeros(n_planes)), 0, 1.0)

    @classmethod
    def resume(cls, planes: Planes, n_rows: int, intercept: float) -> "Stream":
        """A stream that goes on from planes which so many rows have led to.

        `planes.blocks` are changed by the batches to come.
        """
        states = []
        for lanes, block in zip(lane_blocks(len(planes.intercepts)), planes.blocks, strict=True):
            biases = planes.intercepts[lanes.start : lanes.stop] / (intercept or 1.0)
            states.append(State(np.zeros((0, len(lanes))), block.copy(), biases))
        average = Planes(planes.recipe, planes.blocks, planes.intercepts.copy())
        return cls(states, average, n_rows, float(n_rows) ** (_POWER + 1))

    def learn(
        self, packed: Packed, blocks: Sequence[Block], options: Options, n_jobs: int | None
    ) -> None:
        """Solve the problems of one batch against the planes now, and add to the average."""
        states = [
            State(
                np.zeros((len(packed), len(state.biases))), state.planes, state.biases, is_sum=False
            )
            for state in self.states
        ]
        options = replace(
            options,
            tol=max(_TOL, options.tol),
            max_iter=min(_MAX_SWEEPS, options.max_iter),
            seed=(*options.seed, self.n_rows),
        )
        solve(packed, blocks, options, n_jobs, states)
        self._average(as_planes(self.average.recipe, states, blocks[0].intercept), len(packed))

    def _average(self, now: Planes, n_rows: int) -> None:
        """Move the average towards the planes after another batch."""
        self.n_rows += n_rows
        weight = float(n_rows) * float(self.n_rows) ** _POWER
        self.total_weight += weight
        share = weight / self.total_weight
        for goal, block in zip(now.blocks, self.average.blocks, strict=True):
            move_towards(goal, np.float32(share), block)
        self.average.intercepts[:] += share * (now.intercepts - self.average.intercepts)
