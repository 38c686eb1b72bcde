"""Weight vectors that are learned from packed rows.

A weight vector has a coefficient for each pair of a code and a slot. Weight vectors are kept in
blocks of up to eight, side by side, in the layouts of `_loops/learning/scoring`; a block of one is
a weight vector by itself.
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
from .._loops.learning.scoring import score_rows
from .._loops.simd.vectors import LANES
from ..errors import RecipeMismatch
from ..recipe import Recipe
from ..signatures import Signatures
from .rows import ROWS_PER_TASK, pack

Pairs = list[tuple[Array, Array | None]]


def lane_blocks(n_problems: int, width: int = LANES) -> list[range]:
    """Problems cut into blocks of at most eight, or fewer, of about the same size."""
    bounds = np.linspace(0, n_problems, -(-n_problems // width) + 1).astype(int)
    return [range(start, stop) for start, stop in pairwise(bounds)]


def zero_coef(n_codes: int, n_hashes: int, n_lanes: int) -> npt.NDArray[np.float32]:
    """Zeros for one block of weight vectors; codes that never occur will take no memory."""
    shape = (n_codes, n_hashes) if n_lanes == 1 else (n_codes, n_hashes, LANES)
    return np.zeros(shape, np.float32)


def codes_in_use(*blocks: Array) -> npt.NDArray[np.bool_]:
    """Which codes have a coefficient in any of these blocks; others are better not written to."""
    rest = tuple(range(1, blocks[0].ndim))
    return np.logical_or.reduce([block.any(axis=rest) for block in blocks])


def inner_products(coef: Array, others: Array, n_lanes: int) -> npt.NDArray[np.float64]:
    """Inner products of the weight vectors of two blocks, lane by lane."""
    axes = "ij,ij->" if coef.ndim == 2 else "ijk,ijk->k"
    return np.einsum(axes, coef, others, dtype=np.float64).reshape(-1)[:n_lanes]


def half_squares(coef: Array, biases: Array) -> npt.NDArray[np.float64]:
    """The regulariser of each lane: |w|^2 / 2, intercept included."""
    return 0.5 * (inner_products(coef, coef, len(biases)) + biases**2)


@dataclass(frozen=True)
class Coefficients:
    """One or several linear functions of signatures of one recipe."""

    recipe: Recipe
    blocks: Sequence[npt.NDArray[np.float32]]
    intercepts: npt.NDArray[np.float64]

    @classmethod
    def of(cls, recipe: Recipe, solutions: Sequence[Any], intercept: float) -> "Coefficients":
        """Those of solutions or vectors, one per block, without a copy."""
        biases = np.concatenate([solution.biases for solution in solutions])
        return cls(recipe, [solution.coef for solution in solutions], biases * intercept)

    def require_recipe(self, S: Signatures) -> None:
        """Refuse signatures that were not hashed as the ones learned from."""
        if isinstance(S, Signatures) and S.recipe != self.recipe:
            raise RecipeMismatch(self.recipe, S.recipe)

    def scores(
        self, S: Signatures, n_jobs: int | None = None, rows: npt.NDArray[np.int64] | None = None
    ) -> npt.NDArray[np.float64]:
        """Scores of the rows of S, or of some of them, one column per weight vector."""
        self.require_recipe(S)
        n_rows, pairs = len(S) if rows is None else len(rows), self._pairs
        out, lanes = np.empty((n_rows, len(self.intercepts))), lane_blocks(len(self.intercepts))

        def score(part: tuple[int, int]) -> None:
            packed = pack(S[slice(*part) if rows is None else rows[slice(*part)]], n_jobs=1)
            data, chosen = packed.rows(), read_only(np.arange(len(packed)))
            for (block, other), first in zip(pairs, range(0, len(lanes), 2), strict=True):
                last = lanes[min(first + 1, len(lanes) - 1)]
                places = slice(lanes[first].start, last.stop)
                intercepts, goal = read_only(self.intercepts[places]), out[slice(*part), places]
                score_rows(*data, chosen, block, other, len(lanes[first]), intercepts, goal)

        run_blocks(score, row_blocks(0, n_rows, ROWS_PER_TASK), n_jobs)
        return out

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

    def expanded(self) -> npt.NDArray[np.float32]:
        """One row per weight vector, in the order of the columns of `Signatures.to_csr`."""
        stack = self.stack().transpose(0, 2, 1)
        return stack.reshape(len(stack), -1)

    def stack(self) -> npt.NDArray[np.float32]:
        """The weight vectors one after another, (n_problems, n_codes, n_hashes)."""
        return np.stack(self._views())

    def _views(self) -> list[npt.NDArray[np.float32]]:
        """Each weight vector, as a view of its block."""
        n_problems = len(self.intercepts)
        lanes = lane_blocks(n_problems, -(-n_problems // len(self.blocks)))
        return [
            _lane_of(block, lane)
            for problems, block in zip(lanes, self.blocks, strict=True)
            for lane in range(len(problems))
        ]

    @classmethod
    def from_stack(
        cls, recipe: Recipe, stack: Array | list[Array], intercepts: Array
    ) -> "Coefficients":
        """The inverse of `stack`: blocks of eight classes from one array of all."""
        blocks = []
        for lanes in lane_blocks(len(stack)):
            block = zero_coef(stack[0].shape[0], stack[0].shape[1], len(lanes))
            for lane, problem in enumerate(lanes):
                _lane_of(block, lane)[...] = stack[problem]
            blocks.append(block)
        return cls(recipe, blocks, intercepts)

    def in_usual_blocks(self) -> "Coefficients":
        """The same weight vectors in blocks of the usual sizes, those of `lane_blocks`."""
        usual = lane_blocks(len(self.intercepts))
        if len(self.blocks) == len(usual):
            return self
        return Coefficients.from_stack(self.recipe, self._views(), self.intercepts)


def _lane_of(block: Array, lane: int) -> Array:
    """One weight vector of a block, as a view."""
    return block if block.ndim == 2 else block[..., lane]


def side_by_side(block: Array, other: Array) -> Array:
    """Two blocks interleaved in one, which is aligned to cache lines."""
    out = aligned_zeros((*block.shape[:2], 2 * LANES), np.float32)
    used = codes_in_use(block, other)
    out[used, :, :LANES], out[used, :, LANES:] = block[used], other[used]
    return read_only(out)
