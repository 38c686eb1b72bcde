"""BLAS held to one thread while our own threads call it."""

import contextlib
import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


class _Limit:
    """The BLAS libraries of this process, held to one thread while any product is under way.

    Calls may overlap, in other threads: the first one in sets the limit and the last one out
    lifts it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._limit: Any = None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        with self._lock:
            if self._inside == 0:
                self._limit = _libraries().limit(limits=1, user_api="blas")
            self._inside += 1
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                if self._inside == 0:
                    self._limit.restore_original_limits()


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


single_threaded_blas = _Limit().held
