"""Exact search, and candidates from inverted lists.

Exact search looks at every row, at most of them only through their support. Few columns: supports
are bit sets, and since no kernel value exceeds what the supports allow
(`_loops.kernels.support_bound`), most rows are ruled out by their length alone or by a few
popcounts. Many columns: inverted lists visit only the rows that share a column with the query; or,
if the kernel asks for supports alone, shared columns are counted for 512 rows at a time.

Where similarities are tiny, as in sparse text, neither a graph nor a hash table tells the nearest
rows from the rest; but a few rare and heavy columns of the query do. `Inverted` reads their lists
alone for its candidates.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from ..._core.arguments import Array
from ..._core.forks import computed_once
from ..._core.memory import common_size, working_memory
from ..._core.team import Team
from ..._core.threads import row_blocks, run_blocks
from ..._core.validation import Rows, read_only
from ..._loops.rows import unit_values
from ..._loops.search.counting import CountedRows, CountScratch, fill_bits, push_by_counts
from ..._loops.search.pairs import Heaps, Queries
from ..._loops.search.postings import (
    Lists,
    Ranking,
    best_by_lists,
    count_steps,
    list_sums,
    push_all,
    push_values,
    sum_lists,
)
from ..._loops.search.scan import BySize, ScanScratch, scan
from ...io.provenance import require_fit
from ...kernel_table import MINIMA, Kernel, PairSums
from ..store import Store, make_queries
from .base import (
    BLOCK_QUERIES,
    LIST_STEP,
    RANKED_ROW,
    CandidateMethod,
    SearchMethod,
    Tuned,
)

if TYPE_CHECKING:
    from ..tuning import Tuning

_SCANNED_ROW = 8.0  # nanoseconds
_SUMS = 1 << 18  # that a thread holds at a time
_WORDS_PER_STEP = 2.0  # time of a step along a list over that of a word of a bit set
_COUNTED_WORD = 0.75  # nanoseconds to add a bit set to the counts of 64 rows
_WALKED_WORDS = 4.0  # times as long it takes to look through the counts
_RARE = 256  # a column of at most one row in so many is listed where others are bit sets
WAYS = SCAN, LISTS, COUNTS = "scan", "lists", "counts"


class Exact(SearchMethod):
    """Misses no row; the right choice for few rows, and what the others are compared with.

    It has no settings, and any number of neighbours is as good as another.
    """

    name = "exact"
    is_exact = True

    def __init__(self, store: Store, way: str | None = None, *, n_wanted: int = 0) -> None:
        super().__init__(store)
        if way is not None:
            self.way = way

    @computed_once
    def way(self) -> str:
        """The cheapest way for queries like the rows."""
        costs = _costs_of_ways(self.store)
        return min(costs, key=costs.__getitem__)

    def search(
        self, team: Team, rows: Rows, alive: Array, first_row: int, heaps: Heaps,
        spare: float = 1.0,
    ) -> None:  # fmt: skip
        """Push all rows of the store that are alive into the queries' heaps."""
        store, n, width = self.store, len(self.store), self.store.width
        queries = make_queries(rows, store, team)
        if store.kernel.for_loops is None:
            self._search_by_sums(team, rows, queries, alive, first_row, heaps)
            return
        both = store.kernel.for_loops, queries, store.stored_rows
        where, run = (
            (alive, first_row),
            partial(team.run, n_rows=len(rows), block_rows=BLOCK_QUERIES),
        )
        if self.way == SCAN:
            by_size = BySize(*map(read_only, self._by_size))
            run(scan, lambda: (*both, by_size, *where, ScanScratch.new(n, width), heaps))
        elif self.way == COUNTS:
            counted = store.kernel.for_loops, queries, CountedRows(*map(read_only, self._counted))
            sizes = counted[-1].bits.shape[1], common_size(width)
            with working_memory(CountScratch.new, *sizes) as counts:
                run(push_by_counts, lambda: (*counted, *where, next(counts), heaps))
        else:
            lists = Lists(*map(read_only, self._lists))
            with (
                working_memory(np.zeros, common_size(width)) as dense,
                working_memory(list_sums, common_size(n), float) as sums,
            ):
                run(push_all, lambda: (*both, lists, *where, next(dense), *next(sums), heaps))

    def _search_by_sums(
        self, team: Team, rows: Rows, queries: Queries, alive: Array, first_row: int, heaps: Heaps
    ) -> None:
        """The same for a kernel that the loops do not know: they sum up, it makes values of it."""
        store, kernel, lists = self.store, self.store.kernel, Lists(*map(read_only, self._lists))
        own1 = kernel.own_sums(rows.indptr, rows.data)[:, np.newaxis]
        own2, f1 = kernel.own_sums(store.indptr, store.values), rows.lengths[:, np.newaxis]

        def work(block: tuple[int, int]) -> None:
            span = slice(*block)
            shared, a = np.zeros((2, block[1] - block[0], len(store)))
            sum_lists(*block, kernel.term == MINIMA, queries, lists, shared, a)
            pair = PairSums(shared, own1[span], own2, f1[span], store.lengths, a)
            values = np.ascontiguousarray(kernel.values(pair), np.float64)
            push_values(values, alive, first_row, heaps.block(*block))

        size = max(1, _SUMS // max(1, len(store)))
        run_blocks(work, row_blocks(0, len(rows), size), team.n_threads)

    @property
    def exact(self) -> "Exact":
        """Itself."""
        return self

    @property
    def cost(self) -> float:
        """The time it takes for a query that is like the rows."""
        if self.way == SCAN:
            return _SCANNED_ROW * len(self.store)
        return _costs_of_ways(self.store)[self.way]

    def grown(self, store: Store, n_jobs: int | None) -> "Exact":
        """The exact search over other rows."""
        return Exact(store)

    @classmethod
    def serves(cls, kernel: Kernel) -> bool:
        """It serves all."""
        return True

    @classmethod
    def tune(cls, tuning: "Tuning") -> Tuned:
        """There is nothing to tune."""
        return Tuned(tuning.exact, "exact search, as asked for", 1.0)

    @computed_once
    def _by_size(self) -> BySize:
        store = self.store
        sizes = store.lengths if store.kernel.unit_rows else np.sqrt(store.squares)
        order = np.argsort(sizes, kind="stable")
        return BySize(
            read_only(order, np.int32),
            read_only(sizes[order], np.float64),
            read_only(store.lengths[order], np.int64),
            read_only(store.bits[order]),
        )

    @computed_once
    def _counted(self) -> CountedRows:
        store, team = self.store, Team(None)
        n, order = len(store), np.argsort(store.lengths, kind="stable")
        places = np.empty(n, np.int32)
        places[order] = np.arange(n)
        sorted_store = store.take(order)
        heads, listed, _ = inverted_lists(sorted_store, sorted_store.values)
        common = np.flatnonzero(store.frequencies > n // _RARE)
        sets = np.full(store.width, -1, np.int32)
        sets[common] = np.arange(len(common))
        bits = np.zeros((len(common), 8 * -(-n // 512)), np.uint64)
        team.run(fill_bits, (read_only(common), heads, listed, bits), len(common), 1)
        lengths = sorted_store.lengths
        return CountedRows(order.astype(np.int32), places, lengths, heads, listed, sets, bits)

    @computed_once
    def _lists(self) -> Lists:
        return inverted_lists(self.store, self.store.values)


def inverted_lists(store: Store, values: Array) -> Lists:
    """For each column of a store the rows that have it, ascending, with values."""
    shape = len(store), store.width
    columns = sparse.csr_array((values, store.columns, store.indptr), shape=shape).tocsc()
    heads, rows = read_only(columns.indptr, np.int64), read_only(columns.indices, np.int32)
    return Lists(heads, rows, read_only(columns.data))


def _costs_of_ways(store: Store) -> dict[str, float]:
    """Nanoseconds that each way of exact search takes for a query that is like the rows."""
    n, n_words, kernel = len(store), store.bits.shape[1], store.kernel
    frequencies = store.frequencies.astype(float)
    steps = np.square(frequencies) / max(1, n)
    costs = {LISTS: LIST_STEP * (float(steps.sum()) + 1)}
    if n_words and kernel.for_loops is not None:
        costs[SCAN] = LIST_STEP / _WORDS_PER_STEP * n * n_words
    elif kernel.for_loops is not None and not kernel.uses_values:
        rare = frequencies <= n // _RARE
        words = n / 64 * (frequencies[~rare].sum() / max(1, n) + _WALKED_WORDS)
        costs[COUNTS] = _COUNTED_WORD * words + LIST_STEP * float(steps[rare].sum())
    return costs


SHARES = tuple(2.0 ** (step / 2) for step in range(-24, 7))  # of the rows, in steps along lists
_FINER = tuple(2.0 ** (step / 4) for step in range(-4, 5))
_RANKED = 8  # rows ranked again per neighbour wanted, at most, while the depth is looked for
_LEAST_RANKED = 64

# beyond all that tuning tries; a damaged file must not make a query take minutes
_MOST_STEPS, _MOST_RANKED = 64.0, 1 << 31


@dataclass(eq=False)
class Inverted(CandidateMethod):
    """The most selective columns of a query, read until a budget is spent."""

    name = "inverted"

    share: float  # steps along lists, per stored row
    n_kept: int  # rows ranked again

    def __post_init__(self) -> None:
        self._lengths = read_only(self.store.lengths, np.int32)

    def with_settings(self, **changes: Any) -> "Inverted":
        """The same lists, read to another depth."""
        other = super().with_settings(**changes)
        other.lists = self.lists
        return other

    def grown(self, store: Store, n_jobs: int | None) -> "Inverted":
        """Lists of more rows, read to the same depth; as many times more rows are ranked again."""
        n_kept = -(-self.n_kept * len(store) // max(1, len(self.store)))
        return Inverted(store, self.share, n_kept, n_wanted=self.n_wanted)

    @computed_once
    def lists(self) -> Lists:
        """Inverted lists of the unit rows, or of rows as they are but for one factor."""
        values = self.store.values
        units = np.empty(values.shape, np.float32)
        if self.store.kernel.unit_rows:
            unit_values(self.store.indptr, read_only(values), units)
        else:
            np.divide(values, max(values.max(initial=0), -values.min(initial=0), 1e-70), units)
        return inverted_lists(self.store, units)

    def candidates(
        self, team: Team, rows: Rows, queries: Queries, alive: Array, factor: float
    ) -> Array:
        """The rows that the columns read rank highest."""
        out, alive = self.room(rows, self.n_kept, factor), read_only(alive)
        kernel, budget = self.store.kernel.for_loops, self._budget(factor)
        listed = kernel, budget, queries, self._lengths, self.lists, alive
        sizes = common_size(len(self.store)), out.shape[1], common_size(self.store.width)
        with working_memory(Ranking.new, *sizes) as rooms:
            team.run(best_by_lists, lambda: (*listed, next(rooms), out), len(rows), BLOCK_QUERIES)
        return out

    def _budget(self, factor: float = 1.0) -> int:
        return math.ceil(self.share * factor * len(self.store))

    @property
    def cost(self) -> float:
        """Steps along lists of queries like the rows, and rows ranked again."""
        store, queries = self.store, self.store.some_queries
        n = len(queries.lengths)
        steps, chosen = np.empty(n, np.int64), np.empty(store.width, np.int64)
        Team(1).run(count_steps, (self._budget(), queries, self.lists.heads, chosen, steps), n, n)
        return LIST_STEP * float(steps.mean()) + RANKED_ROW * self.n_kept

    @classmethod
    def serves(cls, kernel: Kernel) -> bool:
        """All that the loops know."""
        return kernel.for_loops is not None

    @classmethod
    def is_worth_trying(cls, exact: Exact) -> bool:
        """Where columns are many."""
        return exact.way == LISTS

    @classmethod
    def tune(cls, tuning: "Tuning") -> Tuned | None:
        """The depth that costs least, with the rows that must be ranked again, for the recall.

        The deeper the lists are read, the fewer rows must be ranked again, so that the cost has
        one minimum. It is looked for on some of the queries, and then the depth on all.
        """
        most = min(len(tuning.store), max(_LEAST_RANKED, _RANKED * tuning.held_out.n_wanted))
        whole = cls(tuning.store, 1.0, most, n_wanted=tuning.n_neighbors, exact_search=tuning.exact)

        @cache
        def at(depth: int) -> tuple[float, int]:
            """The cost at a depth, and the rows ranked again there."""
            method = whole.with_settings(share=SHARES[depth])
            n_ranked, share_short = tuning.rows_to_rank(method)
            if n_ranked is None:
                return math.inf, most
            cost = method.with_settings(n_kept=n_ranked).cost
            return cost + share_short * tuning.exact.cost, n_ranked

        low, high = 0, len(SHARES) - 1
        while low < high:
            middle = (low + high) // 2
            cost = at(middle)[0]
            if cost < math.inf and cost <= at(middle + 1)[0]:
                high = middle
            else:
                low = middle + 1
        if at(low)[0] > tuning.budget:
            return None
        depths = [SHARES[low] * finer for finer in _FINER] + list(SHARES[low + 3 :])
        n_kept, found = at(low)[1], None
        while found is None:  # some of the queries may have promised too much
            found = tuning.cheapest([whole.with_settings(share=s, n_kept=n_kept) for s in depths])
            if found is None and n_kept == len(tuning.store):
                return None
            n_kept = min(len(tuning.store), 2 * n_kept)
        method, recall = found
        method = method.with_settings(n_kept=tuning.held_out.for_all_rows(method.n_kept))
        reason = (
            f"inverted lists, {method.share:.3g} steps per row, best {method.n_kept} ranked again"
        )
        return Tuned(method, reason, recall)

    def _kept(self) -> Iterable[Array]:
        return self.lists

    def require_whole(self) -> None:
        """Raise a ValueError if the settings make no sense; lists are made from the store."""
        fits = 0 < self.share <= _MOST_STEPS and 1 <= self.n_kept <= _MOST_RANKED
        require_fit(fits, "the settings of the lists are out of range")
