"""An installation and a home that cannot be written: loops are compiled all the same."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import corekernels

SCRIPT = """
import corekernels as ck
from corekernels._loops.rows import count_nonzeros
import numpy as np
out = np.zeros(2, np.int64)
count_nonzeros(np.eye(2), out)
print(out.tolist(), ck.__file__)
"""
NO_TEMPORARY_FILES = """
import tempfile
def refuse(*arguments, **options):
    raise FileNotFoundError(2, "No usable temporary directory found")
tempfile.mkdtemp = refuse
"""


@pytest.fixture
def sealed(tmp_path):
    """A copy of the package in which nothing can be cached, not even by root."""
    package = Path(corekernels.__file__).parent
    shutil.copytree(package, tmp_path / "corekernels", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [tmp_path / "corekernels", *(tmp_path / "corekernels").rglob("*/")]:
        if folder.is_dir():
            (folder / "__pycache__").touch()
    (tmp_path / "home").touch()
    return tmp_path


def run(folder, script, **changes):
    environment = {**os.environ, "PYTHONPATH": str(folder), "HOME": str(folder / "home")}
    environment |= {"PYTHONDONTWRITEBYTECODE": "1", **changes}
    for name in ("XDG_CACHE_HOME", "NUMBA_DISABLE_JIT"):
        environment.pop(name, None)
    if "NUMBA_CACHE_DIR" not in changes:
        environment.pop("NUMBA_CACHE_DIR", None)
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False,
        env=environment, cwd=folder,
    )  # fmt: skip


def test_a_temporary_folder_serves(sealed):
    scratch = sealed / "scratch"
    scratch.mkdir()
    result = run(sealed, SCRIPT, TMPDIR=str(scratch))
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"[1, 1] {sealed}")
    assert result.stderr.count("compiled loops cannot be kept") == 1
    assert "set NUMBA_CACHE_DIR to a folder that can be written" in result.stderr
    assert list(scratch.iterdir()) == []  # it goes with the process


def test_no_cache_at_all(sealed):
    result = run(sealed, NO_TEMPORARY_FILES + SCRIPT)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("[1, 1]")
    assert "so they are kept not at all" in result.stderr


def test_where_there_is_a_cache_nothing_is_said(sealed):
    result = run(sealed, SCRIPT, NUMBA_CACHE_DIR=str(sealed / "cache"))
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert any((sealed / "cache").rglob("*.nbi"))
