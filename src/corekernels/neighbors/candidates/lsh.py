"""Candidates from hash tables keyed by minwise locations: the paper's own suggestion.

Two rows share a location with probability R, and a location and the sign of a projection
with probability R (1 - arccos(rho) / pi); a table keyed by m slots finds them with the m-th
power. Rows met in many of the T tables go to the exact kernel first: that filter matters
more than m and T.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from ..._core.threads import row_blocks, run_blocks
from ..._core.validation import Rows, read_only
from ..._loops.search import buckets
from ...recipe import Recipe
from ...signatures import sketch_rows
from ..store import Queries, Store
from .base import Source

Array = npt.NDArray[Any]

_BLOCK_ROWS = 1 << 11


class Tables(Source):
    """T tables of m slots each, and how many colliding rows are ranked again."""

    method = "lsh"

    def __init__(
        self, store: Store, n_wanted: int, n_slots: int, n_tables: int, signed: bool,
        n_kept: int, seed: int, heads: Array, rows: Array,
    ) -> None:  # fmt: skip
        super().__init__(store, n_wanted)
        self.n_slots, self.n_tables, self.signed = n_slots, n_tables, signed
        self.n_kept, self.seed = n_kept, seed
        self.heads, self.rows = heads, rows

    @classmethod
    def build(
        cls, store: Store, n_wanted: int, n_slots: int, n_tables: int, signed: bool,
        n_kept: int, seed: int, n_jobs: int | None,
    ) -> "Tables":  # fmt: skip
        """Tables of all rows of a store."""
        bits = max(1, len(store).bit_length() - 1)  # about one row a bucket
        heads = np.zeros((n_tables, 2**bits + 1), np.int32)
        rows = np.empty((n_tables, len(store)), np.int32)
        tables = cls(store, n_wanted, n_slots, n_tables, signed, n_kept, seed, heads, rows)
        buckets.fill_tables(read_only(tables.numbers(store.rows(), n_jobs)), heads, rows)
        return tables.with_kept(n_kept)

    def with_kept(self, n_kept: int) -> "Tables":
        """The same tables, with another number of rows ranked again."""
        return Tables(
            self.store, self.n_wanted, self.n_slots, self.n_tables, self.signed, n_kept,
            self.seed, read_only(self.heads), read_only(self.rows),
        )  # fmt: skip

    def grown(self, store: Store, n_jobs: int | None) -> "Tables":
        """Tables of more rows."""
        return Tables.build(
            store, self.n_wanted, self.n_slots, self.n_tables, self.signed, self.n_kept,
            self.seed, n_jobs,
        )  # fmt: skip

    def candidates(self, rows: Rows, queries: Queries, factor: float) -> Array:
        """The rows that collide with each query most often."""
        n = len(self.store)
        out = np.empty((len(rows), min(n, int(np.ceil(self.n_kept * factor)))), np.int32)
        numbers = read_only(self.numbers(rows, 1))
        buckets.gather_colliding(
            numbers, queries.lengths, self.heads, self.rows,
            np.zeros(n, np.int32), np.empty(n + 1, np.int32), out,
        )  # fmt: skip
        return out

    def numbers(self, rows: Rows, n_jobs: int | None) -> Array:
        """Bucket of each row in each table."""
        out = np.empty((len(rows), self.n_tables), np.uint32)
        shift = 64 - (self.heads.shape[1] - 1).bit_length() + 1
        write_keys(rows, self.n_slots, self.signed, self.seed, shift, n_jobs, out)
        return out

    def arrays(self) -> dict[str, Array]:
        """Heads and rows of the tables."""
        return {"heads": self.heads, "rows": self.rows}

    def about(self) -> dict[str, Any]:
        """The knobs."""
        names = ("n_slots", "n_tables", "signed", "n_kept", "seed")
        return {name: getattr(self, name) for name in names}

    @classmethod
    def restored(
        cls, store: Store, n_wanted: int, about: dict[str, Any], arrays: dict[str, Array]
    ) -> "Tables":
        """Tables from a file."""
        knobs = {name: int(about[name]) for name in ("n_slots", "n_tables", "n_kept", "seed")}
        return cls(
            store, n_wanted, **knobs, signed=bool(about["signed"]),
            heads=read_only(arrays["heads"]), rows=read_only(arrays["rows"]),
        )  # fmt: skip

    def check(self) -> None:
        """Raise a ValueError if a look-up could leave the arrays."""
        n, n_buckets = len(self.store), self.heads.shape[-1] - 1
        if self.n_slots < 1 or self.n_kept < 1:
            raise ValueError("the knobs of the tables are out of range")
        fits = self.heads.dtype == np.int32 and self.rows.dtype == np.int32
        if not fits or self.rows.shape != (self.n_tables, n) or len(self.heads) != self.n_tables:
            raise ValueError("the tables do not fit the rows")
        if n_buckets < 2 or n_buckets & (n_buckets - 1):
            raise ValueError("the number of buckets is no power of two")
        if (
            (np.diff(self.heads) < 0).any()
            or self.heads[:, 0].any()
            or (self.heads[:, -1] != n).any()
        ):
            raise ValueError("buckets do not follow each other")
        if not 0 <= self.rows.min() <= self.rows.max() < n:
            raise ValueError("a row of the tables is out of range")


def write_keys(
    rows: Rows, n_slots: int, signed: bool, seed: int, shift: int, n_jobs: int | None, out: Array
) -> None:
    """The key of each row in each table, a column of `out` each, without its lowest bits."""
    recipe = Recipe(
        kernel="core1" if signed else "resemblance",
        n_hashes=n_slots * out.shape[1],
        n_bits=None,
        seed=seed,
        n_columns=rows.n_columns,
    )

    def work(block: tuple[int, int]) -> None:
        S = sketch_rows(rows.block(*block), recipe)
        signs = np.empty((0, 0), np.uint16) if S.weights is None else S.weights.view(np.uint16)
        buckets.bucket_numbers(
            read_only(S.codes), read_only(signs), n_slots, shift, out[slice(*block)]
        )

    run_blocks(work, row_blocks(0, len(rows), _BLOCK_ROWS), n_jobs)
