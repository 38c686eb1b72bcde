"""Locks that are free in a child of `fork`: the thread that held one has not come along."""

import os
from functools import cached_property
from threading import RLock
from typing import TypeVar
from weakref import WeakSet

Value = TypeVar("Value")


class ForkLock:
    """A lock, to be used in `with` blocks; a thread may take it again.

    What it guards has to be whole at any moment, as a child goes on from there.
    """

    def __init__(self) -> None:
        self._lock = RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()


_locks: WeakSet[ForkLock] = WeakSet()


def _free_all() -> None:
    for lock in _locks:
        lock._lock = RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)


class computed_once(cached_property[Value]):
    """A `cached_property`, whose lock, which it has up to Python 3.11, is free in a child too."""

    lock: ForkLock

    def __set_name__(self, owner: type, name: str) -> None:
        super().__set_name__(owner, name)
        self.lock = ForkLock()
