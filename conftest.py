"""For all tests and examples of docstrings.

Examples run in an empty folder, the tracer of coverage pauses in the compiler, and no loop may
leave an array behind.
"""

import gc
import os
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:
    # Workers share the cores, and OpenMP's threads wait for each other by spinning.
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from numba.core import event
from numba.core.runtime import _nrt_python, rtsys


class UntracedCompiling(event.Listener):
    """Stops the tracer of coverage while a loop is compiled, which takes a third less time then.

    What tests compile themselves is traced: the code that generates instructions counts there.
    """

    def __init__(self) -> None:
        self._stopped = threading.local()

    def on_start(self, event: Any) -> None:
        """A function begins to be compiled, perhaps within another."""
        if _is_a_loop(event):
            tracers = self._stopped.__dict__.setdefault("tracers", [])
            tracers.append(sys.gettrace())
            sys.settrace(None)

    def on_end(self, event: Any) -> None:
        """A function has been compiled, or has failed to be."""
        if _is_a_loop(event):
            sys.settrace(self._stopped.tracers.pop())


def _is_a_loop(event: Any) -> bool:
    return bool(event.data["dispatcher"].py_func.__module__.startswith("corekernels."))


event.register("numba:compile", UntracedCompiling())


@pytest.fixture(scope="session", autouse=True)
def arrays_of_loops() -> Iterator[None]:
    """What loops made, they have freed: most do not count references, so a mistake would leak."""
    _nrt_python.memsys_enable_stats()
    yield
    gc.collect()
    counted = rtsys.get_allocation_stats()
    assert counted.mi_alloc == counted.mi_free


@pytest.fixture(autouse=True)
def folder_of_examples(request: pytest.FixtureRequest) -> None:
    """For examples only; a test that writes asks for a folder of its own."""
    if isinstance(request.node, pytest.DoctestItem):
        folder = request.getfixturevalue("tmp_path")
        request.getfixturevalue("monkeypatch").chdir(folder)
