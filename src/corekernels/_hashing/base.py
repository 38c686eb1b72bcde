"""What a sketch is: a way of hashing rows by a recipe, and the statistics of its slots."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .._core.arguments import Array
from .._core.memory import aligned_zeros
from .._core.team import Step, Team
from .._core.validation import Rows, read_only
from .._loops.hashing.bins import BinnedBanks, BinScratch
from .._loops.hashing.minwise import (
    GROUP,
    MOST_BLOCKS,
    Banks,
    HashTask,
    RowScratch,
    ValueScratch,
    hash_blocks,
)
from .._loops.hashing.projection import CosinePhases, Rounding, project_blocks
from .._loops.hashing.rotation import Rotations
from .._loops.hashing.sieve import SieveScratch
from .._loops.rows import Blocks
from .._loops.simd.bit_sets import SLOTS, WORD
from ..kernel_table import SlotWeight
from ..theory.aliasing import Aliasing, aliasing
from .randomness import Purpose, stream

if TYPE_CHECKING:
    from ..recipe import Recipe

Arrays = dict[str, Array]  # the arrays of signatures, named as in `Sketch.arrays`

BLOCK_NONZEROS = 1 << 15  # of a block, about: small blocks let all threads end together
_BLOCK_SLOTS = 1 << 18
_LOCATION = 0xFFFF  # the bits of a location in a table


@dataclass(frozen=True)
class Sketch(ABC):
    """A way of hashing rows by a recipe.

    `hash` makes arrays of signatures of rows: another device would stand there. The other methods
    describe the arrays, and the statistics of the slots for estimators and plans.
    """

    recipe: "Recipe"

    @property
    @abstractmethod
    def n_locations(self) -> int:
        """Size of the space that locations come from."""

    @property
    @abstractmethod
    def bank_slots(self) -> int:
        """The most slots of a bank: slots of different banks are independent."""

    @abstractmethod
    def hash(
        self, rows: Rows, out: Arrays, team: Team, block_nonzeros: int = BLOCK_NONZEROS
    ) -> list[tuple[int, int]]:
        """Write the signatures of rows to `out`; give the ranges of rows that are not clean.

        These are left out, and there are none among clean rows.
        """

    def aliasing(self, f1: Any, f2: Any) -> Aliasing:
        """How often codes of rows of f1 and f2 nonzeros are equal by chance."""
        return aliasing(f1, f2, self.n_locations, self.recipe.n_bits)

    def variance_change(self, union: Any) -> Any:
        """Relative change of the variance of a mean over the slots by their dependence.

        For two rows that together have `union` columns; 0 for independent slots.
        """
        return 0.0

    def full_banks_between(self, low: int, high: int) -> range:
        """Numbers of hashes between two multiples of `bank_slots` at which all banks are full."""
        return range(0)

    @property
    def code_type(self) -> np.dtype[Any]:
        """The unsigned integer that holds a code."""
        n_bits = self.recipe.n_bits
        if n_bits is None:
            return np.dtype(np.uint16 if self.n_locations <= 2**16 else np.uint32)
        return np.dtype(np.uint8 if n_bits <= 8 else np.uint16)

    @property
    def arrays(self) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
        """The arrays of a signature: for each its type and its shape per row."""
        recipe, kernel = self.recipe, self.recipe.entry
        per_slot = (recipe.n_hashes,)
        arrays: dict[str, tuple[np.dtype[Any], tuple[int, ...]]] = {}
        if recipe.has_rounded_weights:
            arrays["slots"] = np.dtype(f"i{recipe.weight_bits // 4}"), per_slot
        else:
            arrays["codes"] = self.code_type, per_slot
            if kernel.slot_weight is not SlotWeight.NONE:
                arrays["weights"] = np.dtype(np.float16), per_slot
        arrays["lengths"] = np.dtype(np.int64), ()
        if kernel.keeps_sums:
            arrays["sums"] = np.dtype(np.float32), ()
        return arrays

    @property
    def has_values(self) -> bool:
        """Whether a slot's weight is the value of its minimum."""
        return self.recipe.entry.slot_weight is SlotWeight.VALUE

    def empty_arrays(self, n_rows: int) -> Arrays:
        """Arrays for the signatures of n rows, not filled yet."""
        return {
            name: np.empty((n_rows, *shape), dtype) for name, (dtype, shape) in self.arrays.items()
        }

    def rounding(self, n_slots: int) -> Rounding | None:
        """Rounding of weights, up to `n_slots` together, for one thread; None for halves."""
        rounding = self.recipe.weight_rounding
        if rounding is None:
            return None
        return Rounding(np.float32(rounding.per_unit), np.empty(n_slots, np.uint16))

    def cosine_phases(self) -> CosinePhases | None:
        """Phases and scale of the cosines; None for kernels without cosines."""
        recipe = self.recipe
        if recipe.entry.slot_weight is not SlotWeight.COSINE:
            return None
        phases = stream(recipe.seed, Purpose.PHASE, 0, recipe.n_hashes) >> np.uint64(40)
        scale = math.sqrt(recipe.gamma or 0.0) / (2 * math.pi)
        return CosinePhases(np.float32(scale), read_only(phases * 2.0**-24, np.float32))


