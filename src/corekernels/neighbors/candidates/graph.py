"""Candidates from a navigable graph over bit sketches.

A sketch is 512 bits per row, whose Hamming distance follows the kernel. Bits come from the
signatures that the classifier uses: the lowest bit of a minwise location (two rows differ there
the more often the smaller R is), or the sign of a random projection (the more often the smaller
rho is). Supports alone say most where rows are sparse; where they are dense, R is near 1 and
signs have to come in.

A comparison reads 64 bytes, so the graph is built in seconds and searched in microseconds. Rows
are inserted in random order, each linked to rows near it that are not near each other; a search
keeps the `width` nearest sketches seen so far and follows the links of the nearest `followed` of
them until no nearer row turns up. Following half of them takes two thirds of the time and costs
less recall than a narrower beam of as much time.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..._core.arguments import Array
from ..._core.memory import common_size, working_memory
from ..._core.progress import progress_bar
from ..._core.team import Team
from ..._core.threads import row_blocks
from ..._core.validation import Rows, read_only
from ..._hashing.base import TableSketch
from ..._loops.rows import Blocks
from ..._loops.search import graph as loops
from ..._loops.search.graph import BatchLinks, GraphScratch
from ..._loops.search.pairs import Queries
from ..._loops.search.preparation import is_permutation
from ...io.provenance import require_fit, whole_number
from ...kernel_table import CORE1, RESEMBLANCE
from ...recipe import MAX_SEED, Recipe
from ...signatures import sketch_rows
from ..store import Store
from .base import BLOCK_QUERIES, CandidateMethod, Tuned
from .exact import Exact

if TYPE_CHECKING:
    from ..tuning import Tuning

N_BITS = 512  # of a sketch
WIDTHS = tuple(sorted({round(10 * 1.06**step) for step in range(80)}))  # of beams, for 10 rows
_BUILD_WIDTH = 64
_LINKS_OUT = 16
_LINKS = 32
_BATCH_ROWS = 2048  # linked at a time: their links are chosen before any of them can be found
_BLOCK_ROWS = 4  # of these, how many a thread takes at a time
_PACKED_ROWS = 1 << 9  # whose bits a thread packs at a time
_SKETCHED_ROWS = 1 << 16  # whose signatures are held together
_MANY_ROWS = 50_000  # from here on building shows its progress
_VISITED_ROW = 750.0  # nanoseconds
_FIXED_COST = 8  # rows' worth of time before the first step
_WORDS = N_BITS // 64
_SIGN_WORDS = (0, _WORDS // 4, _WORDS // 2, _WORDS)  # of a sketch, that are tried
_SAMPLE_ROWS, _SAMPLE_NEIGHBORS = 4096, 16
_ROOM = 4  # rows ranked again per neighbour wanted, at which shares of signs are compared


@dataclass(eq=False)
class Graph(CandidateMethod):
    """One layer of links between rows whose sketches are near."""

    name = "graph"

    width: int  # of the beam, whose rows are ranked by the exact kernel
    followed: int  # how many of them have their links followed
    n_signs: int
    seed: int
    order: Array  # the rows, in the order in which they were linked
    sketches: Array
    links: Array
    degrees: Array  # how many links each row has

    @classmethod
    def begin(
        cls, store: Store, n_wanted: int, n_signs: int, seed: int, order: Array,
        n_jobs: int | None,
    ) -> "Graph":  # fmt: skip
        """A graph of the rows in `order`, which may leave some out for `finished`."""
        team = Team(n_jobs)
        sketches = read_only(bit_sketches(team, store.rows(n_jobs), n_signs, seed))
        links, degrees = np.zeros((len(store), _LINKS), np.int32), np.zeros(len(store), np.int32)
        start = read_only(order[:0], np.int32)
        settings = WIDTHS[0], WIDTHS[0], n_signs, seed
        parts = *settings, start, sketches, links, degrees
        return cls(store, *parts, n_wanted=n_wanted)._with_rows(order, n_jobs)

    def _with_rows(self, added: Array, n_jobs: int | None) -> "Graph":
        """The graph after the rows `added` were linked into it, in place.

        Rows come in batches of a fixed size, so that the graph does not depend on the threads.
        """
        order = read_only(np.concatenate([self.order, added]), np.int32)
        counts = np.zeros(len(self.store), np.int64)
        links = BatchLinks.new(_BATCH_ROWS * _LINKS_OUT)
        shown = None if len(added) > _MANY_ROWS else False
        team = Team(n_jobs)
        sizes = *self.links.shape, _BUILD_WIDTH
        scratch = [GraphScratch.new(*sizes) for _ in range(team.n_threads)]
        with progress_bar(len(added), "indexing", "rows", shown) as bar:
            for start, stop in row_blocks(len(self.order), len(order), _BATCH_ROWS):
                self._link_batch(team, start, order[:stop], counts, links, scratch)
                bar.update(stop - start)
        return replace(self, order=order)

    def _link_batch(
        self, team: Team, start: int, order: Array, counts: Array, found: BatchLinks,
        scratch: list[GraphScratch],
    ) -> None:  # fmt: skip
        """Link the rows order[start:] into the graph of those before them.

        `scratch` is the working memory of each thread.
        """
        target = self.links, self.degrees
        settings = start, order, self.sketches, _BUILD_WIDTH, _LINKS_OUT
        choosing, linking = iter(scratch), iter(scratch)
        team.run(
            loops.choose_links, lambda: (*settings, next(choosing), *target),
            len(order) - start, _BLOCK_ROWS,
        )  # fmt: skip
        n_targets = loops.group_links(order[start:], *target, counts, found)
        team.run(
            loops.link_back, lambda: (found, self.sketches, next(linking), *target),
            n_targets, _BLOCK_ROWS * _LINKS_OUT,
        )  # fmt: skip

    def finished(self, added: Array, width: int, followed: int, n_jobs: int | None) -> "Graph":
        """The graph after the last rows, with the settings that were found for it."""
        graph = self._with_rows(added, n_jobs)
        links, degrees = read_only(graph.links), read_only(graph.degrees)
        return replace(graph, width=width, followed=followed, links=links, degrees=degrees)

    def grown(self, store: Store, n_jobs: int | None) -> "Graph":
        """The graph of more rows, with settings in proportion.

        This one stays as it is for those who search it.
        """
        n = len(self.store)
        fresh = store.take(np.arange(n, len(store)))
        team = Team(n_jobs)
        sketches = bit_sketches(team, fresh.rows(n_jobs), self.n_signs, self.seed)
        room = np.zeros((len(fresh), _LINKS), np.int32)
        graph = replace(
            self, store=store, exact_search=None,
            sketches=read_only(np.concatenate([self.sketches, sketches])),
            links=np.concatenate([self.links, room]),
            degrees=np.concatenate([self.degrees, room[:, 0]]),
        )  # fmt: skip
        # as many times more sketches come between a query's and those of its neighbours
        width, followed = (-(-s * len(store) // max(1, n)) for s in (self.width, self.followed))
        return graph.finished(np.arange(n, len(store)), width, followed, n_jobs)

    def candidates(
        self, team: Team, rows: Rows, queries: Queries, alive: Array, factor: float
    ) -> Array:
        """The rows of each query's beam."""
        out = self.room(rows, self.width, factor)
        sketches = read_only(bit_sketches(team, rows, self.n_signs, self.seed))
        graph = self.order, self.sketches, read_only(self.links), read_only(self.degrees)
        sizes, followed = (*self.links.shape, out.shape[1]), math.ceil(self.followed * factor)
        team.run(
            loops.walk_all,
            lambda: (sketches, queries.lengths, *graph, GraphScratch.new(*sizes), followed, out),
            len(rows), BLOCK_QUERIES,
        )  # fmt: skip
        return out

    @property
    def cost(self) -> float:
        """In proportion to the width."""
        return _cost(self.width)

    @classmethod
    def is_worth_trying(cls, exact: Exact) -> bool:
        """Always: whether sketches tell neighbours from other rows is looked at before building."""
        return True

    @classmethod
    def tune(cls, tuning: "Tuning") -> Tuned | None:
        """The smallest width that reaches the recall, if any could within the budget."""
        store, held_out, k = tuning.store, tuning.held_out, tuning.held_out.n_wanted
        n_signs, least = _best_share_of_signs(tuning)
        if _cost(max(k, least)) > tuning.budget:
            return None
        graph = cls.begin(
            store, tuning.n_neighbors, n_signs, tuning.seed, held_out.rest, held_out.n_jobs
        )
        widths = [min(len(store), -(-width * max(k, 10) // 10)) for width in WIDTHS]
        found = tuning.cheapest(
            [graph.with_settings(width=w, followed=-(-w // 2)) for w in [*widths, len(store)]]
        )
        if found is None:
            return None
        method, recall = found
        width = held_out.for_all_rows(method.width)
        bits = f"{N_BITS - n_signs} minwise and {n_signs} sign bits"
        whole = graph.finished(held_out.sample, width, -(-width // 2), held_out.n_jobs)
        return Tuned(whole, f"graph over {bits}, width {width}", recall)

    def require_whole(self) -> None:
        """Raise a ValueError if a search could leave the arrays."""
        n = len(self.store)
        fits = 1 <= self.followed <= self.width < 2**31 and 0 <= self.n_signs <= N_BITS
        require_fit(fits, "the settings of the graph are out of range")
        whole_number(self.seed, 0, MAX_SEED, "the seed")
        shapes = [array.shape for array in (self.order, self.sketches, self.links, self.degrees)]
        fits = shapes == [(n,), (n, _WORDS), (n, _LINKS), (n,)]
        require_fit(fits and self.sketches.dtype == np.uint64, "the graph does not fit the rows")
        for array, most in ((self.order, n - 1), (self.links, n - 1), (self.degrees, _LINKS)):
            fits = array.dtype == np.int32 and (n == 0 or 0 <= array.min() <= array.max() <= most)
            require_fit(fits, "a link of the graph is out of range")
        require_fit(
            is_permutation(self.order, np.zeros(n, np.bool_)), "a row of the graph is missing"
        )


def _cost(width: int) -> float:
    return _VISITED_ROW * (width + _FIXED_COST)


def _best_share_of_signs(tuning: "Tuning") -> tuple[int, int]:
    """How many of the bits should be signs, and the least width that could reach the recall.

    A neighbour is found only if a beam has room for all rows whose sketches are closer, which
    are counted in a sample.
    """
    store, few, team = tuning.store, tuning.few, Team(tuning.held_out.n_jobs)
    sample = np.sort(tuning.held_out.rest[:_SAMPLE_ROWS])
    scale = len(tuning.held_out.rest) / max(1, len(sample))  # rows for each one of the sample
    ranks = np.unique(np.linspace(few.truth.rows.shape[1] - 1, 0, _SAMPLE_NEIGHBORS).astype(int))
    near = np.maximum(few.truth.rows[:, ranks], 0)
    parts = few.rows, store.take(near.ravel()).rows(), store.take(sample).rows()
    minima, signs = (
        [bit_sketches(team, rows, n_signs, 0) for rows in parts] for n_signs in (0, N_BITS)
    )
    best: tuple[float, int, int] | None = None
    for n_words in _SIGN_WORDS if store.kernel.uses_values else (0,):
        pairs = zip(minima, signs, strict=True)
        sketches = [np.hstack([m[:, n_words:], s[:, :n_words]]) for m, s in pairs]
        closer = np.empty(near.shape)
        team.run(loops.closer_sketches, (*map(read_only, sketches), closer), len(near), 1)
        share = float((closer * scale <= _ROOM * tuning.held_out.n_wanted).mean())
        least = int(scale * np.quantile(closer, tuning.recall, method="lower"))
        if best is None or share > best[0] + 0.01:
            best = share, 64 * n_words, least
    assert best is not None
    return best[1:]


def bit_sketches(team: Team, rows: Rows, n_signs: int, seed: int) -> Array:
    """Eight 64-bit words per row: 512 - n_signs minwise bits, then n_signs signs."""
    if len(rows) == 1:
        settings = n_signs, seed, rows.n_columns, common_size(rows.nnz)
        with working_memory(RowSketcher, *settings) as sketchers:
            return next(sketchers).sketch(rows)
    out = np.zeros((len(rows), _WORDS), np.uint64)
    recipe = _recipe(n_signs, seed, rows.n_columns)
    for block in row_blocks(0, len(rows), _SKETCHED_ROWS):
        S = sketch_rows(rows.block(*block), recipe, team)
        arguments = *_slots(S.stored), n_signs, out[slice(*block)]
        team.run(loops.pack_bits, arguments, len(S), _PACKED_ROWS)
    return out


class RowSketcher:
    """Sketches of one row at a time, of up to `longest` nonzeros; for one thread."""

    nbytes = 1 << 16  # scratch, about

    def __init__(self, n_signs: int, seed: int, n_columns: int, longest: int) -> None:
        sketch = _recipe(n_signs, seed, n_columns).sketch
        assert isinstance(sketch, TableSketch)  # as all are that hash circularly
        arrays, self._hash_row = sketch.row_hasher(longest)
        self._bits = *_slots(arrays), n_signs

    def sketch(self, row: Rows) -> Array:
        """The words of a row, as `bit_sketches` gives them."""
        out = np.zeros((1, _WORDS), np.uint64)
        self._hash_row(row)
        loops.pack_bits(Blocks(np.zeros(1, np.int64), 1, 1, 1), 1, *self._bits, out)
        return out


def _recipe(n_signs: int, seed: int, n_columns: int) -> Recipe:
    """The hashes whose codes and weights hold the bits; without signs, no weights are needed."""
    kernel, n_hashes = CORE1 if n_signs else RESEMBLANCE, max(N_BITS - n_signs, n_signs)
    return Recipe(kernel.name, n_hashes, 1, seed=seed, n_columns=n_columns)


def _slots(arrays: Mapping[str, Array]) -> tuple[Array, Array]:
    """Codes, and the projections, which are halves; no rows of them where there are none."""
    weights = arrays.get("weights")
    halves = np.empty((0, 0), np.uint16) if weights is None else weights.view(np.uint16)
    return read_only(arrays["codes"]), read_only(halves)
