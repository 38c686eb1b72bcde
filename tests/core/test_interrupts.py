"""Control-C during long work ends it, and all threads with it, within a second."""

import os
import signal
import subprocess
import sys
import time

import pytest

from corekernels._core.threads import thread_count

BEGIN = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs begin without it
import numpy as np
from scipy import sparse
import corekernels as ck

rng = np.random.default_rng(0)

def rows(n, columns, density):
    return sparse.random_array((n, columns), density=density, rng=rng, format="csr")
"""

# the same work twice: short, so that all loops are compiled, and far longer than anybody waits
JOBS = {
    "hash": """
X = rows(40_000, 2000, 0.05)
def work(n, k):
    hasher = ck.CoREHasher("core1", k, random_state=0).fit(X)
    for _ in range(n):
        hasher.sketch(X[: 200 * k])
short, long = (1, 1), (1000, 256)
""",
    "search": """
X = rows(40_000, 500, 0.2)
index = ck.CoRENeighbors(method="exact").fit(X)
def work(n): index.kneighbors(X[:n])
short, long = (3,), (40_000,)
""",
    "gram": """
X = rows(6000, 2000, 0.05)
def work(n):
    for _ in range(n):
        ck.core1(X if n > 1 else X[:50])
short, long = (1,), (1000,)
""",
    "fit": """
X = rows(3000, 500, 0.1)
y = rng.integers(0, 12, 3000)
def work(n):
    ck.CoREClassifier(n_hashes=256, C=1e4, tol=1e-12, max_iter=n, random_state=0).fit(X, y)
short, long = (1,), (100_000,)
""",
    "index": """
X = rows(60_000, 500, 0.05)
def work(n):
    ck.CoRENeighbors(method="graph", recall=0.5, random_state=0).fit(X[:n])
short, long = (3000,), (60_000,)
""",
    "read": """
ck.io.write_rows("rows.svm", rows(20_000, 2000, 0.05))
def work(n):
    for _ in range(n):
        for batch in ck.io.open_rows("rows.svm", n_columns=2000):
            if n == 1:
                break
short, long = (1,), (1000,)
""",
}

END = """
import warnings
warnings.simplefilter("ignore")
work(*short)
print("ready", flush=True)
try:
    work(*long)
    print("it ended by itself")
except KeyboardInterrupt:
    end, used = time.monotonic(), time.process_time()
    time.sleep(max(0, float(sys.stdin.readline()) + 1 - end))
    before = time.process_time()
    time.sleep(0.5)
    print(end, used, time.process_time() - before)
"""


def processor_seconds(process):
    """Time that processors have worked for another process, if the system tells."""
    try:
        with open(f"/proc/{process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupted(job, folder):
    """Seconds from the signal to the exception, and those that processors worked after it.

    The seconds are those of the work itself if that is less: the machine may do other things too.
    """
    command = [sys.executable, "-c", BEGIN + JOBS[job] + END]
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    with subprocess.Popen(command, cwd=folder, text=True, **pipes) as process:
        try:
            ready = process.stdout.readline()
            assert ready == "ready\n", process.stderr.read()
            time.sleep(0.7)
            sent, used = time.monotonic(), processor_seconds(process)
            process.send_signal(signal.SIGINT)
            output, errors = process.communicate(f"{sent}\n", timeout=60)
        finally:
            process.kill()
    assert process.returncode == 0, errors
    end, used_in_all, busy = map(float, output.split())
    seconds = end - sent
    if used is not None:
        seconds = min(seconds, (used_in_all - used) / thread_count(None))
    return seconds, busy


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals there")
@pytest.mark.parametrize("job", JOBS)
def test_an_interrupt_ends_all_threads_within_a_second(tmp_path, job):
    seconds, busy = interrupted(job, tmp_path)
    assert seconds < 1
    assert busy < 0.1
