"""From labels to two-class problems, and from solved problems to planes."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.threads import run_blocks
from .._core.validation import read_only
from ..recipe import Recipe
from .descent import Block, Outcome, State, descend
from .planes import Packed, Planes, lane_blocks

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Lesson:
    """Labelled rows: each row once, with the class it belongs to and its weight.

    Rows are in an order of their own, that of their contents, and rows alike in all
    but weight are merged. What is learned does not depend on the order of the rows,
    and a weight of two is the same as two rows.
    """

    packed: Packed
    rows: npt.NDArray[np.int64]
    labels: npt.NDArray[np.int64]
    row_weights: npt.NDArray[np.float64]
    given_weights: npt.NDArray[np.float64]
    class_weights: npt.NDArray[np.float64]

    @property
    def n_planes(self) -> int:
        """Two classes need one plane, more need one each."""
        return 1 if len(self.class_weights) == 2 else len(self.class_weights)

    def blocks(self, loss: str, C: float, intercept: float) -> list[Block]:
        """The two-class problems at one C; a class's weight counts where it is the positive one.

        (As in LIBLINEAR: with two classes both weights count, with more each problem
        weighs its own class against all others at weight one.)
        """
        found = []
        for lanes in lane_blocks(self.n_planes):
            if len(self.class_weights) == 2:
                positive, costs = np.array([1]), C * self.class_weights[:, None]
            else:
                positive = np.array(lanes)
                costs = C * np.stack([np.ones(len(lanes)), self.class_weights[positive]])
            targets = np.where(self.labels[:, None] == positive, 1, -1).astype(np.int8)
            found.append(
                Block(
                    loss,
                    read_only(self.rows),
                    read_only(targets),
                    read_only(self.row_weights),
                    costs,
                    intercept,
                )
            )
        return found


def make_lesson(
    packed: Packed,
    labels: npt.NDArray[np.int64],
    row_weights: npt.NDArray[np.float64],
    class_weights: npt.NDArray[np.float64],
    rows: npt.NDArray[np.int64],
    digests: npt.NDArray[np.uint64],
) -> Lesson:
    """A lesson from those of `rows` that have a weight."""
    given = row_weights
    rows = rows[row_weights[rows] > 0]
    rows = rows[np.lexsort((labels[rows], digests[rows]))]
    alike = (digests[rows[1:]] == digests[rows[:-1]]) & (labels[rows[1:]] == labels[rows[:-1]])
    for place in np.flatnonzero(alike):
        alike[place] = _equal_rows(packed, rows[place], rows[place + 1])
    if alike.any():
        first = np.flatnonzero(np.concatenate([[True], ~alike]))
        merged = np.add.reduceat(row_weights[rows], first)
        rows = rows[first]
        row_weights = row_weights.copy()
        row_weights[rows] = merged
    return Lesson(packed, rows, labels, row_weights, given, class_weights)


def learn(
    lesson: Lesson, blocks: Sequence[Block], states: Sequence[State] | None,
    n_jobs: int | None, **options: Any,
) -> tuple[list[State], list[Outcome]]:  # fmt: skip
    """Descend on all blocks, from `states` (changed in place) or from zero."""
    if states is None:
        states = [State.zero(lesson.packed, block.n_lanes) for block in blocks]

    def work(task: tuple[Block, State]) -> Outcome:
        return descend(lesson.packed, *task, **options)

    outcomes = run_blocks(work, list(zip(blocks, states, strict=True)), n_jobs)
    return list(states), outcomes


def as_planes(recipe: Recipe, states: Sequence[State], intercept: float) -> Planes:
    """The planes the states have reached, without a copy."""
    biases = np.concatenate([state.biases for state in states]) * intercept
    return Planes(recipe, [state.planes for state in states], biases)


def _equal_rows(packed: Packed, i: int, j: int) -> bool:
    same = np.array_equal(packed.codes[i], packed.codes[j])
    if packed.weights is not None:
        same = same and np.array_equal(packed.weights[i], packed.weights[j])
    return same and (packed.lengths[i] > 0) == (packed.lengths[j] > 0)
