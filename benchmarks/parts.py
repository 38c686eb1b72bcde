"""Where the time of a Gram matrix goes, and how far that is from what the machine allows."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any
from unittest import mock

import numpy as np
from numba import njit

import corekernels as ck
import measure
from corekernels import _exact
from corekernels._core.validation import check_rows
from corekernels._exact import plan_columns
from corekernels._loops import gram

ROUNDS = 20_000
STAGES = {
    "validation": (_exact, "check_pair"),
    "plan": (_exact, "plan_columns"),
    "rows_spread": (_exact, "_spread"),
    "inverted_index": (gram, "invert_listed"),
    "blas": (np, "matmul"),
    "supports_listed_columns_formula_and_mirror": (gram, "finish_block"),
    "mirror_of_diagonal_blocks": (gram, "mirror"),
    "mirror_within_diagonal_blocks": (gram, "mirror_within"),
}


def limits(X: Any, seconds: float, threads: int) -> dict[str, object]:
    """The least work there is, at the speeds measured here, beside the time taken.

    The floor adds up four things at the best speed this machine showed for each, all
    threads busy: the products of the dense columns as one bare matrix product (half
    of them: the matrix is symmetric), the bit sets and the list updates with
    everything in the nearest cache, and the first touch of the result's memory. It
    is the floor of this way of dividing the columns. The stages, on one thread, say
    where the rest goes.
    """
    rows = check_rows(X)
    plan = plan_columns(rows, None)
    fill = np.bincount(rows.indices, minlength=rows.n_columns).astype(float)
    listed = fill[plan.slot < 0]
    pairs = len(rows) * (len(rows) + 1) / 2
    result_gb = len(rows) ** 2 * rows.data.itemsize / 1e9
    billions = {
        "products": plan.n_dense * pairs / 1e9,
        "bit_words": -(-plan.n_dense // 32) * pairs / 1e9,
        "list_updates": float((listed * (listed + 1) / 2).sum()) / 1e9,
        "first_touch": result_gb,
    }
    words, updates = loop_speeds(rows.data.dtype)
    per_second = {
        "products": measure.peak_gemm(str(rows.data.dtype)),
        "bit_words": words * threads,
        "list_updates": updates * threads,
        "first_touch": fresh_memory(threads),
    }
    floor = {stage: billions[stage] / per_second[stage] for stage in billions}
    return {
        "dense_columns": plan.n_dense,
        "listed_columns_in_use": int((listed > 0).sum()),
        "result_gigabytes": round(result_gb, 3),
        "billions": _rounded(billions, 3),
        "billions_per_second": _rounded(per_second, 2),
        "floor_seconds": _rounded(floor, 4),
        "floor_seconds_sum": round(sum(floor.values()), 4),
        "seconds": seconds,
        "times_the_floor": round(seconds / sum(floor.values()), 2),
        "one_thread_seconds_by_stage": stages(X),
    }


def loop_speeds(dtype: Any, n: int = 1024) -> tuple[float, float]:
    """Billions per second, on one thread and in the nearest cache: bit words, list updates."""
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2**32, 10, np.uint32)
    bits_of_y = rng.integers(0, 2**32, (10, n), np.uint32)
    counts, dots = np.empty(n, np.int32), np.zeros(n, dtype)
    lists = np.sort(rng.permuted(np.tile(np.arange(n, dtype=np.int32), (8, 1)), axis=1)[:, :256])
    heads, slot = np.arange(9, dtype=np.int64) * 256, ~np.arange(8, dtype=np.int32)
    columns, values = np.arange(8, dtype=np.int32), np.ones(8, dtype)
    panel = gram.PanelRows(
        bits_of_y, heads, lists.ravel(), np.ones(lists.size, dtype), np.full(n, 8, np.int32)
    )
    times = measure.interleaved(
        {
            "words": lambda: _many_words(ROUNDS, bits, bits_of_y, counts),
            "updates": lambda: _many_updates(ROUNDS, columns, values, slot, panel, dots, counts),
        },
        5,
    )
    return (
        ROUNDS * bits_of_y.size / times["words"]["best"] / 1e9,
        ROUNDS * lists.size / times["updates"]["best"] / 1e9,
    )


@njit(nogil=True)
def _many_words(rounds, bits, bits_of_y, out):
    for _ in range(rounds):
        gram.count_shared(bits, bits_of_y, out)


@njit(nogil=True)
def _many_updates(rounds, columns, values, slot, panel, dots, counts):
    for _ in range(rounds):
        gram.add_listed(False, columns, values, slot, panel, dots, counts)


def stages(X: Any, repeats: int = 3) -> dict[str, float]:
    """Seconds of each stage of core1 on one thread; first touch falls on who writes first."""
    best: dict[str, float] = {}
    for _ in range(repeats):
        times = dict.fromkeys(STAGES, 0.0)
        with ExitStack() as stack:
            for stage, (owner, name) in STAGES.items():
                timed = _timed(getattr(owner, name), stage, times)
                stack.enter_context(mock.patch.object(owner, name, timed))
            start = time.perf_counter()
            ck.core1(X, n_jobs=1)
            times["all"] = time.perf_counter() - start
        if not best or times["all"] < best["all"]:
            best = times
    return {stage: round(seconds, 4) for stage, seconds in best.items()}


def fresh_memory(threads: int, gigabytes: float = 0.4) -> float:
    """Gigabytes per second at which memory new to the process takes its first bytes."""

    def touch() -> np.ndarray:
        out = np.empty(int(gigabytes * 1e9), np.uint8)
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(lambda part: part.fill(0), np.array_split(out, 8 * threads)))
        return out

    return gigabytes / measure.interleaved({"fresh": touch}, 5)["fresh"]["best"]


def _rounded(values: dict[str, float], digits: int) -> dict[str, float]:
    return {name: round(value, digits) for name, value in values.items()}


def _timed(function: Any, stage: str, times: dict[str, float]) -> Any:
    def call(*args: Any, **kwargs: Any) -> Any:
        start = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            times[stage] += time.perf_counter() - start

    return call
