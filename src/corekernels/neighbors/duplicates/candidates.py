"""Pairs of rows that may be similar: of equal keys in a hash table, or of shared sampled columns.

Rows of resemblance R agree in all m slots of a key with probability R^m. No kernel value is
large where R is small: `Kernel.least_resemblance` says how large R must be for K >= t.
So rows of K >= t share a key in one of T tables with probability at least
1 - (1 - p^m)^T, p that least resemblance.

For containment 16 columns of each row are drawn at random, by a hash. If a share t of its columns
is in another row, so is about that share of the sample: the other row is a candidate if it has so
many of the sample that fewer would be a chance of 0.0005.

A pair is the number (first row) n_rows + (second row). The earlier row comes first; with a
boundary, pairs lie on both sides of it, and the later row comes first.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ... import theory
from ..._core.arguments import Array
from ..._core.team import Team
from ..._core.threads import row_blocks, run_blocks
from ..._core.validation import Rows, read_only
from ..._loops.mixing import mix
from ..._loops.search import duplicates as loops
from ..._loops.text import grams
from ...kernel_table import RESEMBLANCE, Kernel
from ...recipe import Recipe
from .rows import RowStore

N_TABLES = 64
REPRESENTATIVES = 16  # of a bucket that is too large
_RECALL = 0.999
_MOST_SLOTS = 32
_LEAST_SLOTS = 3  # with fewer, keys are shared by too many rows that are not similar
_HASHED_ROWS = 1 << 11  # together
_TOGETHER = 1 << 20  # pairs of a portion
SAMPLE = 16  # columns per row, for containment
_MISSED = 0.0005  # share of pairs at the threshold that needing so many columns may cost
_FIRST_ROOM = 1 << 16
_ROWS_TOGETHER = 512  # rows whose pairs are gathered at a time
_DIRECTORY_BITS = 16


@dataclass(frozen=True)
class TablePlan:
    """Tables for all pairs above a threshold."""

    n_slots: int
    missed: float  # largest expected share of pairs that no table finds
    n_tables: int = N_TABLES

    def write_keys(self, rows: Rows, seed: int, n_jobs: int | None, out: Array) -> None:
        """The key of each row in each table (n_tables, n_rows)."""
        from ..._hashing.hashing import hash_rows  # of no use where rows are few

        recipe = Recipe(
            RESEMBLANCE.name, self.n_slots * self.n_tables, n_bits=None, seed=seed,
            n_columns=rows.n_columns,
        )  # fmt: skip

        def work(block: tuple[int, int]) -> None:
            supports = rows.block(*block).compact()
            supports = replace(supports, data=read_only(np.ones(supports.nnz, np.float32)))
            codes = hash_rows(supports, recipe.sketch, Team(1))["codes"]
            loops.write_table_keys(read_only(codes), self.n_slots, out[:, slice(*block)])

        run_blocks(work, row_blocks(0, len(rows), _HASHED_ROWS), n_jobs)


def plan_tables(kernel: Kernel, threshold: float) -> TablePlan | None:
    """Tables for pairs of K >= threshold; None where they would be of no use."""
    least = kernel.least_resemblance(threshold)
    if not 0 < least <= 1:
        return None
    n_slots = theory.slots_allowed(least, N_TABLES, _RECALL)
    if n_slots < _LEAST_SLOTS:
        return None
    n_slots = min(n_slots, _MOST_SLOTS)
    return TablePlan(n_slots, theory.miss_rate(least, n_slots, N_TABLES))


def repeated_keys(keys: Array, rows: Array) -> tuple[Array, Array]:
    """Keys that occur more than once, ascending, and their rows, ascending within each key.

    >>> repeated_keys(np.array([7, 3, 7, 5], np.uint64), np.array([2, 0, 1, 9]))
    (array([7, 7], dtype=uint64), array([1, 2]))
    """
    order = np.argsort(keys)
    ordered = keys[order]
    is_first = np.ones(len(keys) + 1, bool)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:-1])
    is_repeated = ~(is_first[:-1] & is_first[1:])
    places = np.flatnonzero(is_repeated)
    rows = rows[order[places]]
    width = rows.max(initial=0) + 1
    numbers = np.cumsum(is_first[places]) * width + rows
    numbers.sort()  # several times faster than np.lexsort
    return ordered[places], numbers % width


def table_pairs(
    keys: Array, rows: Array, n_rows: int, boundary: int | None, most: int
) -> Iterator[Array]:
    """The pairs of rows that share a key in some table, each once, in portions of about `most`.

    `keys` (n_tables, n_rows) are those of the rows, which ascend; links to the next row with the
    same key take their place.
    """
    links, every = keys.view(np.int64), np.arange(len(rows))
    for keys_of_table, links_of_table in zip(keys, links, strict=True):
        repeated, places = repeated_keys(keys_of_table, every)
        links_of_table[:] = loops.NO_LINK
        is_linked = repeated[1:] == repeated[:-1]
        links_of_table[places[:-1][is_linked]] = places[1:][is_linked]
    yield from _linked_pairs(links, rows, n_rows, boundary, most)


def key_pairs(
    keys: Array, rows: Array, n_rows: int, boundary: int | None, largest: int | None
) -> Array:
    """The pairs of rows that share a key, each once and ascending, of keys and rows in any order.

    Of more than `largest` rows of a key only the first 16 are paired with all.
    """
    keys, rows = repeated_keys(keys, rows)
    links = np.arange(1, len(keys) + 1)
    is_first, is_last = np.ones((2, len(keys)), bool)
    is_first[1:] = is_last[:-1] = keys[1:] != keys[:-1]
    links[is_last] = loops.NO_LINK
    if largest is not None:
        starts = np.flatnonzero(is_first)
        sizes = np.diff(starts, append=len(keys))
        is_not_paired = np.arange(len(keys)) - np.repeat(starts, sizes) >= REPRESENTATIVES
        is_not_paired &= np.repeat(sizes > largest, sizes) & ~is_last
        links[is_not_paired] = loops.NO_LINK - 1 - links[is_not_paired]
    return distinct(list(_linked_pairs(links[None], rows, n_rows, boundary, _TOGETHER)))


def distinct(pairs: Sequence[Array]) -> Array:
    """All pairs of several portions, each once, ascending."""
    every = np.concatenate([np.empty(0, np.int64), *pairs])
    every.sort()  # several times faster than np.unique
    return every[np.diff(every, prepend=-1) > 0]


def _linked_pairs(
    links: Array, rows: Array, n_rows: int, boundary: int | None, most: int
) -> Iterator[Array]:
    """The pairs of rows that links (n_tables, n_rows) connect, in portions, each ascending."""
    state, seen = np.zeros(2, np.int64), np.zeros(len(rows), np.uint8)
    links, rows = read_only(links), read_only(rows, np.int64)
    least = -1 if boundary is None else boundary
    out = np.empty(min(most, _TOGETHER), np.int64)
    while state[0] < len(rows):
        loops.write_linked_pairs(links, rows, n_rows, least, state, seen, out)
        if state[1]:
            yield np.sort(out[: state[1]])
        else:
            out = np.empty(2 * len(out), np.int64)


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


def containment_pairs(
    store: RowStore, own: Array, threshold: float, seed: int, boundary: int | None
) -> Array:
    """Pairs of some rows, of which one may contain the other, ascending; the rows ascend too."""
    blocks = [own[slice(*ends)] for ends in row_blocks(0, len(own), _ROWS_TOGETHER)]
    samples, key = np.empty((len(own), SAMPLE), np.int64), mix(np.uint64(seed) + np.uint64(1))
    for number, block in enumerate(blocks):
        rows_of_block, out = store.take(block), samples[number * _ROWS_TOGETHER :][: len(block)]
        loops.sample_columns(
            rows_of_block.indptr, read_only(rows_of_block.indices, np.int64), key, out
        )
    places, of_row = np.nonzero(samples != loops.NO_COLUMN)
    columns = samples[places, of_row]
    order = np.argsort(columns, kind="stable")
    columns, places = columns[order], places[order]
    starts = np.flatnonzero(np.diff(columns, prepend=-1))
    needed = np.array([needed_columns(threshold, n) if n else 1 for n in range(SAMPLE + 1)])
    lengths = store.lengths(own)
    sampled = loops.SampledRows(
        read_only(np.append(starts, len(columns)), np.int64), read_only(places, np.int64),
        read_only(lengths, np.int64), read_only(needed[np.minimum(lengths, SAMPLE)], np.int64),
    )  # fmt: skip
    columns = read_only(columns[starts], np.int64)
    largest = int(columns.max(initial=0))
    shift = max(0, largest.bit_length() - _DIRECTORY_BITS)
    directory = np.zeros((largest >> shift) + 3, np.int64)
    grams.fill_directory(columns, shift, directory)
    counts, touched = np.zeros(len(own), np.int32), np.empty(len(own), np.int64)
    pairs, out = [], np.empty((2, _FIRST_ROOM), np.int64)
    for number, block in enumerate(blocks):
        rows_of_block = store.take(block)
        here, wanted = (
            np.empty(rows_of_block.nnz, np.int64),
            np.minimum(rows_of_block.indices, largest + 1),
        )
        grams.look_up(read_only(wanted, np.int64), columns, shift, read_only(directory), here)
        first = number * _ROWS_TOGETHER
        arrays = rows_of_block.indptr, read_only(here), first, sampled, counts, touched
        n_pairs = loops.containing_rows(*arrays, out)
        if n_pairs > out.shape[1]:
            out = np.empty((2, n_pairs), np.int64)
            loops.containing_rows(*arrays, out)
        earlier, later = own[out[:, :n_pairs]]
        if boundary is not None:
            is_across = (earlier < boundary) & (later >= boundary)
            earlier, later = later[is_across], earlier[is_across]
        pairs.append(earlier * store.n_rows + later)
    return distinct(pairs)
