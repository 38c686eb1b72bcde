"""Work shared out over threads: how many there are, and blocks of rows for them.

The loops release the GIL, so threads are enough. They stay when their work is done and wait
for more: on a machine of many cores, starting a thread takes longer than hashing a thousand
rows. Where a result could depend on how rows are cut into blocks, they are cut by the size of
the work alone, never by the number of threads.
"""

import contextlib
import operator
import os
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import local
from typing import Any, TypeVar

from numba import config

from ..errors import ParameterError

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(n_jobs: int | None) -> int:
    """Number of threads meant by `n_jobs`.

    None means every core this process may use; negative numbers count back
    from that, as scikit-learn's do (-1: all, -2: all but one). The number of
    cores honours `NUMBA_NUM_THREADS`, which joblib sets in its workers, so
    that processes and threads do not multiply.
    """
    available = int(config.NUMBA_NUM_THREADS)
    if n_jobs is None:
        return available
    try:
        number = operator.index(n_jobs)
    except TypeError:
        raise ParameterError(f"n_jobs: got {n_jobs!r}; give an integer or None.") from None
    if number == 0:
        raise ParameterError("n_jobs: got 0; give 1 or more, -1 for all cores, or None.")
    return number if number > 0 else max(1, available + 1 + number)


def row_blocks(start: int, stop: int, size: int) -> list[tuple[int, int]]:
    """Consecutive (start, stop) ranges of at most `size` rows."""
    return [(first, min(first + size, stop)) for first in range(start, stop, size)]


def run_blocks(
    work: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None
) -> list[Result]:
    """Results of `work` for each item, in order, on up to `n_jobs` threads, this one included.

    Each thread calls the next for help if items are waiting, then begins itself: short work is
    done before the last is awake. Help that has not begun when this thread is done is called off,
    so that calls inside calls never wait for a free thread.

    After an error, or an interrupt from the keyboard, no item is begun, and items that call
    `stop_if_asked` end early. It is raised when all threads have come back; of several errors the
    one of the earliest item.
    """
    run = _Run(work, items)
    n_items = len(run.waiting)
    try:
        run.take_items(thread_count(n_jobs) - 1)
        run.wait()
    except BaseException:  # an interrupt between two items
        run.end()
        run.wait()
        raise
    finally:
        results, errors = run.close()
    if errors:
        ended = [turn for turn in errors if not isinstance(errors[turn], _Stopped)]
        raise errors[min(ended or errors)]
    return [results[turn] for turn in range(n_items)]


def stop_if_asked() -> None:
    """Raise if the `run_blocks` that this is an item of, or one around it, is to end early."""
    run = _current()
    while run is not None:
        if run.is_stopped:
            raise _Stopped
        run = run.outer


class _Run:
    """One call of `run_blocks`, and the one around it.

    A class rather than a function that hands itself to another thread: no reference cycle, which
    would keep arrays in memory until Python looks for cycles.
    """

    def __init__(self, work: Callable[[Any], Any], items: Iterable[Any]) -> None:
        self.work, self.waiting = work, deque(enumerate(items))
        self.outer = _current()
        self.is_stopped = False
        self.results: dict[int, Any] = {}
        self.errors: dict[int, BaseException] = {}
        self.helpers: list[Future[None]] = []

    def take_items(self, n_helpers: int) -> None:
        """Call a thread for help, which may call as many but one, then do what is waiting."""
        outer, _local.run = _current(), self
        try:
            if n_helpers > 0 and len(self.waiting) > 1:
                with contextlib.suppress(RuntimeError):  # no thread can be started: go on without
                    self.helpers.append(_pool.submit(self.take_items, n_helpers - 1))
            while self.waiting:
                try:
                    turn, item = self.waiting.popleft()
                except IndexError:  # another thread took the last one
                    return
                try:
                    self.results[turn] = self.work(item)
                except BaseException as error:
                    self.errors[turn] = error
                    self.end()
        finally:
            _local.run = outer

    def wait(self) -> None:
        """Wait until nobody helps any more; again if an interrupt came in between."""
        while self.helpers:
            last = self.helpers[-1]
            if not last.cancel():
                last.exception()
            self.helpers.remove(last)  # it may have called another meanwhile

    def end(self) -> None:
        """Let no thread begin anything more."""
        self.is_stopped = True
        self.waiting.clear()

    def close(self) -> tuple[dict[int, Any], dict[int, BaseException]]:
        """Results and errors; let go of them and of the work, as the pool may hold this longer."""
        outcome = self.results, self.errors
        self.is_stopped = True
        del self.work, self.results, self.errors
        return outcome


class _Stopped(BaseException):
    """In the place of a result that is no longer wanted."""


_local = local()


def _current() -> _Run | None:
    """The innermost run that this thread works for."""
    return getattr(_local, "run", None)


_MOST_THREADS = 1024  # of all calls together; a thread is started when none is idle
_pool: ThreadPoolExecutor


def _start_pool() -> None:
    global _pool
    _pool = ThreadPoolExecutor(_MOST_THREADS, "corekernels")


_start_pool()
if hasattr(os, "register_at_fork"):  # a forked process has none of the threads
    os.register_at_fork(after_in_child=_start_pool)
