"""How loops are compiled, and where they are kept.

Numba keeps them beside the source, or in the user's own cache. Where neither can be written, as
in containers, it would refuse to compile at all: a folder that goes with the process serves then,
or no cache if there is no room for temporary files either.
"""

import atexit
import shutil
import tempfile
import warnings

from numba import config, njit
from numba.core.caching import CompileResultCacheImpl
from numba.core.dispatcher import Dispatcher

# As `njit(nogil=True, cache=True)`, without the entry for callers in C, whom no loop has; and, for
# loops that only other loops call, without the one for Python. Compiling them takes a tenth less.
loop = njit(nogil=True, cache=True, no_cfunc_wrapper=True)
inner_loop = njit(nogil=True, cache=True, no_cfunc_wrapper=True, no_cpython_wrapper=True)


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
