"""The loops of a recipe, with their tables and working memory."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._core.arguments import Array
from .._core.memory import aligned_zeros
from .._core.team import Step
from .._core.validation import Rows, read_only
from .._loops.hashing import blocks, minwise, projection, rotation
from .._loops.hashing.banks import GROUP, Banks
from .._loops.hashing.blocks import BlockScratch, Task
from .._loops.hashing.minwise import MinimaScratch, SieveScratch, Way
from .._loops.hashing.offsets import BinnedBanks, new_offsets
from .._loops.hashing.rotation import RotationScratch
from .._loops.hashing.weights import Rounding
from .._loops.rows import sum_and_scale, unit_values
from .._loops.simd.bit_sets import SLOTS, WORD
from ..kernel_table import SlotWeight
from ..recipe import Recipe
from .directions import random_numbers
from .streams import Key, mix_key, mixed
from .tables import HashTables

Arrays = dict[str, Array]  # the arrays of signatures, as `Recipe.arrays` names them


_LOCATION = 0xFFFF  # the bits of a location in a table


class RowHasher:
    """Hashes rows by one recipe; any number of threads may use it."""

    def __init__(self, recipe: Recipe, tables: HashTables) -> None:
        self.recipe, self.tables = recipe, tables
        kernel = recipe.entry
        self._weight, self._projects = kernel.slot_weight, kernel.projects

    @property
    def has_tables(self) -> bool:
        """Whether all that is random stands in tables, so that `step` can be used."""
        return self.tables.minima is not None

    def hash(self, rows: Rows, out: Arrays) -> None:
        """Hash clean rows, the first of which starts at position 0 of their arrays, into `out`."""
        if self.has_tables:
            cuts, flaws = np.array([0, len(rows)]), np.zeros(1, np.int64)
            task = new_task(rows, cuts, np.zeros(1, np.int64), 1, flaws)
            self.step(task, out, Largest.of(rows, cuts))(1)
            return
        out["lengths"][:] = rows.lengths
        halves, values, weights = None, np.empty(rows.nnz, np.float32), None
        if self._weight is not SlotWeight.NONE:
            unit_values(rows.indptr, rows.data, values)
        if self._weight is SlotWeight.VALUE:
            weights = out["weights"].view(np.uint16)
            sum_and_scale(rows.indptr, values, out["sums"])
            halves = np.empty(rows.nnz, np.uint16)
            blocks.write_nonzero_halves(values, halves)
        self._mixed_minima(rows, halves, _codes(out), weights)
        if self._projects:
            self._mixed_projections(rows, values, out)

    def step(self, task: Task, out: Arrays, largest: "Largest") -> Step:
        """A function that does some blocks of a task, and gives False once none is left.

        Each thread needs one of its own, and a task of its own: they hold working memory.
        """
        find_minima = self._minima_step(task, out, largest)
        if not self._projects:
            return find_minima
        project = self._projection_step(task, out, largest)

        def do_both(n_blocks: int) -> bool:
            is_more = find_minima(n_blocks)
            project()
            return is_more

        return do_both

    def _minima_step(self, task: Task, out: Arrays, largest: "Largest") -> Step:
        banks = self.tables.minima
        assert banks is not None
        with_values = self._weight is SlotWeight.VALUE
        k, codes = self.recipe.n_hashes, _codes(out).reshape(-1)
        scratch = minima_scratch(largest.row, codes.dtype)
        number = (banks.table if isinstance(banks, BinnedBanks) else banks.tables).dtype.type
        mask = number(self.recipe.code_mask & _LOCATION)
        way = self._way(banks, largest.row)
        if not with_values:
            return lambda n_blocks: blocks.hash_supports(
                task, n_blocks, *way, banks, mask, scratch, k, codes, out["lengths"]
            )
        per_value = BlockScratch(
            np.empty(largest.block, np.float32), np.empty(largest.block, np.uint16)
        )
        weights = out["weights"].view(np.uint16).reshape(-1)
        return lambda n_blocks: blocks.hash_values(
            task, n_blocks, *way, banks, mask, scratch, per_value, k, codes, weights,
            out["lengths"], out["sums"],
        )  # fmt: skip

    def _way(self, banks: Banks | BinnedBanks, longest: int) -> Way:
        """How minima are found, with working memory for one thread."""
        if isinstance(banks, BinnedBanks):
            return Way(ends=new_offsets(longest, banks))
        return Way(sieve=sieve_scratch(banks, self._weight is SlotWeight.VALUE))

    def _projection_step(self, task: Task, out: Arrays, largest: "Largest") -> Callable[[], None]:
        """The same for the projections of the blocks that were just done."""
        tables, values = self.tables, np.empty(largest.block, np.float32)
        weights = _weights(out)
        if tables.rotations is not None:
            scratch, rounding = _rotation_scratch(), self._rounding(rotation.BUCKETS)
            return lambda: blocks.hash_rotations(
                task, tables.rotations, tables.waves, rounding, values, scratch, weights
            )
        tiles = aligned_zeros((projection.SUMS,), np.float32)
        rounding = self._rounding(projection.SUMS)
        return lambda: blocks.hash_projections(
            task, tables.directions, tables.waves, rounding, values, tiles, weights
        )

    def _rounding(self, n_slots: int) -> Rounding | None:
        """How weights become levels, with working memory for one thread."""
        rounding = self.recipe.weight_rounding
        if rounding is None:
            return None
        return Rounding(np.float32(rounding.per_unit), np.empty(n_slots, np.uint16))

    def _mixed_minima(
        self, rows: Rows, values: Array | None, codes: Array, weights: Array | None
    ) -> None:
        """Codes of minima hashed on the fly and, where asked for, the values behind them."""
        recipe, mask = self.recipe, np.uint64(self.recipe.code_mask)
        if values is None or weights is None:
            values, weights = np.empty(0, np.uint16), np.empty((0, recipe.n_hashes), np.uint16)
        columns = mixed(rows.indices, mix_key(recipe.seed, Key.SLOT))
        minima = np.empty(recipe.n_hashes, np.uint64)
        minwise.mixed_minima(rows.indptr, columns, read_only(values), mask, minima, codes, weights)

    def _mixed_projections(self, rows: Rows, values: Array, out: Arrays) -> None:
        """Weights that are projections, hashed on the fly, or their cosines; after the codes."""
        k = self.recipe.n_hashes
        columns = mixed(rows.indices, mix_key(self.recipe.seed, Key.ENTRY))
        projection.mixed_projections(
            rows.indptr, columns, read_only(values), random_numbers(), self.tables.waves,
            self._rounding(k), np.empty(k, np.float32), _weights(out),
        )  # fmt: skip


class Largest(NamedTuple):
    """The most nonzeros in a row, and in a block of rows: what working memory must hold."""

    row: int
    block: int

    @classmethod
    def of(cls, rows: Rows, cuts: Array) -> "Largest":
        """Those of rows that are cut into blocks."""
        per_block = np.diff(rows.indptr[cuts])
        return cls(int(rows.lengths.max(initial=0)), int(per_block.max(initial=0)))


def _rotation_scratch() -> RotationScratch:
    sums = aligned_zeros((rotation.BUCKETS,), np.float32)
    return RotationScratch(sums, np.empty(rotation.DRAWN, np.uint16))


def _codes(out: Arrays) -> Array:
    """Where codes are written: into slots, as long as they have no weights yet."""
    slots = out.get("slots")
    return out["codes"] if slots is None else slots.view(f"u{slots.itemsize}")


def _weights(out: Arrays) -> Array:
    """Where weights are written: as halves, or into slots that have their codes."""
    slots = out.get("slots")
    return out["weights"].view(np.uint16) if slots is None else slots


def new_task(rows: Rows, cuts: Array, counter: Array, n_stripes: int, flaws: Array) -> Task:
    """The rows as blocks for `RowHasher.step`; `flaws` and `counter` may be shared by threads."""
    indptr, done = read_only(rows.indptr), np.zeros(blocks.MOST_BLOCKS + 1, np.int64)
    return Task(
        counter, n_stripes, read_only(cuts, np.int64), indptr, rows.indices, rows.data,
        rows.n_columns, flaws, done,
    )  # fmt: skip


def minima_scratch(longest: int, code_type: np.dtype[Any]) -> MinimaScratch:
    """Working memory for rows of up to `longest` nonzeros."""
    return MinimaScratch(
        starts=np.empty(longest, np.int32),
        codes=aligned_zeros((GROUP,), code_type),
        values=aligned_zeros((GROUP,), np.uint16),
    )


def sieve_scratch(banks: Banks, with_values: bool) -> SieveScratch:
    """Working memory for rows that go through the sieve, if there is one."""
    n_positions = banks.n_positions if banks.sieve_places.size else 0
    n_bits = n_positions + -(-banks.width // SLOTS) * SLOTS
    n_words = -(-n_bits // WORD) + 1 if n_positions else 0
    n_planes = max(3, (banks.n_positions - 1).bit_length())
    locations = aligned_zeros((SLOTS,), banks.tables.dtype)
    return SieveScratch(
        marks=aligned_zeros((n_words * WORD,), np.uint16 if with_values else np.uint8),
        bitmap=aligned_zeros((n_words,), np.uint64),
        bit_planes=aligned_zeros((n_planes, SLOTS // WORD), np.uint64),
        locations=locations,
        location_words=locations.view(np.uint64),
    )
