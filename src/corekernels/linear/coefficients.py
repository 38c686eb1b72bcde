"""Packed rows, and the weight vectors that are learned from them, called planes here.

A plane (short for hyperplane) has one weight for each pair of a code and a slot. Planes are kept
in blocks of up to eight, side by side, as the loops take them; a block of one is a plane by itself.
Planes lie by code, then slot: minima are small, so most rows carry small codes in all slots, and
the weights in use are a few contiguous stripes that fit the second-level cache.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.arguments import Array
from .._core.forks import computed_once
from .._core.memory import aligned_zeros
from .._core.threads import row_blocks, run_blocks
from .._core.validation import read_only
from .._hashing.slots import largest_code, loop_slots
from .._loops.learning.coefficients import (
    PackedRows,
    row_digests,
    row_scales,
)
from .._loops.learning.scoring import score_rows
from .._loops.simd.vectors import LANES
from ..errors import DataError, ParameterError, RecipeMismatch
from ..recipe import MAX_BITS, Recipe
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
        Factor that makes a row's weights unit length.
    lengths : ndarray of shape (n,)
    n_codes : int
        Codes there can be.
    """

    codes: Array
    weights: Array | None
    scales: npt.NDArray[np.float32]
    lengths: npt.NDArray[np.int64]
    n_codes: int

    def __len__(self) -> int:
        return len(self.codes)

    def rows(self) -> PackedRows:
        """The rows as a loop takes them, with a buffer for one thread."""
        buffer = None if self.weights is None else np.empty(self.codes.shape[1], np.float32)
        return PackedRows(self.codes, self.weights, self.scales, buffer)

    def digests(self, n_jobs: int | None) -> npt.NDArray[np.uint64]:
        """A hash of each row's contents: equal rows have equal ones."""
        out = np.empty(len(self), np.uint64)
        codes, weights = self._bits

        def work(part: tuple[int, int]) -> None:
            rows = slice(*part)
            of_rows = None if weights is None else weights[rows]
            row_digests(codes[rows], of_rows, self.lengths[rows], out[rows])

        run_blocks(work, row_blocks(0, len(self), ROWS_PER_TASK), n_jobs)
        return out

    def equal(
        self, rows: npt.NDArray[np.int64], others: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.bool_]:
        """Whether row `rows[i]` has the same contents as row `others[i]`, for each i."""
        out = (self.lengths[rows] > 0) == (self.lengths[others] > 0)
        arrays = [array for array in self._bits if array is not None]
        for start, stop in row_blocks(0, len(rows), ROWS_PER_TASK):
            for array in arrays:
                equal = array[rows[start:stop]] == array[others[start:stop]]
                out[start:stop] &= equal.all(axis=1)
        return out

    def contents(self, row: int) -> tuple[bytes, bytes, bool]:
        """The contents of a row, in a form that can be sorted."""
        codes, weights = self._bits
        of_row = b"" if weights is None else weights[row].tobytes()
        return codes[row].tobytes(), of_row, bool(self.lengths[row] > 0)

    def largest_code(self) -> int:
        """The largest of all codes."""
        return largest_code(self.codes)

    @property
    def _bits(self) -> tuple[Array, Array | None]:
        """Codes and weights as unsigned integers; the slots and None where one integer has both."""
        if self.codes.dtype.kind == "u":
            return self.codes, self.weights
        return self.codes.view(f"u{self.codes.itemsize}"), None


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

    def work(part: tuple[int, int]) -> None:
        rows = slice(*part)
        of_rows = None if weights is None else weights[rows]
        row_scales(of_rows, lengths[rows], codes.shape[1], scales[rows])

    run_blocks(work, row_blocks(0, len(codes), ROWS_PER_TASK), n_jobs)
    if not np.isfinite(scales).all():
        row = int(np.flatnonzero(~np.isfinite(scales))[0])
        raise DataError(f"S: row {row} holds a weight that is not finite; hash it again.")
    return Packed(codes, weights, read_only(scales), lengths, 1 << S.recipe.n_bits)


Pairs = list[tuple[Array, Array | None]]


def number_of_planes(n_classes: int, several_labels: bool) -> int:
    """One for two classes of which each row has one, else one per class."""
    return 1 if n_classes == 2 and not several_labels else n_classes


