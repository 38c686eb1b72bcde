"""Rows to learn from, with a target and a weight each."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .._core.types import Array
from .packed import Packed


@dataclass(frozen=True)
class TrainingSet:
    """Rows to learn from, in an order that their contents decide, without repetitions.

    Equal rows with equal targets are merged into one that has the sum of their weights; equal
    rows with different targets follow one another. What is learned then does not depend on the
    order of the rows, and a weight of two is the same as two rows.

    Group g of equal rows is `rows[starts[g]:starts[g + 1]]`. The arrays below `starts` have an
    item for each row of `packed`.
    """

    packed: Packed  # the rows, and others that are not learned from
    rows: npt.NDArray[np.int64]  # numbers of the rows to learn from
    starts: npt.NDArray[np.int64]
    row_weights: npt.NDArray[np.float64]  # of those in `rows`, the weights after merging
    targets: Array  # numbers of classes, or values to predict
    sample_weight: npt.NDArray[np.float64]  # the weights that were given
    digests: npt.NDArray[np.uint64]  # hashes of the contents

    @classmethod
    def of(
        cls, packed: Packed, targets: Array, sample_weight: npt.NDArray[np.float64],
        n_jobs: int | None,
    ) -> "TrainingSet":  # fmt: skip
        """The training set of all rows that have a weight."""
        digests, every = packed.digests(n_jobs), np.arange(len(packed))
        none = np.empty(0, np.int64)
        training = cls(packed, none, none, sample_weight, targets, sample_weight, digests)
        return training.subset(every)

    def subset(self, rows: npt.NDArray[np.int64]) -> "TrainingSet":
        """The training set of some of the rows of `packed`: those that have a weight."""
        rows = rows[self.sample_weight[rows] > 0]
        rows, begins = self._by_contents(rows)
        targets = self.targets[rows]
        repeats = np.zeros(len(rows), np.bool_)  # whether a row repeats the one before
        repeats[1:] = ~begins[1:] & (targets[1:] == targets[:-1])
        row_weights = self.sample_weight
        if repeats.any():
            first = np.flatnonzero(~repeats)
            merged = np.add.reduceat(row_weights[rows], first)
            rows, begins = rows[first], begins[first]
            row_weights = row_weights.copy()
            row_weights[rows] = merged
        starts = np.append(np.flatnonzero(begins), len(rows))
        return replace(self, rows=rows, starts=starts, row_weights=row_weights)

    def _by_contents(
        self, rows: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
        """Rows sorted by contents, target and weight, and whether each begins a group of equals.

        Sorted by digest, that is; the few rows that share one and are not equal, by all they hold.
        """
        rows = rows[np.lexsort((self.sample_weight[rows], self.targets[rows], self.digests[rows]))]
        digests = self.digests[rows]
        begins = np.ones(len(rows), np.bool_)
        begins[1:] = digests[1:] != digests[:-1]
        shared = np.flatnonzero(~begins)
        begins[shared] = ~self.packed.equal(rows[shared - 1], rows[shared])
        for digest in np.unique(digests[shared[begins[shared]]]):
            run = slice(
                int(np.searchsorted(digests, digest)),
                int(np.searchsorted(digests, digest, side="right")),
            )
            contents = {row: self.packed.contents(row) for row in rows[run].tolist()}
            rows[run] = sorted(rows[run].tolist(), key=contents.__getitem__)  # keeps equals' order
            again = rows[run]
            begins[run.start + 1 : run.stop] = ~self.packed.equal(again[:-1], again[1:])
        return rows, begins

    @property
    def contested_weight(self) -> float:
        """The largest weight of equal rows that have different targets; 0 if there are none."""
        sizes = np.diff(self.starts)
        if len(sizes) == 0 or sizes.max() == 1:
            return 0.0
        sums = np.add.reduceat(self.row_weights[self.rows], self.starts[:-1])
        return float(sums[sizes > 1].max())
