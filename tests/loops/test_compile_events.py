"""The note while loops are compiled for long, and the pause of garbage collection."""

import gc
import io
import os
import time
from contextlib import redirect_stderr

import pytest
from numba.core import event

from corekernels._loops import compilation
from corekernels._loops.compilation import NOTE, CompileWatch
from corekernels._loops.rows import count_nonzeros


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Dispatcher:
    """Something that Numba compiles."""

    def __init__(self, function):
        self.py_func = getattr(function, "py_func", function)


OURS, ANOTHER = Dispatcher(count_nonzeros), Dispatcher(pytest.raises)


def compiling(dispatcher, seconds):
    with event.trigger_event("numba:compile", data={"dispatcher": dispatcher}):
        time.sleep(seconds)


def said(watch, dispatcher, seconds, times=1):
    """What a terminal shows of so much compiling."""
    with (
        compilation.unannounced(),  # what was compiled before may have used up its patience
        redirect_stderr(Terminal()) as terminal,
        event.install_listener("numba:compile", watch),
    ):
        for _ in range(times):
            compiling(dispatcher, seconds)
    return terminal.getvalue()


def test_long_compiling_is_announced_once():
    assert said(CompileWatch(patience=0.05), OURS, 0.03, times=3) == f"{NOTE}\n"


@pytest.mark.parametrize(
    ("dispatcher", "options"),
    [(OURS, {"patience": 5.0}), (OURS, {"patience": 0.0, "silent": True}),
     (ANOTHER, {"patience": 0.0})],
    ids=["short", "silent", "functions of others"],
)  # fmt: skip
def test_nothing_is_said(dispatcher, options):
    assert said(CompileWatch(**options), dispatcher, 0.05) == ""


def test_nothing_is_said_where_nobody_watches(capsys):
    with event.install_listener("numba:compile", CompileWatch(patience=0.0)):
        compiling(OURS, 0.05)
    assert capsys.readouterr().err == ""


def test_what_is_unannounced_stays_so_within_the_block_alone():
    assert not compilation._WATCH.silent
    with compilation.unannounced():
        assert compilation._WATCH.silent
    assert not compilation._WATCH.silent


@pytest.mark.parametrize("before", [True, False])
def test_garbage_collection_pauses_and_is_as_before_afterwards(before):
    try:
        (gc.enable if before else gc.disable)()
        with event.trigger_event("numba:compile", data={"dispatcher": OURS}):
            assert not gc.isenabled()
        assert gc.isenabled() == before
    finally:
        gc.enable()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_garbage_collection_does_not_pause_in_a_child_of_fork():
    with event.trigger_event("numba:compile", data={"dispatcher": OURS}):
        child = os.fork()
        if child == 0:
            os._exit(not gc.isenabled())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
