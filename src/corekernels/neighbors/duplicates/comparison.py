"""Kernel values of pairs of rows of a file: the earlier row is held as the later one comes by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..._core.arguments import Array
from ..._core.progress import Steps
from ..._core.threads import row_blocks, run_blocks
from ..._core.validation import Rows, read_only
from ..._loops.search import pairs
from ...errors import DataError
from ...io.readers import RowReader, watched
from ...io.workspace import Workspace
from ...kernel_table import CONTAINMENT, Kernel
from ..store import NARROW, make_store
from .in_memory import kernel_of_pairs

_BLOCK_PAIRS = 256

Found = tuple[Array, Array, Array]  # earlier rows, later rows, kernel values
NOTHING_FOUND: Found = np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)


def joined(parts: Sequence[Found]) -> Found:
    """What was found in several parts, together."""
    left, right, values = (np.concatenate(column) for column in zip(*parts, strict=True))
    return left, right, values


@dataclass(frozen=True)
class Comparison:
    """What is asked of the pairs, and the memory there is for rows."""

    kernel: Kernel
    threshold: float
    lengths: Array  # nonzeros of each row of the file
    n_bytes: float
    bytes_per_value: int
    work: Workspace
    progress: Steps
    n_jobs: int | None

    def compare(self, reader: RowReader, pairs: Array, name: str) -> Found:
        """Earlier rows, later rows and kernel values of the pairs that reach the threshold.

        Pairs are numbers (later row) n_rows + (earlier row), ascending. The file is read once
        for every `n_bytes` of earlier rows. What each reading found is kept in the workspace,
        under this name.
        """
        earlier = pairs % max(1, len(self.lengths))
        held = np.unique(earlier)
        sizes = np.cumsum(self.lengths[held].astype(np.int64) * self.bytes_per_value)
        portion = sizes // max(1, int(self.n_bytes))
        numbers = np.unique(portion).tolist()
        self.progress.expect("comparing", len(numbers))
        found = [NOTHING_FOUND]
        for number in numbers:
            saved = self.work.load(f"{name}-{number}")
            if saved is None:
                some = held[portion == number]
                mine = pairs
                if len(some) < len(held):
                    mine = pairs[(earlier >= some[0]) & (earlier <= some[-1])]
                found.append(self._one_pass(reader, mine, some))
                left, right, values = found[-1]
                self.work.save(f"{name}-{number}", left=left, right=right, values=values)
            else:
                found.append((saved["left"], saved["right"], saved["values"]))
        return joined(found)

    def _one_pass(self, reader: RowReader, pairs: Array, held: Array) -> Found:
        """Compare all pairs of the rows held, in one reading of the file."""
        n_rows = len(self.lengths)
        rows_held = _Held(held, self.lengths)
        found, done = [NOTHING_FOUND], 0
        for batch in watched(reader, "comparing", self.progress):
            rows = batch.rows
            known = self.lengths[batch.first_row : batch.first_row + len(rows)]
            if not np.array_equal(rows.lengths, known):
                raise _changed(reader)
            rows_held.take_in(rows, batch.first_row)
            until = int(np.searchsorted(pairs, (batch.first_row + len(rows)) * n_rows))
            if until > done:
                later, earlier = np.divmod(pairs[done:until], n_rows)
                found.append(self._similar(rows, batch.first_row, rows_held, earlier, later))
            done = until
            if done == len(pairs):
                break
        if done < len(pairs):
            raise _changed(reader)
        return joined(found)

    def _similar(
        self, rows: Rows, first_row: int, held: "_Held", earlier: Array, later: Array
    ) -> Found:
        wide = rows.n_columns > NARROW and rows.data.dtype == np.float32
        if wide or self.kernel is CONTAINMENT:
            values = self._merged(held, rows, earlier, later - first_row)
            similar = values >= self.threshold
            return earlier[similar], later[similar], values[similar]
        order = np.argsort(earlier, kind="stable")
        earlier, later = earlier[order], later[order]
        asked, left = np.unique(earlier, return_inverse=True)
        stored, right = np.unique(later, return_inverse=True)
        store = make_store(rows.take(stored - first_row), self.kernel, self.n_jobs)
        values = kernel_of_pairs(held.rows(asked), store, left, right, self.threshold, self.n_jobs)
        similar = values >= self.threshold
        return earlier[similar], later[similar], values[similar]

    def _merged(self, held: "_Held", rows: Rows, earlier: Array, places: Array) -> Array:
        """Kernel values where columns are too many to lay rows out."""
        kernel, out = self.kernel, np.empty(len(earlier))
        left, right = held.sorted_rows(kernel), sorted_rows(rows, kernel)
        at = held.places(earlier)

        def work(block: tuple[int, int]) -> None:
            some = slice(*block)
            pairs.merged_pairs(
                self.threshold, kernel.for_loops, left, right, at[some], places[some], out[some]
            )

        run_blocks(work, row_blocks(0, len(out), _BLOCK_PAIRS), self.n_jobs)
        return out


def sorted_rows(rows: Rows, kernel: Kernel) -> pairs.SortedRows:
    """Rows as the loops that merge take them."""
    rows = rows.compact()
    squares = np.ones(len(rows))
    if kernel.uses_values:
        pairs.sorted_squares(read_only(rows.indptr, np.int64), read_only(rows.data), squares)
    return pairs.SortedRows(
        read_only(rows.indptr, np.int64), read_only(rows.indices), read_only(rows.data),
        read_only(squares),
    )  # fmt: skip


def _changed(reader: RowReader) -> DataError:
    return DataError(f"{reader.name}: changed while it was read; begin again.")


class _Held:
    """Some rows of a file, taken in as they come by."""

    def __init__(self, numbers: Array, lengths: Array) -> None:
        self._numbers = numbers
        self._indptr = np.concatenate([[0], np.cumsum(lengths[numbers], dtype=np.int64)])
        self._all: Rows | None = None
        self._squares: Array = np.ones(len(numbers))
        self._fresh: list[tuple[int, int]] = []  # runs of rows whose squares are not known yet

    def take_in(self, rows: Rows, first_row: int) -> None:
        """Keep those rows of a batch that are wanted."""
        start, stop = np.searchsorted(self._numbers, [first_row, first_row + len(rows)])
        begin, end = self._indptr[start], self._indptr[stop]
        if start == stop:
            return
        if self._all is None:
            indices = np.empty(self._indptr[-1], rows.indices.dtype)
            data = np.empty(self._indptr[-1], rows.data.dtype)
            self._all = Rows(self._indptr, indices, data, rows.n_columns)
        mine = rows.take(self._numbers[start:stop] - first_row)
        self._all.indices[begin:end] = mine.indices
        self._all.data[begin:end] = mine.data
        self._fresh.append((start, stop))

    def places(self, numbers: Array) -> Array:
        """Where the rows of these numbers lie among those held."""
        return np.searchsorted(self._numbers, numbers)

    def sorted_rows(self, kernel: Kernel) -> pairs.SortedRows:
        """All rows held, of which some may still have to come by."""
        assert self._all is not None
        indptr = read_only(self._indptr, np.int64)
        data = read_only(self._all.data)
        for start, stop in self._fresh if kernel.uses_values else ():
            pairs.sorted_squares(indptr[start : stop + 1], data, self._squares[start:stop])
        self._fresh.clear()
        return pairs.SortedRows(
            indptr, read_only(self._all.indices), data, read_only(self._squares)
        )

    def rows(self, numbers: Array) -> Rows:
        """The rows of these numbers, which have come by."""
        assert self._all is not None
        return self._all.take(self.places(numbers))
