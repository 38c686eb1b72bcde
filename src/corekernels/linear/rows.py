"""Rows to learn from: the arrays of signatures as loops take them, and training sets."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.arguments import Array
from .._core.threads import row_blocks, run_blocks
from .._core.validation import read_only
from .._hashing.slots import largest_code, loop_slots
from .._loops.learning.scoring import PackedRows, row_digests, row_scales
from ..errors import DataError, ParameterError
from ..recipe import MAX_BITS
from ..signatures import Signatures

ROWS_PER_TASK = 1024


@dataclass(frozen=True)
class Packed:
    """Arrays of signatures, as read-only views.

    Attributes
    ----------
    codes : ndarray of shape (n, k)
    weights : ndarray of shape (n, k), uint16, or None
        The bits of halves; None where all weights are 1. Where code and weight share an
        integer, `codes` and `weights` are the same array of slots.
    scales : ndarray of shape (n,)
        Factor that makes a row's weights unit length; 0 for an empty row.
    n_codes : int
        Codes there can be.
    """

    codes: Array
    weights: Array | None
    scales: npt.NDArray[np.float32]
    n_codes: int

    def __len__(self) -> int:
        return len(self.codes)

    def rows(self) -> PackedRows:
        """The rows as a loop takes them, with a buffer for one thread."""
        buffer = None if self.weights is None else np.empty(self.codes.shape[1], np.float32)
        return PackedRows(self.codes, self.weights, self.scales, buffer)

    def largest_code(self) -> int:
        """The largest of all codes."""
        return largest_code(self.codes)


def require_signatures(S: Any) -> None:
    """Refuse anything else."""
    if not isinstance(S, Signatures):
        raise DataError(
            f"S: got {type(S).__name__}; pass Signatures from `CoREHasher.sketch`, "
            "or give raw rows to CoREClassifier or CoRERegressor."
        )


def pack(S: Signatures, n_jobs: int | None = None) -> Packed:
    """Views of the arrays of S, which may be memory-mapped; only the scales are new."""
    require_signatures(S)
    if S.recipe.n_bits is None:
        raise ParameterError(
            "n_bits: these signatures keep their locations whole, which would take a weight for "
            f"every location; choose n_bits from 1 to {MAX_BITS}."
        )
    codes, weights = loop_slots(S.arrays())
    lengths = read_only(S.lengths, np.int64)
    scales = np.empty(len(codes), np.float32)

    def scale(part: tuple[int, int]) -> None:
        rows = slice(*part)
        of_rows = None if weights is None else weights[rows]
        row_scales(of_rows, lengths[rows], codes.shape[1], scales[rows])

    run_blocks(scale, row_blocks(0, len(codes), ROWS_PER_TASK), n_jobs)
    if not np.isfinite(scales).all():
        row = int(np.flatnonzero(~np.isfinite(scales))[0])
        raise DataError(f"S: row {row} holds a weight that is not finite; hash it again.")
    return Packed(codes, weights, read_only(scales), 1 << S.recipe.n_bits)


@dataclass(frozen=True)
class TrainingSet:
    """Rows to learn from, in an order that depends on their contents alone, without repetitions.

    Equal rows with equal targets are merged into one that has the sum of their weights. What is
    learned then does not depend on the order of the rows, and a weight of two is the same as two
    rows. Rows of equal digests count as equal: of 10^8 different rows, any two have equal ones with
    a chance of 3 in 10,000.

    All arrays but `rows` have an item for each row of `packed`.
    """

    packed: Packed  # the rows, and others that are not learned from
    targets: Array  # numbers of classes, or values to predict
    sample_weight: npt.NDArray[np.float64]  # the weights that were given
    digests: npt.NDArray[np.uint64]
    rows: npt.NDArray[np.int64]  # numbers of the rows to learn from
    row_weights: npt.NDArray[np.float64]  # the weights after merging

    @classmethod
    def of(
        cls, packed: Packed, targets: Array, sample_weight: npt.NDArray[np.float64],
        n_jobs: int | None,
    ) -> "TrainingSet":  # fmt: skip
        """The training set of all rows that have a weight."""
        every, digests = np.arange(len(packed)), np.empty(len(packed), np.uint64)

        def digest(part: tuple[int, int]) -> None:
            rows = slice(*part)
            of_rows = None if packed.weights is None else packed.weights[rows]
            row_digests(packed.codes[rows], of_rows, packed.scales[rows], digests[rows])

        run_blocks(digest, row_blocks(0, len(packed), ROWS_PER_TASK), n_jobs)
        return cls(packed, targets, sample_weight, digests, every, sample_weight).subset(every)

    def subset(self, rows: npt.NDArray[np.int64]) -> "TrainingSet":
        """The training set of some of the rows of `packed`: those that have a weight."""
        row_weights = self.sample_weight
        rows = rows[row_weights[rows] > 0]
        rows = rows[np.lexsort((row_weights[rows], self.targets[rows], self.digests[rows]))]
        digests, targets = self.digests[rows], self.targets[rows]
        is_first = np.ones(len(rows), np.bool_)
        is_first[1:] = (digests[1:] != digests[:-1]) | (targets[1:] != targets[:-1])
        if not is_first.all():
            first = np.flatnonzero(is_first)
            merged = np.add.reduceat(row_weights[rows], first)
            rows, row_weights = rows[first], row_weights.copy()
            row_weights[rows] = merged
        return replace(self, rows=rows, row_weights=row_weights)

    @property
    def conflicting_weight(self) -> float:
        """The largest weight of equal rows that have different targets; 0 if there are none."""
        _, starts, sizes = np.unique(self.digests[self.rows], return_index=True, return_counts=True)
        if not (sizes > 1).any():
            return 0.0
        return float(np.add.reduceat(self.row_weights[self.rows], starts)[sizes > 1].max())
