"""Workers and drivers killed at random moments: the results are the same, byte for byte."""

import os
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

import corekernels as ck
from corekernels import files, io
from corekernels.io.job_folder import unfinished_folder
from support import tasks

N_KILLS = 20

pytestmark = [pytest.mark.engines, pytest.mark.slow]


@pytest.fixture(scope="module")
def job(tmp_path_factory, digits, local):
    """Rows in files, how to hash them, and the shards they should become."""
    X, y = digits
    base = tmp_path_factory.mktemp("kills")
    (base / "rows").mkdir()
    for number in range(8):
        io.write_rows(base / "rows" / f"{number}.npz", X, y)
    plan = files.plan_parts(local, base / "rows")
    recipe = ck.Recipe(n_columns=64, n_hashes=1024)
    files.hash_to_file(plan, base / "whole", recipe, engine=local, shard_rows=300)
    return base / "rows", recipe, contents(base / "whole")


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def kill_soon(pids, rng):
    """Kill one of some processes at a random moment."""
    victim, wait = rng.choice(pids), 0.5 * rng.random()
    timer = threading.Timer(wait, lambda: os.kill(victim, signal.SIGKILL))
    timer.start()
    return timer


def begun(line, target):
    """A process of a command, from when it has begun to work, and when that was."""
    process = subprocess.Popen([word.format(out=target) for word in line], start_new_session=True)
    folder = unfinished_folder(target)
    while not folder.exists() and process.poll() is None:
        time.sleep(0.002)
    return process, time.monotonic()


def kill_at_random(line, tmp_path, rng):
    """Outputs of runs that were killed and gone on with, after that of one that was not."""
    process, start = begun(line, tmp_path / "whole")
    assert process.wait() == 0
    seconds, n_cut = time.monotonic() - start, 0
    yield tmp_path / "whole"
    for number in range(N_KILLS):
        target = tmp_path / str(number)
        process, _ = begun(line, target)
        time.sleep(seconds * rng.random())
        os.killpg(os.getpgid(process.pid), signal.SIGKILL)
        process.wait()
        n_cut += unfinished_folder(target).exists()
        subprocess.run([word.format(out=target) for word in line], check=True)
        yield target
    assert n_cut > N_KILLS // 4


@pytest.mark.parametrize("engine", ["dask", "spark"], indirect=True)
def test_killed_workers(engine, job, tmp_path):
    source, recipe, whole = job
    rng = random.Random(0)
    for number in range(N_KILLS):
        target = tmp_path / str(number)
        plan = files.plan_parts(engine, source)
        pids = sorted(set(engine.run(tasks.own_pid, None, list(range(8)))))
        timer = kill_soon(pids, rng)
        files.hash_to_file(plan, target, recipe, engine=engine, shard_rows=300)
        timer.join()
        assert contents(target) == whole


@pytest.mark.parametrize("name", ["dask", "local"])
def test_killed_drivers(job, tmp_path, name):
    source, _, whole = job
    line = [
        sys.executable, "-m", "corekernels", "hash", str(source), "{out}", "--n-hashes", "1024",
        "--shard-rows", "300", "--resume", "--quiet", "--engine", name, "--workers", "2",
    ]  # fmt: skip
    for target in kill_at_random(line, tmp_path, random.Random(0)):
        assert contents(target) == whole


def test_killed_drivers_of_near_duplicates(job, tmp_path):
    source, _, _ = job
    line = [
        sys.executable, "-m", "corekernels", "dedup", str(source), "{out}", "--threshold", "0.9",
        "--copies-once", "--resume", "--quiet", "--engine", "local", "--workers", "2",
    ]  # fmt: skip
    for target in kill_at_random(line, tmp_path, random.Random(1)):
        assert target.read_bytes() == (tmp_path / "whole").read_bytes()
