"""Control-C ends every command with one line and exit code 130, whenever it comes."""

import shlex
import signal
import subprocess
import sys
import time

import pytest
from scipy import sparse

import corekernels as ck

RUN = [sys.executable, "-c", "import signal, sys; signal.signal(signal.SIGINT, "
       "signal.default_int_handler); from corekernels.__main__ import main; "
       "print('begun', file=sys.stderr, flush=True); main()"]  # fmt: skip


def start(line):
    return subprocess.Popen(
        [*RUN, *shlex.split(line)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.fixture
def big(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = sparse.random_array((30_000, 3000), density=0.01, format="csr", rng=0)
    ck.io.write_rows("big.svm", X)
    return tmp_path


def ended(process):
    """The lines that an interrupted command leaves, without the first and progress bars."""
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    lines = [line for line in said.replace("\r", "\n").split("\n") if "interrupted" in line]
    assert len(lines) == 1, said
    return lines[0]


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.15, 0.3, 0.6])
def test_while_it_imports(big, seconds):
    process = start("kernel big.svm K.npy")
    assert process.stderr.readline() == "begun\n"
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    assert ended(process) == "error: interrupted; nothing is kept."
