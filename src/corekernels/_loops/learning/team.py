"""A sweep over the rows by a team of threads, each of which owns some slots of the planes.

For each batch of rows, every member finds what its own slots add to the scores; the first one,
the leader, puts these sums together, finds the new dual variables (`descent`) and tells the
steps, which every member adds to its own slots. The inner products of the rows of a batch are
found beforehand, each member doing a whole batch.

The slots are cut into a number of parts that does not depend on the size of the team, and the
sums of the parts are added in the same order always, as a tree. So the size of the team, a power
of two, does not change any number.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from ..simd.halves import read_halves
from ..simd.llvm import LINE
from ..simd.vectors import prefetch
from ..simd.waiting import set_count, wait_for
from .descent import BATCH, solve_batch
from .gram import batch_gram
from .scoring import Parts, add_slots, score_lanes, score_one, slots_of

COUNTER = 8  # places of a counter: a cache line, so that no two share one
BATCHES_PER_CALL = 2048  # after which a call returns, to let Python look for interrupts

_SCORE, _SOLVE = 0, 1  # what a member does next


class Exchange(NamedTuple):
    """What the members of a team tell each other about a batch."""

    sums: np.ndarray  # (n_parts, BATCH, lanes): of the slots of a part
    grams: np.ndarray  # (n_members, BATCH, BATCH): of the next batches
    steps: np.ndarray  # (BATCH, lanes)
    moves: np.ndarray  # (BATCH,): whether a row has steps
    scored: np.ndarray  # a counter for each member: batches it has scored
    solved: np.ndarray  # a counter: batches that the leader has solved


class Share(NamedTuple):
    """One member's share of the work."""

    member: int  # its number; 0: the leader
    n_members: int
    parts: Parts  # its slots
    progress: np.ndarray  # (2,): the batch it is at, and what to do next
    weights: np.ndarray  # (BATCH, slots): of the batch, in single precision
    numbers: np.ndarray  # (BATCH, RUN): room for `batch_gram`


@njit(nogil=True, cache=True)
def sweep_share(
    codes, weights, scales, order, groups, problem, active, solution, exchange, share, scratch,
    findings,
):  # fmt: skip
    """Do one member's share of a sweep over the groups in `order`.

    False if there is more to do: after a while, or if another member lets this one wait.
    """
    progress, member, n_members = share.progress, share.member, share.n_members
    solved, scored, planes = exchange.solved, exchange.scored, solution.planes
    n_batches = (order.shape[0] + BATCH - 1) // BATCH
    firsts, ahead = np.empty(BATCH, np.int64), np.empty(BATCH, np.int64)
    last = min(n_batches, progress[0] + BATCHES_PER_CALL)
    while progress[0] < last:
        t = progress[0]
        batch = order[t * BATCH : (t + 1) * BATCH]
        _first_rows(groups, batch, firsts)
        if progress[1] == _SCORE:
            if t % n_members == 0 and t + member < n_batches:
                mine = order[(t + member) * BATCH : (t + member + 1) * BATCH]
                _first_rows(groups, mine, firsts)
                some, gram = firsts[: mine.shape[0]], exchange.grams[member]
                batch_gram(codes, weights, scales, some, share.numbers, gram)
                _first_rows(groups, batch, firsts)
            following = order[(t + 1) * BATCH : (t + 2) * BATCH]
            _first_rows(groups, following, ahead)
            _score_batch(
                codes, weights, firsts[: batch.shape[0]], ahead[: following.shape[0]], planes,
                exchange.sums, share,
            )  # fmt: skip
            set_count(scored, COUNTER * member, t + 1)
            progress[1] = _SOLVE
        if member == 0:
            for other in range(1, n_members):
                if not wait_for(scored, COUNTER * other, t + 1):
                    return False
            n_parts = exchange.sums.shape[0]
            _add_parts(
                0, n_parts, n_parts // n_members, exchange.sums.reshape(-1), exchange.steps.size
            )
            solve_batch(
                batch, groups, scales, problem, active, solution, exchange.grams[t % n_members],
                exchange.sums[0], scratch, exchange.steps, exchange.moves, findings,
            )  # fmt: skip
            set_count(solved, 0, t + 1)
        elif not wait_for(solved, 0, t + 1):
            return False
        _add_batch(codes, weights, firsts[: batch.shape[0]], exchange, share, planes)
        progress[0], progress[1] = t + 1, _SCORE
    return progress[0] == n_batches


@njit(nogil=True, cache=True)
def _first_rows(groups, batch, out):
    """The first row of each group of a batch: the others are equal to it."""
    rows, starts = groups.rows, groups.starts
    for p in range(batch.shape[0]):
        out[p] = rows[starts[batch[p]]]


@njit(nogil=True, cache=True)
def _score_batch(codes, weights, firsts, ahead, planes, sums, share):
    """What a member's slots add to the scores of a batch: parts by themselves, then as a tree.

    The same slots of the next batch, whose rows are `ahead`, are prefetched.
    """
    parts, numbers, width = share.parts, share.weights, sums.shape[2]
    first, last = _own_slots(parts)
    flat, size = sums.reshape(-1), sums.shape[1] * width
    for part in range(parts.first, parts.last):
        flat[part * size : (part + 1) * size] = 0
    for p in range(firsts.shape[0]):
        mine = None if weights is None else numbers[p]
        if weights is not None:
            read_halves(weights, firsts[p], first, last, mine)
        if p < ahead.shape[0]:
            _prefetch(codes, weights, ahead[p], first, last)
        row = codes[firsts[p]]
        if planes.ndim == 3:
            score_lanes(row, mine, first, parts, planes, None, p * width, size, flat)
        else:
            score_one(row, mine, first, parts, planes, p * width, size, flat)
    _add_parts(parts.first, parts.last, 1, flat, size)


@njit(nogil=True, cache=True)
def _own_slots(parts):
    """First and last slot of all parts together."""
    return slots_of(parts, parts.first)[0], slots_of(parts, parts.last - 1)[1]


@njit(nogil=True, cache=True)
def _add_parts(first, last, step, sums, size):
    """Add up parts of this size as a tree, from those that are `step` apart on, into the first."""
    while step < last - first:
        for part in range(first, last, 2 * step):
            here, there = part * size, (part + step) * size
            for p in range(size):
                sums[here + p] += sums[there + p]
        step *= 2


@njit(nogil=True, cache=True)
def _add_batch(codes, weights, firsts, exchange, share, planes):
    """Add the steps of a batch to a member's slots of the planes."""
    numbers, steps, moves = share.weights, exchange.steps, exchange.moves
    flat, width = steps.reshape(-1), steps.shape[1]
    first, last = _own_slots(share.parts)
    for p in range(firsts.shape[0]):
        if moves[p]:
            mine = None if weights is None else numbers[p]
            add_slots(codes, mine, firsts[p], first, last, flat, p * width, planes)


@njit(nogil=True, cache=True)
def _prefetch(codes, weights, row, first, last):
    """Prefetch some slots of a row."""
    start = row * codes.shape[1]
    for j in range(first, last, LINE // codes.itemsize):
        prefetch(codes, start + j)
    if weights is not None:
        for j in range(first, last, LINE // weights.itemsize):
            prefetch(weights, start + j)
