"""Exact search: every row is looked at, most of them only through their support.

Few columns: supports are bit sets, and since no kernel value exceeds what the supports allow
(`_loops.kernels.support_bound`), most rows are ruled out by their length alone or by a few
popcounts. Many columns: inverted lists visit only the rows that share a column with the query.
"""

from typing import TYPE_CHECKING

import numpy as np

from ..._core.forks import computed_once
from ..._core.memory import common_size, working_memory
from ..._core.team import Team
from ..._core.types import Array
from ..._core.validation import Rows, read_only
from ..._loops.search.heaps import Heaps
from ..._loops.search.postings import Lists, Sums, count_columns, fill_lists, push_all
from ..._loops.search.scan import ByLength, ScanScratch, scan
from ..store import Store, make_queries
from .base import BLOCK_QUERIES, LIST_STEP, SearchMethod, Tuned

if TYPE_CHECKING:
    from ..tuning import Task

_SCANNED_ROW = 8.0  # nanoseconds
_LISTED_ALONE = 1 << 16  # nonzeros that are not worth a thread of their own
_WORDS_PER_STEP = 2.0  # time of a step along a list over that of a word of a bit set


class Exact(SearchMethod):
    """Misses no row; the right choice for few rows, and what the others are compared with.

    It has no settings, and any number of neighbours is as good as another.
    """

    name = "exact"

    def __init__(self, store: Store, scans: bool | None = None, *, n_wanted: int = 0) -> None:
        super().__init__(store)
        self.scans = _scans_bits(store) if scans is None else scans
        self._lists: Lists | None = None

    def search(
        self, team: Team, rows: Rows, alive: Array, first_row: int, heaps: Heaps,
        spare: float = 1.0,
    ) -> None:  # fmt: skip
        """Push all rows of the store that are alive into the queries' heaps."""
        store, n, width = self.store, len(self.store), self.store.width
        queries = make_queries(rows, store, team)
        both = store.kernel.for_loops, queries, store.stored_rows
        if self.scans:
            where = ByLength(*map(read_only, self._by_length)), alive, first_row
            team.run(
                scan, lambda: (*both, *where, ScanScratch.new(n, width), heaps),
                len(rows), BLOCK_QUERIES,
            )  # fmt: skip
        else:
            listed = Lists(*map(read_only, self.lists(team))), alive, first_row
            with (
                working_memory(np.zeros, common_size(width)) as dense,
                working_memory(Sums.new, common_size(n)) as sums,
            ):
                team.run(
                    push_all, lambda: (*both, *listed, next(dense), next(sums), heaps),
                    len(rows), BLOCK_QUERIES,
                )  # fmt: skip

    @property
    def exact(self) -> "Exact":
        """Itself."""
        return self

    @property
    def cost(self) -> float:
        """The time to scan all rows, or to read the lists of a query that is like the rows."""
        n = len(self.store)
        if self.scans:
            return _SCANNED_ROW * n
        return LIST_STEP * (self.store.steps_per_query + n)

    @property
    def nbytes(self) -> int:
        """Bytes beyond the rows themselves."""
        arrays = self._by_length if self.scans else self.lists(Team(None))
        return sum(array.nbytes for array in arrays)

    def grown(self, store: Store, n_jobs: int | None) -> "Exact":
        """The exact search over other rows."""
        return Exact(store)

    @classmethod
    def tune(cls, task: "Task") -> Tuned:
        """There is nothing to tune."""
        return Tuned(task.exact, "exact search, as asked for", 1.0)

    @computed_once
    def _by_length(self) -> ByLength:
        lengths = self.store.lengths
        order = np.argsort(lengths, kind="stable")
        return ByLength(
            read_only(order, np.int32),
            read_only(lengths[order], np.int64),
            read_only(self.store.bits[order]),
        )

    def lists(self, team: Team) -> Lists:
        """Inverted lists of the rows."""
        if self._lists is None:
            self._lists = inverted_lists(self.store, self.store.values, team)
        return self._lists


def inverted_lists(store: Store, values: Array, team: Team) -> Lists:
    """For each column of a store the rows that have it, with values."""
    columns, heads = store.columns, np.zeros(store.width + 1, np.int64)
    lists = Lists(heads, np.empty(len(columns), np.int32), np.empty(len(columns), values.dtype))
    n_ranges = min(team.n_threads, max(1, len(columns) // _LISTED_ALONE))
    ranges = np.linspace(0, store.width, n_ranges + 1).astype(np.int64)
    team.run(count_columns, (columns, ranges, heads), n_ranges, 1)
    np.cumsum(heads, out=heads)
    ranges[1:-1] = np.searchsorted(heads, np.linspace(0, len(columns), n_ranges + 1)[1:-1])
    team.run(fill_lists, (store.indptr, columns, values, ranges, lists), n_ranges, 1)
    heads[:-1] = heads[1:]
    heads[-1] = len(columns)
    return Lists(*map(read_only, lists))


def _scans_bits(store: Store) -> bool:
    """Whether bit sets rule rows out faster than lists find them, for queries like the rows."""
    n_words = store.bits.shape[1]
    return bool(n_words and store.steps_per_query * _WORDS_PER_STEP > len(store) * n_words)
