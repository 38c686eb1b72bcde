"""What happens while Numba compiles loops: a long wait is announced, garbage collection pauses.

The first calls on a machine compile for seconds, and nobody should think that they hang. Numba
makes objects by the million meanwhile, nearly all of which it keeps: the collector would look
through them over and over, which took a fifth of the time.
"""

import contextlib
import gc
import os
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

from numba.core import event

NOTE = (
    "note: corekernels compiles loops for this machine, once, which takes some seconds; "
    "`corekernels warmup` compiles all of them beforehand"
)
_PATIENCE = 2.0  # seconds
_PACKAGE = __name__.partition(".")[0]


class CompileWatch(event.Listener):
    """Prints the note once compiling loops of this package has taken so many seconds in all."""

    def __init__(self, patience: float = _PATIENCE, silent: bool = False) -> None:
        self.silent = silent
        self.seconds = 0.0  # of compiling so far
        self._patience = patience
        self._lock = threading.RLock()
        self._depth = 0
        self._began = 0.0
        self._timer: threading.Timer | None = None
        self._said = False
        self._collects = False

    def on_start(self, event: Any) -> None:
        """A function begins to be compiled, perhaps within another."""
        if not _is_ours(event):
            return
        with self._lock:
            self._depth += 1
            if self._depth > 1:
                return
            self._collects = gc.isenabled()
            gc.disable()
            self._began = time.perf_counter()
            if not self._said:
                self._timer = threading.Timer(max(0.0, self._patience - self.seconds), self._say)
                self._timer.daemon = True
                self._timer.start()

    def on_end(self, event: Any) -> None:
        """A function has been compiled, or has failed to be."""
        if not _is_ours(event):
            return
        with self._lock:
            self._depth -= 1
            if self._depth > 0:
                return
            if self._collects:
                gc.enable()
            self.seconds += time.perf_counter() - self._began
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    def begin_anew(self) -> None:
        """Forget what is being compiled: in a child of `fork` other threads go on with nothing."""
        self._lock = threading.RLock()
        if self._depth > 0 and self._collects:
            gc.enable()
        self._depth, self._timer = 0, None

    def _say(self) -> None:
        with self._lock:
            if self._said or self.silent or self._timer is None or not _someone_watches():
                return
            self._said = True
        print(NOTE, file=sys.stderr, flush=True)


_WATCH = CompileWatch()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_WATCH.begin_anew)


def watch_compiling() -> None:
    """See to it that long compiling in this process is announced."""
    event.register("numba:compile", _WATCH)


def compile_seconds() -> float:
    """Seconds that this process has spent on compiling loops so far."""
    return _WATCH.seconds


@contextlib.contextmanager
def unannounced() -> Iterator[None]:
    """Within this block, long compiling is not announced."""
    before, _WATCH.silent = _WATCH.silent, True
    try:
        yield
    finally:
        _WATCH.silent = before


def _is_ours(event: Any) -> bool:
    """Whether what is compiled is a function of this package."""
    dispatcher = (event.data or {}).get("dispatcher")
    return dispatcher is not None and dispatcher.py_func.__module__.split(".")[0] == _PACKAGE


def _someone_watches() -> bool:
    """Whether standard error is a terminal or a notebook."""
    stream = sys.stderr
    return stream is not None and (
        stream.isatty() or type(stream).__module__.startswith("ipykernel")
    )
