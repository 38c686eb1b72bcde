"""Loops are compiled where nothing can be written, and with every index checked if asked for."""

import os
import pickle
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
STATE = """
import builtins, gc, os, random, signal, sys, warnings
import numba, numpy as np, scipy.sparse, sklearn, sklearn.linear_model, threadpoolctl
from numba.core import dispatcher, event

def state():
    owners = builtins, gc, np, np.ndarray, numba, numba.config, dispatcher.Dispatcher
    attributes = {
        f"{owner.__name__}.{name}": value for owner in owners for name, value in vars(owner).items()
    }
    return attributes | {
        "environment": dict(os.environ), "hooks": (sys.excepthook, sys.getrecursionlimit()),
        "collector": (gc.isenabled(), gc.get_threshold(), list(gc.callbacks)),
        "listeners": {kind: list(some) for kind, some in event._registered.items() if some},
        "errors": np.geterr(), "filters": list(warnings.filters), "random": random.getstate(),
        "numbers": str(np.random.get_state()), "options": sklearn.get_config(),
        "interrupts": signal.getsignal(signal.SIGINT),
        "threads": [library["num_threads"] for library in threadpoolctl.threadpool_info()],
    }

before = state()
import corekernels as ck
X = scipy.sparse.eye_array(4, format="csr")
ck.core1(X)
after = state()
print([name for name in before if after.get(name) is not before[name] != after.get(name)])
"""
FAULTS = """
import numpy as np
from corekernels._loops.rows import Blocks, taken
from corekernels._loops.compilation import allocating_loop, inlined_loop, inner_loop, loop
from corekernels._loops.simd.bit_sets import any_bit, bits_from, equal_bytes, pack_marks
from corekernels._loops.simd.integers import fetch_add, load_word, store_word
from corekernels._loops.simd.vectors import load, load_line, store

inlined, inner = (kind(lambda x, i: x[i], cache=False) for kind in (inlined_loop, inner_loop))
text, numbers, words = np.zeros(64, np.uint8), np.zeros(16, np.float32), np.zeros(9, np.uint64)

def write(x, i):
    x[i] = 1

def write_in_blocks(x, i):
    for start, stop in taken(Blocks(np.zeros(1, np.int64), i + 1, 1, 1), 100):
        x[start] = 1

loops = [  # each with the last place that is in its array
    (write, text, 63), (write_in_blocks, words, 8), (lambda x, i: inlined(x, i), text, 63),
    (lambda x, i: inner(x, i), words, 8), (lambda x, i: np.empty(3)[i], words, 2),
    (lambda x, i: store(load(x, i), 0, x), numbers, 8),
    (lambda x, i: store(load(x, 0), i, x), numbers, 8),
    (lambda x, i: store(load_line(x, i), 0, x), numbers, 0),
    (lambda x, i: any_bit(bits_from(x, i)), words, 63), (lambda x, i: pack_marks(x, i), text, 0),
    (lambda x, i: fetch_add(x, i, 1), words, 8),
    (lambda x, i: store_word(np.uint64(1), i, x), text, 56),
    # 64 bytes behind text can be read
    (lambda x, i: load_word(x, i), text, 120), (lambda x, i: equal_bytes(x, i, 0), text, 64),
]
for number, (function, array, last) in enumerate(loops):
    checked = allocating_loop(function, cache=False)
    checked(array, last)
    try:
        checked(array, last + 1)
    except IndexError:
        print(number)
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


def test_where_there_is_no_place_for_a_cache_nothing_is_kept(sealed):
    result = run(sealed, SCRIPT)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"[1, 1] {sealed}")
    assert result.stderr.count("compiled loops cannot be kept") == 1
    assert "set NUMBA_CACHE_DIR to a folder that can be written" in result.stderr


def test_where_there_is_a_cache_nothing_is_said(sealed):
    result = run(sealed, SCRIPT, NUMBA_CACHE_DIR=str(sealed / "cache"))
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    assert any((sealed / "cache").rglob("*.nbi"))


@pytest.mark.parametrize("cache", [None, "cache"])
def test_other_packages_find_everything_as_it_was(sealed, cache):
    """Nothing of Python, NumPy, Numba or scikit-learn is assigned to, wherever loops are kept."""
    changes = {} if cache is None else {"NUMBA_CACHE_DIR": str(sealed / cache)}
    result = run(sealed, STATE, **changes)
    assert result.returncode == 0, result.stderr
    assert result.stdout == "[]\n"


def test_code_kept_by_a_version_whose_modules_are_gone_is_compiled_anew(tmp_path):
    loop = "from corekernels._loops.compilation import loop\n\n@loop\ndef double(x, out):\n"
    (tmp_path / "module.py").write_text(f"{loop}    out[0] = 2 * x\n")
    script = (
        "import numpy as np, module; out = np.zeros(1); module.double(4.0, out); "
        "print(out[0], *module.double.stats.cache_hits.values())"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    environment.pop("NUMBA_DISABLE_JIT", None)

    def run():
        command = [sys.executable, "-c", script]
        ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout.decode().split()

    assert run() == ["8.0"]
    (index,) = tmp_path.rglob("*.nbi")
    with open(index, "rb") as file:
        version = pickle.load(file)
    index.write_bytes(pickle.dumps(version) + b"cmodule_that_is_gone\nType\n.")
    assert run() == ["8.0"]
    assert run() == ["8.0", "1"]


def test_every_fault_is_an_error(sealed):
    """Where indexes are checked, also those that Numba does not know of."""
    result = run(sealed, FAULTS, NUMBA_BOUNDSCHECK="1", NUMBA_CACHE_DIR=str(sealed / "cache"))
    assert result.returncode == 0, result.stderr
    assert [int(line) for line in result.stdout.split()] == list(range(14))
