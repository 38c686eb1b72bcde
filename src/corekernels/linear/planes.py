"""Packed rows and the planes learned from them.

A plane is one weight for each (code, slot) pair. Planes are kept in blocks of up to
eight, side by side, as the loops want them; a single plane stands alone.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.memory import aligned_zeros
from .._core.threads import row_blocks, run_blocks
from .._core.validation import read_only
from .._loops.learning.packed import row_digests, row_scales, score_rows
from .._loops.learning.planes import pair_planes
from .._loops.simd.vectors import LANES
from ..errors import DataError, ParameterError, RecipeMismatch
from ..recipe import Recipe
from ..signatures import Signatures

Array = npt.NDArray[Any]
Pairs = list[tuple[Array, Array | None]]

_ROWS_PER_TASK = 1024


@dataclass(frozen=True)
class Packed:
    """Signatures as the loops want them: codes, weights (None: all 1), what scales rows to 1.

    Weights are the bits of halves.
    """

    codes: Array
    weights: Array | None
    scales: npt.NDArray[np.float32]
    lengths: npt.NDArray[np.int64]
    n_codes: int

    def __len__(self) -> int:
        return len(self.codes)

    def room(self) -> npt.NDArray[np.float32] | None:
        """Where a loop keeps the weights of the row it is at."""
        return None if self.weights is None else np.empty(self.codes.shape[1], np.float32)

    def digests(self, n_jobs: int | None) -> npt.NDArray[np.uint64]:
        """A number for each row that equal rows share."""
        out = np.empty(len(self), np.uint64)

        def work(part: tuple[int, int]) -> None:
            rows = slice(*part)
            some = None if self.weights is None else self.weights[rows]
            row_digests(self.codes[rows], some, self.lengths[rows], out[rows])

        run_blocks(work, row_blocks(0, len(self), _ROWS_PER_TASK), n_jobs)
        return out


def pack(S: Signatures, n_jobs: int | None = None) -> Packed:
    """Views of the arrays of S, which may be memory-mapped; only the scales are new."""
    if not isinstance(S, Signatures):
        raise DataError(
            f"S: got {type(S).__name__}; pass Signatures from `CoREHasher.sketch`, "
            "or give raw rows to CoREClassifier."
        )
    if S.recipe.n_bits is None:
        raise ParameterError(
            "n_bits: these signatures keep their locations whole, which would take a weight for "
            "every location; choose n_bits from 1 to 16."
        )
    codes = read_only(S.codes)
    _require_codes(codes, S.recipe.n_bits)
    weights = None if S.weights is None else read_only(S.weights, np.float16).view(np.uint16)
    lengths = read_only(S.lengths, np.int64)
    scales = np.empty(len(codes), np.float32)

    def work(part: tuple[int, int]) -> None:
        rows = slice(*part)
        some = None if weights is None else weights[rows]
        row_scales(some, lengths[rows], codes.shape[1], scales[rows])

    run_blocks(work, row_blocks(0, len(codes), _ROWS_PER_TASK), n_jobs)
    if not np.isfinite(scales).all():
        row = int(np.flatnonzero(~np.isfinite(scales))[0])
        raise DataError(f"S: row {row} holds a weight that is not finite; hash it again.")
    return Packed(codes, weights, read_only(scales), lengths, 1 << S.recipe.n_bits)


def _require_codes(codes: Array, n_bits: int) -> None:
    """Refuse codes that no hasher makes: the loops use them as places in memory."""
    if n_bits < 8 * codes.itemsize and codes.size and codes.max() >= 1 << n_bits:
        raise DataError(
            f"S: a code is {codes.max()}, which {n_bits} bits do not hold; hash the rows again."
        )


def lane_blocks(n_planes: int) -> list[range]:
    """Planes cut into blocks of at most eight, of about the same size."""
    bounds = np.linspace(0, n_planes, -(-n_planes // LANES) + 1).astype(int)
    return [range(start, stop) for start, stop in pairwise(bounds)]


def new_planes(n_codes: int, n_hashes: int, n_planes: int) -> npt.NDArray[np.float32]:
    """Room for one block of planes; pages of codes that never occur will take no memory."""
    shape = (n_codes, n_hashes) if n_planes == 1 else (n_codes, n_hashes, LANES)
    return np.zeros(shape, np.float32)


def _side_by_side(block: Array, other: Array) -> Array:
    """Two blocks in one, which begins where a cache line does."""
    out = aligned_zeros((*block.shape[:2], 2 * LANES), np.float32)
    pair_planes(read_only(block), read_only(other), out)
    return read_only(out)


@dataclass(frozen=True)
class Planes:
    """A linear function of signatures of one recipe, or several side by side."""

    recipe: Recipe
    blocks: Sequence[npt.NDArray[np.float32]]
    intercepts: npt.NDArray[np.float64]

    def require(self, S: Signatures) -> None:
        """Refuse signatures that were not hashed as the ones learned from."""
        if isinstance(S, Signatures) and S.recipe != self.recipe:
            raise RecipeMismatch(self.recipe, S.recipe)

    def scores(self, S: Signatures, n_jobs: int | None = None) -> npt.NDArray[np.float64]:
        """Values for each row of S, one column a plane."""
        self.require(S)
        out, pairs = np.empty((len(S), len(self.intercepts))), self._pairs

        def work(part: tuple[int, int]) -> None:
            packed = pack(S[slice(*part)], n_jobs=1)
            self._score(pairs, packed, np.arange(len(packed)), out[slice(*part)])

        run_blocks(work, row_blocks(0, len(S), _ROWS_PER_TASK), n_jobs)
        return out

    def scores_of(
        self, packed: Packed, rows: npt.NDArray[np.int64], n_jobs: int | None = None
    ) -> npt.NDArray[np.float64]:
        """Values for some rows that are packed already, and will be scored more than once."""
        out, pairs = np.empty((len(rows), len(self.intercepts))), self._pairs

        def work(part: tuple[int, int]) -> None:
            self._score(pairs, packed, rows[slice(*part)], out[slice(*part)])

        run_blocks(work, row_blocks(0, len(rows), _ROWS_PER_TASK), n_jobs)
        return out

    def _score(self, pairs: Pairs, packed: Packed, rows: npt.NDArray[np.int64], out: Array) -> None:
        """Write the values of some rows."""
        data = (packed.codes, packed.weights, packed.scales, read_only(rows), packed.room())
        lanes = lane_blocks(len(self.intercepts))
        for pair, first in zip(pairs, range(0, len(lanes), 2), strict=True):
            last = lanes[min(first + 1, len(lanes) - 1)]
            some = slice(lanes[first].start, last.stop)
            intercepts = read_only(self.intercepts[some])
            score_rows(*data, *pair, len(lanes[first]), intercepts, out[:, some])

    @functools.cached_property
    def _pairs(self) -> Pairs:
        """Blocks as scoring reads them: two by two, a slot's lanes of both in one cache line.

        A copy, made once: whoever changes the blocks afterwards makes a new object of them.
        """
        pairs: Pairs = []
        for block, other in zip_longest(self.blocks[::2], self.blocks[1::2]):
            if other is None:
                pairs.append((read_only(block), None))
            else:
                both = _side_by_side(block, other)
                pairs.append((both, both.reshape(-1)[LANES:]))
        return pairs

    def __getstate__(self) -> dict[str, Any]:
        """Without the copies."""
        return {name: value for name, value in vars(self).items() if name != "_pairs"}

    def coefficients(self) -> npt.NDArray[np.float32]:
        """One row a plane, in the order of the columns of `Signatures.to_csr`."""
        stacked = self.stacked().transpose(0, 2, 1)
        return stacked.reshape(len(stacked), -1)

    def stacked(self) -> npt.NDArray[np.float32]:
        """The planes one after another, (n_planes, n_codes, n_hashes)."""
        shape = (len(self.intercepts), *self.blocks[0].shape[:2])
        out = np.empty(shape, np.float32)
        for lanes, block in zip(lane_blocks(len(out)), self.blocks, strict=True):
            for lane, plane in enumerate(lanes):
                out[plane] = block if block.ndim == 2 else block[..., lane]
        return out

    @classmethod
    def unstacked(cls, recipe: Recipe, stacked: Array, intercepts: Array) -> "Planes":
        """The planes that `stacked` gave, as the loops want them."""
        blocks = []
        for lanes in lane_blocks(len(stacked)):
            block = new_planes(stacked.shape[1], stacked.shape[2], len(lanes))
            for lane, plane in enumerate(lanes):
                target = block if block.ndim == 2 else block[..., lane]
                target[...] = stacked[plane]
            blocks.append(block)
        return cls(recipe, blocks, intercepts)
