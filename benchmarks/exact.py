"""Exact kernels against what scikit-learn, SciPy and NumPy users would compose.

    python benchmarks/exact.py             # ratios, limits, start-up: a few minutes
    python benchmarks/exact.py --sweep     # when a column goes through BLAS, when to a list
    python benchmarks/exact.py --file DIR  # 60,000 x 60,000 into a file: 14.4 GB in DIR for a while

Prints ratios and writes them, with versions and seeds, to benchmarks/results/exact.json.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest import mock

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import cosine_similarity
from threadpoolctl import threadpool_limits

import corekernels as ck
import data
import measure
import parts
from corekernels._exact import UPDATES_PER_PRODUCT

KERNELS = ("correlation", "resemblance", "core1", "core2")
RATIOS = (0, 8, 15, 30, 45, 60, 90, 120, 250, 700)
RESULTS = Path(__file__).parent / "results" / "exact.json"


def scipy_core1(X: sparse.csr_matrix) -> np.ndarray:
    """The plain composition: two sparse products, then the formula."""
    norms = np.sqrt(X.multiply(X).sum(axis=1)).A1
    unit = sparse.diags_array(1 / np.where(norms > 0, norms, 1)).astype(X.dtype) @ X
    support = (X != 0).astype(X.dtype)
    rho = (unit @ unit.T).toarray()
    shared = (support @ support.T).toarray()
    lengths = np.diff(X.indptr).astype(X.dtype)
    return rho * shared / np.maximum(lengths[:, None] + lengths[None, :] - shared, 1)


def _beside(peers: dict[str, object], X: object, repeats: int, threads: int) -> dict[str, object]:
    """Times of all kernels and of the peers, and those of CoRE 1 over those of each peer."""
    times = measure.interleaved(
        {name: _ours(name, X, threads) for name in KERNELS} | peers, repeats
    )
    return {
        "seconds": times,
        **{f"core1_over_{peer}": _over(times, "core1", peer) for peer in peers},
        "updates_per_product": UPDATES_PER_PRODUCT[X.dtype.itemsize],
        "limits": parts.limits(X, times["core1"]["best"], threads),
    }


def on_news(repeats: int, threads: int) -> dict[str, object]:
    """Sparse text: ours against scikit-learn's cosine and SciPy's products."""
    result: dict[str, object] = {}
    for dtype in ("float32", "float64"):
        X = data.news().astype(dtype)
        peers = {
            "cosine_similarity": lambda X=X: cosine_similarity(X, dense_output=True),
            "scipy_composition": lambda X=X: scipy_core1(X),
        }
        result[dtype] = _beside(peers, X, repeats, threads)
    result["rows"], result["columns"] = X.shape
    result["nonzeros_per_row"] = round(X.nnz / X.shape[0], 1)
    return result


def on_mnist(repeats: int, threads: int) -> dict[str, object]:
    """Dense-ish images: ours against two bare matrix products of the same size."""
    result: dict[str, object] = {}
    for dtype in ("float32", "float64"):
        X = data.mnist().astype(dtype)
        Y = X.copy()  # a product with X.T itself would be recognised and halved
        peers = {
            "two_products": lambda X=X, Y=Y: (X @ Y.T, X @ Y.T),
            "two_symmetric_products": lambda X=X: (X @ X.T, X @ X.T),
            "cosine_similarity": lambda X=X: cosine_similarity(X),
        }
        result[dtype] = _beside(peers, X, repeats, threads)
    result["rows"], result["columns"] = X.shape
    result["nonzeros_per_row"] = round(np.count_nonzero(X) / X.shape[0], 1)
    return result


def at_start() -> dict[str, object]:
    """Seconds of the first call in a new installation, and in the process after that."""
    code = (
        "import time; start = time.perf_counter()\n"
        "import numpy as np, sklearn.svm; others = time.perf_counter()\n"
        "import corekernels as ck; ours = time.perf_counter()\n"
        "X = np.eye(50, dtype=np.float32); X[0] = 1; ck.core1(X); first = time.perf_counter()\n"
        "ck.core1(X); second = time.perf_counter()\n"
        "print(others - start, ours - others, first - ours, second - first)"
    )
    names = ("import_numpy_and_sklearn", "import_corekernels", "first_call", "second_call")
    result = {}
    with tempfile.TemporaryDirectory() as cache:
        for which in ("cold_cache", "second_process"):
            run = subprocess.run(
                [sys.executable, "-c", code],
                env=os.environ | {"NUMBA_CACHE_DIR": cache},
                capture_output=True,
                text=True,
                check=True,
            )
            values = (round(float(value), 4) for value in run.stdout.split())
            result[which] = dict(zip(names, values, strict=True))
    return result


def sweep(repeats: int, threads: int) -> dict[str, object]:
    """Processor seconds of core1 over the constant that decides how a column is computed."""
    result: dict[str, object] = {}
    for source, load in (("news", data.news), ("mnist", data.mnist)):
        for dtype in ("float32", "float64"):
            X = load().astype(dtype)

            def at(ratio: float, X: object = X) -> np.ndarray:
                with mock.patch.dict(UPDATES_PER_PRODUCT, {4: ratio, 8: ratio}):
                    return ck.core1(X, n_jobs=threads)

            contenders = {str(ratio): (lambda ratio=ratio, at=at: at(ratio)) for ratio in RATIOS}
            measured = measure.interleaved(contenders, repeats)
            times = {ratio: measured[ratio]["processor"] for ratio in contenders}
            best = min(times, key=times.__getitem__)
            near = [float(ratio) for ratio, t in times.items() if t <= 1.05 * times[best]]
            result[f"{source} {dtype}"] = {
                "processor_seconds": times,
                "seconds": {ratio: measured[ratio]["best"] for ratio in contenders},
                "best": float(best),
                "within_5_percent": near,
            }
            print(f"  {source} {dtype}: best {best}, within 5 %: {near}\n    {times}", flush=True)
    return result


def to_file(folder: Path, threads: int) -> dict[str, object]:
    """Time and peak memory of 60,000 x 60,000 kernel values written to a file, in a new process."""
    code = (
        "import resource, sys, time, numpy as np, data, corekernels as ck\n"
        "X = data.mnist('train'); ck.core1(X[:50])\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3\n"
        "before = peak(); start = time.perf_counter()\n"
        "K = ck.gram_to_file(sys.argv[1], X, n_jobs=int(sys.argv[2]))\n"
        "seconds = time.perf_counter() - start; file_peak = peak(); start = time.perf_counter()\n"
        "for _ in ck.gram_chunks(X, n_jobs=int(sys.argv[2])): pass\n"
        "chunks = time.perf_counter() - start\n"
        "rows = np.random.default_rng(0).integers(0, len(X), 40)\n"
        "worst = np.abs(K[rows][:, rows] - ck.core1(X[rows].astype(float))).max()\n"
        "print(seconds, chunks, before, file_peak, K.nbytes / 1e9, worst)"
    )
    with tempfile.TemporaryDirectory(dir=folder) as inner:
        run = subprocess.run(
            [sys.executable, "-c", code, f"{inner}/K.npy", str(threads)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        blocks = b"\0" * (1 << 26)
        with open(f"{inner}/plain", "wb") as file:
            write = measure.interleaved({"w": lambda: (file.write(blocks), os.fsync(file))}, 12)
    seconds, chunks, before, peak, gigabytes, worst = map(float, run.stdout.split())
    return {
        "rows": 60_000,
        "dtype": "float32",
        "gigabytes": round(gigabytes, 2),
        "seconds": round(seconds, 1),
        "seconds_of_the_same_chunks_not_written": round(chunks, 1),
        "disk_megabytes_per_second": round(len(blocks) / 1e6 / write["w"]["median"]),
        "working_memory_mb": 1024,
        "peak_mb": round(peak),
        "peak_mb_before": round(before),
        "largest_difference_from_float64": worst,
    }


def _ours(name: str, X: object, threads: int) -> object:
    return lambda: getattr(ck, name)(X, n_jobs=threads)


def _over(times: dict[str, dict[str, float]], ours: str, theirs: str) -> float:
    return round(times[ours]["best"] / times[theirs]["best"], 3)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sweep", action="store_true")
    parser.add_argument("--file", type=Path, metavar="DIR")
    args = parser.parse_args()
    settings = {
        "data": data.describe(),
        "seed": data.SEED,
        "repeats": args.repeats,
        "threads": args.threads,
        "load_average_at_start": os.getloadavg()[0],  # above 1: others were at work
    }
    with threadpool_limits(args.threads):
        if args.sweep:
            found = {"sweep": sweep(args.repeats, args.threads)}
        elif args.file:
            found = {"gram_to_file": to_file(args.file, args.threads)}
        else:
            found = {
                "start": at_start(),
                "news": on_news(args.repeats, args.threads),
                "mnist": on_mnist(args.repeats, args.threads),
            }
    for section in found.values():
        section["settings"] = settings
    _save(found)
    print(json.dumps(found, indent=1))


def _save(found: dict[str, dict[str, object]]) -> None:
    """Put the sections in the results file; those of another machine do not stay beside them."""
    machine = measure.machine()
    old = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    kept = old if old.get("machine") == machine else {}
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(kept | {"machine": machine} | found, indent=1) + "\n")


if __name__ == "__main__":
    main()
