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


@pytest.mark.parametrize("n_parts", [2, 9])
def test_while_it_hashes(big, n_parts):
    """What is kept is said, with the command that goes on to the bytes of an undisturbed run."""
    options = "--n-hashes 512 --n-jobs 1 --shard-rows 1000 --quiet"
    run = subprocess.run([*RUN, *shlex.split(f"hash big.svm whole {options}")])
    assert run.returncode == 0
    process = start(f"hash big.svm again {options}")
    parts = big / ".again.unfinished/parts"
    while len(list(parts.glob("*.safetensors"))) < n_parts:
        assert process.poll() is None
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    line = ended(process)
    n_parts = len(list(parts.glob("*.safetensors")))
    command = f"hash big.svm again {options} --resume"
    assert line == (
        f"error: interrupted; kept are {n_parts} finished parts of `hash`. "
        f"To go on: corekernels {command}"
    )
    assert subprocess.run([*RUN, *shlex.split(command)]).returncode == 0
    names = sorted(path.name for path in (big / "whole").iterdir())
    assert names == sorted(path.name for path in (big / "again").iterdir())
    for name in names:
        assert (big / "again" / name).read_bytes() == (big / "whole" / name).read_bytes()
