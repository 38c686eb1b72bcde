"""Samples of the columns of rows, and rows that have enough of another row's sample."""

from typing import NamedTuple

import numpy as np

from ..compilation import allocating_loop, loop
from ..hashing.mixing import mix

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
