"""A child of `fork` does all that its parent could, whatever other threads held at that moment."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")

BEGIN = """
import functools, gc, os, signal, sys, threading, time, warnings, weakref

locks = []

def recorded(make):
    def lock():
        made, frame = make(), sys._getframe(1)
        for _ in range(3):  # the package's own, or one of a queue or pool that it makes
            if frame is not None and frame.f_globals["__name__"].startswith("corekernels"):
                locks.append(weakref.ref(made))
                break
            frame = frame and frame.f_back
        return made
    return lock

threading.Lock, threading.RLock = recorded(threading.Lock), recorded(threading.RLock)
functools.RLock = threading.RLock  # for cached properties, up to Python 3.11

import numpy as np
from threadpoolctl import threadpool_info
import corekernels as ck
from corekernels.files.readers import recipe_for

def blas_threads():
    return [found["num_threads"] for found in threadpool_info() if found["user_api"] == "blas"]

rng = np.random.default_rng(0)
X = rng.random((300, 200)) * (rng.random((300, 200)) < 0.3)
y = np.arange(300) % 3
K, n_threads = ck.core1(X), blas_threads()
ck.io.write_rows("rows.svm", X, y)
ck.io.write_rows("rows.npy", X)
model = ck.CoREClassifier(n_hashes=64, random_state=0).fit(X, y)
index = ck.CoRENeighbors(random_state=0).fit(X)
shared = ck.CoRENeighbors(random_state=0).fit(X[:200])

def gram():
    assert np.array_equal(ck.core1(X), K)
    assert blas_threads() == n_threads

def learn():
    again = ck.CoREClassifier(n_hashes=64, random_state=0).fit(X, y)
    assert np.array_equal(again.predict(X), model.predict(X))

def search():
    again = ck.CoRENeighbors(random_state=0).fit(X)
    assert np.array_equal(again.kneighbors(X)[1], index.kneighbors(X)[1])

def change():
    shared.add(X[200:])
    shared.remove(shared.ids_[-100:])
    assert shared.n_samples_fit_ == 200

def read():
    assert ck.io.read_rows("rows.svm")[0].shape == ck.io.read_rows("rows.npy")[0].shape

def write():
    reader = ck.files.open_reader("rows.svm")
    recipe = recipe_for(reader, n_hashes=16)
    assert ck.files.hash_to_file(reader, "rows.sig", recipe, part_bytes=1000).rows == 300

def count():
    # characters of a page that no text had before
    page = 0x0400 + 256 * len(passed)
    assert ck.text.Shingles().transform([" ".join(chr(page + i) * 4 for i in range(9))]).nnz

passed = []
jobs = gram, learn, search, change, read, write, count

def ended(job, seconds=30):
    # how a child ends that does a job
    child = os.fork()
    if child == 0:
        signal.alarm(seconds)
        code = 1
        try:
            job()
            code = 0
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""

HELD = """
from corekernels._exact import single_threaded_blas

for job in jobs:
    job()
    passed.append(job)
begun, over = threading.Event(), threading.Event()

def hold():
    with single_threaded_blas():
        held = [lock for ref in list(locks) if (lock := ref()) is not None]
        held = [lock for lock in held if lock.acquire(blocking=False)]
        begun.set()
        over.wait()
        for lock in held:
            lock.release()

holder = threading.Thread(target=hold)
holder.start()
begun.wait()
print(*(job.__name__ for job in jobs if ended(job)), "end")
over.set()
holder.join()
"""

AT_WORK = """
for job in jobs:
    job()
    passed.append(job)
over = threading.Event()

def work(job):
    while not over.is_set():
        job()

others = [threading.Thread(target=work, args=[job]) for job in (gram, search, read, change)]
for thread in others:
    thread.start()
codes = []
for number in range(40):
    time.sleep(0.01 + number % 7 * 0.003)
    codes.append(ended(jobs[number % len(jobs)]))
over.set()
for thread in others:
    thread.join()
print(*(jobs[number % len(jobs)].__name__ for number, code in enumerate(codes) if code), "end")
"""

HALF_READ = """
reader = ck.io.open_rows("rows.svm", batch_bytes=1000)
batches = iter(reader)
next(batches)

def go_on():
    try:
        list(batches)
    except ck.CoREError as error:
        assert "forked" in str(error)
        assert sum(map(len, reader)) == 300

print(ended(go_on), len(list(batches)) > 3)
"""


def output_of(script, folder):
    ended = subprocess.run(
        [sys.executable, "-c", BEGIN + script], cwd=folder, capture_output=True, text=True,
        check=False, timeout=900,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.split()


def test_children_need_no_lock_that_a_thread_of_the_parent_holds(tmp_path):
    assert output_of(HELD, tmp_path) == ["end"]


@pytest.mark.slow
def test_children_end_whatever_threads_of_the_parent_are_doing(tmp_path):
    assert output_of(AT_WORK, tmp_path) == ["end"]


def test_a_child_does_not_wait_for_what_its_parent_reads(tmp_path):
    assert output_of(HALF_READ, tmp_path) == ["0", "True"]
