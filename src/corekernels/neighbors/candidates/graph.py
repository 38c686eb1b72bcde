"""Candidates from a navigable graph over bit sketches.

Reading 64 bytes a comparison, the graph is built in seconds and walked in microseconds. Rows
come in at random, each linked to rows near it that are not near each other; a walk keeps the
`width` nearest sketches seen so far and follows their links until no nearer row turns up.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from tqdm import tqdm

from ..._core.threads import row_blocks
from ..._core.validation import Rows, read_only
from ..._loops.search import graph as beam
from ..store import Queries, Store
from .base import Source
from .bit_sketches import N_BITS, bit_sketches

Array = npt.NDArray[Any]

WIDTHS = (10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 160, 192, 256, 384, 512, 768, 1024)
_BUILD_WIDTH = 64
_LINKS_OUT = 16
_LINKS = 32
_BLOCK_ROWS = 4096
_MANY_ROWS = 50_000


class Graph(Source):
    """One layer of links between rows whose sketches are near."""

    method = "graph"

    def __init__(
        self, store: Store, n_wanted: int, width: int, n_signs: int, seed: int,
        order: Array, sketches: Array, links: Array, degrees: Array,
    ) -> None:  # fmt: skip
        super().__init__(store, n_wanted)
        self.width, self.n_signs, self.seed = width, n_signs, seed
        self.order, self.sketches, self.links, self.degrees = order, sketches, links, degrees

    @classmethod
    def begin(
        cls, store: Store, n_wanted: int, n_signs: int, seed: int, order: Array,
        n_jobs: int | None,
    ) -> "Graph":  # fmt: skip
        """A graph of the rows in `order`, which may leave some out for `finished`."""
        sketches = read_only(bit_sketches(store.rows(), n_signs, seed, n_jobs))
        links = np.zeros((len(store), _LINKS), np.int32)
        degrees = np.zeros(len(store), np.int32)
        graph = cls(
            store, n_wanted, WIDTHS[0], n_signs, seed, read_only(order[:0], np.int32),
            sketches, links, degrees,
        )  # fmt: skip
        return graph._with_rows(order)

    def _with_rows(self, added: Array) -> "Graph":
        """The graph after the rows `added` were linked into it, in place."""
        order = read_only(np.concatenate([self.order, added]), np.int32)
        visited = np.empty((len(self.store) >> 6) + 1, np.uint64)
        quiet = None if len(added) > _MANY_ROWS else True  # None: shown on a terminal only
        with tqdm(total=len(added), desc="graph", unit=" rows", disable=quiet) as bar:
            for start, stop in row_blocks(len(self.order), len(order), _BLOCK_ROWS):
                beam.insert(
                    start, stop, order, self.sketches, _BUILD_WIDTH, _LINKS_OUT, visited,
                    self.links, self.degrees,
                )  # fmt: skip
                bar.update(stop - start)
        return self._with(order=order)

    def finished(self, added: Array, width: int) -> "Graph":
        """The graph after the last rows, with the width that was found for it."""
        graph = self._with_rows(added)._with(width=width)
        return graph._with(links=read_only(graph.links), degrees=read_only(graph.degrees))

    def with_width(self, width: int) -> "Graph":
        """The same graph, walked with another width."""
        return self._with(width=width)

    def grown(self, store: Store, n_jobs: int | None) -> "Graph":
        """The graph of more rows; this one stays as it is for those who search it."""
        n = len(self.store)
        fresh = store.take(np.arange(n, len(store)))
        sketches = bit_sketches(fresh.rows(), self.n_signs, self.seed, n_jobs)
        room = np.zeros((len(fresh), _LINKS), np.int32)
        graph = self._with(
            store=store,
            sketches=read_only(np.concatenate([self.sketches, sketches])),
            links=np.concatenate([self.links, room]),
            degrees=np.concatenate([self.degrees, room[:, 0]]),
        )
        return graph.finished(np.arange(n, len(store)), self.width)

    def rebuilt(self, store: Store, n_jobs: int | None) -> "Graph":
        """A new graph of other rows, with the same knobs."""
        order = np.random.default_rng(self.seed).permutation(len(store))
        graph = Graph.begin(store, self.n_wanted, self.n_signs, self.seed, order, n_jobs)
        return graph.finished(order[:0], self.width)

    def candidates(self, rows: Rows, queries: Queries, factor: float) -> Array:
        """The rows of each query's beam."""
        width = min(len(self.store), int(np.ceil(self.width * factor)))
        out = np.empty((len(rows), width), np.int32)
        sketches = bit_sketches(rows, self.n_signs, self.seed, 1)
        visited = np.empty((len(self.store) >> 6) + 1, np.uint64)
        links, degrees = read_only(self.links), read_only(self.degrees)
        beam.walk_all(read_only(sketches), self.order, self.sketches, links, degrees, visited, out)
        out[queries.lengths == 0] = -1
        return out

    def arrays(self) -> dict[str, Array]:
        """Order, sketches, links and their numbers."""
        names = ("order", "sketches", "links", "degrees")
        return {name: getattr(self, name) for name in names}

    def about(self) -> dict[str, Any]:
        """The knobs."""
        return {"width": self.width, "n_signs": self.n_signs, "seed": self.seed}

    @classmethod
    def restored(
        cls, store: Store, n_wanted: int, about: dict[str, Any], arrays: dict[str, Array]
    ) -> "Graph":
        """A graph from a file."""
        knobs: list[Any] = [int(about[name]) for name in ("width", "n_signs", "seed")]
        parts = [read_only(arrays[name]) for name in ("order", "sketches", "links", "degrees")]
        return cls(store, n_wanted, *knobs, *parts)

    def check(self) -> None:
        """Raise a ValueError if a walk could leave the arrays."""
        n, room = len(self.store), self.links.shape[-1]
        if self.width < 1 or not 0 <= self.n_signs <= N_BITS:
            raise ValueError("the knobs of the graph are out of range")
        shapes = (self.order.shape, self.sketches.shape, self.links.shape, self.degrees.shape)
        if shapes != ((n,), (n, 8), (n, room), (n,)) or self.sketches.dtype != np.uint64:
            raise ValueError("the graph does not fit the rows")
        for array, most in ((self.order, n - 1), (self.links, n - 1), (self.degrees, room)):
            if array.dtype != np.int32 or (n and not 0 <= array.min() <= array.max() <= most):
                raise ValueError("a link of the graph is out of range")

    def _with(self, **changes: Any) -> "Graph":
        names = (
            "store", "n_wanted", "width", "n_signs", "seed",
            "order", "sketches", "links", "degrees",
        )  # fmt: skip
        return Graph(**{name: changes.get(name, getattr(self, name)) for name in names})
