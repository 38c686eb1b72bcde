"""How loops are compiled, and where they are kept.

Numba keeps them beside the source, or in the user's own cache. Where neither can be written, as
in containers, it would refuse to compile at all: a folder that goes with the process serves then,
or no cache if there is no room for temporary files either.

What happens while Numba compiles loops: a long wait is announced, garbage collection pauses.

The first calls on a machine compile for seconds, and nobody should think that they hang. Numba
makes objects by the million meanwhile, nearly all of which it keeps: the collector would look
through them over and over, which took a fifth of the time.
"""

import atexit
import contextlib
import gc
import os
import shutil
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

from numba import config, njit
from numba.core import event
from numba.core.caching import CompileResultCacheImpl
from numba.core.dispatcher import Dispatcher

# Decorators for loops, with or without options of `njit`. They leave out what no loop needs: the
# entry for callers in C, which takes time to compile; and the counting of references to arrays,
# which is done for every view of a row, and for a short row takes longer than the row itself.
# The caller, in Python, holds all arrays until a loop returns, and a loop makes none of its own.
# A loop gives no array back, unless it is inlined: what is not counted on one side of a call would
# be lost, or freed too early, on the other.
loop = partial(njit, nogil=True, cache=True, no_cfunc_wrapper=True, _nrt=False)
# A loop that others call for each row, or more often, is put into its callers, by LLVM: an array is
# seven numbers to a call, and a hundred that are passed for a short row take longer than the row.
inlined_loop = partial(loop, forceinline=True)
inner_loop = partial(inlined_loop, no_cpython_wrapper=True)  # that only other loops call
# For `fastmath`: sums may be taken in any order. Without leave to reorder, LLVM adds one by one.
ANY_ORDER = {"reassoc", "nsz", "contract"}
# A loop with small arrays of its own, or that copies one array to another: these are counted.
allocating_loop = partial(loop, _nrt=True)


def ensure_cache() -> None:
    """See to it that loops can be compiled, and say so if they cannot be kept."""
    if _can_be_kept():
        return
    try:
        folder = tempfile.mkdtemp(prefix="corekernels-")
    except OSError:
        Dispatcher.enable_caching = _keep_nothing  # type: ignore[assignment, method-assign]
        kept = "not at all"
    else:
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        config.CACHE_DIR = folder
        kept = f"in {folder} until this process ends"
    warnings.warn(
        "compiled loops cannot be kept beside the package or in the user's cache, so they are "
        f"kept {kept}: every process compiles them again. To keep them, set NUMBA_CACHE_DIR to a "
        "folder that can be written.",
        RuntimeWarning,
        stacklevel=2,
    )


def _keep_nothing(dispatcher: Dispatcher) -> None:
    """In the place of what finds a cache for a loop, and fails where there is none."""


def _can_be_kept() -> bool:
    """Whether Numba finds a place for what it compiles of this package."""
    try:
        CompileResultCacheImpl(ensure_cache)
    except (OSError, RuntimeError):
        return False
    return True


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
