"""Candidates from hash tables keyed by minwise locations: the paper's own suggestion.

Two rows share a location with probability R, and a location and the sign of a projection
with probability R (1 - arccos(rho) / pi); a table keyed by m slots finds them with the m-th
power. Rows that collide in many of the T tables go to the exact kernel first: that filter
matters more than m and T.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ... import theory
from ..._core.arguments import Array
from ..._core.memory import common_size, working_memory
from ..._core.team import Team
from ..._core.threads import row_blocks, run_blocks
from ..._core.validation import Rows, read_only
from ..._loops.search import buckets
from ..._loops.search.pairs import Queries
from ..._loops.search.preparation import ascend_in_buckets, is_permutation
from ...io.provenance import require_fit, whole_number
from ...kernel_table import CORE1, CORRELATION, RESEMBLANCE
from ...recipe import MAX_SEED, Recipe
from ...signatures import sketch_rows
from ..store import Store
from .base import BLOCK_QUERIES, RANKED_ROW, CandidateMethod, Tuned

if TYPE_CHECKING:
    from ..tuning import Tuning

_BLOCK_ROWS = 1 << 7  # whose keys a thread makes at a time
_PORTION_CODES = 1 << 26  # held together
_TABLES = (64, 128)
_MOST_SLOTS = 16
_MOST_TABLES = 1024  # of a file
_RANKED = (2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96)  # rows ranked again per neighbour wanted
_DENSE = 0.9  # where neighbours share this much of their supports, signs tell more


@dataclass(eq=False)
class HashTables(CandidateMethod):
    """T tables of m slots each, and how many colliding rows are ranked again."""

    name = "lsh"

    n_slots: int
    n_tables: int
    signed: bool  # whether keys hold the signs of projections too
    n_kept: int  # rows ranked again
    seed: int
    heads: Array
    rows: Array

    @classmethod
    def build(
        cls, store: Store, n_wanted: int, n_jobs: int | None, n_slots: int, n_tables: int,
        signed: bool, n_kept: int, seed: int,
    ) -> "HashTables":  # fmt: skip
        """Tables of all rows of a store."""
        n_bits = max(1, len(store).bit_length() - 1)  # about one row per bucket
        numbers = np.empty((len(store), n_tables), np.uint32)
        team = Team(n_jobs)
        write_keys(team, store.rows(n_jobs), n_slots, signed, seed, 64 - n_bits, numbers)
        tables = fill_tables(team, numbers, 2**n_bits)
        settings = n_slots, n_tables, signed, n_kept, seed
        return cls(store, *settings, *tables, n_wanted=n_wanted)

    @property
    def tables(self) -> buckets.Buckets:
        """The tables as the loops take them."""
        return buckets.Buckets(self.heads, self.rows)

    def grown(self, store: Store, n_jobs: int | None) -> "HashTables":
        """Tables of more rows."""
        return HashTables.build(store, self.n_wanted, n_jobs, **self.settings())

    def candidates(
        self, team: Team, rows: Rows, queries: Queries, alive: Array, factor: float
    ) -> Array:
        """The rows that collide with each query most often."""
        n, out = common_size(len(self.store) + 1), self.room(rows, self.n_kept, factor)
        collided = read_only(self.numbers(team, rows)), queries.lengths, self.tables, alive
        with (
            working_memory(np.zeros, n, np.int32) as counts,
            working_memory(np.empty, n, np.int32) as touched,
        ):
            team.run(
                buckets.most_collisions, lambda: (*collided, next(counts), next(touched), out),
                len(rows), BLOCK_QUERIES,
            )  # fmt: skip
        return out

    def numbers(self, team: Team, rows: Rows) -> Array:
        """Number of the bucket of each row in each table."""
        out = np.empty((len(rows), self.n_tables), np.uint32)
        shift = 64 - (self.tables.heads.shape[1] - 1).bit_length() + 1
        write_keys(team, rows, self.n_slots, self.signed, self.seed, shift, out)
        return out

    @property
    def cost(self) -> float:
        """Rows ranked again, and one bucket per table."""
        return RANKED_ROW * (self.n_kept + self.n_tables)

    @classmethod
    def tune(cls, tuning: "Tuning") -> Tuned | None:
        """The fewest tables, of the longest keys, that reach the recall."""
        store, held_out = tuning.store, tuning.held_out
        R = held_out.neighbor_values(store, RESEMBLANCE)
        signed = store.kernel.uses_values and bool(np.median(R) > _DENSE)
        rho = held_out.neighbor_values(store, CORRELATION) if signed else None
        p = np.maximum(theory.slot_collision(R, rho), 0)
        for n_tables in _TABLES:
            most = min(_MOST_SLOTS, theory.slots_allowed(p, n_tables, (1 + tuning.recall) / 2))
            for n_slots in range(most, max(0, most - 3), -1):
                built = cls.build(
                    store, tuning.n_neighbors, held_out.n_jobs, n_slots=n_slots, n_tables=n_tables,
                    signed=signed, n_kept=tuning.n_neighbors, seed=tuning.seed,
                )  # fmt: skip
                kept = [held_out.n_wanted * m for m in _RANKED]
                found = tuning.cheapest([built.with_settings(n_kept=n_kept) for n_kept in kept])
                if found is not None:
                    method, recall = found
                    method = method.with_settings(n_kept=held_out.for_all_rows(method.n_kept))
                    reason = f"{n_tables} tables of {n_slots} slots"
                    return Tuned(method, f"{reason}, best {method.n_kept} ranked again", recall)
        return None

    def require_whole(self) -> None:
        """Raise a ValueError if a look-up could leave the arrays."""
        heads, rows, n = self.heads, self.rows, len(self.store)
        fits = 1 <= self.n_slots <= _MOST_SLOTS and 1 <= self.n_kept < 2**31
        fits = fits and 1 <= self.n_tables <= _MOST_TABLES
        require_fit(fits, "the settings of the tables are out of range")
        whole_number(self.seed, 0, MAX_SEED, "the seed")
        fits = heads.ndim == 2 and rows.shape == (self.n_tables, n) and len(heads) == self.n_tables
        require_fit(
            fits and heads.dtype == rows.dtype == np.int32, "the tables do not fit the rows"
        )
        n_buckets = heads.shape[1] - 1
        fits = 2 <= n_buckets <= 2**31 and n_buckets & (n_buckets - 1) == 0
        require_fit(fits, "the number of buckets is no power of two")
        fits = bool((heads[:, 0] == 0).all() and (heads[:, -1] == n).all())
        require_fit(fits and bool((np.diff(heads) >= 0).all()), "buckets do not follow each other")

        def is_sound(table: int) -> bool:
            whole = is_permutation(rows[table], np.zeros(n, np.bool_))
            return bool(whole and ascend_in_buckets(heads[table], rows[table]))

        fits = all(run_blocks(is_sound, range(self.n_tables), None))
        require_fit(fits, "a table does not hold each row once, in order")


def fill_tables(team: Team, numbers: Array, n_buckets: int) -> buckets.Buckets:
    """Tables of rows, from the number of each row's bucket in each table."""
    tables = buckets.Buckets(
        np.zeros((numbers.shape[1], n_buckets + 1), np.int32),
        np.empty((numbers.shape[1], len(numbers)), np.int32),
    )
    numbers = read_only(numbers)
    team.run(buckets.fill_tables, (numbers, tables), numbers.shape[1], 1)
    return buckets.Buckets(*map(read_only, tables))


def write_keys(
    team: Team, rows: Rows, n_slots: int, signed: bool, seed: int, shift: int, out: Array
) -> None:
    """The key of each row in each table, one column of `out` per table, without its lowest bits."""
    recipe = Recipe(
        CORE1.name if signed else RESEMBLANCE.name, n_slots * out.shape[1], n_bits=None,
        seed=seed, n_columns=rows.n_columns,
    )  # fmt: skip
    for block in row_blocks(0, len(rows), max(1, _PORTION_CODES // recipe.n_hashes)):
        S = sketch_rows(rows.block(*block), recipe, team)
        weights = np.empty((0, 0), np.uint16) if S.weights is None else S.weights.view(np.uint16)
        arguments = read_only(S.codes), read_only(weights), n_slots, shift, out[slice(*block)]
        team.run(buckets.write_keys, arguments, len(S), _BLOCK_ROWS)
