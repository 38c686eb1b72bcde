"""Rows to learn from, with a target and a weight each."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .packed import Packed

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class TrainingSet:
    """Rows to learn from, in an order that their contents decide, without repetitions.

    Equal rows with equal targets are merged into one that has the sum of their weights. What is
    learned then does not depend on the order of the rows, and a weight of two is the same as
    two rows.

    Attributes
    ----------
    packed : Packed
        The rows, and others that are not learned from.
    rows : ndarray of int
        Numbers of the rows to learn from.
    row_weights : ndarray
        For each row of `packed`; of those in `rows`, the weights after merging.
    targets : ndarray
        For each row of `packed`, the number of its class or the value to predict.
    sample_weight : ndarray
        For each row of `packed`, the weight that was given.
    digests : ndarray
        A hash of the contents of each row of `packed`.
    """

    packed: Packed
    rows: npt.NDArray[np.int64]
    row_weights: npt.NDArray[np.float64]
    targets: Array
    sample_weight: npt.NDArray[np.float64]
    digests: npt.NDArray[np.uint64]

    @classmethod
    def of(
        cls, packed: Packed, targets: Array, sample_weight: npt.NDArray[np.float64],
        n_jobs: int | None,
    ) -> "TrainingSet":  # fmt: skip
        """The training set of all rows that have a weight."""
        rows, digests = np.arange(len(packed)), packed.digests(n_jobs)
        return cls(packed, rows, sample_weight, targets, sample_weight, digests).subset(rows)

    def subset(self, rows: npt.NDArray[np.int64]) -> "TrainingSet":
        """The training set of some of the rows of `packed`: those that have a weight."""
        rows = rows[self.sample_weight[rows] > 0]
        rows = rows[np.lexsort((self.targets[rows], self.digests[rows]))]
        digests, targets = self.digests[rows], self.targets[rows]
        repeats = np.zeros(len(rows), np.bool_)  # whether a row repeats the one before
        repeats[1:] = (digests[1:] == digests[:-1]) & (targets[1:] == targets[:-1])
        for place in np.flatnonzero(repeats):  # different rows may have equal digests
            repeats[place] = self.packed.equal(rows[place - 1], rows[place])
        row_weights = self.sample_weight
        if repeats.any():
            first = np.flatnonzero(~repeats)
            merged = np.add.reduceat(row_weights[rows], first)
            rows = rows[first]
            row_weights = row_weights.copy()
            row_weights[rows] = merged
        return TrainingSet(
            self.packed, rows, row_weights, self.targets, self.sample_weight, self.digests
        )
