"""BLAS held to one thread while our own threads call it."""

import contextlib
import os
from collections.abc import Iterator
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController

from .._core.forks import ForkLock


class _Limit:
    """The BLAS libraries of this process, held to one thread while any product is under way.

    Calls may overlap, in other threads: the first one in sets the limit and the last one out
    lifts it.
    """

    def __init__(self) -> None:
        self._lock = ForkLock()
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
                    self.lift()

    def lift(self) -> None:
        """Give the libraries their threads back; in a child of `fork` no product is under way."""
        self._inside = 0
        if self._limit is not None:
            _let_any_thread_set()  # the one that set the limit may not be the last
            self._limit.restore_original_limits()
            _let_any_thread_set()
            self._limit = None


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


def _let_any_thread_set() -> None:
    """Take from the thread that set OpenBLAS's threads last the sole right to it.

    That is what threadpoolctl gives it, from version 3.8 on; what others set is ignored.
    """
    for library in _libraries().lib_controllers:
        if hasattr(library, "clear_controlling_thread"):
            library.clear_controlling_thread(force=True)


_limit = _Limit()
single_threaded_blas = _limit.held
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_limit.lift)
