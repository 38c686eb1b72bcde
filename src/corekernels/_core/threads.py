"""Work shared out over threads: how many there are, and blocks of rows for them.

The loops release the GIL, so threads are enough. Where a result could depend on how rows are
cut into blocks, they are cut by the size of the work alone, never by the number of threads.
"""

import operator
from collections import deque
from collections.abc import Callable, Iterable
from threading import Thread
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

    After an error no item is begun; of several errors the one of the earliest item is raised.
    """
    waiting = deque(enumerate(items))
    n_items = len(waiting)
    results: dict[int, Result] = {}
    errors: dict[int, BaseException] = {}

    def run() -> None:
        while waiting:
            try:
                turn, item = waiting.popleft()
            except IndexError:  # another thread took the last one
                return
            try:
                results[turn] = work(item)
            except BaseException as error:
                errors[turn] = error
                waiting.clear()

    helpers: list[Thread] = []
    try:
        for number in range(1, min(thread_count(n_jobs), n_items)):
            helper = Thread(target=run, name=f"corekernels-{number}")
            helpers.append(helper)
            helper.start()
        run()
    finally:  # also when interrupted: no thread begins another item
        waiting.clear()
        for helper in helpers:
            if helper.ident is not None:  # it was started
                helper.join()
    if errors:
        raise errors[min(errors)]
    return [results[turn] for turn in range(n_items)]
