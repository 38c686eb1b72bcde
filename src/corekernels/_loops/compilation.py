"""How loops are compiled, and where they are kept.

Numba keeps them beside the source, or in the user's own cache. Where neither can be written, as
in containers, it would refuse to compile at all: a folder that goes with the process serves then,
or no cache if there is no room for temporary files either.
"""

import atexit
import shutil
import tempfile
import warnings
from functools import partial

from numba import config, njit
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
