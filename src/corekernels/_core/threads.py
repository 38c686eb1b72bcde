"""Work shared out over threads: how many there are, and blocks of rows for them.

The loops release the GIL, so threads are enough. They stay when their work is done and wait
for more: on a machine of many cores, starting a thread takes longer than hashing a thousand
rows. Where a result could depend on how rows are cut into blocks, they are cut by the size of
the work alone, never by the number of threads.
"""

import operator
import os
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from threading import Lock, Thread, local
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

    Each thread wakes the next if it is still needed, then begins itself: all of them can only be
    woken one after the other (they share the GIL), and short work is done before the last is.
    After an error, or an interrupt from the keyboard, `stop` is called, which is to keep the others
    from beginning anything more; it is raised when all have come back.
    """
    run = _Run(work, n_threads, is_needed, stop)
    try:
        run.call_work(0)
        _await(run.done)
    except BaseException:
        run.end()
        _await(run.done)
        raise
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

    A class, because a function that gave itself to another thread would keep what it works on in
    memory until Python looks for cycles.
    """

    def __init__(
        self, work: Callable[[int], None], n_threads: int, is_needed: Callable[[], bool],
        stop: Callable[[], None],
    ) -> None:  # fmt: skip
        self.work, self.n_threads, self.is_needed, self.stop = work, n_threads, is_needed, stop
        self.outer = _current()
        self.is_stopped = False
        self.errors: list[BaseException] = []
        self.done: list[_Done] = []  # one for each thread that was woken

    def call_work(self, number: int) -> None:
        """Wake the next thread, then do what this one is for."""
        outer, _local.run = _current(), self
        try:
            if number + 1 < self.n_threads and not self.is_stopped and self.is_needed():
                self.done.append(_begin(partial(self.call_work, number + 1)))
            self.work(number)
        except BaseException as error:
            self.end()
            self.errors.append(error)
        finally:
            _local.run = outer

    def end(self) -> None:
        """Let no thread begin anything more."""
        self.is_stopped = True
        self.stop()


class _Stopped(BaseException):
    """In the place of a result that is no longer wanted."""


_local = local()


def _current() -> _Run | None:
    """The innermost run that this thread works for."""
    return getattr(_local, "run", None)


class _Done:
    """Whether a piece of work is done.

    Not a lock alone: an interrupt from the keyboard may come when the lock was acquired and
    before anybody knows of it, and who then waits once more would wait for ever.
    """

    def __init__(self) -> None:
        self._lock, self._is_set = Lock(), False
        self._lock.acquire()

    def set(self) -> None:
        """Let those who wait go on."""
        self._is_set = True
        self._lock.release()

    def wait(self) -> None:
        """Wait until it is done; for one thread, which may be interrupted and wait again."""
        if not self._is_set:
            self._lock.acquire()


def _await(done: list[_Done]) -> None:
    """Wait until all these pieces of work are done."""
    while done:
        last = done[-1]
        last.wait()
        done.remove(last)  # it may have woken another meanwhile


class _Helper(Thread):
    """A thread that does one piece of work after another, and waits in `_idle` in between."""

    def __init__(self) -> None:
        super().__init__(name="corekernels", daemon=True)
        self._work: tuple[Callable[[], None], _Done] | None = None
        self._begun = Lock()
        self._begun.acquire()

    def begin(self, work: Callable[[], None]) -> _Done:
        """Have `work` called, which must not raise."""
        done = _Done()
        self._work = work, done
        self._begun.release()
        return done

    def run(self) -> None:
        while True:
            self._begun.acquire()
            assert self._work is not None
            work, done = self._work
            work()
            self._work = None
            del work  # and with it the arrays it works on
            _idle.append(self)
            done.set()


_idle: list[_Helper] = []
if hasattr(os, "register_at_fork"):  # a forked process has none of the threads
    os.register_at_fork(after_in_child=_idle.clear)


def _begin(work: Callable[[], None]) -> _Done:
    """Have `work` called by a thread that is idle, or a new one."""
    try:
        helper = _idle.pop()
    except IndexError:
        helper = _Helper()
        helper.start()
    return helper.begin(work)
