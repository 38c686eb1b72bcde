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
from typing import TypeVar

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
        wanted = operator.index(n_jobs)
    except TypeError:
        raise ParameterError(f"n_jobs: got {n_jobs!r}; give an integer or None.") from None
    if wanted == 0:
        raise ParameterError("n_jobs: got 0; give 1 or more, -1 for all cores, or None.")
    return wanted if wanted > 0 else max(1, available + 1 + wanted)


def row_blocks(start: int, stop: int, size: int) -> list[tuple[int, int]]:
    """Consecutive (start, stop) ranges of at most `size` rows."""
    return [(first, min(first + size, stop)) for first in range(start, stop, size)]


def run_blocks(
    work: Callable[[Item], Result], items: Iterable[Item], n_jobs: int | None
) -> list[Result]:
    """Results of `work` for each item, in order, on up to `n_jobs` threads, this one included.

    After an error, or an interrupt from the keyboard, no item is begun, and items that call
    `stop_if_asked` end early; of several errors the one of the earliest item is raised.
    """
    waiting = deque(enumerate(items))
    n_items = len(waiting)
    results: dict[int, Result] = {}
    errors: dict[int, BaseException] = {}

    def take_items(_: int) -> None:
        while waiting:
            try:
                turn, item = waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            try:
                results[turn] = work(item)
            except BaseException as error:
                errors[turn] = error
                raise

    n_threads = min(thread_count(n_jobs), n_items)
    try:
        run_together(take_items, n_threads, lambda: bool(waiting), waiting.clear)
    except BaseException as error:
        if error not in errors.values():  # an interrupt between two items
            raise
    if errors:
        ended = [turn for turn in errors if not isinstance(errors[turn], _Stopped)]
        raise errors[min(ended or errors)]
    return [results[turn] for turn in range(n_items)]


def run_together(
    work: Callable[[int], None], n_threads: int, is_needed: Callable[[], bool],
    stop: Callable[[], None],
) -> None:  # fmt: skip
    """Have `work` called with the numbers of threads: 0 for this one, up to `n_threads` in all.

    Each thread calls the next for help if it is still needed, then begins itself: short work is
    done before the last is awake. Help that has not begun when this thread is done is called off,
    so that calls inside calls never wait for a free thread. After an error, or an interrupt from
    the keyboard, `stop` is called, which is to keep the others from beginning anything more; it is
    raised when all have come back.
    """
    run = _Run(work, n_threads, is_needed, stop)
    try:
        run.take_part(0)
        run.wait()
    except BaseException:
        run.end()
        run.wait()
        raise
    finally:
        run.close()
    if run.errors:
        raise run.errors[0]


def stop_if_asked() -> None:
    """Raise if the `run_blocks` that this is an item of, or one around it, is to end early."""
    run = _current()
    while run is not None:
        if run.is_stopped:
            raise _Stopped
        run = run.outer


class _Run:
    """One call of `run_together`, and the one around it.

    A class rather than a function that hands itself to another thread: no reference cycle, which
    would keep arrays in memory until Python looks for cycles.
    """

    def __init__(
        self, work: Callable[[int], None], n_threads: int, is_needed: Callable[[], bool],
        stop: Callable[[], None],
    ) -> None:  # fmt: skip
        self.work, self.n_threads, self.is_needed, self.stop = work, n_threads, is_needed, stop
        self.outer = _current()
        self.is_stopped = False
        self.errors: list[BaseException] = []
        self.helpers: list[Future[None]] = []

    def take_part(self, number: int) -> None:
        """Call the next thread for help, then do what this one is for."""
        outer, _local.run = _current(), self
        try:
            if self.is_stopped:
                return
            if number + 1 < self.n_threads and self.is_needed():
                with contextlib.suppress(RuntimeError):  # no thread can be started: go on without
                    self.helpers.append(_pool.submit(self.take_part, number + 1))
            self.work(number)
        except BaseException as error:
            self.errors.append(error)
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
        self.stop()

    def close(self) -> None:
        """Let go of what was worked on, which the pool may hold a little longer."""
        self.is_stopped = True
        del self.work, self.is_needed, self.stop


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
