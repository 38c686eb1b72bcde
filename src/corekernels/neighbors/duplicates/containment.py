"""Rows most of whose columns another row has, found by samples of their columns.

Of each row 16 columns are drawn at random, by a hash. If a share t of its columns is in another
row, so is about that share of the sample: the other row is a candidate if it has so many of
the sample that fewer would be a chance of 0.0005.
"""

import math
from collections.abc import Iterable

import numpy as np

from ..._core.arguments import Array
from ..._core.validation import Rows, read_only
from ..._loops.mixing import mix
from ..._loops.search import duplicates as loops
from ..._loops.text import grams
from .tables import Candidates

SAMPLE = 16  # columns per row
_MISSED = 0.0005  # share of pairs at the threshold that needing so many columns may cost
_FIRST_ROOM = 1 << 16
_TOGETHER = 512  # rows whose pairs are gathered at a time
_DIRECTORY_BITS = 16


def needed_columns(threshold: float, n_columns: int = SAMPLE) -> int:
    """How many of so many sampled columns a row must have to be a candidate.

    >>> needed_columns(0.8), needed_columns(1.0)
    (7, 16)
    """
    counts = range(2, n_columns + 1)
    rare = [n for n in counts if _chance_of_fewer(n, n_columns, threshold) <= _MISSED]
    return max(rare, default=1)


def missed_share(threshold: float) -> float:
    """Largest expected share of pairs at the threshold that are missed."""
    return _chance_of_fewer(needed_columns(threshold), SAMPLE, threshold)


def _chance_of_fewer(count: int, n_columns: int, share: float) -> float:
    """Chance that fewer than so many of n columns are there, if each is with a chance `share`."""
    return math.fsum(
        math.comb(n_columns, n) * share**n * (1 - share) ** (n_columns - n) for n in range(count)
    )


def sampled_columns(rows: Rows, seed: int) -> Array:
    """The sample of each row (n_rows, SAMPLE)."""
    key = mix(np.uint64(seed) + np.uint64(1))
    out = np.empty((len(rows), SAMPLE), np.int64)
    loops.sample_columns(rows.indptr, read_only(rows.indices, np.int64), key, out)
    return out


def containment_candidates(
    parts: Iterable[tuple[int, Rows]], samples: Array, lengths: Array, is_first: Array,
    threshold: float, boundary: int | None,
) -> Array:  # fmt: skip
    """Pairs of rows of which one may contain the other, as `Candidates` gives them.

    `parts` are rows with the number of the first of them; rows that are not `is_first`, as they
    are copies, are left out.
    """
    n_rows = len(lengths)
    samples = np.where(is_first[:, None], samples, loops.NO_COLUMN)
    rows, places = np.nonzero(samples != loops.NO_COLUMN)
    columns = samples[rows, places]
    order = np.argsort(columns, kind="stable")
    columns, rows = columns[order], rows[order]
    starts = np.flatnonzero(np.diff(columns, prepend=-1))
    needed = np.array([needed_columns(threshold, n) if n else 1 for n in range(SAMPLE + 1)])
    sampled = loops.SampledRows(
        read_only(np.append(starts, len(columns)), np.int64), read_only(rows, np.int64),
        read_only(lengths, np.int64), read_only(needed[np.minimum(lengths, SAMPLE)], np.int64),
    )  # fmt: skip
    columns = read_only(columns[starts], np.int64)
    shift = max(0, int(columns.max(initial=0)).bit_length() - _DIRECTORY_BITS)
    directory = np.zeros((int(columns.max(initial=0)) >> shift) + 2, np.int64)
    grams.fill_directory(columns, shift, directory)
    counts, touched = np.zeros(n_rows, np.int32), np.empty(n_rows, np.int64)
    found = Candidates(n_rows, boundary)
    for first_row, part in parts:
        for start in range(0, len(part), _TOGETHER):
            some = part.block(start, min(start + _TOGETHER, len(part))).compact()
            first = first_row + start
            here = np.full(some.nnz, grams.NOT_THERE)
            known = some.indices <= columns.max(initial=-1)
            known &= np.repeat(is_first[first : first + len(some)], some.lengths)
            where = np.empty(int(known.sum()), np.int64)
            grams.look_up(
                read_only(some.indices[known], np.int64), columns, shift, read_only(directory),
                where,
            )  # fmt: skip
            here[known] = where
            room = _FIRST_ROOM
            while True:
                out = np.empty((2, room), np.int64)
                n = loops.containing_rows(
                    some.indptr, read_only(here), first, sampled, counts, touched, out
                )
                if n <= room:
                    break
                room = n
            found.add(_as_numbers(out[0, :n], out[1, :n], n_rows, boundary))
    return found.pairs()


def _as_numbers(earlier: Array, later: Array, n_rows: int, boundary: int | None) -> Array:
    if boundary is None:
        return earlier * n_rows + later
    across = (earlier < boundary) & (later >= boundary)
    return later[across] * n_rows + earlier[across]