def lane_blocks(n_planes: int, width: int = LANES) -> list[range]:
    """Planes cut into blocks of at most eight, or fewer, of about the same size."""
    bounds = np.linspace(0, n_planes, -(-n_planes // width) + 1).astype(int)
    return [range(start, stop) for start, stop in pairwise(bounds)]


def new_planes(n_codes: int, n_hashes: int, n_planes: int) -> npt.NDArray[np.float32]:
    """Zeros for one block of planes; codes that never occur will take no memory."""
    shape = (n_codes, n_hashes) if n_planes == 1 else (n_codes, n_hashes, LANES)
    return np.zeros(shape, np.float32)


def codes_in_use(*blocks: Array) -> npt.NDArray[np.bool_]:
    """Which codes have a weight in any of these blocks; all others are better not written to."""
    rest = tuple(range(1, blocks[0].ndim))
    return np.logical_or.reduce([block.any(axis=rest) for block in blocks])


@dataclass(frozen=True)
class Planes:
    """One or several linear functions of signatures of one recipe."""

    recipe: Recipe
    blocks: Sequence[npt.NDArray[np.float32]]
    intercepts: npt.NDArray[np.float64]

    def require_recipe(self, S: Signatures) -> None:
        """Refuse signatures that were not hashed as the ones learned from."""
        if isinstance(S, Signatures) and S.recipe != self.recipe:
            raise RecipeMismatch(self.recipe, S.recipe)

    def scores(self, S: Signatures, n_jobs: int | None = None) -> npt.NDArray[np.float64]:
        """Scores of the rows of S, one column per plane."""
        self.require_recipe(S)
        out, pairs = np.empty((len(S), len(self.intercepts))), self._pairs

        def work(part: tuple[int, int]) -> None:
            packed = pack(S[slice(*part)], n_jobs=1)
            self._score(pairs, packed, np.arange(len(packed)), out[slice(*part)])

        run_blocks(work, row_blocks(0, len(S), ROWS_PER_TASK), n_jobs)
        return out

    def scores_of(
        self, packed: Packed, rows: npt.NDArray[np.int64], n_jobs: int | None = None
    ) -> npt.NDArray[np.float64]:
        """Scores of some packed rows, one column per plane."""
        out, pairs = np.empty((len(rows), len(self.intercepts))), self._pairs

        def work(part: tuple[int, int]) -> None:
            self._score(pairs, packed, rows[slice(*part)], out[slice(*part)])

        run_blocks(work, row_blocks(0, len(rows), ROWS_PER_TASK), n_jobs)
        return out

    def _score(self, pairs: Pairs, packed: Packed, rows: npt.NDArray[np.int64], out: Array) -> None:
        """Write the scores of some packed rows."""
        data, chosen = packed.rows(), read_only(rows)
        lanes = lane_blocks(len(self.intercepts))
        for (block, other), first in zip(pairs, range(0, len(lanes), 2), strict=True):
            last = lanes[min(first + 1, len(lanes) - 1)]
            places = slice(lanes[first].start, last.stop)
            intercepts = read_only(self.intercepts[places])
            score_rows(*data, chosen, block, other, len(lanes[first]), intercepts, out[:, places])

    @computed_once
    def _pairs(self) -> Pairs:
        """Blocks in the layout for scoring, in pairs: both blocks' lanes of a slot in a cache line.

        Prediction is 1.4 to 1.8 times as fast with pairs. They are copied once: after a change of
        the blocks, make a new object of them.
        """
        pairs: Pairs = []
        for block, other in zip_longest(self.blocks[::2], self.blocks[1::2]):
            if other is None:
                pairs.append((read_only(block), None))
            else:
                both = side_by_side(block, other)
                pairs.append((both, both.reshape(-1)[LANES:]))
        return pairs

    def __getstate__(self) -> dict[str, Any]:
        """For pickles: without the copies of blocks."""
        return {name: value for name, value in vars(self).items() if name != "_pairs"}

    def coefficients(self) -> npt.NDArray[np.float32]:
        """One row per plane, in the order of the columns of `Signatures.to_csr`."""
        stacked = self.stacked().transpose(0, 2, 1)
        return stacked.reshape(len(stacked), -1)

    def stacked(self) -> npt.NDArray[np.float32]:
        """The planes one after another, (n_planes, n_codes, n_hashes)."""
        return np.stack(self._views())

    def _views(self) -> list[npt.NDArray[np.float32]]:
        """Each plane, as a view of its block."""
        n_planes = len(self.intercepts)
        lanes = lane_blocks(n_planes, -(-n_planes // len(self.blocks)))
        return [
            _lane_of(block, lane)
            for planes, block in zip(lanes, self.blocks, strict=True)
            for lane in range(len(planes))
        ]

    @classmethod
    def unstacked(cls, recipe: Recipe, stacked: Array | list[Array], intercepts: Array) -> "Planes":
        """Planes in blocks, from a stack as `stacked` makes it."""
        blocks = []
        for lanes in lane_blocks(len(stacked)):
            block = new_planes(stacked[0].shape[0], stacked[0].shape[1], len(lanes))
            for lane, plane in enumerate(lanes):
                _lane_of(block, lane)[...] = stacked[plane]
            blocks.append(block)
        return cls(recipe, blocks, intercepts)

    def in_usual_blocks(self) -> "Planes":
        """The same planes in blocks of the usual sizes, those of `lane_blocks`."""
        if len(self.intercepts) == 1:
            return self
        return Planes.unstacked(self.recipe, self._views(), self.intercepts)


def _lane_of(block: Array, lane: int) -> Array:
    """One plane of a block, as a view."""
    return block if block.ndim == 2 else block[..., lane]


def side_by_side(block: Array, other: Array) -> Array:
    """Two blocks interleaved in one, which is aligned to cache lines."""
    out = aligned_zeros((*block.shape[:2], 2 * LANES), np.float32)
    used = codes_in_use(block, other)
    out[used, :, :LANES], out[used, :, LANES:] = block[used], other[used]
    return read_only(out)
