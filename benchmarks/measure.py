"""Times, and what they were measured on."""

import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_info

import corekernels


def interleaved(
    contenders: Mapping[str, Callable[[], object]], repeats: int
) -> dict[str, dict[str, float]]:
    """Best and median seconds of each contender, and its best processor seconds over all threads.

    All take their turn in each round, so that a busy machine hits all of them; one
    round is run before the clock starts. Contenders that take more than
    five seconds are run twice after that, not `repeats` times. Those below half a second run
    once more before the clock starts in each turn: memory that has gone back to the system,
    and on virtual machines to the host, takes longer to come again than they do. Processor
    seconds hardly notice what else runs on the machine, but say nothing of how well threads
    are used.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    processor: dict[str, list[float]] = {name: [] for name in contenders}
    for round_ in range(repeats + 1):
        for name, contender in contenders.items():
            if round_ > 2 and min(seconds[name]) > 5:
                continue
            if round_ > 1 and min(seconds[name]) < 0.5:
                contender()
            start, start_cpu = time.perf_counter(), time.process_time()
            result = contender()
            elapsed, elapsed_cpu = time.perf_counter() - start, time.process_time() - start_cpu
            del result  # freed outside the clock
            if round_:
                seconds[name].append(elapsed)
                processor[name].append(elapsed_cpu)
    return {
        name: {
            "best": round(min(all_), 4),
            "median": round(statistics.median(all_), 4),
            "processor": round(min(processor[name]), 4),
        }
        for name, all_ in seconds.items()
    }


PEERS = (
    "datasketch", "hnswlib", "kannolo", "libpecos", "nmslib", "pynndescent", "pyseismic-lsr",
    "rensa", "sparse_dot_topn",
)  # fmt: skip


def installed(name: str) -> str | None:
    """The version of a package, or None."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def machine() -> dict[str, object]:
    """Processor, cores, memory, versions: what a reader needs to judge the numbers."""
    packages = ("numpy", "scipy", "scikit-learn", "numba", "llvmlite")
    peers = {name: installed(name) for name in PEERS}
    return {
        "cpu": _cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        "memory_gb": round(_memory_bytes() / 1e9, 1),
        "system": platform.platform(),
        "python": sys.version.split()[0],
        "versions": {"corekernels": corekernels.__version__}
        | {name: version(name) for name in packages}
        | {name: number for name, number in peers.items() if number is not None},
        "blas": sorted(
            {
                f"{pool['internal_api']} {pool['version']} ({pool.get('architecture', '?')})"
                for pool in threadpool_info()
                if pool["user_api"] == "blas"
            }
        ),
    }


def peak_gemm(dtype: str, size: int = 3072) -> float:
    """Multiply-adds a second (in units of 1e9) of a bare product that reuses its memory."""
    rng = np.random.default_rng(0)
    A = rng.random((size, size)).astype(dtype)
    B = rng.random((size, size)).astype(dtype)
    out = np.empty((size, size), dtype)
    times = interleaved({"gemm": lambda: np.matmul(A, B, out=out)}, 5)
    return size**3 / times["gemm"]["best"] / 1e9


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        fields = dict(
            line.split(":", 1) for line in info.read_text().splitlines() if line.count(":") == 1
        )
        fields = {name.strip(): value.strip() for name, value in fields.items()}
        flags = fields.get("flags", "").split()
        simd = [flag for flag in ("avx2", "avx512f", "avx512_vpopcntdq") if flag in flags]
        family = f"family {fields.get('cpu family')} model {fields.get('model')}"
        return f"{fields.get('model name')} ({family}; {', '.join(simd)})"
    return platform.processor()


def _memory_bytes() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
