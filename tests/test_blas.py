"""BLAS has one thread within Gram matrices, and all of its own outside, in whatever thread."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import threading
import numpy
from threadpoolctl import threadpool_info
from corekernels._exact import single_threaded_blas

def n_threads():
    pools = [found for found in threadpool_info() if found["user_api"] == "blas"]
    return max((found["num_threads"] for found in pools), default=None)

def in_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

def hold():
    with single_threaded_blas():
        seen.append(n_threads())

seen = []
hold()
in_thread(hold)
hold()
seen.append(n_threads())
begun, over = threading.Event(), threading.Event()

def hold_until_told():
    with single_threaded_blas():
        begun.set()
        over.wait()

def overlap():
    begun.wait()
    with single_threaded_blas():
        over.set()
        first.join()
        seen.append(n_threads())

first = threading.Thread(target=hold_until_told)
first.start()
overlap()
seen.append(n_threads())
print(seen)
"""


def test_the_limit_holds_in_any_thread_and_is_lifted_by_the_last():
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"}
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, env=environment
    )
    if "None" in ended.stdout:
        pytest.skip("threadpoolctl does not know this BLAS")
    assert ended.stdout == "[1, 1, 1, 2, 1, 2]\n"
