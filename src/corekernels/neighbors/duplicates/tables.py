"""Hash tables in which the rows of a pair above a threshold share a key, and pairs of such rows.

Rows of resemblance R agree in all m slots of a key with probability R^m. No kernel value is
large where R is small: `Kernel.least_resemblance` says how large R must be for K >= t.
So rows of K >= t share a key in one of T tables with probability at least
1 - (1 - p^m)^T, p that least resemblance.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from ... import theory
from ..._core.arguments import Array
from ..._core.team import Team
from ..._core.threads import row_blocks, run_blocks
from ..._core.validation import Rows, read_only
from ..._loops.search import duplicates as loops
from ...kernel_table import RESEMBLANCE, Kernel
from ...recipe import Recipe

N_TABLES = 64
_RECALL = 0.999
_MOST_SLOTS = 32
_LEAST_SLOTS = 3  # with fewer, keys are shared by too many rows that are not similar
_HASHED_ROWS = 1 << 11  # together
_TOGETHER = 1 << 20  # pairs that are gathered before they are sorted
_UNLIMITED = np.iinfo(np.int64).max


@dataclass(frozen=True)
class TablePlan:
    """Tables for all pairs above a threshold."""

    n_slots: int
    missed: float  # largest expected share of pairs that no table finds
    n_tables: int = N_TABLES

    def write_keys(self, rows: Rows, seed: int, n_jobs: int | None, out: Array) -> None:
        """The key of each row in each table (n_tables, n_rows)."""
        from ..._hashing.hashing import hash_rows  # of no use where rows are few

        recipe = Recipe(
            RESEMBLANCE.name, self.n_slots * self.n_tables, n_bits=None, seed=seed,
            n_columns=rows.n_columns,
        )  # fmt: skip

        def work(block: tuple[int, int]) -> None:
            some = Rows(rows.indptr, rows.indices, rows.indices, rows.n_columns).block(*block)
            ones = read_only(np.ones(some.nnz, np.float32))
            some = replace(some.compact(), data=ones)
            codes = hash_rows(some, recipe.sketch, Team(1))["codes"]
            loops.write_table_keys(read_only(codes), self.n_slots, out[:, slice(*block)])

        run_blocks(work, row_blocks(0, len(rows), _HASHED_ROWS), n_jobs)


def plan_tables(kernel: Kernel, threshold: float) -> TablePlan | None:
    """Tables for pairs of K >= threshold; None where they would be of no use."""
    least = kernel.least_resemblance(threshold)
    if not 0 < least <= 1:
        return None
    n_slots = theory.slots_allowed(least, N_TABLES, _RECALL)
    if n_slots < _LEAST_SLOTS:
        return None
    n_slots = min(n_slots, _MOST_SLOTS)
    return TablePlan(n_slots, theory.miss_rate(least, n_slots, N_TABLES))


def repeated_keys(keys: Array, rows: Array) -> tuple[Array, Array]:
    """Keys that occur more than once, ascending, and their rows, ascending within each key.

    >>> repeated_keys(np.array([7, 3, 7, 5], np.uint64), np.array([2, 0, 1, 9]))
    (array([7, 7], dtype=uint64), array([1, 2]))
    """
    order = np.argsort(keys)
    ordered = keys[order]
    is_repeated = np.zeros(len(keys), bool)
    is_repeated[1:] = ordered[1:] == ordered[:-1]
    is_repeated[:-1] |= is_repeated[1:].copy()
    ordered, found = read_only(ordered[is_repeated]), rows[order[is_repeated]].astype(np.int64)
    loops.ascend_within_keys(ordered, found)
    return ordered, read_only(found)


class Candidates:
    """The pairs of rows that share a key, each once, as numbers; see `PairRange`.

    `boundary`: where pairs across two files are wanted, the first row of the second. Of more than
    `largest` rows of a key only the first few are paired with all.
    """

    def __init__(
        self, n_rows: int, boundary: int | None = None, largest: int | None = None
    ) -> None:
        self._wanted = loops.PairRange(
            n_rows, -1 if boundary is None else boundary,
            _UNLIMITED if largest is None else largest,
        )  # fmt: skip
        self._pairs = np.empty(0, np.int64)
        self._waiting: list[Array] = []
        self._n_waiting = 0
        self._room = np.empty(_TOGETHER >> 8, np.int64)

    def add_keys(self, keys: Array, rows: Array) -> None:
        """Add the pairs of rows of equal keys."""
        state = np.zeros(3, np.int64)
        while state[0] < len(keys):
            loops.write_pairs(keys, rows, self._wanted, state, self._room)
            self.add(self._room[: state[2]].copy())
            if state[0] < len(keys) and len(self._room) < _TOGETHER + len(keys):
                self._room = np.empty(min(4 * len(self._room), _TOGETHER) + len(keys), np.int64)

    def add(self, pairs: Array) -> None:
        """Add pairs, in any order."""
        self._waiting.append(pairs)
        self._n_waiting += len(pairs)
        if self._n_waiting > max(_TOGETHER, len(self._pairs)):
            self.pairs()

    def pairs(self) -> Array:
        """All of them, ascending."""
        if self._waiting:
            every = np.concatenate([self._pairs, *self._waiting])
            every.sort()  # several times faster than np.unique
            self._pairs = every[np.diff(every, prepend=-1) > 0]
            self._waiting, self._n_waiting = [], 0
        return self._pairs


def linked_pairs(
    keys: Array, rows: Array, n_rows: int, boundary: int | None, most: int
) -> Iterator[Array]:
    """The pairs of rows that share a key in some table, as `Candidates` gives them.

    They come in portions of about `most`. `keys` (n_rows, n_tables) are those of the rows, which
    ascend; links to the next row with the same key take their place.
    """
    links, every = keys.view(np.int64), np.arange(len(rows))
    for table in range(keys.shape[1]):
        repeated, places = repeated_keys(keys[:, table].copy(), every)
        links[:, table] = -1
        is_linked = repeated[1:] == repeated[:-1]
        links[places[:-1][is_linked], table] = places[1:][is_linked]
    cut = -1 if boundary is None else int(np.searchsorted(rows, boundary))
    state, seen = np.zeros(2, np.int64), np.zeros(len(rows), np.uint8)
    rows, out = read_only(rows, np.int64), np.empty(min(most, _TOGETHER), np.int64)
    size = len(rows) if boundary is None else cut
    while state[0] < size:
        loops.write_linked_pairs(read_only(links), rows, n_rows, cut, state, seen, out)
        if state[1]:
            yield np.sort(out[: state[1]])
        else:
            out = np.empty(2 * len(out), np.int64)
