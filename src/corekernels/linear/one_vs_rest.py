"""From classes to two-class problems: one for two classes, else one per class against the rest."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._core.validation import read_only
from .._loops.simd.vectors import LANES
from .planes import lane_blocks
from .problem import Block
from .training_set import TrainingSet


@dataclass(frozen=True)
class OneVsRest:
    """What is minimised, but for C.

    Attributes
    ----------
    loss : str
    intercept : float
        Value of the constant column; 0: none.
    class_weights : ndarray of shape (n_classes,)
    """

    loss: str
    intercept: float
    class_weights: npt.NDArray[np.float64]

    @property
    def n_planes(self) -> int:
        """Two classes need one plane, more need one each."""
        return 1 if len(self.class_weights) == 2 else len(self.class_weights)

    def blocks(self, training: TrainingSet, C: float, width: int = LANES) -> list[Block]:
        """The two-class problems at one C, for a training set whose targets are class numbers.

        There are at most `width` of them in a block.

        The weight of a class counts where it is the positive one. (As in LIBLINEAR: with two
        classes both weights count, with more each problem weighs its own class against all
        others at weight one.)
        """
        found = []
        for lanes in lane_blocks(self.n_planes, width):
            if len(self.class_weights) == 2:
                positive, costs = np.array([1]), C * self.class_weights[:, None]
            else:
                positive = np.array(lanes)
                costs = C * np.stack([np.ones(len(lanes)), self.class_weights[positive]])
            targets = np.where(training.targets[:, None] == positive, 1, -1).astype(np.int8)
            found.append(
                Block(
                    self.loss,
                    read_only(training.rows),
                    read_only(targets),
                    read_only(training.row_weights),
                    costs,
                    self.intercept,
                )
            )
        return found
