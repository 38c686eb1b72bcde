"""Candidates from truncated inverted lists, for sparse text.

Where similarities are tiny, neither a graph nor a hash table tells the nearest rows from the
rest; but a few rare and heavy columns of the query do. Only their lists are read.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.memory import common_size, working_memory
from ..._core.team import Team
from ..._core.types import Array
from ..._core.validation import Rows, read_only
from ..._loops.rows import unit_values
from ..._loops.search.pairs import Queries
from ..._loops.search.postings import Lists, Ranking, best_by_lists
from ...io.fields import require_fit
from ..store import Store
from .base import BLOCK_QUERIES, LIST_STEP, RANKED_ROW, CandidateMethod, Tuned, first_of
from .exact import Exact, inverted_lists

if TYPE_CHECKING:
    from ..tuning import Task

STEPS = (0.125, 0.25, 0.375, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)  # per stored row
RANKED = (50, 100, 200, 400)  # rows ranked again by the exact kernel

# beyond all that tuning tries; a damaged file must not make a query take minutes
_MOST_STEPS, _MOST_RANKED = 64.0, 1 << 16


@dataclass(eq=False)
class Inverted(CandidateMethod):
    """The most selective columns of a query, read until a budget is spent."""

    name = "inverted"

    share: float  # steps along lists, per stored row
    n_kept: int  # rows ranked again

    def __post_init__(self) -> None:
        self._lengths = read_only(self.store.lengths, np.int32)
        self._lists: Lists | None = None

    def with_settings(self, **changes: Any) -> "Inverted":
        """The same lists, read to another depth."""
        other = super().with_settings(**changes)
        other._lists = self._lists
        return other

    def grown(self, store: Store, n_jobs: int | None) -> "Inverted":
        """Lists of more rows, read to the same depth."""
        return Inverted(store, self.share, self.n_kept, n_wanted=self.n_wanted)

    def lists(self, team: Team) -> Lists:
        """Inverted lists of the unit rows."""
        if self._lists is None:
            units = np.empty(self.store.values.shape, np.float32)
            unit_values(self.store.indptr, read_only(self.store.values), units)
            self._lists = inverted_lists(self.store, read_only(units), team)
        return self._lists

    def candidates(self, team: Team, rows: Rows, queries: Queries, factor: float) -> Array:
        """The rows that the columns read rank highest."""
        n = len(self.store)
        out = self.room(rows, self.n_kept, factor)
        budget = int(self.share * factor * n)
        listed = self.store.kernel.for_loops, budget, queries, self._lengths, self.lists(team)
        longest = int((queries.ends - queries.starts).max(initial=0))
        sizes = common_size(n), out.shape[1], common_size(longest)
        with working_memory(Ranking.new, *sizes) as rooms:
            team.run(best_by_lists, lambda: (*listed, next(rooms), out), len(rows), BLOCK_QUERIES)
        return out

    @property
    def cost(self) -> float:
        """Steps along lists, and rows ranked again."""
        return LIST_STEP * self.share * len(self.store) * 2 + RANKED_ROW * self.n_kept

    @classmethod
    def is_worth_trying(cls, exact: Exact, similarity: float) -> bool:
        """Where columns are many."""
        return not exact.scans

    @classmethod
    def tune(cls, task: "Task") -> Tuned | None:
        """The cheapest of all depths and numbers of rows to rank that reaches the recall."""
        lists = cls(task.store, STEPS[0], RANKED[0], n_wanted=task.n_neighbors)
        lists.exact_search = task.exact
        lists.lists(Team(task.held_out.n_jobs))  # once for all depths
        best: Tuned | None = None
        for n_kept in first_of(RANKED, task.n_neighbors):
            depths = [lists.with_settings(share=share, n_kept=n_kept) for share in STEPS]
            found = task.cheapest(depths)
            if found is not None:
                method, recall = found
                reason = f"inverted lists, {method.share} steps per row, best {n_kept} ranked again"
                best = Tuned(method, reason, recall)
                task = replace(task, budget=method.cost)
        return best

    @property
    def nbytes(self) -> int:
        """Bytes of the lists."""
        return sum(array.nbytes for array in self.lists(Team(None)))

    def require_whole(self) -> None:
        """Raise a ValueError if the settings make no sense; lists are made from the store."""
        fits = 0 < self.share <= _MOST_STEPS and 1 <= self.n_kept <= _MOST_RANKED
        require_fit(fits, "the settings of the lists are out of range")
