"""Threads that sweep over the rows together."""

import os
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core.memory import aligned_zeros
from .._core.threads import run_blocks
from .._loops.learning.descent import (
    BATCH,
    Active,
    BatchScratch,
    Findings,
    Groups,
    Problem,
    Solution,
)
from .._loops.learning.gram import RUN
from .._loops.learning.scoring import Parts
from .._loops.learning.team import COUNTER, Exchange, Share, sweep_share
from .._loops.simd.vectors import LANES
from .packed import Packed

Array = npt.NDArray[Any]

_LEAST_SLOTS = 64  # in a part: fewer would be too little work for a thread
_MOST_PARTS = 64
_LEAST_BATCHES = 64  # per thread in a sweep, and in all between two looks at the waiting
_SECONDS_OF_POLLS = 2e-5  # about what a call waits before it returns
_MOST_WAITING = 0.25  # share of the leader's time beyond which a team is too large

give_way = getattr(os, "sched_yield", lambda: time.sleep(0))


def n_parts(n_hashes: int) -> int:
    """Parts that the slots of the planes are cut into: a power of two."""
    most = max(1, min(n_hashes // _LEAST_SLOTS, _MOST_PARTS))
    return 1 << (most.bit_length() - 1)


class Team:
    """Threads that sweep together; their number does not change any result.

    They wait for each other twice per batch of rows. Where other processes take the cores from
    some of them, the others wait long; the team then goes on with half as many.
    """

    def __init__(
        self, packed: Packed, n_lanes: int, n_groups: int, n_threads: int,
        least_batches: int = _LEAST_BATCHES,
    ) -> None:  # fmt: skip
        """A team of up to so many threads, for problems in so many lanes."""
        self.packed = packed
        self._width = width = 1 if n_lanes == 1 else LANES
        self._run = least_batches  # batches until the next look at the waiting
        self._scratch = BatchScratch(
            np.zeros((BATCH, width)), np.zeros((BATCH, width)), np.zeros(width),
            np.zeros(BATCH, np.bool_),
        )  # fmt: skip
        useful = max(1, min(n_threads, n_groups // (BATCH * least_batches)))
        self._resize(min(n_parts(packed.codes.shape[1]), 1 << (useful.bit_length() - 1)))

    def _resize(self, n_members: int) -> None:
        """Share the work out among so many threads: a power of two."""
        k, width = self.packed.codes.shape[1], self._width
        parts = n_parts(k)
        per_member, size = parts // n_members, -(-k // parts)
        self._exchange = Exchange(
            aligned_zeros((parts, BATCH, width), np.float32),
            aligned_zeros((n_members, BATCH, BATCH), np.float32),
            aligned_zeros((BATCH, width), np.float32),
            np.zeros(BATCH, np.bool_),
            aligned_zeros((n_members * COUNTER,), np.int64),
            aligned_zeros((COUNTER,), np.int64),
        )
        self._shares = [
            Share(
                member,
                n_members,
                Parts(member * per_member, (member + 1) * per_member, size, k),
                np.zeros(2, np.int64),
                aligned_zeros((BATCH, per_member * size), np.float32),
                aligned_zeros((BATCH, RUN), np.float32),
            )
            for member in range(n_members)
        ]

    def __len__(self) -> int:
        return len(self._shares)

    def sweep(
        self, order: Array, groups: Groups, problem: Problem, active: Active, solution: Solution,
        findings: Findings,
    ) -> None:  # fmt: skip
        """Visit the groups in `order` once, all threads together."""
        findings.limits[0], findings.limits[1] = np.inf, -np.inf
        findings.objectives[:], findings.gaps[:], findings.moved[:] = 0, 0, 0
        first = 0
        while first < len(order):
            last = first + self._run * BATCH if len(self) > 1 else len(order)
            start = time.perf_counter()
            waited = self._sweep(order[first:last], groups, problem, active, solution, findings)
            if waited > _MOST_WAITING * (time.perf_counter() - start):
                self._resize(max(1, len(self) // 2))
            else:
                self._run *= 2
            first = last

    def _sweep(
        self, order: Array, groups: Groups, problem: Problem, active: Active, solution: Solution,
        findings: Findings,
    ) -> float:  # fmt: skip
        """Visit these groups; about how many seconds the first thread has waited for others."""
        self._exchange.scored[:], self._exchange.solved[:] = 0, 0
        failed: list[int] = []
        packed = self.packed

        def work(share: Share) -> float:
            share.progress[:] = 0
            waited = 0.0
            try:
                while not sweep_share(
                    packed.codes, packed.weights, packed.scales, order, groups, problem, active,
                    solution, self._exchange, share, self._scratch, findings,
                ):  # fmt: skip
                    if failed:
                        return waited
                    start = time.perf_counter()
                    give_way()
                    waited += time.perf_counter() - start + _SECONDS_OF_POLLS
            except BaseException:  # an interrupt: the others would wait for ever
                failed.append(share.member)
                raise
            return waited

        return run_blocks(work, self._shares, len(self._shares))[0]
