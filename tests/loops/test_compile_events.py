"""The note while loops are compiled for long."""

import io
import time
from contextlib import redirect_stderr

import pytest
from numba.core import event

from corekernels._loops.compilation import NOTE, CompileNote
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


def shown(note, *dispatchers, seconds=0.03):
    """What a terminal shows of so much compiling."""
    with (
        redirect_stderr(Terminal()) as terminal,
        event.install_listener("numba:compile", note),
    ):
        for dispatcher in dispatchers:
            compiling(dispatcher, seconds)
    return terminal.getvalue()


def test_long_compiling_is_announced_once():
    assert shown(CompileNote(patience=0.05), OURS, OURS, OURS) == f"{NOTE}\n"


def test_a_loop_that_takes_long_is_announced_before_it_is_done():
    with (
        redirect_stderr(Terminal()) as terminal,
        event.install_listener("numba:compile", CompileNote(patience=0.02)),
        event.trigger_event("numba:compile", data={"dispatcher": OURS}),
    ):
        compiling(OURS, 0.03)
        assert terminal.getvalue() == f"{NOTE}\n"


@pytest.mark.parametrize(
    ("dispatcher", "patience"), [(OURS, 5.0), (ANOTHER, 0.0)], ids=["short", "functions of others"]
)
def test_nothing_is_said(dispatcher, patience):
    assert shown(CompileNote(patience), dispatcher) == ""


def test_nothing_is_said_where_nobody_watches(capsys):
    with event.install_listener("numba:compile", CompileNote(patience=0.0)):
        compiling(OURS, 0.03)
    assert capsys.readouterr().err == ""
