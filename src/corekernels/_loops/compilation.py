"""How loops are compiled, and where they are kept.

Numba keeps them beside the source, or in the user's own cache. Where neither can be written, as
in containers, it refuses to compile what is to be kept: every process compiles anew there. What an
earlier version of the package has left may name modules that are gone: it is dropped.
"""

import contextlib
import sys
import time
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

from numba import njit
from numba.core import event
from numba.core.caching import FunctionCache


def _cache_can_be_written() -> bool:
    """Whether Numba finds a place for what it compiles of this package."""
    try:
        njit(cache=True)(_cache_can_be_written)
    except (OSError, RuntimeError):
        return False
    return True


_CACHE = _cache_can_be_written()
if not _CACHE:
    warnings.warn(
        "compiled loops cannot be kept beside the package or in the user's cache, so every "
        "process compiles them again. To keep them, set NUMBA_CACHE_DIR to a folder that can be "
        "written.",
        RuntimeWarning,
        stacklevel=2,
    )


class LoopCache(FunctionCache):
    """Kept machine code of one loop, without that of versions whose types are gone."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The compiled loop for these types; None if it has to be compiled."""
        try:
            return super().load_overload(sig, target_context)
        except (ImportError, AttributeError):  # Numba unpickles before it looks at the source
            self.flush()
            return None


def _kept_loop(function: Any = None, *, cache: bool = True, **options: Any) -> Any:
    """`njit`, whose machine code is kept."""
    if function is None:
        return partial(_kept_loop, cache=cache, **options)
    compiled = njit(function, **options)
    if cache and _CACHE and compiled is not function:  # which it is where tests do not compile
        compiled._cache = LoopCache(function)
    return compiled


# Decorators for loops, with or without options of `njit`. They leave out what no loop needs: the
# entry for callers in C, which takes time to compile; and the counting of references to arrays,
# which is done for every view of a row, and for a short row takes longer than the row itself.
# The caller, in Python, holds all arrays until a loop returns, and a loop makes none of its own.
# A loop gives no array back, unless it is inlined: what is not counted on one side of a call would
# be lost, or freed too early, on the other.
loop = partial(_kept_loop, nogil=True, no_cfunc_wrapper=True, _nrt=False)
# A loop that others call for each row, or more often, is put into its callers, by LLVM: an array is
# seven numbers to a call, and a hundred that are passed for a short row take longer than the row.
inlined_loop = partial(loop, forceinline=True)
inner_loop = partial(inlined_loop, no_cpython_wrapper=True)  # that only other loops call
# For `fastmath`: sums may be taken in any order. Without leave to reorder, LLVM adds one by one.
ANY_ORDER = {"reassoc", "nsz", "contract"}
# A loop with small arrays of its own, or that copies one array to another: these are counted.
allocating_loop = partial(loop, _nrt=True)


NOTE = (
    "note: corekernels compiles loops for this machine, once, which takes some seconds; "
    "`corekernels warmup` compiles all of them beforehand"
)
_PATIENCE = 1.0  # seconds
_PACKAGE = __name__.partition(".")[0]


class CompileNote(event.Listener):
    """Prints the note once compiling loops of this package has taken so many seconds in all."""

    def __init__(self, patience: float = _PATIENCE) -> None:
        self._patience = patience
        self._seconds = 0.0  # of the compilations that have ended
        self._depth = 0  # of calls: a loop is compiled within those that call it
        self._began = 0.0

    def on_start(self, event: Any) -> None:
        """A loop begins to be compiled, perhaps within another."""
        if _is_of_package(event):
            if self._depth == 0:
                self._began = time.perf_counter()
            self._depth += 1

    def on_end(self, event: Any) -> None:
        """A loop has been compiled, or has failed to be."""
        if not _is_of_package(event):
            return
        self._depth -= 1
        seconds = self._seconds + time.perf_counter() - self._began
        if self._depth == 0:
            self._seconds = seconds
        if seconds > self._patience and _someone_watches():
            self._patience = float("inf")
            print(NOTE, file=sys.stderr, flush=True)


@contextlib.contextmanager
def compiling_announced() -> Iterator[None]:
    """Within this block, long compiling is announced."""
    with event.install_listener("numba:compile", CompileNote()):
        yield


def _is_of_package(event: Any) -> bool:
    """Whether what is compiled is a function of this package."""
    dispatcher = (event.data or {}).get("dispatcher")
    return dispatcher is not None and dispatcher.py_func.__module__.split(".")[0] == _PACKAGE


def _someone_watches() -> bool:
    """Whether standard error is a terminal."""
    return sys.stderr is not None and sys.stderr.isatty()
