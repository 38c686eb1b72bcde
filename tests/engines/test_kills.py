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
    rng = random.Random(0)
    line = [
        sys.executable, "-m", "corekernels", "hash", str(source), "", "--n-hashes", "1024",
        "--shard-rows", "300", "--resume", "--quiet", "--engine", name, "--workers", "2",
    ]  # fmt: skip
    target = tmp_path / "timed"
    line[5] = str(target)
    start = time.monotonic()
    subprocess.run(line, check=True)
    seconds = time.monotonic() - start
    assert contents(target) == whole
    n_cut = 0
    for number in range(N_KILLS):
        target = tmp_path / str(number)
        line[5] = str(target)
        process = subprocess.Popen(line, start_new_session=True)
        time.sleep(seconds * (0.3 + 0.7 * rng.random()))
        with_workers = os.getpgid(process.pid)
        os.killpg(with_workers, signal.SIGKILL)
        process.wait()
        n_cut += (tmp_path / f".{number}.unfinished").exists()
        subprocess.run(line, check=True)
        assert contents(target) == whole
    assert n_cut


def test_killed_drivers_of_near_duplicates(job, tmp_path):
    source, _, _ = job
    rng = random.Random(1)
    line = [
        sys.executable, "-m", "corekernels", "dedup", str(source), "", "--threshold", "0.9",
        "--copies-once", "--resume", "--quiet", "--engine", "local", "--workers", "2",
    ]  # fmt: skip
    line[5] = str(tmp_path / "whole")
    start = time.monotonic()
    subprocess.run(line, check=True)
    seconds = time.monotonic() - start
    n_cut = 0
    for number in range(N_KILLS):
        line[5] = str(tmp_path / str(number))
        process = subprocess.Popen(line, start_new_session=True)
        time.sleep(seconds * (0.3 + 0.7 * rng.random()))
        os.killpg(os.getpgid(process.pid), signal.SIGKILL)
        process.wait()
        n_cut += (tmp_path / f".{number}.unfinished").exists()
        subprocess.run(line, check=True)
        assert (tmp_path / str(number)).read_bytes() == (tmp_path / "whole").read_bytes()
    assert n_cut
