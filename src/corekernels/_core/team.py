"""Threads for loops that take blocks of rows from a shared counter themselves.

Nothing is done in Python per block: each thread calls a loop, which works without the GIL for a
twentieth of a second or so and then looks for interrupts. For larger tasks, each a call of a
Python function, see `threads.run_blocks`.
"""

import time
from collections.abc import Callable
from threading import Lock, Thread
from types import TracebackType
from typing import Any

import numpy as np

from .._loops.blocks import Blocks
from .memory import aligned_zeros
from .threads import thread_count

Step = Callable[[int], bool]  # does up to so many blocks; False once there are no more

_CALL_SECONDS = 0.05
_NO_BLOCK = 1 << 40  # the counter of a job that was stopped


class Team:
    """Threads that share out the rows of one loop after another, the calling one included.

    They start when they are first needed and end with the `with` block, so a job of many short
    phases costs no new threads.

    >>> def add_one(blocks, n_blocks, out):
    ...     for _ in range(n_blocks):
    ...         start = int(blocks.counter[0]) * blocks.size
    ...         blocks.counter[0] += 1
    ...         if start >= blocks.n_rows:
    ...             return False
    ...         out[start : start + blocks.size] += 1
    ...     return True
    >>> out = np.zeros(5, int)
    >>> with Team(1) as team:
    ...     team.run(add_one, (out,), n_rows=5, block_rows=2)
    >>> out.tolist()
    [1, 1, 1, 1, 1]
    """

    def __init__(self, n_jobs: int | None) -> None:
        self.n_threads = thread_count(n_jobs)
        self._counter = aligned_zeros((16,), np.int64)  # alone in its cache lines
        self._helpers: list[_Helper] = []

    def __enter__(self) -> "Team":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:  # fmt: skip
        for helper in self._helpers:
            helper.end()
        self._helpers = []

    def run(
        self, loop: Callable[..., bool],
        arguments: tuple[Any, ...] | Callable[[], tuple[Any, ...]], n_rows: int, block_rows: int,
    ) -> None:  # fmt: skip
        """Let the threads take blocks of rows until none is left.

        Each thread calls the loop with the blocks, the number of blocks to do, and the
        arguments, or what they give it if they are a function: for working memory of its own.
        """

        def make_step(blocks: Blocks) -> Step:
            mine = arguments() if callable(arguments) else arguments
            return lambda n_blocks: loop(blocks, n_blocks, *mine)

        self.share(make_step, n_rows, block_rows)

    def share(self, make_step: Callable[[Blocks], Step], n_rows: int, block_rows: int) -> None:
        """The same, with a function of its own for each thread, which does some blocks.

        After an error, or an interrupt from the keyboard, no further block is begun.
        """
        self._counter[0] = 0
        blocks = Blocks(self._counter, n_rows, block_rows)

        def work() -> None:
            try:
                _take_all(make_step(blocks))
            except BaseException:
                self._counter[0] = _NO_BLOCK
                raise

        begun: list[_Helper] = []
        errors: list[BaseException | None] = []
        try:
            for number in range(1, min(self.n_threads, -(-n_rows // block_rows))):
                if number > len(self._helpers):
                    self._helpers.append(_Helper(number))
                helper = self._helpers[number - 1]
                helper.begin(work)
                begun.append(helper)
            if n_rows:
                work()
        except BaseException as error:
            self._counter[0] = _NO_BLOCK
            errors.append(error)
        errors += [self._outcome(helper) for helper in begun]
        for found in errors:
            if found is not None:
                raise found

    def _outcome(self, helper: "_Helper") -> BaseException | None:
        """The error of a helper, once it is done, or the interrupt that came meanwhile."""
        try:
            return helper.outcome()
        except BaseException as error:
            self._counter[0] = _NO_BLOCK
            helper.outcome()
            return error


class _Helper(Thread):
    """A thread that does one piece of work after another, as it is told."""

    def __init__(self, number: int) -> None:
        super().__init__(name=f"corekernels-{number}")
        self._work: Callable[[], None] | None = None
        self._error: BaseException | None = None
        self._begun, self._done = Lock(), Lock()  # each is acquired once for every release
        self._begun.acquire()
        self._done.acquire()
        self.start()

    def begin(self, work: Callable[[], None]) -> None:
        """Let it call `work`."""
        self._work, self._error = work, None
        self._begun.release()

    def outcome(self) -> BaseException | None:
        """Wait until its work is done; the error in which that ended, if any."""
        self._done.acquire()
        return self._error

    def end(self) -> None:
        """Let it end, once its work is done."""
        self._work = None
        self._begun.release()
        self.join()

    def run(self) -> None:
        while True:
            self._begun.acquire()
            work = self._work
            if work is None:
                return
            try:
                work()
            except BaseException as error:
                self._error = error
            del work  # what it refers to may be large
            self._done.release()


def _take_all(step: Step) -> None:
    """Call a step until no block is left, for so many blocks that a call stays short."""
    n_blocks = 1
    while True:
        start = time.perf_counter()
        if not step(n_blocks):
            return
        seconds = time.perf_counter() - start
        if seconds < _CALL_SECONDS:
            n_blocks *= 2
        elif seconds > 4 * _CALL_SECONDS:
            n_blocks = max(1, n_blocks // 2)
