"""Keys of many rows on the disk: written row by row, read back table by table.

Rows whose key in a table occurs more than once are found in a few bytes per row: a bitmap has a
bit for the upper bits of each key, a second one those that were set twice. Only rows of such keys
are sorted, and these in portions if they are many.
"""

import itertools
import math
from collections.abc import Iterator

import numpy as np

from ..._core.arguments import Array
from ..._core.validation import read_only
from ..._loops.search import buckets
from ...io.workspace import Workspace

_BITS_PER_ROW = 8  # of a bitmap, at least: an eighth of the single keys is taken for repeated ones
_LEAST_BITS = 6
_BYTES_PER_ROW = 48  # while rows are sorted


class KeyFile:
    """64-bit keys of rows in `n_tables` tables. Memory is that of a block of rows."""

    def __init__(self, n_tables: int, work: Workspace, block_rows: int) -> None:
        self.n_tables = n_tables
        self._block_rows = block_rows
        self._file = work.open("keys", "keys", f"{8 * n_tables} bytes per row")
        self._n_written = self._file.size // (8 * n_tables)
        self._block = np.empty((block_rows, n_tables), np.uint64)
        self._n_waiting = 0

    @property
    def n_rows(self) -> int:
        """Rows there are."""
        return self._n_written + self._n_waiting

    def append(self, keys: Array) -> None:
        """Add rows (n_rows, n_tables)."""
        while len(keys):
            some = keys[: self._block_rows - self._n_waiting]
            self._block[self._n_waiting : self._n_waiting + len(some)] = some
            self._n_waiting += len(some)
            keys = keys[len(some) :]
            if self._n_waiting == self._block_rows:
                self._flush()

    def finish(self) -> None:
        """Write the last rows; none can be added after that."""
        if self._n_waiting:
            self._flush()
        self._block = self._block[:0]

    def blocks(self, table: int) -> Iterator[tuple[int, Array]]:
        """The keys of consecutive rows in one table, with the number of the first row.

        They are valid until the next ones are asked for.
        """
        room = np.empty(self._block_rows, np.uint64)
        for row in range(0, self.n_rows, self._block_rows):
            out = room[: min(self._block_rows, self.n_rows - row)]
            self._file.read(8 * (row * self.n_tables + table * len(out)), out)
            yield row, out

    def column(self, table: int, rows: Array) -> Array:
        """The keys of some rows, whose numbers ascend, in one table."""
        out = np.empty(len(rows), np.uint64)
        for first, keys in self.blocks(table):
            start, stop = np.searchsorted(rows, [first, first + len(keys)])
            out[start:stop] = keys[rows[start:stop] - first]
        return out

    def _flush(self) -> None:
        self._file.append(self._block[: self._n_waiting].T)
        self._n_written += self._n_waiting
        self._n_waiting = 0


class RepeatedKeys:
    """Rows of equal keys, table by table, among those `wanted`; `n_bytes` is memory for sorting."""

    def __init__(self, keys: KeyFile, wanted: Array, n_bytes: float) -> None:
        self._keys, self._wanted = keys, read_only(wanted)
        n_bits = max(_LEAST_BITS, math.ceil(math.log2(_BITS_PER_ROW * max(1, keys.n_rows))))
        self._shift = np.uint64(64 - n_bits)
        self._once, self._twice = np.zeros((2, 1 << (n_bits - _LEAST_BITS)), np.uint64)
        self._n_portions = max(1, math.ceil(_BYTES_PER_ROW * keys.n_rows / n_bytes))

    def of_table(self, table: int) -> Iterator[tuple[Array, Array]]:
        """Ascending keys and their rows, ascending within each; single keys may be among them."""
        self._once[:] = self._twice[:] = 0
        for first, keys in self._keys.blocks(table):
            mine = self._wanted[first : first + len(keys)]
            buckets.mark_keys(read_only(keys), mine, self._shift, self._once, self._twice)
        ends = [((1 << 64) * part) // self._n_portions for part in range(self._n_portions + 1)]
        for low, high in itertools.pairwise(ends):
            yield self._sorted(table, np.uint64(low), np.uint64(high - 1))

    def _sorted(self, table: int, low: np.uint64, high: np.uint64) -> tuple[Array, Array]:
        found = [(np.empty(0, np.uint64), np.empty(0, np.int64))]
        for first, keys in self._keys.blocks(table):
            out = np.empty(len(keys) + 1, np.uint64), np.empty(len(keys) + 1, np.int64)
            mine = self._wanted[first : first + len(keys)]
            marked = read_only(self._twice)
            n = buckets.take_marked(
                read_only(keys), mine, first, low, high, self._shift, marked, *out
            )
            found.append((out[0][:n].copy(), out[1][:n].copy()))
        keys, rows = (np.concatenate(column) for column in zip(*found, strict=True))
        del found
        order = np.argsort(keys)
        keys, rows = read_only(keys[order]), rows[order]
        buckets.ascend_within_keys(keys, rows)
        return keys, read_only(rows)
