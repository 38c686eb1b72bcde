"""Which source, with which knobs: decided on held-out queries, and explained.

Knobs climb from cheap to dear until the recall asked for is reached on the sample with 95 %
confidence. What a query costs is counted, not timed, so that the same data and seed always
give the same index.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import theory
from .candidates.base import Source
from .candidates.bit_sketches import N_BITS, bit_sketches
from .candidates.exact import Exact
from .candidates.graph import WIDTHS, Graph
from .candidates.inverted import KEPT, SHARES, Inverted
from .candidates.lsh import Tables
from .heaps import Heaps
from .held_out import Probe, make_probe
from .store import Store

Array = npt.NDArray[Any]

METHODS = ("auto", "exact", "graph", "inverted", "lsh")

# nanoseconds on a server core, as `benchmarks/search.py` measures them; only ratios matter
_SCANNED_ROW = 8.0
_LIST_STEP = 3.0
_WALKED_ROW = 750.0
_RANKED_ROW = 350.0
_WORTH = 1.5  # a source must be this much cheaper than the exact search
_FEW_ROWS = 2048
_ALIKE = 0.2  # neighbours this alike are worth a graph, whatever the columns
_DENSE = 0.9  # where neighbours share this much of their supports, signs tell more
_MARGIN = 0.25  # share of the misses allowed that is kept back: queries to come are stranger
_TABLES = (64, 128)
_MOST_SLOTS = 16


@dataclass(frozen=True)
class Choice:
    """A source, why it was chosen, the recall to expect, and whether it was what was asked for."""

    source: Source | Exact
    reason: str
    recall: float
    as_asked: bool = True


def choose(
    store: Store, method: str, recall: float, n_neighbors: int, seed: int, n_jobs: int | None
) -> Choice:
    """The source that `method` names, or the best one for the rows, tuned to the recall."""
    exact = Exact(store)
    if method == "exact":
        return Choice(exact, "exact search, as asked for", 1.0)
    if method == "auto" and len(store) <= _FEW_ROWS:
        return Choice(exact, f"exact search: {len(store)} rows are few", 1.0)
    if recall == 1:
        return Choice(exact, "exact search: nothing else promises recall 1", 1.0, method == "auto")
    task = Task(store, make_probe(store, n_neighbors, seed, n_jobs), recall, n_neighbors, seed)
    if method == "auto":
        return _best(exact, task)
    choice = _TUNERS[method](task)
    if choice is None:
        reason = f"exact search: {method} does not reach recall {recall} on held-out queries"
        return Choice(exact, reason, 1.0, as_asked=False)
    return choice


@dataclass(frozen=True)
class Task:
    """What a source is tuned to."""

    store: Store
    probe: Probe
    recall: float
    n_neighbors: int
    seed: int
    budget: float = math.inf  # what a query may cost

    def cheapest(self, sources: Sequence[Source]) -> tuple[Source, float] | None:
        """The first source, of ever dearer and better ones, that reaches the recall."""
        sources = [source for source in sources if _cost(source) <= self.budget]
        goal = self.recall + _MARGIN * (1 - self.recall)
        found = None
        low, high = 0, len(sources)
        while low < high:
            middle = (low + high) // 2
            mean, sure = self.probe.recall(sources[middle].offer)
            if sure >= goal:
                found, high = (sources[middle], mean), middle
            else:
                low = middle + 1
        return found


def _best(exact: Exact, task: Task) -> Choice:
    store, similarity = exact.store, task.probe.last_similarity
    seen = (
        f"{len(store)} rows of {np.median(store.lengths):.0f} nonzeros, "
        f"last of {task.n_neighbors} neighbours at {similarity:.2g}"
    )
    task = replace(task, budget=_cost(exact) / _WORTH)
    methods = ["graph"] if exact.scans else ["inverted"]
    if not exact.scans and similarity > _ALIKE:
        methods.append("graph")
    best: Choice | None = None
    for method in methods:
        choice = _TUNERS[method](task)
        if choice is not None:
            best, task = choice, replace(task, budget=_cost(choice.source))
    if best is not None:
        gain = _cost(exact) / _cost(best.source)
        return replace(
            best, reason=f"{best.reason}; about {gain:.0f} times cheaper than exact search ({seen})"
        )
    tried = " nor ".join(methods)
    reason = f"exact search: no {tried} reaches recall {task.recall} at much less cost ({seen})"
    return Choice(exact, reason, 1.0)


def _tune_graph(task: Task) -> Choice | None:
    store, probe = task.store, task.probe
    n_signs = _sign_bits(store, probe)
    graph = Graph.begin(store, task.n_neighbors, n_signs, task.seed, probe.rest, probe.n_jobs)
    widths = [width for width in WIDTHS if task.n_neighbors <= width < len(store)]
    found = task.cheapest([graph.with_width(width) for width in [*widths, len(store)]])
    if found is None:
        return None
    width = found[0].width  # type: ignore[attr-defined]
    reason = f"graph over {N_BITS - n_signs} minwise and {n_signs} sign bits, width {width}"
    return Choice(graph.finished(probe.sample, width), reason, found[1])


def _tune_inverted(task: Task) -> Choice | None:
    lists = Inverted(task.store, task.n_neighbors, SHARES[0], KEPT[0])
    best: Choice | None = None
    for n_kept in KEPT:
        if n_kept < task.n_neighbors:
            continue
        found = task.cheapest([lists.with_knobs(share, n_kept) for share in SHARES])
        if found is not None:
            share = found[0].share  # type: ignore[attr-defined]
            reason = f"inverted lists, {share} steps a row, best {n_kept} ranked again"
            best = Choice(found[0], reason, found[1])
            task = replace(task, budget=_cost(found[0]))
    return best


def _tune_lsh(task: Task) -> Choice | None:
    store, probe = task.store, task.probe
    R, K = probe.resemblances(store)
    signed = store.kernel != "resemblance" and bool(np.median(R) > _DENSE)
    rho = np.clip(K / np.maximum(R, 1e-12), -1, 1)
    p = np.maximum(theory.slot_collision(R, rho if signed else None), 0)
    for n_tables in _TABLES:
        most = min(_MOST_SLOTS, theory.slots_allowed(p, n_tables, (1 + task.recall) / 2))
        for n_slots in range(most, max(0, most - 3), -1):
            tables = Tables.build(
                store, task.n_neighbors, n_slots, n_tables, signed, KEPT[0], task.seed,
                probe.n_jobs,
            )  # fmt: skip
            kept = [n for n in (*KEPT, 2 * KEPT[-1]) if n >= task.n_neighbors]
            found = task.cheapest([tables.with_kept(n_kept) for n_kept in kept])
            if found is not None:
                n_kept = found[0].n_kept  # type: ignore[attr-defined]
                reason = f"{n_tables} tables of {n_slots} slots, best {n_kept} ranked again"
                return Choice(found[0], reason, found[1])
    return None


_TUNERS = {"graph": _tune_graph, "inverted": _tune_inverted, "lsh": _tune_lsh}


def _sign_bits(store: Store, probe: Probe) -> int:
    """How many of the bits should be signs: the share that finds most on a small sample."""
    if store.kernel == "resemblance":
        return 0
    rows = np.sort(probe.rest[:4096])
    small = store.take(rows)
    n_kept = min(10, len(small))
    queries = probe.rows.block(0, min(128, len(probe.rows)))
    truth = Heaps.empty(len(queries), n_kept)
    Exact(small).offer(queries, np.ones(len(small), np.uint8), 0, truth)
    best, most = 0, -1.0
    for n_signs in (0, N_BITS // 4, N_BITS // 2, N_BITS):
        x = bit_sketches(queries, n_signs, 0, probe.n_jobs)
        y = bit_sketches(small.rows(), n_signs, 0, probe.n_jobs)
        apart = np.bitwise_count(x[:, None, :] ^ y[None, :, :]).sum(axis=2, dtype=np.int32)
        nearest = np.argsort(apart, axis=1, kind="stable")[:, : 4 * n_kept]
        found = np.mean([np.isin(*pair).mean() for pair in zip(truth.rows, nearest, strict=True)])
        if found > most + 0.01:
            best, most = n_signs, found
    return best


def _cost(source: Source | Exact) -> float:
    """What a query costs, roughly."""
    store = source.store
    if isinstance(source, Graph):
        return _WALKED_ROW * (source.width + 8)
    if isinstance(source, Inverted):
        return _LIST_STEP * source.share * len(store) * 2 + _RANKED_ROW * source.n_kept
    if isinstance(source, Tables):
        return _RANKED_ROW * (source.n_kept + source.n_tables)
    if source.exact.scans:
        return _SCANNED_ROW * len(store)
    frequencies = np.bincount(store.columns, minlength=store.width).astype(float)
    return float(_LIST_STEP * (np.square(frequencies).sum() / len(store) + len(store)))