class SketchTables(NamedTuple):
    """What is random in a sketch; projections are by rotations or directions, if at all."""

    banks: Banks | BinnedBanks
    rotations: Rotations | None
    directions: Array | None
    phases: CosinePhases | None


class TableSketch(Sketch):
    """A sketch with tables; its loops take blocks of rows from a shared counter."""

    @abstractmethod
    def make_tables(self) -> SketchTables:
        """The tables, which the recipe alone determines."""

    def minima_scratch(self, longest: int) -> tuple[SieveScratch | None, BinScratch | None]:
        """Scratch of one thread for rows of up to `longest` nonzeros: for the sieve or for bins.

        That for the sieve is empty if no row goes through it.
        """
        banks: Any = self.tables.banks
        n_positions = banks.n_positions if banks.sieve_places.size else 0
        n_bits = n_positions + round_up(banks.width, SLOTS)
        n_words = -(-n_bits // WORD) + 1 if n_positions else 0
        n_planes = max(3, (banks.n_positions - 1).bit_length())
        locations = aligned_zeros((SLOTS,), banks.tables.dtype)
        sieve = SieveScratch(
            marks=aligned_zeros((n_words * WORD,), np.uint16 if self.has_values else np.uint8),
            bitmap=aligned_zeros((n_words,), np.uint64),
            bit_planes=aligned_zeros((n_planes, SLOTS // WORD), np.uint64),
            locations=locations,
            words=locations.view(np.uint64),
        )
        return sieve, None

    @abstractmethod
    def projection_scratch(self) -> tuple[int, Any]:
        """Slots that are projected together at most, and scratch of one thread for that."""

    @property
    def tables(self) -> SketchTables:
        """The tables; those of the last few sketches are kept."""
        return _tables(self)

    def hash(
        self, rows: Rows, out: Arrays, team: Team, block_nonzeros: int = BLOCK_NONZEROS
    ) -> list[tuple[int, int]]:
        cuts = cut_rows(rows.indptr, self.recipe.n_hashes, block_nonzeros)
        flaws = np.zeros(len(cuts) - 1, np.int64)
        out["lengths"][:] = rows.lengths
        longest = int(out["lengths"].max(initial=0))
        largest = int(np.diff(rows.indptr[cuts]).max(initial=0))

        def make_step(blocks: Blocks) -> Step:
            done = np.zeros(MOST_BLOCKS + 1, np.int64)
            task = HashTask(
                blocks.counter, blocks.n_stripes, cuts, rows.indptr, rows.indices, rows.data,
                rows.n_columns, flaws, done,
            )  # fmt: skip
            hash_task = self._hasher(out, longest, largest)
            return lambda n_blocks: hash_task(task, n_blocks)

        team.share(make_step, len(flaws), 1)
        return flawed_ranges(cuts, flaws)

    def row_hasher(self, longest: int) -> tuple[Arrays, Callable[[Rows], None]]:
        """Arrays, and a function of one thread that hashes one clean row into them at a time.

        For rows of up to `longest` nonzeros, in scratch that is kept from row to row.
        """
        out, counter, cuts = self.empty_arrays(1), np.zeros(1, np.int64), read_only(np.arange(2))
        flaws, done = np.zeros(1, np.int64), np.zeros(MOST_BLOCKS + 1, np.int64)
        hash_task = self._hasher(out, longest, longest)

        def hash_row(row: Rows) -> None:
            counter[0] = 0
            arrays = row.indptr, row.indices, row.data, row.n_columns
            hash_task(HashTask(counter, 1, cuts, *arrays, flaws, done), 1)

        return out, hash_row

    def _hasher(self, out: Arrays, longest: int, largest: int) -> Callable[[HashTask, int], bool]:
        """A function for one thread that hashes a number of blocks; False if there are no more.

        It holds scratch for rows of up to `longest` nonzeros and blocks of up to `largest`.
        """
        recipe, banks = self.recipe, self.tables.banks
        mask = banks.tables.dtype.type(recipe.code_mask & _LOCATION)
        codes, weights = arrays_to_write(out)
        scratch: Any = RowScratch(
            starts=np.empty(longest, np.int32),
            codes=aligned_zeros((GROUP,), codes.dtype),
            values=aligned_zeros((GROUP,), np.uint16),
        )
        arguments: tuple[Any, ...] = (
            *self.minima_scratch(longest), banks, mask, scratch, recipe.n_hashes, codes.reshape(-1),
        )  # fmt: skip
        if self.has_values:
            scratch = ValueScratch(np.empty(largest, np.float32), np.empty(largest, np.uint16))
            arguments += scratch, weights.reshape(-1), out["sums"]
        else:
            arguments += None, None, None
        if not recipe.entry.projects:
            return lambda task, n_blocks: hash_blocks(task, n_blocks, *arguments)
        n_slots, scratch = self.projection_scratch()
        room = np.empty(largest, np.float32)
        projection = *self.tables[1:], self.rounding(n_slots), room, scratch, weights

        def hash_and_project(task: HashTask, n_blocks: int) -> bool:
            is_more = hash_blocks(task, n_blocks, *arguments)
            project_blocks(task, *projection)
            return bool(is_more)

        return hash_and_project


@lru_cache(maxsize=4)
def _tables(sketch: TableSketch) -> SketchTables:
    return sketch.make_tables()


def cut_rows(indptr: Array, n_hashes: int, block_nonzeros: int) -> Array:
    """Where blocks of rows begin and end: few slots each, and few nonzeros but for a last row.

    Each row is hashed by itself, so the result does not depend on where they are cut.
    """
    n_rows = len(indptr) - 1
    by_slots = np.arange(0, n_rows, max(1, _BLOCK_SLOTS // n_hashes))
    starts = np.arange(indptr[0], indptr[-1], block_nonzeros, dtype=indptr.dtype)
    by_nonzeros = np.searchsorted(indptr, starts)
    return read_only(np.unique(np.concatenate([by_slots, by_nonzeros, [n_rows]])), np.int64)


def flawed_ranges(cuts: Array, flaws: Array) -> list[tuple[int, int]]:
    """Ranges of rows of the blocks that have a flaw; neighbouring blocks share a range."""
    flawed = np.diff(flaws != 0, prepend=False, append=False)
    bounds = cuts[np.flatnonzero(flawed)].tolist()
    return list(zip(bounds[::2], bounds[1::2], strict=True))


def arrays_to_write(out: Arrays) -> tuple[Array, Any]:
    """Where codes are written, and then weights: as halves, or into the slots; None for none."""
    if "slots" in out:
        return out["slots"].view(f"u{out['slots'].itemsize}"), out["slots"]
    return out["codes"], out["weights"].view(np.uint16) if "weights" in out else None


def aligned(table: Array) -> Array:
    """A table that begins at a cache line."""
    out = aligned_zeros(table.shape, table.dtype)
    out[:] = table
    return read_only(out)


def round_up(n: int, unit: int) -> int:
    """The least multiple of `unit` from n on."""
    return -(-n // unit) * unit
