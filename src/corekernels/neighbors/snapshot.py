"""One state of an index: never changed, only followed by another.

Rows found by the chosen method come first; rows added since stand in a tail that is searched
exactly, until it is long enough to be worth growing the method's index. Removed rows are
marked, and cleared away once they are many. A search holds one snapshot and sees one state
throughout.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._core.types import Array
from .._core.validation import Rows, read_only
from .._loops.search.heaps import Heaps
from .candidates import Exact, SearchMethod
from .candidates.base import search_all
from .store import Store, join, make_store

TAIL_ROWS = 1024
_TAIL_SHARE = 32  # the tail may have one row for this many of the others
_DEAD_SHARE = 4
_FIRST_WITHIN = 64


@dataclass(frozen=True)
class Snapshot:
    """Rows in order of arrival: those of `main`, then those of `tail`."""

    main: SearchMethod
    tail: Exact | None
    ids: Array  # what the user calls each row: a number, or a string as an object
    alive: Array  # 0 where a row was removed
    tail_rows: int = TAIL_ROWS  # that the tail may have, however few the others

    @classmethod
    def begin(cls, main: SearchMethod, ids: Array) -> "Snapshot":
        """The state after `fit`."""
        return cls(main, None, read_only(ids), read_only(np.ones(len(ids), np.uint8)))

    @property
    def n_alive(self) -> int:
        """Number of rows that can be found."""
        return int(np.count_nonzero(self.alive))

    def living(self) -> tuple[Store, Array]:
        """The rows that can be found, and their positions."""
        store = self.main.store if self.tail is None else join(self.main.store, self.tail.store)
        positions = np.flatnonzero(self.alive)
        return store if len(positions) == len(store) else store.take(positions), positions

    def nearest(self, rows: Rows, n_kept: int, n_jobs: int | None, *, exact: bool = False) -> Heaps:
        """The nearest rows of each query, sorted."""
        main = self.main.exact if exact else self.main
        n_main = len(main.store)
        # candidates that were removed must not crowd out others
        spare = n_main / max(1, int(np.count_nonzero(self.alive[:n_main])))
        parts: list[tuple[SearchMethod, int, float]] = [(main, 0, spare)]
        if self.tail is not None:
            parts.append((self.tail, n_main, 1.0))
        return search_all(parts, rows, self.alive, n_kept, n_jobs)

    def within(self, rows: Rows, least: float, n_jobs: int | None) -> list[tuple[Array, Array]]:
        """Kernel values and positions of all rows of at least that value, by exact search."""
        found: list[Any] = [None] * len(rows)
        left = np.arange(len(rows))
        n_kept, n_alive = _FIRST_WITHIN, self.n_alive
        while len(left):
            n_kept = min(n_kept, max(1, n_alive))
            heaps = self.nearest(rows.take(left), n_kept, n_jobs, exact=True)
            full = (heaps.keys >= least).sum(axis=1)
            done = (full < n_kept) | (n_kept >= n_alive)
            for q in np.flatnonzero(done):
                found[left[q]] = heaps.keys[q, : full[q]], heaps.rows[q, : full[q]]
            left, n_kept = left[~done], n_kept * 4
        return found

    def with_rows(self, rows: Rows, ids: Array, n_jobs: int | None) -> "Snapshot":
        """The state after rows were added."""
        fresh = make_store(rows, self.main.store.kernel, n_jobs)
        tail = fresh if self.tail is None else join(self.tail.store, fresh, n_jobs)
        ids = np.concatenate([self.ids, ids])
        alive = np.append(self.alive, np.ones(len(rows), np.uint8))
        changed = replace(self, tail=Exact(tail), ids=read_only(ids), alive=read_only(alive))
        if len(tail) <= max(self.tail_rows, len(self.main.store) // _TAIL_SHARE):
            return changed
        main = self.main.grown(join(self.main.store, tail, n_jobs), n_jobs)
        return replace(changed, main=main, tail=None)

    def without(self, positions: Array, n_jobs: int | None) -> "Snapshot":
        """The state after rows were removed."""
        alive = self.alive.copy()
        alive[positions] = 0
        changed = replace(self, alive=read_only(alive))
        n_main = len(self.main.store)
        if self.tail is not None and not alive[n_main:].all():
            kept = np.flatnonzero(alive[n_main:])
            tail = Exact(self.tail.store.take(kept)) if len(kept) else None
            changed = changed._with_positions([np.arange(n_main), n_main + kept], tail=tail)
        kept = np.flatnonzero(alive[:n_main])
        if len(kept) == 0 or (n_main - len(kept)) * _DEAD_SHARE <= n_main:
            return changed
        main = self.main.rebuilt(self.main.store.take(kept), n_jobs)
        return changed._with_positions([kept, np.arange(n_main, len(changed.ids))], main=main)

    def _with_positions(self, kept: list[Array], **changes: Any) -> "Snapshot":
        """The ids and marks of the rows at these positions alone, with other changes."""
        stays = np.concatenate(kept)
        ids, alive = read_only(self.ids[stays]), read_only(self.alive[stays])
        return replace(self, ids=ids, alive=alive, **changes)
