"""Speed-up against threads, for each part of the product.

    python benchmarks/scaling.py              # all parts, with 1, 2, 4 … threads
    python benchmarks/scaling.py --only hashing files
    python benchmarks/scaling.py --draw       # the figure, from the results that are there

The part "machine" shows what the machine itself gives: arithmetic in registers, memory that is
read, and new memory that is written, on threads that share nothing. Rows are generated, so that
the benchmark needs no data. Each case runs with each number of threads in turn, round after
round; the best round counts. Writes, or adds to, benchmarks/results/scaling-NAME.json (--name,
by default the number of cores).
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse

import corekernels as ck
import measure
from corekernels.files.readers import recipe_for

RESULTS = Path(__file__).parent / "results"
FIGURE = Path(__file__).parents[1] / "docs" / "images" / "scaling.svg"
SEED = 0
Case = Callable[[int], object]  # what is timed, given the number of threads
# rows, nonzeros per row, columns
IMAGES, TEXT, WIDE = (60_000, 150, 784), (60_000, 75, 47_236), (60_000, 100, 1_000_000)
METHODS = {
    "images": ("graph", "exact"),
    "text": ("graph", "lsh", "exact", "inverted"),
    "wide": ("graph", "inverted"),
}


def random_rows(
    n_rows: int, length: int, n_columns: int, n_groups: int = 0, shared: float = 0.5
) -> sparse.csr_array:
    """Sparse rows; if there are groups, a share of their columns comes from the few of a group."""
    rng = np.random.default_rng(SEED)
    columns = (n_columns * rng.random((n_rows, length)) ** 2).astype(np.int64)
    if n_groups:
        n_own, n_shared = int(length / shared), int(shared * length)
        own = rng.integers(0, n_columns, (n_groups, n_own))
        group = np.arange(n_rows) % n_groups
        chosen = rng.integers(0, n_own, (n_rows, n_shared))
        columns[:, :n_shared] = own[group[:, None], chosen]
    columns = np.sort(columns, axis=1).astype(np.int32)  # as loaders give them
    indptr = np.arange(0, n_rows * length + 1, length, dtype=np.int32)
    values = rng.random(n_rows * length, np.float32) + np.float32(0.1)
    X = sparse.csr_array((values, columns.ravel(), indptr), shape=(n_rows, n_columns))
    X.sum_duplicates()
    return X


@njit(nogil=True)
def _multiply_and_add(n_steps: int) -> float:
    """So many steps in registers; eight sums, so that no step waits for the one before it."""
    sums = np.zeros(8)
    for _ in range(n_steps):
        for i in range(8):
            sums[i] = sums[i] * 0.5 + 1.0
    return sums.sum()


@njit(nogil=True)
def _read(words: np.ndarray) -> int:
    total = 0
    for word in words:
        total ^= word
    return total


@njit(nogil=True)
def _write(words: np.ndarray) -> None:
    words[:] = 1


def machine(scale: float) -> Iterator[tuple[str, Case, dict[str, float]]]:
    """What threads that share nothing gain, whatever they do."""
    n_steps, n_words = int(200_000_000 * scale), int(64_000_000 * scale)
    words = np.ones(n_words, np.int64)

    def arithmetic(n_jobs: int) -> None:
        with ThreadPoolExecutor(n_jobs) as pool:
            list(pool.map(_multiply_and_add, [n_steps // n_jobs] * n_jobs))

    def read(n_jobs: int) -> None:
        with ThreadPoolExecutor(n_jobs) as pool:
            list(pool.map(_read, np.array_split(words, n_jobs)))

    def write(n_jobs: int) -> None:
        with ThreadPoolExecutor(n_jobs) as pool:
            list(pool.map(_write, np.array_split(np.empty(n_words, np.int64), n_jobs)))

    yield "arithmetic", arithmetic, {"billion steps": n_steps / 1e9}
    yield "read memory", read, {"GB": 8 * n_words / 1e9}
    yield "write new memory", write, {"GB": 8 * n_words / 1e9}


def hashing(scale: float) -> Iterator[tuple[str, Case, dict[str, float]]]:
    """Whole calls of `sketch`, k = 1024."""
    for name, (n_rows, *shape) in {"images": IMAGES, "text": TEXT, "wide": WIDE}.items():
        X = random_rows(int(scale * n_rows), *shape)
        for kernel in ("resemblance", "core1", "core2"):
            hasher = ck.CoREHasher(kernel, 1024, random_state=SEED).fit(X)

            def run(n_jobs: int, hasher: Any = hasher, X: Any = X) -> object:
                return hasher.set_params(n_jobs=n_jobs).sketch(X)

            yield f"hash {name}, {kernel}", run, {"billion slots": 1024 * X.nnz / 1e9}


def signatures(scale: float) -> Iterator[tuple[str, Case, dict[str, float]]]:
    """Features of hashed rows and kernel estimates of pairs, k = 256."""
    X = random_rows(int(scale * TEXT[0]), *TEXT[1:])
    S = ck.CoREHasher("core1", 256, random_state=SEED).fit(X).sketch(X)
    some, pairs = S[:2000], np.arange(len(S))

    def expand(n_jobs: int) -> object:
        return S.to_csr(n_jobs=n_jobs)

    def estimate_all(n_jobs: int) -> object:
        return some.estimate(S, n_jobs=n_jobs)

    def estimate_pairs(n_jobs: int) -> object:
        return S.estimate_pairs(pairs, pairs[::-1], n_jobs=n_jobs)

    yield "expand to features", expand, {"million slots": S.codes.size / 1e6}
    yield "estimate all pairs", estimate_all, {"million pairs": len(some) * len(S) / 1e6}
    yield "estimate pairs, errors", estimate_pairs, {"thousand pairs": len(S) / 1e3}


def files(scale: float) -> Iterator[tuple[str, Case, dict[str, float]]]:
    """Reading, hashing (k = 256) and writing of svmlight text."""
    n_rows, length, n_columns = TEXT
    X = random_rows(int(4 * scale * n_rows), length, n_columns)
    X.data = np.round(X.data, 6)
    y = np.arange(X.shape[0]) % 2
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "rows.svm", Path(folder) / "rows.sig"
        with ck.io.RowWriter(source) as writer:
            writer.write(X, y)
        amount = {"MB": source.stat().st_size / 1e6}

        def read(n_jobs: int) -> None:
            for _ in ck.files.open_reader(source, n_columns=n_columns, n_jobs=n_jobs):
                pass

        yield "read svmlight", read, amount
        for kernel in ("resemblance", "core1", "core2"):

            def hash_file(n_jobs: int, kernel: str = kernel) -> None:
                reader = ck.files.open_reader(source, n_columns=n_columns, n_jobs=n_jobs)
                recipe = recipe_for(reader, kernel=kernel, n_hashes=256)
                ck.files.hash_to_file(reader, target, recipe, progress=False, n_jobs=n_jobs)

            yield f"hash svmlight, {kernel}", hash_file, amount


def gram(scale: float) -> Iterator[tuple[str, Case, dict[str, float]]]:
    """Exact kernels of 10,000 rows with each other."""
    for name, shape in {"images": IMAGES, "text": TEXT}.items():
        X = random_rows(int(10_000 * scale), *shape[1:])

        def run(n_jobs: int, X: Any = X) -> object:
            return ck.core1(X, n_jobs=n_jobs)

        yield f"Gram of {name}", run, {"million pairs": X.shape[0] ** 2 / 2e6}


def learning(scale: float) -> Iterator[tuple[str, Case, dict[str, float]]]:
    """To the default tolerance, k = 1024."""
    for n_classes in (2, 10):
        n_rows, length, n_columns = int(100_000 * scale), 100, 784
        X = random_rows(n_rows, length, n_columns, 5 * n_classes)
        y = np.arange(n_rows) % (5 * n_classes) % n_classes
        S = ck.CoREHasher("core1", 1024, random_state=SEED).fit(X).sketch(X)

        def run(n_jobs: int, S: Any = S, y: Any = y) -> object:
            return ck.linear.HashedLinearClassifier(random_state=SEED, n_jobs=n_jobs).fit(S, y)

        yield f"learn {n_classes} classes", run, {"thousand rows": n_rows / 1e3}


def search(scale: float) -> Iterator[tuple[str, Case, dict[str, float]]]:
    """Index, queries and near-duplicates of 50,000 rows."""
    n_rows = int(50_000 * scale)
    for name, shape in {"images": IMAGES, "text": TEXT, "wide": WIDE}.items():
        X = random_rows(n_rows, *shape[1:], max(1, n_rows // 50), shared=0.9)
        for method in METHODS[name]:

            def build(n_jobs: int, method: str = method, X: Any = X) -> Any:
                options = {"method": method, "random_state": SEED, "n_jobs": n_jobs}
                return ck.CoRENeighbors("core1", **options).fit(X)

            index = build(os.cpu_count() or 1)
            queries = X if method == "graph" else X[: n_rows // 10]

            def query(n_jobs: int, index: Any = index, queries: Any = queries) -> object:
                return index.set_params(n_jobs=n_jobs).kneighbors(queries)

            if method in ("graph", "lsh") or name == "wide":
                yield f"build {method}, {name}", build, {"thousand rows": n_rows / 1e3}
            yield f"search {method}, {name}", query, {"thousand rows": queries.shape[0] / 1e3}

        def duplicates(n_jobs: int, index: Any = index) -> object:
            return index.set_params(n_jobs=n_jobs).near_duplicates(0.5)

        yield f"near-duplicates, {name}", duplicates, {"thousand rows": n_rows / 1e3}


PARTS = {
    part.__name__: part for part in (machine, hashing, signatures, files, gram, learning, search)
}


def best_seconds(case: Case, threads: list[int], budget: float) -> dict[int, float]:
    """Best seconds with each number of threads: round after round, while the budget lasts."""
    case(threads[-1])  # compiles
    best = dict.fromkeys(threads, np.inf)
    start = time.perf_counter()
    while True:
        for n_threads in threads:
            began = time.perf_counter()
            result = case(n_threads)
            best[n_threads] = min(best[n_threads], time.perf_counter() - began)
            del result
        if time.perf_counter() - start > budget:
            return best


def report(name: str, amount: dict[str, float], best: dict[int, float]) -> dict[str, object]:
    """One line on the screen, and the same for the file."""
    (unit, size), one = *amount.items(), best[1]
    speed_up = {n: round(one / seconds, 2) for n, seconds in best.items()}
    print(f"{name:28s} {size / one:9.2f} {unit}/s on one thread, ×", speed_up, flush=True)
    return {
        "seconds": {str(n): round(seconds, 5) for n, seconds in best.items()},
        "speed_up": {str(n): ratio for n, ratio in speed_up.items()},
        "per_second": {str(n): round(size / seconds, 3) for n, seconds in best.items()},
        "unit": unit,
    }


def draw(results: dict[str, dict[str, Any]]) -> None:
    """Speed-up against threads: one panel per part, one line per case."""
    from matplotlib.figure import Figure

    cases = results["cases"]
    parts = [part for part in PARTS if any(found["part"] == part for found in cases.values())]
    figure = Figure(figsize=(12, 3.3 * -(-len(parts) // 2)), layout="constrained")
    axes = figure.subplots(-(-len(parts) // 2), 2, squeeze=False).ravel()
    for panel, part in zip(axes, parts, strict=False):
        most = 1
        mine = {name: found for name, found in cases.items() if found["part"] == part}
        for number, (name, found) in enumerate(mine.items()):
            line = "o-" if number < 10 else "s--"  # there are ten colours
            threads = [int(n) for n in found["speed_up"]]
            panel.plot(threads, list(found["speed_up"].values()), line, ms=3, lw=1.2, label=name)
            most = max(most, *threads)
        panel.plot([1, most], [1, most], color="0.75", lw=1, zorder=0)
        panel.set(xscale="log", yscale="log", title=part, xlabel="threads", ylabel="speed-up")
        ticks = [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= most]
        panel.set(xticks=ticks, yticks=ticks, xticklabels=ticks, yticklabels=ticks)
        panel.minorticks_off()
        panel.legend(fontsize=7, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    for panel in axes[len(parts) :]:
        panel.axis("off")
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--threads", nargs="+", type=int)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the rows")
    parser.add_argument("--budget", type=float, default=5.0, help="seconds per case, at least")
    parser.add_argument("--name", help="of the results")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--draw", action="store_true", help="draw only")
    options = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    threads = options.threads or [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= cores]
    path = options.out / f"scaling-{options.name or cores}.json"
    results = json.loads(path.read_text()) if path.exists() else {"cases": {}}
    if not options.draw:
        results["machine"] = measure.machine()
        for part in options.only:
            for name, case, amount in PARTS[part](options.scale):
                best = best_seconds(case, threads, options.budget)
                results["cases"][name] = {"part": part, **report(name, amount, best)}
                path.write_text(json.dumps(results, indent=1) + "\n")
    if options.draw:
        draw(results)


if __name__ == "__main__":
    main()
