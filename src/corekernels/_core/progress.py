"""Progress of long calls: a bar on standard error.

Every call that may take long has an argument `progress`: None shows a bar where standard error
is a terminal, True always, False never. A job of several steps has one bar for all of them
(`Steps`), which estimates the time that is left of the whole.
"""

import os
import queue
import threading
from collections.abc import Generator, Iterable, Mapping
from typing import Any, TypeVar

from tqdm import tqdm

from ..errors import DataError

Item = TypeVar("Item")

_END = object()
_PATIENCE = 0.5  # seconds for a thread to stop, which may be waiting for a pipe


def read_ahead(items: Iterable[Item]) -> Generator[Item]:
    """The same items, of which a thread makes the next one while one is being used.

    A child of `fork` does not have that thread: there, the next item is an error.
    """
    process = os.getpid()
    requests: queue.SimpleQueue[bool] = queue.SimpleQueue()  # whether to make another item
    answers: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def make() -> None:
        iterator = iter(items)
        while requests.get():
            try:
                answers.put((next(iterator, _END), None))
            except BaseException as error:
                answers.put((_END, error))

    thread = threading.Thread(target=make, name="corekernels-read", daemon=True)
    thread.start()
    requests.put(True)
    try:
        while True:
            item, error = answers.get()
            if error is not None:
                raise error
            if item is _END:
                return
            requests.put(True)
            yield item
            if os.getpid() != process:
                raise DataError(
                    "batches: were begun before this process was forked; read the file anew."
                )
    finally:
        if os.getpid() == process:
            requests.put(False)
            thread.join(_PATIENCE)


_JOB_FORMAT = "{desc}{percentage:3.0f}%|{bar}| {elapsed} passed, about {remaining} left{postfix}"


class Steps:
    """One bar for the steps of a job.

    Functions that take `progress` take this as well: what they do is then a step, by the name
    under which it would have a bar of its own. `shares` are those of the time that each step is
    expected to take; others take none.

    >>> with Steps({"reading": 0.75, "sorting": 0.25}, False) as steps:
    ...     with progress_bar(10, "reading", "rows", steps) as bar:
    ...         bar.update(4)
    ...     round(steps.done, 3)
    0.75
    """

    def __init__(self, shares: Mapping[str, float], progress: bool | None) -> None:
        self._total = sum(shares.values())
        self._shares = dict(shares)  # of the steps to come
        self._progress = progress
        self.done = 0.0  # share of the whole job

    def __enter__(self) -> "Steps":
        hidden = None if self._progress is None else not self._progress
        self.bar = tqdm(
            total=self._total, disable=hidden, leave=False, smoothing=0, bar_format=_JOB_FORMAT
        )
        return self

    def __exit__(self, *error: object) -> None:
        self.bar.close()

    def step(self, total: float | None, what: str) -> "_Step":
        """The bar of a step; one that is taken again has no share any more."""
        return _Step(self, total, what, self._shares.pop(what, 0.0))

    def advance_to(self, done: float) -> None:
        """Show that this share of the job is done."""
        done = min(max(done, self.done), self._total)
        self.bar.update(min(done - self.done, self._total - self.bar.n))
        self.done = done


class _Step:
    """A part of the bar of a job, to be used as a bar of its own."""

    def __init__(self, steps: Steps, total: float | None, what: str, share: float) -> None:
        self._steps, self._total, self._share = steps, total, share
        self._before = steps.done
        self.n = 0.0
        steps.bar.set_description(what)

    def __enter__(self) -> "_Step":
        return self

    def __exit__(self, *error: object) -> None:
        self._steps.advance_to(self._before + self._share)
        self._steps.bar.set_postfix_str("")

    def update(self, n: float) -> None:
        """Show that n units more are done."""
        self.n += n
        if self._total:
            share = self._share * min(1.0, self.n / self._total)
            self._steps.advance_to(self._before + share)

    def set_postfix_str(self, text: str, refresh: bool = True) -> None:
        """Show a text behind the bar."""
        self._steps.bar.set_postfix_str(text, refresh=refresh)


Progress = bool | Steps | None


def progress_bar(
    total: float | None, what: str, unit: str, progress: Progress, **options: Any
) -> Any:
    """A bar to be used in a `with` block: `update(n)`, `set_description(what)`.

    `total` is the number of units to do, None where it is not known; `progress` says whether to
    show the bar, as above, or is the job of which this is a step.
    """
    if isinstance(progress, Steps):
        return progress.step(total, what)
    hidden = None if progress is None else not progress
    return tqdm(total=total, desc=what, unit=f" {unit}", disable=hidden, leave=False, **options)
