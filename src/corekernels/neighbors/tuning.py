"""Which method, with which settings: decided on held-out queries, and explained.

Settings go from cheap to expensive until the recall asked for is reached on the sample with
95 % confidence.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from .._core.arguments import Array
from .._core.forks import computed_once
from .._core.team import Team
from .._core.validation import Rows, read_only
from .._loops.search.pairs import Heaps
from ..errors import ParameterError
from ..kernel_table import Kernel
from .candidates import METHODS, Exact, SearchMethod
from .candidates.base import CandidateMethod, Tuned, search_all
from .store import Store, make_queries

AUTO = "auto"
METHOD_NAMES = (AUTO, *METHODS)
FEW_ROWS = 2048
_LEAST_QUERIES, _MOST_QUERIES = 256, 1024  # held out
_MISSES = 25  # divided by the share of misses allowed: held-out queries between these limits
_FIRST_QUERIES = 128  # of these, for a first look

_Z = 1.645  # normal quantile of a one-sided confidence of 95 %
_WORTH = 1.5  # a method must be this many times cheaper than the exact search
# as many times costlier, a method asked for by name is worth a warning; not from 1 on, as exact
# search takes several times what is counted where its bounds rule out few rows
_TOO_COSTLY = 4.0
_MARGIN = 0.25  # share of the misses allowed that is kept back: later queries may be harder

Method = TypeVar("Method", bound=SearchMethod)


@dataclass(frozen=True)
class RecallCheck:
    """An index beside exact search, on the same queries.

    Attributes
    ----------
    queries : int
    recall : float
        Share of the true nearest rows among those found, ties counted as equal.
    seconds, exact_seconds : float
        Time that the index and that exact search took.

    Examples
    --------
    >>> import corekernels as ck
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data
    >>> found = ck.CoRENeighbors(random_state=0).fit(X[:1000]).check_recall(X[1000:1100])
    >>> found.queries, found.recall
    (100, 1.0)
    """

    queries: int
    recall: float
    seconds: float
    exact_seconds: float

    @property
    def times_faster(self) -> float:
        """How many times faster than exact search the index was."""
        return self.exact_seconds / max(self.seconds, 1e-9)


@dataclass(frozen=True)
class HeldOut:
    """A sample of the rows, taken out of the index as queries, and their exact neighbours.

    Without the sample fewer rows come between a query and its neighbours, so as many fewer
    neighbours are looked for.
    """

    rest: Array  # the rows that stay in the index, in random order
    sample: Array  # the rows that are queries
    rows: Rows
    alive: Array
    truth: Heaps
    n_asked: int  # neighbours of each query, of all rows
    n_jobs: int | None

    @property
    def n_wanted(self) -> int:
        """How many neighbours of each query are looked for."""
        return int(self.truth.keys.shape[1])

    def search(self, method: SearchMethod, n_kept: int) -> Heaps:
        """What a method finds for the sample, sorted."""
        one = [(method, 0, 1.0)]
        return search_all(one, self.rows, self.alive, n_kept, self.n_jobs)

    def recall(self, method: SearchMethod) -> tuple[float, float]:
        """Share of the true neighbours found, ties counted as equal; its lower confidence bound.

        The bound is one-sided, of 95 % confidence over the choice of the sample.
        """
        is_neighbour = self.search(method, self.n_wanted).keys >= self.truth.keys[:, -1:]
        shares = is_neighbour.mean(axis=1)
        # one more query that finds nothing: no sample, however good, proves a recall of 1
        widened = np.append(shares, 0.0)
        error = widened.std() / np.sqrt(len(widened))
        return float(shares.mean()), float(shares.mean() - _Z * error)

    def first(self, n_queries: int) -> "HeldOut":
        """The first of the queries alone."""
        n = min(n_queries, len(self.rows))
        return replace(self, rows=self.rows.block(0, n), truth=self.truth.block(0, n))

    def shares_by_rank(self, method: CandidateMethod) -> tuple[Array, Array]:
        """Shares of the true neighbours among the first 1, 2, ... candidates of each query.

        And whether candidates are fewer than neighbours wanted, so that exact search answers.
        """
        store, team, n_wanted = method.store, Team(self.n_jobs), self.n_wanted
        queries = make_queries(self.rows, store, team)
        candidates = method.candidates(team, self.rows, queries, self.alive, 1.0)
        is_row = candidates >= 0
        ends = np.concatenate([[0], np.cumsum(is_row.sum(axis=1))])
        least = float(self.truth.keys.min())
        values = np.full(candidates.shape, -np.inf)
        values[is_row] = store.kernel_values(team, queries, ends, candidates[is_row], least)
        hits = np.cumsum(values >= self.truth.keys[:, -1:], axis=1)
        is_short = is_row.sum(axis=1) < n_wanted
        return np.where(is_short[:, None], 1.0, np.minimum(hits / n_wanted, 1.0)), is_short

    def for_all_rows(self, size: int) -> int:
        """A number of candidates found for the rows without the sample, for all rows.

        In proportion to rows and neighbours alike; where as many neighbours of more rows are wanted
        more come between, but the neighbours are nearer, too: the root.
        """
        n = len(self.alive)
        growth = self.n_asked / self.n_wanted * n / max(1, len(self.rest))
        return min(n, round(size * math.sqrt(growth)))

    def neighbor_values(self, store: Store, kernel: Kernel) -> Array:
        """The value of another kernel for each query and true neighbour."""
        other = replace(store, kernel=kernel)
        rows = self.truth.rows
        ends = np.arange(len(self.rows) + 1) * rows.shape[1]
        team = Team(self.n_jobs)
        queries = make_queries(self.rows, other, team)
        values = other.kernel_values(team, queries, ends, rows.ravel().astype(np.int32), -1.0)
        return values.reshape(rows.shape)


def hold_out(
    store: Store, recall: float, n_neighbors: int, seed: int, n_jobs: int | None
) -> HeldOut:
    """A sample of up to an eighth of the rows, answered by exact search from the others.

    The fewer misses are allowed, the more queries it takes to tell their share. Empty rows are no
    queries, unless there are no others: whatever is found for them is right.
    """
    n = len(store)
    order = np.random.default_rng(seed).permutation(n)
    full = np.flatnonzero(store.lengths[order])
    full = full if len(full) else np.arange(n)
    n_queries = min(max(_LEAST_QUERIES, round(_MISSES / (1 - recall))), _MOST_QUERIES)
    chosen = full[len(full) - max(1, min(n_queries, len(full) // 8)) :]
    rest, sample = np.delete(order, chosen), order[chosen]
    n_rest = len(rest)
    alive = np.ones(n, np.uint8)
    alive[sample] = 0
    rows, n_kept = store.take(sample).rows(), max(1, min(-(-n_neighbors * n_rest // n), n_rest))
    truth, n_asked = Heaps.empty(0, n_kept), max(n_kept, min(n_neighbors, n))
    held_out = HeldOut(rest, sample, rows, read_only(alive), truth, n_asked, n_jobs)
    return replace(held_out, truth=held_out.search(Exact(store), n_kept))


@dataclass(frozen=True)
class Choice(Tuned):
    """The method chosen, and whether users should be warned of it."""

    falls_short: bool = False  # of what was asked for by name


@dataclass(frozen=True)
class Tuning:
    """What a search method is tuned to, and the means to do it.

    Attributes
    ----------
    exact : SearchMethod
        The exact search of the rows, which `store` holds; `cost` says what it costs.
    held_out : object
        A sample of the rows, taken out as queries. `held_out.recall(method)` is the recall of a
        method on it, and its lower confidence bound; `held_out.rest` are the other rows.
    recall : float
        The recall asked for.
    n_neighbors, seed : int
    budget : float
        What a query may cost.

    Examples
    --------
    >>> from dataclasses import fields
    >>> from corekernels.neighbors import Tuning
    >>> [field.name for field in fields(Tuning)]
    ['exact', 'held_out', 'recall', 'n_neighbors', 'seed', 'budget']
    """

    exact: Exact
    held_out: HeldOut
    recall: float
    n_neighbors: int
    seed: int
    budget: float = math.inf  # what a query may cost

    @property
    def store(self) -> Store:
        """The rows to search."""
        return self.exact.store

    @computed_once
    def few(self) -> HeldOut:
        """Some of the held-out queries, for a first look."""
        return self.held_out.first(_FIRST_QUERIES)

    @property
    def goal(self) -> float:
        """The recall that the sample should show."""
        return self.recall + _MARGIN * (1 - self.recall)

    def rows_to_rank(self, method: CandidateMethod) -> tuple[int | None, float]:
        """How many of a method's candidates must be ranked for the recall; None: all are too few.

        And the share of queries for which there are too few, so that exact search answers them.
        """
        shares, is_short = self.few.shares_by_rank(method)
        errors = shares.std(axis=0) / np.sqrt(len(self.held_out.rows))
        reached = shares.mean(axis=0) - _Z * errors >= self.goal
        reached[: self.held_out.n_wanted - 1] = False
        n_ranked = int(reached.argmax()) + 1 if reached.any() else None
        return n_ranked, float(is_short.mean())

    def cheapest(self, methods: Sequence[Method]) -> tuple[Method, float] | None:
        """The first of methods, each costlier and better than the last, that reaches the recall.

        Gives its recall on the sample as well.
        """
        methods = [method for method in methods if method.cost <= self.budget]
        if not methods:
            return None
        best = None
        low, high = 0, len(methods)
        while low < high:
            middle = (low + high) // 2
            mean, lower_bound = self.held_out.recall(methods[middle])
            if lower_bound >= self.goal:
                best, high = (methods[middle], mean), middle
            else:
                low = middle + 1
        return best


def method_of(method: Any) -> type[SearchMethod] | None:
    """The search method of that name, or the class itself; None for `auto`."""
    if isinstance(method, type) and issubclass(method, SearchMethod):
        return method
    if not isinstance(method, str) or method not in METHOD_NAMES:
        names = ", ".join(METHOD_NAMES)
        raise ParameterError(
            f"method: got {method!r}; choose one of {names}, or give a class of "
            "neighbors.SearchMethod."
        )
    return METHODS.get(method)


def choose(
    store: Store, method: type[SearchMethod] | None, recall: float, n_neighbors: int, seed: int,
    n_jobs: int | None,
) -> Choice:  # fmt: skip
    """The method asked for, or the best one for the rows, tuned to the recall."""
    exact = Exact(store)
    if method is not None and not method.serves(store.kernel):
        serving = [AUTO, *(name for name, one in METHODS.items() if one.serves(store.kernel))]
        raise ParameterError(
            f"method: {method.name} proposes no rows that are near by {store.kernel.name}; choose "
            f"one of {', '.join(serving)}."
        )
    if method is not None and method.is_exact:
        return Choice(exact, "exact search, as asked for", 1.0)
    if method is None and len(store) <= FEW_ROWS:
        return Choice(exact, f"exact search: {len(store)} rows are few", 1.0)
    if recall == 1:
        reason = "exact search: no other method guarantees recall 1"
        return Choice(exact, reason, 1.0, falls_short=method is not None)
    held_out = hold_out(store, recall, n_neighbors, seed, n_jobs)
    tuning = Tuning(exact, held_out, recall, n_neighbors, seed)
    if method is None:
        return _best(tuning)
    tuned = method.tune(tuning)
    if tuned is None:
        reason = f"exact search: {method.name} does not reach recall {recall} on held-out queries"
        return Choice(exact, reason, 1.0, falls_short=True)
    times = tuned.method.cost / exact.cost
    if len(store) <= FEW_ROWS or times < _TOO_COSTLY:
        return Choice(tuned.method, tuned.reason, tuned.recall)
    about = f"about {times:.0f} times as costly as exact search, so that {AUTO} would not take it"
    return Choice(tuned.method, f"{tuned.reason}; {about}", tuned.recall, falls_short=True)


def _best(tuning: Tuning) -> Choice:
    exact = tuning.exact
    similarity = float(np.median(tuning.held_out.truth.keys[:, -1]))  # of the last one wanted
    seen = (
        f"{len(tuning.store)} rows of {np.median(tuning.store.lengths):.0f} nonzeros, "
        f"last of {tuning.n_neighbors} neighbours at {similarity:.2g}"
    )
    tuning = replace(tuning, budget=exact.cost / _WORTH)
    serving = [method for method in METHODS.values() if method.serves(tuning.store.kernel)]
    tried = [method for method in serving if method.is_worth_trying(exact)]
    best: Tuned | None = None
    for method in tried:
        tuned = method.tune(tuning)
        if tuned is not None:
            best, tuning = tuned, replace(tuning, budget=tuned.method.cost)
    if best is not None:
        gain = exact.cost / best.method.cost
        reason = f"{best.reason}; about {gain:.0f} times cheaper than exact search ({seen})"
        return Choice(best.method, reason, best.recall)
    names = " nor ".join(method.name for method in tried)
    reason = f"exact search: no {names} reaches recall {tuning.recall} at much less cost ({seen})"
    return Choice(exact, reason, 1.0)
