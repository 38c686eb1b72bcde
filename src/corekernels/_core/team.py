"""Threads for loops that take blocks of rows from a shared counter themselves.

Nothing is done in Python per block: each thread calls a loop, which works without the GIL for a
twentieth of a second or so and then looks for interrupts. For larger tasks, each a call of a
Python function, see `threads.run_blocks`.
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from .._loops.rows import Blocks
from .forks import computed_once
from .memory import aligned_zeros
from .threads import run_blocks, stop_if_asked, thread_count

Step = Callable[[int], bool]  # does up to so many blocks; False once there are no more

_CALL_SECONDS = 0.05
_FIRST_BLOCKS = 4  # in the first call, whose time is not known yet
_MOST_BLOCKS = 1 << 40  # more than any job has


class Team:
    """Threads that share out the rows of one loop after another, the calling one included.

    >>> from corekernels._loops.rows import taken
    >>> def add_one(blocks, n_blocks, out):
    ...     for start, stop in taken(blocks, n_blocks):
    ...         out[start:stop] += 1
    >>> out = np.zeros(5, int)
    >>> Team(1).run(add_one, (out,), n_rows=5, block_rows=2)
    >>> out.tolist()
    [1, 1, 1, 1, 1]
    """

    def __init__(self, n_jobs: int | None) -> None:
        self.n_threads = thread_count(n_jobs)

    @computed_once
    def _counter(self) -> Any:
        return aligned_zeros((16,), np.int64)  # alone in its cache lines

    def run(
        self, loop: Callable[..., Any],
        arguments: tuple[Any, ...] | Callable[[], tuple[Any, ...]], n_rows: int, block_rows: int,
    ) -> None:  # fmt: skip
        """Let the threads take blocks of rows until none is left.

        Each thread calls the loop with the blocks, the number of blocks to do, and the
        arguments, or what they give it if they are a function: for working memory of its own.
        """
        if n_rows <= block_rows:  # nothing to share out
            if n_rows > 0:
                blocks = Blocks(np.zeros(1, np.int64), n_rows, block_rows, 1)
                loop(blocks, 1, *(arguments() if callable(arguments) else arguments))
            return

        def make_step(blocks: Blocks) -> Step:
            of_thread = arguments() if callable(arguments) else arguments

            def step(n_blocks: int) -> bool:
                loop(blocks, n_blocks, *of_thread)
                return bool(self._counter[0] * block_rows < n_rows)

            return step

        self.share(make_step, n_rows, block_rows)

    def share(self, make_step: Callable[[Blocks], Step], n_rows: int, block_rows: int) -> None:
        """The same, with a function of its own for each thread, which does some blocks.

        The functions are made before any thread begins: threads that all allocate memory in
        Python wait for one another. After an error, or an interrupt from the keyboard, each thread
        ends the blocks of its call.
        """
        self._counter[0] = 0
        n_threads = min(self.n_threads, -(-n_rows // block_rows))
        blocks = Blocks(self._counter, n_rows, block_rows, n_threads)
        steps = [make_step(blocks) for _ in range(n_threads)]

        def work(step: Step) -> None:
            if self._counter[0] * block_rows < n_rows:  # no call of a loop for nothing
                _take_all(step)

        run_blocks(work, steps, n_threads)


def _take_all(step: Step) -> None:
    """Call a step until no block is left, for so many blocks that a call stays short."""
    n_blocks = _FIRST_BLOCKS
    while True:
        stop_if_asked()
        start = time.perf_counter()
        if not step(n_blocks):
            return
        seconds = time.perf_counter() - start
        if seconds < _CALL_SECONDS:
            n_blocks = min(2 * n_blocks, _MOST_BLOCKS)
        elif seconds > 4 * _CALL_SECONDS:
            n_blocks = max(1, n_blocks // 2)
