"""Pairs of stored rows that share a bucket and are similar."""

from typing import NamedTuple

import numpy as np

from ..compilation import allocating_loop, inner_loop, loop
from ..mixing import mix
from ..rows import next_block
from .pairs import erase, kernel_at_least, query_bytes, query_row, scatter

NO_COLUMN = -1


class Postings(NamedTuple):
    """For each column of a list, which sampled rows have it: rows[starts[c]:starts[c + 1]]."""

    starts: np.ndarray
    rows: np.ndarray


class SampledRows(NamedTuple):
    """Of each row, its number of columns, and how many of its sample another row must have."""

    lengths: np.ndarray
    needed: np.ndarray


@allocating_loop
def sample_columns(indptr, columns, key, out):
    """Of each row the columns of the smallest mixes, NO_COLUMN where it has too few."""
    size = out.shape[1]
    mixes = np.empty(size, np.uint64)
    for row in range(indptr.shape[0] - 1):
        out[row, :] = NO_COLUMN
        n = 0
        for p in range(indptr[row], indptr[row + 1]):
            z = mix(np.uint64(columns[p]) ^ key)
            if n == size and z >= mixes[size - 1]:
                continue
            place = n if n < size else size - 1
            while place > 0 and mixes[place - 1] > z:
                mixes[place], out[row, place] = mixes[place - 1], out[row, place - 1]
                place -= 1
            mixes[place], out[row, place] = z, columns[p]
            n = min(n + 1, size)


@loop
def containing_rows(indptr, places, first_row, postings, sampled, counts, touched, out):
    """Write pairs of a row and one that may be contained in it; number of pairs.

    `places` are those of the rows' columns in the list of the postings, or below 0. A row is
    contained in longer ones, and in equally long ones after it. `counts` is zero on entry and
    on return. Where `out`, of shape (2, size), is too small, pairs are only counted.
    """
    n = 0
    for q in range(indptr.shape[0] - 1):
        row, n_touched = first_row + q, 0
        for p in range(indptr[q], indptr[q + 1]):
            if places[p] < 0:
                continue
            for k in range(postings.starts[places[p]], postings.starts[places[p] + 1]):
                other = postings.rows[k]
                if counts[other] == 0:
                    touched[n_touched] = other
                    n_touched += 1
                counts[other] += 1
        for k in range(n_touched):
            other = touched[k]
            enough = counts[other] >= sampled.needed[other]
            counts[other] = 0
            f1, f2 = sampled.lengths[other], sampled.lengths[row]
            if enough and (f1 < f2 or (f1 == f2 and other < row)):
                if n < out.shape[1]:
                    out[0, n], out[1, n] = row, other
                n += 1
    return n


class Found(NamedTuple):
    """Pairs that a thread has found, and where it stands.

    `state` holds the next row to look up, the row after the last one of its block, the number
    of pairs found, and the room that the next row's pairs need.
    """

    left: np.ndarray
    right: np.ndarray
    values: np.ndarray
    state: np.ndarray

    @classmethod
    def new(cls, room: int) -> "Found":
        """Room for so many pairs."""
        left, right = np.empty((2, room), np.int64)
        return cls(left, right, np.empty(room), np.zeros(4, np.int64))

    @property
    def is_short(self) -> bool:
        """Whether there is too little room for the next row's pairs."""
        return bool(self.state[3] > len(self.left))

    def grown(self) -> "Found":
        """The same with room for the next row's pairs, and as many again."""
        n, needed = self.state[2], 2 * self.state[3]
        other = Found.new(int(needed))
        for mine, theirs in zip(self[:3], other[:3], strict=True):
            theirs[:n] = mine[:n]
        return other._replace(state=self.state)

    def pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Left rows, right rows and kernel values."""
        n = self.state[2]
        return self.left[:n], self.right[:n], self.values[:n]


class PairScratch(NamedTuple):
    """Working memory of one thread; seen and dense are zero on entry and on return."""

    later: np.ndarray  # one entry per stored row and one more
    seen: np.ndarray  # one entry per stored row
    dense: np.ndarray  # one entry per column

    @classmethod
    def new(cls, n_rows: int, n_columns: int) -> "PairScratch":
        """For so many stored rows and columns."""
        return cls(np.empty(n_rows + 1, np.int32), np.zeros(n_rows, np.uint8), np.zeros(n_columns))


@loop
def similar_pairs(
    blocks, n_blocks, threshold, kernel, queries, stored, numbers, tables, scratch, found
):  # fmt: skip
    """Pairs of K >= threshold among rows that share a bucket, and a later row.

    The queries are the stored rows; `numbers` are their buckets. Where `found` has too little
    room, the call ends early, and the next one goes on with the same row: False if no row is left.
    """
    later, seen, dense = scratch
    left, right, values, state = found
    done = 0
    while True:
        if state[0] == state[1]:
            if done == n_blocks:
                return True
            state[0], state[1] = next_block(blocks)
            done += 1
            if state[0] == state[1]:
                return False
        row = state[0]
        n = 0
        if queries.lengths[row]:
            n = _later_collisions(row, numbers[row], tables, seen, later)
        state[3] = state[2] + n
        if state[3] > left.shape[0]:
            return True
        state[2] += _push_similar(
            threshold, kernel, queries, row, stored, later[:n], dense, left[state[2] :],
            right[state[2] :], values[state[2] :],
        )  # fmt: skip
        state[0] += 1


@inner_loop
def _later_collisions(row, numbers, tables, seen, out):
    """The later rows that share a bucket with a row, each once; gives how many."""
    heads, rows = tables
    n = 0
    for t in range(heads.shape[0]):
        b = np.int64(numbers[t])
        bucket = rows[t, heads[t, b] : heads[t, b + 1]]
        for p in range(bucket.shape[0] - 1, -1, -1):  # rows ascend within a bucket
            other = bucket[p]
            if other <= row:
                break
            out[n] = other
            n += seen[other] == 0
            seen[other] = 1
    for i in range(n):
        seen[out[i]] = 0
    return n


@inner_loop
def _push_similar(threshold, kernel, queries, row, stored, others, dense, left, right, values):
    """Write the pairs of a row and some others that reach the threshold; gives how many."""
    mine, weights = query_row(queries, row)
    scatter(mine, weights, dense)
    as_bytes = query_bytes(queries, row)
    n = 0
    for i in range(others.shape[0]):
        value = kernel_at_least(
            threshold, kernel, dense, as_bytes, queries.bits[row], queries.lengths[row],
            queries.squares[row], others[i], stored,
        )  # fmt: skip
        left[n], right[n], values[n] = row, others[i], value
        n += value >= threshold
    erase(mine, dense)
    return n
