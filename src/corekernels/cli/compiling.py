"""A note where loops are compiled for long: the first run on a machine takes its time."""

import contextlib
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from numba.core import event

NOTE = "note: compiling loops for this machine, once; `corekernels warmup` does it beforehand"
_PATIENCE = 2.0  # seconds


class _Watch(event.Listener):
    """Prints the note once compiling has taken longer than so many seconds, all in all."""

    def __init__(self, patience: float) -> None:
        self._left = patience
        self._lock = threading.RLock()
        self._depth = 0
        self._began = 0.0
        self._timer: threading.Timer | None = None
        self._said = False

    def on_start(self, event: Any) -> None:
        """A function begins to be compiled, perhaps within another."""
        with self._lock:
            self._depth += 1
            if self._depth == 1 and not self._said:
                self._began = time.perf_counter()
                self._timer = threading.Timer(max(0.0, self._left), self._say)
                self._timer.daemon = True
                self._timer.start()

    def on_end(self, event: Any) -> None:
        """A function has been compiled."""
        with self._lock:
            self._depth -= 1
            if self._depth == 0 and self._timer is not None:
                self._timer.cancel()
                self._timer = None
                self._left -= time.perf_counter() - self._began

    def _say(self) -> None:
        with self._lock:
            if self._said or self._timer is None:
                return
            self._said = True
        print(NOTE, file=sys.stderr, flush=True)


@contextlib.contextmanager
def announce_compiling(patience: float = _PATIENCE) -> Iterator[None]:
    """Print a note as soon as compiling within this block has taken longer than this."""
    with event.install_listener("numba:compile", _Watch(patience)):
        yield
