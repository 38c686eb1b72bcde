"""Work that goes on beside the main thread: reading ahead, and writing behind."""

import contextlib
import os
import queue
import threading
from collections.abc import Callable, Generator, Iterable
from typing import Any, TypeVar

from ..errors import DataError

Item = TypeVar("Item")

_END = object()
_PATIENCE = 0.5  # seconds for a thread to stop, which may be waiting for a pipe


def read_ahead(items: Iterable[Item]) -> Generator[Item]:
    """The same items, made in a thread of their own, one of them before its turn.

    A child of `fork` does not have that thread: there, the next item is an error.
    """
    process = os.getpid()
    waiting: queue.Queue[Any] = queue.Queue(1)
    stopped = threading.Event()

    def put(item: Any) -> None:
        while not stopped.is_set():
            with contextlib.suppress(queue.Full):
                waiting.put(item, timeout=0.1)
                return

    def make() -> None:
        try:
            for item in items:
                put((item, None))
                if stopped.is_set():
                    return
        except BaseException as error:
            put((_END, error))
        else:
            put((_END, None))

    thread = threading.Thread(target=make, name="corekernels-read", daemon=True)
    thread.start()
    try:
        while True:
            if os.getpid() != process:
                raise DataError(
                    "batches: were begun before this process was forked; read the file anew."
                )
            item, error = waiting.get()
            if error is not None:
                raise error
            if item is _END:
                return
            yield item
    finally:
        if os.getpid() == process:
            stopped.set()
            with contextlib.suppress(queue.Empty):
                waiting.get_nowait()  # the thread may be waiting to put another
            thread.join(_PATIENCE)


class WriteBehind:
    """Calls a function in a thread of its own, in order, with up to one call waiting.

    An error is raised by the next call, or at the end of the `with` block.
    """

    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function
        self._waiting: queue.Queue[Any] = queue.Queue(1)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="corekernels-write", daemon=True)

    def __call__(self, *arguments: Any) -> None:
        """Have the function called with these arguments."""
        self._raise_error()
        self._waiting.put(arguments)

    def __enter__(self) -> "WriteBehind":
        self._thread.start()
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self._waiting.put(_END)
        self._thread.join()
        if error is None:
            self._raise_error()

    def _run(self) -> None:
        while (arguments := self._waiting.get()) is not _END:
            if self._error is None:
                try:
                    self._function(*arguments)
                except BaseException as error:
                    self._error = error

    def _raise_error(self) -> None:
        if self._error is not None:
            raise self._error
