"""`kill -9` at random moments: what stood there is whole, and the next run cleans up.

One process imports everything and compiles; for each moment it forks a child that runs the
command, so that a moment costs a fraction of a second and not an interpreter's start.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import sparse

import corekernels as ck
from corekernels import files, io

SERVER = """
import os, sys, threading
import tqdm
from typer.testing import CliRunner
from corekernels.cli import app
from corekernels.files import hashing

hashing.hash_to_file.__kwdefaults__["part_bytes"] = 1 << 20  # several parts of a small file
# all children share tqdm's own lock, which one that is killed may never release
tqdm.tqdm.set_lock(threading.RLock())
for line in sys.stdin:
    word, *arguments = line.split()
    if word == "warm":
        assert CliRunner().invoke(app, arguments).exit_code == 0
        print("done", flush=True)
        continue
    child = os.fork()
    if child == 0:
        os.close(0)
        code = 1
        try:
            code = app(arguments, standalone_mode=False) or 0
        finally:
            os._exit(code)
    print(child, flush=True)
    _, status = os.waitpid(child, 0)
    print(os.waitstatus_to_exitcode(status), flush=True)
"""

JOBS = {
    "hash": "hash rows.svm {out} --n-hashes 512 --n-jobs 1 --quiet",
    "shards": "hash rows.svm {out} --n-hashes 512 --n-jobs 1 --quiet --shard-rows 300 --resume",
    "resumed": "hash rows.svm {out} --n-hashes 512 --n-jobs 1 --quiet --resume",
    "train": "train rows.svm {out} --n-hashes 64 --n-jobs 1 --quiet --tol 0.01",
    "index": "index rows.svm {out} --n-jobs 1 --quiet --method exact",
    "search": "search whole-index rows.svm {out} --n-jobs 1 --quiet",
    "dedup": "dedup rows.svm {out} --n-jobs 1 --quiet",
    "parts": "dedup rows.svm {out} --n-jobs 1 --quiet --working-memory 0.5 --resume",
    "kernel": "kernel rows.svm {out} --n-jobs 1 --quiet --working-memory 0.5",
}


class Server:
    """Runs commands in forked children, whole or killed after some seconds."""

    def __init__(self, folder):
        self.process = subprocess.Popen(
            [sys.executable, "-c", SERVER], cwd=folder, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def ask(self, line):
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def run(self, line, kill_after=None):
        child = int(self.ask(f"run {line}"))
        if kill_after is not None:
            time.sleep(kill_after)
            with contextlib.suppress(ProcessLookupError):  # it was faster
                os.kill(child, signal.SIGKILL)
        return int(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()


@pytest.fixture(scope="module")
def workshop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kill")
    rng = np.random.default_rng(0)
    X = sparse.random_array((3000, 2000), density=0.02, rng=rng, format="csr")
    io.write_rows(folder / "rows.svm", X, rng.integers(0, 3, 3000))
    server = Server(folder)
    for job, line in JOBS.items():
        assert server.ask(f"warm {line.format(out=f'whole-{job}')}") == "done"
    yield folder, server
    server.close()


def contents(path):
    if path.is_dir():
        return {name: (path / name).read_bytes() for name in sorted(os.listdir(path))}
    return path.read_bytes() if path.exists() else None


def load(path, job):
    """The output loads, whole."""
    if job == "kernel":
        assert np.load(path).shape[1] == 3000
    elif job == "train":
        ck.CoREClassifier.load(path)
    elif job == "index":
        assert ck.CoRENeighbors.load(path).n_samples_fit_ == 3000
    elif job in ("search", "dedup", "parts"):
        assert path.read_bytes().endswith(b"\n")
    else:
        files.load_signatures(path)


def remains(folder, out):
    return [name for name in os.listdir(folder) if name != out and out in name]


@pytest.mark.parametrize("job", JOBS)
@pytest.mark.parametrize("n_moments", [8, pytest.param(150, marks=pytest.mark.slow)])
def test_killed_at_random_moments(workshop, job, n_moments):
    folder, server = workshop
    out = f"out-{job}"
    target, line = folder / out, JOBS[job].format(out=out)
    whole = contents(folder / f"whole-{job}")
    start = time.monotonic()
    server.run(line)
    seconds = time.monotonic() - start
    assert contents(target) == whole
    rng = np.random.default_rng(len(job))
    n_killed = 0
    for number, moment in enumerate(rng.permutation(n_moments)):
        if job == "shards" and number % 3 == 0:
            shutil.rmtree(target, ignore_errors=True)
        elif job != "shards":
            target.write_bytes(whole if number % 2 else b"old")
        before = contents(target)
        code = server.run(line, (moment + rng.random()) / n_moments * seconds)
        assert code in (0, -signal.SIGKILL)
        n_killed += code != 0
        after = contents(target)
        if job == "shards":
            check_shards(target, after, whole)
        else:
            assert after in (before, whole)
            if after == whole:
                load(target, job)
    assert n_killed >= n_moments // 3
    assert server.run(line) == 0
    assert contents(target) == whole
    assert remains(folder, out) in ([], [f"{out}.json"])


def check_shards(target, after, whole):
    """An unfinished folder is refused; parts in it are whole."""
    if after is None or after == whole:
        return
    with pytest.raises(ck.CoREError, match=r"unfinished run|holds no part-00000"):
        files.load_signatures(target)
    for name, content in after.items():
        assert name.startswith(".") or content == whole[name]
