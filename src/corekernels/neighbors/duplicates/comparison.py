"""Kernel values of pairs of rows of a file: the earlier row is held as the later one comes by."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..._core.validation import Rows, as_matrix, clean_rows
from ...errors import DataError
from ..store import make_store
from .in_memory import kernel_of_pairs

Array = npt.NDArray[Any]

_BYTES_A_VALUE = 16  # column and value, at most


@dataclass(frozen=True)
class Scoring:
    """What is asked of the pairs, and the memory there is for rows."""

    kernel: str
    threshold: float
    lengths: Array  # nonzeros of each row of the file
    n_bytes: float
    n_jobs: int | None


def score_pairs(source: Any, task: Scoring, pairs: Array) -> tuple[Array, Array, Array]:
    """Earlier rows, later rows and kernel values of those pairs that reach the threshold.

    Pairs are numbers (later row) n_rows + (earlier row), ascending. The file is read once for
    every `n_bytes` of earlier rows.
    """
    n_rows = len(task.lengths)
    earlier = pairs % max(1, n_rows)
    held = np.unique(earlier)
    sizes = np.cumsum(task.lengths[held].astype(np.int64) * _BYTES_A_VALUE)
    portion = sizes // max(1, int(task.n_bytes)) if len(held) else sizes
    found = []
    for number in np.unique(portion).tolist():
        some = held[portion == number]
        mine = pairs
        if len(some) < len(held):
            mine = pairs[(earlier >= some[0]) & (earlier <= some[-1])]
        found += _one_pass(source, task, mine, some)
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    left, right, values = (np.concatenate(column) for column in zip(*found, strict=True))
    return left, right, values


def _one_pass(
    source: Any, task: Scoring, pairs: Array, held: Array
) -> list[tuple[Array, Array, Array]]:
    """Score all pairs of the rows held, in one reading of the file."""
    n_rows = len(task.lengths)
    rows_held = _Held(held, task.lengths)
    found, done = [], 0
    for batch in source:
        rows = clean_rows(as_matrix(batch.X, source.name), source.name)
        known = task.lengths[batch.first_row : batch.first_row + len(rows)]
        if not np.array_equal(rows.lengths, known):
            raise _changed(source)
        rows_held.take_in(rows, batch.first_row)
        until = int(np.searchsorted(pairs, (batch.first_row + len(rows)) * n_rows))
        if until > done:
            later, earlier = np.divmod(pairs[done:until], n_rows)
            found.append(_score(rows, batch.first_row, rows_held, earlier, later, task))
        done = until
        if done == len(pairs):
            break
    if done < len(pairs):
        raise _changed(source)
    return found


def _changed(source: Any) -> DataError:
    return DataError(f"{source.name}: changed while it was read; begin again.")


def _score(
    rows: Rows, first_row: int, held: "_Held", earlier: Array, later: Array, task: Scoring
) -> tuple[Array, Array, Array]:
    order = np.argsort(earlier, kind="stable")
    earlier, later = earlier[order], later[order]
    asked, left = np.unique(earlier, return_inverse=True)
    stored, right = np.unique(later, return_inverse=True)
    store = make_store(rows.take(stored - first_row), task.kernel)
    values = kernel_of_pairs(held.rows(asked), store, left, right, task.threshold, task.n_jobs)
    good = values >= task.threshold
    return earlier[good], later[good], values[good]


class _Held:
    """Some rows of a file, taken in as they come by."""

    def __init__(self, numbers: Array, lengths: Array) -> None:
        self._numbers = numbers
        self._indptr = np.concatenate([[0], np.cumsum(lengths[numbers], dtype=np.int64)])
        self._all: Rows | None = None

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

    def rows(self, numbers: Array) -> Rows:
        """The rows of these numbers, which have come by."""
        assert self._all is not None
        return self._all.take(np.searchsorted(self._numbers, numbers))


def expanded(
    left: Array, right: Array, values: Array, copies: Array, firsts: Array, most: int
) -> tuple[Array, Array, Array] | None:
    """All pairs, from those between first rows and those of copies with them.

    None if they are more than `most`.
    """
    if not len(copies):
        return (left, right, values) if len(left) <= most else None
    numbers = np.unique(np.concatenate([left, right, copies, firsts]))
    first = numbers.copy()
    first[np.searchsorted(numbers, copies)] = firsts
    order = np.argsort(first, kind="stable")
    members = numbers[order]
    starts = np.searchsorted(first[order], numbers)
    sizes = np.searchsorted(first[order], numbers, "right") - starts
    # a row's copies with each other are the pair of the row with itself
    same = np.searchsorted(numbers, np.unique(firsts))
    at, to = np.searchsorted(numbers, left), np.searchsorted(numbers, right)
    near = first[to] != left  # pairs of a copy and its first row come with the others
    at = np.concatenate([at[near], same])
    to = np.concatenate([to[near], same])
    value = np.concatenate([values[near], np.ones(len(same))])
    counts = sizes[at] * sizes[to]
    twice = len(same) and (counts[-len(same) :] + sizes[same]).sum()
    if counts.sum() - twice // 2 > most:
        return None
    which = np.repeat(np.arange(len(counts)), counts)
    place = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    i = members[starts[at[which]] + place // sizes[to[which]]]
    j = members[starts[to[which]] + place % sizes[to[which]]]
    once = (at[which] != to[which]) | (i < j)
    i, j, value = i[once], j[once], value[which[once]]
    return np.minimum(i, j), np.maximum(i, j), value
