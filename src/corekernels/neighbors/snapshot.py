"""One state of an index: never changed, only followed by another.

Rows found by the chosen method come first; rows added since stand in a tail that is searched
exactly, until it is long enough to be worth growing the method's index. Removed rows are
marked. Once many of them are gone, or rows have doubled, the method is to be chosen anew for the
rows there are. A search holds one snapshot and sees one state throughout.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._core.types import Array
from .._core.validation import Rows, read_only
from .._loops.search.heaps import Heaps
from .candidates import Exact, SearchMethod
from .candidates.base import Tuned, search_all
from .store import Store, join, make_store

TAIL_ROWS = 1024
_TAIL_SHARE = 32  # the tail may have one row for this many of the others
_DEAD_SHARE = 4  # one in this many of the method's rows may be a removed one
_GROWTH = 2  # times the rows for which the method was chosen
_FIRST_WITHIN = 64


@dataclass(frozen=True)
class Snapshot:
    """Rows in order of arrival: those of `main`, then those of `tail`."""

    main: SearchMethod
    tail: Exact | None
    ids: Array  # what the user calls each row: a number, or a string as an object
    alive: Array  # 0 where a row was removed
    reason: str  # why the method was chosen
    recall: float  # that it had on held-out rows then
    n_tuned: int  # rows there were then
    tail_rows: int = TAIL_ROWS  # that the tail may have, however few the others

    @classmethod
    def begin(cls, chosen: Tuned, ids: Array, tail_rows: int = TAIL_ROWS) -> "Snapshot":
        """The state after a method was chosen for rows."""
        alive, about = np.ones(len(ids), np.uint8), (chosen.reason, chosen.recall, len(ids))
        return cls(chosen.method, None, read_only(ids), read_only(alive), *about, tail_rows)

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
        return replace(self, tail=Exact(tail), ids=read_only(ids), alive=read_only(alive))

    def without(self, positions: Array) -> "Snapshot":
        """The state after rows were removed."""
        alive = self.alive.copy()
        alive[positions] = 0
        n_main = len(self.main.store)
        if self.tail is None or alive[n_main:].all():
            return replace(self, alive=read_only(alive))
        kept = np.flatnonzero(alive[n_main:])
        tail = Exact(self.tail.store.take(kept)) if len(kept) else None
        stays = np.append(np.arange(n_main), n_main + kept)
        ids, alive = read_only(self.ids[stays]), read_only(alive[stays])
        return replace(self, tail=tail, ids=ids, alive=alive)

    @property
    def is_outgrown(self) -> bool:
        """Whether the method was chosen for rows too unlike these in number.

        Each time, the number of rows has grown or shrunk by a factor, so that choosing costs a
        bounded amount per row added or removed, however small the batches.
        """
        n_main = len(self.main.store)
        n_dead = n_main - int(np.count_nonzero(self.alive[:n_main]))
        if n_dead * _DEAD_SHARE > n_main:
            return self.n_alive > 0
        return self._is_tail_long and self.n_alive >= _GROWTH * self.n_tuned

    def settled(self, n_jobs: int | None) -> "Snapshot":
        """The same rows, those of a long tail taken in by the method."""
        if self.tail is None or not self._is_tail_long:
            return self
        main = self.main.grown(join(self.main.store, self.tail.store, n_jobs), n_jobs)
        return replace(self, main=main, tail=None)

    @property
    def _is_tail_long(self) -> bool:
        most = max(self.tail_rows, len(self.main.store) // _TAIL_SHARE)
        return self.tail is not None and len(self.tail.store) > most
