"""Independent hashing: each slot has a random order of the columns, and a direction, of its own.

Up to 2^22 numbers stand in tables; beyond, columns are hashed for each slot on the fly.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.arguments import Array
from .._core.memory import aligned_zeros
from .._core.team import Team
from .._core.threads import run_blocks
from .._core.validation import Rows, read_only
from .._loops.hashing.minwise import (
    GROUP,
    Banks,
    mixed_minima,
    write_nonzero_halves,
)
from .._loops.hashing.projection import HALVES, SUMS, TILE, mixed_projections
from .._loops.rows import inspect_rows, sum_and_scale, unit_values
from ..kernel_table import SlotWeight
from .base import (
    BLOCK_NONZEROS,
    Arrays,
    Sketch,
    SketchTables,
    TableSketch,
    aligned,
    arrays_to_write,
    cut_rows,
    flawed_ranges,
    round_up,
)
from .randomness import Key, Purpose, mix_key, mixed, permutation, random_numbers, stream

if TYPE_CHECKING:
    from ..recipe import Recipe

# parts of the hash contract
_TABLE_COLUMNS = 1 << 16  # the most columns for which there are tables
_TABLE_ENTRIES = 1 << 22  # the most columns x hashes
_MIXED_LOCATIONS = 1 << 32


def make_sketch(recipe: "Recipe") -> Sketch:
    """The sketch of a recipe, with tables if they are small enough."""
    n_columns = recipe.n_columns
    small = n_columns <= _TABLE_COLUMNS and n_columns * recipe.n_hashes <= _TABLE_ENTRIES
    return (TableIndependent if small else MixedIndependent)(recipe)


class TableIndependent(TableSketch):
    """A permutation of the columns for each slot, in one bank."""

    bank_slots = 1  # all slots are independent

    @property
    def n_locations(self) -> int:
        return self.recipe.n_columns

    def make_tables(self) -> SketchTables:
        directions = self._directions() if self.recipe.entry.projects else None
        return SketchTables(self._bank(), None, directions, self.cosine_phases())

    def _bank(self) -> Banks:
        """One bank; the slice of a column is its locations in all slots."""
        recipe = self.recipe
        locations = np.zeros((recipe.n_columns, round_up(recipe.n_hashes, GROUP)), np.uint16)
        for slot in range(recipe.n_hashes):
            locations[:, slot] = permutation(
                recipe.seed, Purpose.PERMUTATION, slot, recipe.n_columns
            )
        starts = np.arange(recipe.n_columns)[None] * locations.shape[1]
        return Banks(
            width=recipe.n_hashes,
            n_banks=1,
            n_positions=locations.size,
            tables=aligned(locations.reshape(1, -1)),
            start_of_column=read_only(starts, np.int32),
            sieve_places=read_only(np.empty((1, 0), np.int64)),
            sieve_length=int(np.iinfo(np.int64).max),
        )

    def _directions(self) -> Array:
        """The random numbers of each column, in words of two, one row per column."""
        recipe, numbers = self.recipe, random_numbers()
        table = np.zeros((recipe.n_columns, round_up(recipe.n_hashes, TILE)), np.float32)
        for slot in range(recipe.n_hashes):
            entries = stream(recipe.seed, Purpose.ENTRY, slot, recipe.n_columns) >> np.uint64(48)
            table[:, slot] = numbers[entries]
        halves = table.view(np.uint32).reshape(recipe.n_columns, -1, 2, HALVES)
        words = halves[:, :, 0] >> np.uint32(16) | halves[:, :, 1]
        return aligned(words.reshape(recipe.n_columns, -1))

    def projection_scratch(self) -> tuple[int, Any]:
        return SUMS, aligned_zeros((SUMS,), np.float32)


class MixedIndependent(Sketch):
    """Locations and random numbers of each column and slot are hashed on the fly."""

    n_locations = _MIXED_LOCATIONS
    bank_slots = 1

    def hash(
        self, rows: Rows, out: Arrays, team: Team, block_nonzeros: int = BLOCK_NONZEROS
    ) -> list[tuple[int, int]]:
        cuts = cut_rows(rows.indptr, self.recipe.n_hashes, block_nonzeros)
        flaws = np.zeros(len(cuts) - 1, np.int64)

        def work(block: int) -> None:
            start, stop = cuts[block : block + 2]
            part = rows.block(start, stop)
            flaws[block] = inspect_rows(part.indptr, part.indices, part.data, part.n_columns)
            if not flaws[block]:
                self._hash_block(part.compact(), {key: out[key][start:stop] for key in out})

        run_blocks(work, range(len(flaws)), team.n_threads)
        return flawed_ranges(cuts, flaws)

    def _hash_block(self, rows: Rows, out: Arrays) -> None:
        """Hash clean rows."""
        k, kernel = self.recipe.n_hashes, self.recipe.entry
        out["lengths"][:] = rows.lengths
        values = np.empty(rows.nnz, np.float32)
        codes, weights = arrays_to_write(out)
        halves, slot_values = np.empty(0, np.uint16), np.empty((0, k), np.uint16)
        if kernel.slot_weight is not SlotWeight.NONE:
            unit_values(rows.indptr, rows.data, values)
        if self.has_values:
            halves, slot_values = np.empty(rows.nnz, np.uint16), weights
            sum_and_scale(rows.indptr, values, out["sums"])
            write_nonzero_halves(values, halves)
        columns = mixed(rows.indices, mix_key(self.recipe.seed, Key.SLOT))
        mask, minima = np.uint64(self.recipe.code_mask), np.empty(k, np.uint64)
        mixed_minima(rows.indptr, columns, read_only(halves), mask, minima, codes, slot_values)
        if kernel.projects:
            columns = mixed(rows.indices, mix_key(self.recipe.seed, Key.ENTRY))
            mixed_projections(
                rows.indptr, columns, read_only(values), random_numbers(), self.cosine_phases(),
                self.rounding(k), np.empty(k, np.float32), weights,
            )  # fmt: skip
