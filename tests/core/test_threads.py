"""Blocks over threads: results in order, errors, and who does the work."""

import gc
import os
import signal
import threading
import time
import weakref
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing import get_context

import pytest

from corekernels._core import threads
from corekernels._core.threads import (
    row_blocks,
    run_blocks,
    stop_if_asked,
    thread_count,
)
from corekernels.errors import ParameterError


@pytest.mark.parametrize("n_jobs", [1, 2, 7, 100])
def test_results_come_in_order(n_jobs):
    assert run_blocks(lambda item: item * item, range(30), n_jobs) == [i * i for i in range(30)]
    assert run_blocks(str, [], n_jobs) == []


def test_the_calling_thread_works_too():
    both = threading.Barrier(2, timeout=10)  # broken unless two threads meet

    def work(item):
        both.wait()
        return threading.current_thread()

    threads = run_blocks(work, range(2), 2)
    assert threading.current_thread() in threads
    assert len(set(threads)) == 2


@pytest.mark.parametrize("n_jobs", [1, 2, 8])
def test_the_earliest_error_is_raised_and_no_item_is_begun_after_it(n_jobs):
    begun = []

    def work(item):
        begun.append(item)
        if item >= 3:
            raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match="item 3"):
        run_blocks(work, range(1000), n_jobs)
    assert len(begun) <= 3 + n_jobs


def test_an_interrupt_ends_the_work():
    begun = []

    def work(item):
        begun.append(item)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_blocks(work, range(1000), 2)
    assert len(begun) <= 2


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_items_that_ask_end_early(n_jobs):
    """Also where they are items of a run inside the one that fails."""
    begun = threading.Barrier(n_jobs, timeout=10)

    def wait_long(item):
        while True:
            stop_if_asked()
            time.sleep(0.001)

    def work(item):
        begun.wait()
        if item == 1:
            raise ValueError("item 1")
        run_blocks(wait_long, range(2), 2)

    with pytest.raises(ValueError, match="item 1"):
        run_blocks(work, range(n_jobs), n_jobs)
    stop_if_asked()  # no run is left behind


def test_blocks_inside_blocks():
    def work(item):
        return sum(run_blocks(lambda other: item * other, range(4), 2))

    assert run_blocks(work, range(5), 3) == [6 * item for item in range(5)]


class NobodyFree:
    """A pool whose threads never get to what is submitted."""

    def __init__(self):
        self.asked = 0

    def submit(self, *call):
        self.asked += 1
        return Future()


def test_a_thread_calls_one_other_for_help_if_there_is_more_than_one_item(monkeypatch):
    """That one would call the next."""
    monkeypatch.setattr(threads, "_pool", pool := NobodyFree())
    assert run_blocks(abs, range(20), 8) == list(range(20))
    assert pool.asked == 1
    assert run_blocks(abs, range(1), 8) == [0]
    assert pool.asked == 1


def test_calls_inside_calls_do_not_wait_for_a_free_thread(monkeypatch):
    """One that has not begun when its caller is done is not needed: even one thread is enough."""
    monkeypatch.setattr(threads, "_pool", ThreadPoolExecutor(1))

    def work(item):
        time.sleep(0.001)
        return sum(run_blocks(lambda other: item * other, range(4), 4))

    assert run_blocks(work, range(20), 4) == [6 * item for item in range(20)]


def test_without_a_thread_that_can_be_started(monkeypatch):
    """As when the interpreter ends, where functions of `atexit` may still compute."""
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    monkeypatch.setattr(threads, "_pool", pool)
    assert run_blocks(abs, [-1, -2, -3], 3) == [1, 2, 3]


def test_many_callers_at_once():
    def call(start):
        return [run_blocks(abs, range(start, start + 9), 4) for _ in range(50)]

    with ThreadPoolExecutor(8) as callers:
        for start, results in zip(range(16), callers.map(call, range(16)), strict=True):
            assert results == [list(range(start, start + 9))] * 50


def test_errors_keep_their_causes():
    def work(item):
        try:
            raise OSError("the disk")
        except OSError as error:
            raise ValueError("the item") from error

    for n_jobs in (1, 2):
        with pytest.raises(ValueError, match="the item") as caught:
            run_blocks(work, range(3), n_jobs)
        assert isinstance(caught.value.__cause__, OSError)


def test_an_interrupt_stops_the_others_before_they_are_waited_for():
    def work(item):
        if item == 0:
            raise KeyboardInterrupt
        time.sleep(0.01)  # all of it would take 100 seconds

    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        run_blocks(work, range(10_000), 2)
    assert time.perf_counter() - start < 50


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="threads get no signals here")
def test_an_interrupt_while_others_are_waited_for():
    """It is raised when they have come back, so that nobody writes to the caller's arrays later."""
    begun, ended = threading.Event(), []

    def work(item):
        if item == 0:
            assert begun.wait(10)
            return
        begun.set()
        time.sleep(0.1)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        try:
            while True:
                stop_if_asked()
                time.sleep(0.001)
        finally:
            ended.append(item)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # background jobs have none
    try:
        with pytest.raises(KeyboardInterrupt):
            run_blocks(work, range(2), 2)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert ended == [1]


def test_what_was_worked_on_is_free_at_once():
    """Not only when Python looks for cycles: batches of a file would pile up."""

    class Batch:
        pass

    batch = Batch()
    seen = weakref.ref(batch)
    gc.disable()
    try:
        run_blocks(lambda item, batch=batch: item, range(4), 2)
        del batch
        assert seen() is None
    finally:
        gc.enable()


def test_row_blocks():
    assert row_blocks(2, 9, 3) == [(2, 5), (5, 8), (8, 9)]
    assert row_blocks(4, 4, 3) == []


def test_thread_count(monkeypatch):
    monkeypatch.setattr("corekernels._core.threads.config.NUMBA_NUM_THREADS", 6)
    assert [thread_count(n) for n in (None, 1, 9, -1, -2, -100)] == [6, 1, 9, 6, 5, 1]
    for wrong in (0, "two", 1.5):
        with pytest.raises(ParameterError, match="n_jobs: got"):
            thread_count(wrong)


def test_threads_are_used_again(monkeypatch):
    """Not always the same: one may be done with its work and not yet be known to be idle."""
    monkeypatch.setattr(threads, "_pool", ThreadPoolExecutor(1000))
    helpers = set()
    for _ in range(100):
        together = threading.Barrier(3, timeout=10)

        def name_thread(_, together=together):
            together.wait()
            return threading.current_thread()

        helpers.update(run_blocks(name_thread, range(3), 3))
    assert len(helpers) < 30


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
@pytest.mark.filterwarnings("ignore:.*use of fork.*:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    """Also if its parent's threads work meanwhile, for which it does not wait at its end."""
    begun, is_forked, context = threading.Event(), threading.Event(), get_context("fork")

    def wait_for_fork(item):
        begun.set()
        assert is_forked.wait(10)

    with ThreadPoolExecutor(1) as caller:
        waiting = caller.submit(run_blocks, wait_for_fork, range(3), 3)
        assert begun.wait(10)
        child = context.Process(target=_compute_together)
        child.start()
        is_forked.set()
        waiting.result(10)
    child.join(20)
    assert child.exitcode == 0


def _compute_together():
    together = threading.Barrier(3, timeout=10)
    run_blocks(lambda _: together.wait(), range(3), 3)
