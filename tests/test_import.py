"""Importing the package: what is not needed is not loaded, and nothing is changed or compiled."""

import importlib
import pkgutil
import subprocess
import sys

import numpy as np
import pytest

import corekernels

HEAVY = ("matplotlib", "jinja2", "numba", "numpy", "pyarrow", "rich", "scipy", "sklearn", "typer")
LAZY = (
    "advice", "documents", "files", "io", "linear", "neighbors", "report", "text",
)  # fmt: skip
MODULES = f"""
import sys
print(*[name for name in {HEAVY} if name in sys.modules])
"""


def printed(script):
    """The lines that a script prints in a process of its own."""
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return ended.stdout.splitlines()


def imported(script):
    """Which of the heavy packages a script imports."""
    return set(printed(script + MODULES)[-1].split())


def test_import_loads_nothing_and_the_rest_comes_on_use():
    assert imported("import corekernels") == set()
    assert imported("import corekernels, corekernels.files, corekernels.linear") == set()
    assert imported("import corekernels; corekernels.core1") >= {"numba", "numpy", "scipy"}


def imported_by_command(*arguments):
    """Which of the heavy packages a command line imports."""
    command = f"""
import contextlib
from corekernels.cli import app
with contextlib.suppress(SystemExit):
    app({arguments}, prog_name="corekernels")
"""
    return imported(command)


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["-h"]], ids=" ".join)
def test_version_and_help_load_the_parser_of_commands_alone(arguments):
    assert imported_by_command(*arguments) == {"typer"}


@pytest.mark.parametrize(
    "line",
    [
        "hash rows.svm rows.sig",
        "info rows.svm",
        "convert rows.svm rows.npz",
        "info rows.npz",
        "dedup rows.svm pairs.tsv",
        "dedup documents.jsonl pairs.tsv --text text",
    ],
)
def test_a_job_imports_what_it_needs(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "documents.jsonl").write_text('{"text": "one and two"}\n' * 3)
    for name in ("rows.svm", "rows.npz"):
        corekernels.io.write_rows(name, np.eye(30), np.arange(30) % 2)
    needed = {"numba", "numpy", "scipy", "typer"}
    assert imported_by_command(*line.split()) == needed


@pytest.mark.parametrize("room", ["", *LAZY])
def test_every_public_name_is_there_and_none_is_that_of_a_module(room):
    package = importlib.import_module(f"corekernels.{room}".rstrip("."))
    modules = {found.name for found in pkgutil.iter_modules(package.__path__)}
    for name in package.__all__:
        value = getattr(package, name)
        assert (name in modules) == (value is sys.modules.get(f"{package.__name__}.{name}"))
    assert set(package.__all__) <= set(dir(package))
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = package.nothing


def test_a_name_that_is_not_there_cannot_be_imported():
    with pytest.raises(ImportError, match="nothing"):
        from corekernels import nothing  # noqa: F401
    assert not hasattr(corekernels, "nothing")
