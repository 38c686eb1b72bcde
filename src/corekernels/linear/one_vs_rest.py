"""From classes to two-class problems: one for two classes, else one per class against the rest.

Where rows have several labels, there is one problem per label.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._core.validation import read_only
from .._loops.simd.vectors import LANES
from .planes import lane_blocks, number_of_planes
from .problem import Block
from .training_set import TrainingSet


@dataclass(frozen=True)
class OneVsRest:
    """What is minimised, but for C.

    Where rows have several labels, targets are numbers of sets of labels: `label_sets`, of shape
    (n_sets, n_classes).
    """

    loss: str
    intercept: float  # value of the constant column; 0: none
    class_weights: npt.NDArray[np.float64]
    label_sets: npt.NDArray[np.bool_] | None = None

    @property
    def n_planes(self) -> int:
        """Two classes need one plane, more need one each, and so do several labels per row."""
        return number_of_planes(len(self.class_weights), self.label_sets is not None)

    def blocks(self, training: TrainingSet, C: float, width: int = LANES) -> list[Block]:
        """The two-class problems at one C, for a training set whose targets are class numbers.

        There are at most `width` of them in a block.

        The weight of a class counts where it is the positive one. (As in LIBLINEAR: with two
        classes both weights count, with more each problem weighs its own class against all
        others at weight one.)
        """
        found = []
        for lanes in lane_blocks(self.n_planes, width):
            planes = np.arange(lanes.start, lanes.stop)
            costs = C * np.stack([np.ones(len(planes)), self.class_weights[planes]])
            if self.label_sets is not None:
                is_positive = self.label_sets[:, planes][training.targets]
            elif len(self.class_weights) == 2:
                is_positive, costs = training.targets[:, None] == 1, C * self.class_weights[:, None]
            else:
                is_positive = training.targets[:, None] == planes
            targets = np.where(is_positive, 1, -1).astype(np.int8)
            rows, weights = read_only(training.rows), read_only(training.row_weights)
            found.append(Block(self.loss, rows, read_only(targets), weights, costs, self.intercept))
        return found
