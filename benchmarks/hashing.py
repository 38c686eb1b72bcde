"""Hashing against the fastest MinHash library, the most used one, and plain projections.

    python benchmarks/hashing.py

Peers: rensa and datasketch (minima only), SciPy and scikit-learn (projections only); all see
the same rows in the same run, on two threads where they can use them. Ours is the whole public
call `sketch(X)`, checks included. Prints ratios and writes benchmarks/results/hashing.json.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import rensa
from datasketch import MinHash
from scipy import sparse
from sklearn.random_projection import GaussianRandomProjection, SparseRandomProjection

import corekernels as ck
import measure
from corekernels._core.memory import aligned_zeros
from corekernels._core.validation import clean_rows, read_only
from corekernels._loops.hashing.minwise import GROUP, HashTask, RowScratch, hash_blocks

SEED = 0
RESULTS = Path(__file__).parent / "results" / "hashing.json"
# rows, nonzeros per row, columns, hashes
CASES = {
    "images, k = 1024": (12_000, 150, 784, 1024),
    "images, k = 4096": (12_000, 150, 784, 4096),
    "text, k = 1024": (20_000, 75, 47_236, 1024),
}
WIDE_CASES = {
    "500,000 columns, k = 1024": (20_000, 30, 500_000, 1024),
    "1,000,000 columns, k = 1024": (20_000, 100, 1_000_000, 1024),
    "2^40 columns, k = 512": (8_000, 250, 1 << 40, 512),
    "2^40 columns, 1,000 nonzeros, k = 512": (2_000, 1_000, 1 << 40, 512),
    "2^40 columns, 5,000 nonzeros, k = 512": (400, 5_000, 1 << 40, 512),
}


def random_rows(n_rows: int, length: int, n_columns: int) -> sparse.csr_array:
    """Rows of equal length, columns drawn evenly, values uniform."""
    rng = np.random.default_rng(SEED)
    if n_columns < 1 << 20:
        rows = [np.sort(rng.choice(n_columns, length, replace=False)) for _ in range(n_rows)]
    else:  # columns hardly ever meet
        rows = list(np.sort(rng.integers(0, n_columns, (n_rows, length)), axis=1))
    values = rng.random(n_rows * length, np.float32) + np.float32(0.1)
    kind = np.int32 if n_columns < 1 << 31 else np.int64
    indices = np.concatenate(rows).astype(kind)
    indptr = np.arange(0, n_rows * length + 1, length, dtype=kind)  # or SciPy widens both
    return sparse.csr_array((values, indices, indptr), shape=(n_rows, n_columns))


def tokens(X: sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """The rows as rensa takes them: one 64-bit hash a nonzero, and where rows begin."""
    return X.indices.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15), X.indptr.astype(np.uint64)


def on_rows(case: tuple[int, int, int, int], repeats: int, threads: int) -> dict[str, object]:
    """Times of one case and the ratios that matter."""
    n_rows, length, n_columns, k = case
    X = random_rows(n_rows, length, n_columns)
    hashed, starts = tokens(X)
    few = X[:50]
    sets = [few.indices[a:b].tolist() for a, b in zip(few.indptr, few.indptr[1:], strict=False)]
    words = [[token.to_bytes(8, "little") for token in row] for row in sets]
    R = np.random.default_rng(SEED).normal(size=(n_columns, k)).astype(np.float32)
    wide = R.astype(np.float64)
    sample = X[: n_rows // 10]
    contenders = {
        kernel: ck.CoREHasher(kernel, k, random_state=SEED, n_jobs=threads).fit(X).sketch
        for kernel in ("resemblance", "core2", "core1")
    }
    ours = {name: (lambda sketch=sketch: sketch(X)) for name, sketch in contenders.items()}
    dense = GaussianRandomProjection(k, random_state=SEED).fit(sample)
    thin = SparseRandomProjection(k, random_state=SEED).fit(sample)

    def token_by_token() -> None:
        """As datasketch's own introduction has it."""
        for row in words[:5]:
            signature = MinHash(num_perm=k)
            for word in row:
                signature.update(word)

    peers = {
        "rensa": lambda: rensa.RMinHash.digest_matrix_from_flat_token_hashes(hashed, starts, k, 1),
        "datasketch, five rows, token by token": token_by_token,
        "datasketch, few rows, one by one": lambda: [
            MinHash(num_perm=k).update_batch(row) for row in words
        ],
        "datasketch, few rows": lambda: MinHash.bulk(words, num_perm=k),
        "datasketch, few rows, hashed before": lambda: MinHash.bulk(sets, num_perm=k, hashfunc=int),
        "scipy": lambda: X @ R,
        "scipy, float64 directions, a tenth": lambda: sample @ wide,
        "GaussianRandomProjection, a tenth": lambda: dense.transform(sample),
        "SparseRandomProjection, a tenth": lambda: thin.transform(sample),
    }
    times = measure.interleaved(ours | peers, repeats)
    best = {name: entry["best"] for name, entry in times.items()}
    updates = X.nnz * k
    all_rows = n_rows / few.shape[0]
    singly = all_rows * best["datasketch, few rows, one by one"]
    datasketch = all_rows * best["datasketch, few rows"]
    tokenwise = n_rows / 5 * best["datasketch, five rows, token by token"]
    integers = all_rows * best["datasketch, few rows, hashed before"]
    return {
        "seconds": times,
        "billion_updates_per_second": {
            name: round(updates / best[name] / 1e9, 1) for name in (*ours, "rensa")
        },
        "times_faster": {
            "resemblance_than_rensa": round(best["rensa"] / best["resemblance"], 2),
            "core2_than_rensa": round(best["rensa"] / best["core2"], 2),
            "core1_than_rensa": round(best["rensa"] / best["core1"], 2),
            "resemblance_than_datasketch_token_by_token": round(tokenwise / best["resemblance"]),
            "core2_than_datasketch_token_by_token": round(tokenwise / best["core2"]),
            "resemblance_than_datasketch_one_by_one": round(singly / best["resemblance"]),
            "core2_than_datasketch_one_by_one": round(singly / best["core2"]),
            "resemblance_than_datasketch": round(datasketch / best["resemblance"]),
            "core2_than_datasketch": round(datasketch / best["core2"]),
            "resemblance_than_datasketch_hashed_before": round(integers / best["resemblance"]),
            "core2_than_datasketch_hashed_before": round(integers / best["core2"]),
            "core1_than_scipy": round(best["scipy"] / best["core1"], 1),
            "core1_than_scipy_float64_directions": round(
                10 * best["scipy, float64 directions, a tenth"] / best["core1"], 1
            ),
            "core1_than_GaussianRandomProjection": round(
                10 * best["GaussianRandomProjection, a tenth"] / best["core1"], 1
            ),
            "core1_than_SparseRandomProjection": round(
                10 * best["SparseRandomProjection, a tenth"] / best["core1"], 1
            ),
        },
        "limit": limit(best, updates, threads, X[:500], k),
    }


def limit(
    best: dict[str, float], updates: int, threads: int, X: sparse.csr_array, k: int
) -> dict[str, object]:
    """How far from the vector units' limit the minima are found, and what projections take.

    An update is one 16-bit load and minimum. The limit is what the same loop does on slices that
    all start at the same aligned place, in the first-level cache: full vectors, no load across
    two cache lines, nothing to wait for. Random starts cost a second line for nearly every
    vector. Rows of at least the root of the number of columns go through the sieve, which needs
    fewer operations than updates: their share may be above 1.
    """
    recipe = ck.Recipe("resemblance", k, seed=SEED, n_columns=X.shape[1])
    rows = clean_rows(X)
    banks = recipe.sketch.tables.banks
    banks = banks._replace(
        start_of_column=read_only(np.zeros_like(banks.start_of_column)), sieve_length=2**62
    )
    codes = np.empty(X.shape[0] * k, np.uint8)
    longest = int(rows.lengths.max())
    groups = (aligned_zeros((GROUP,), dtype) for dtype in (np.uint8, np.uint16))
    scratch = RowScratch(np.empty(longest, np.int32), *groups)
    sieve, _ = recipe.sketch.minima_scratch(longest)
    counter, flaws, done = np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros(257, np.int64)
    cuts = read_only(np.array([0, len(rows)]))
    arrays = rows.indptr, rows.indices, rows.data, rows.n_columns
    task = HashTask(counter, 1, cuts, *arrays, flaws, done)

    def hash_all() -> None:
        counter[0] = 0
        hash_blocks(
            task, 1, sieve, None, banks, np.uint16(255), scratch, k, codes, None, None, None
        )

    times = measure.interleaved({"minima": hash_all}, 20)
    peak = X.nnz * k / 1e9 / times["minima"]["best"]
    minima_rate = updates / best["resemblance"] / 1e9 / threads
    projections = (best["core1"] - best["resemblance"]) * threads
    return {
        "one_thread_limit_billion_updates_per_second": round(peak, 1),
        "minima_share_of_limit": round(minima_rate / peak, 2),
        "projections_nanoseconds_per_nonzero_and_512_slots": round(
            projections / updates * 512 * 1e9, 2
        ),
    }


def on_wide_rows(case: tuple[int, int, int, int], repeats: int, threads: int) -> dict[str, object]:
    """Rows of many columns, beside rensa alone."""
    n_rows, length, n_columns, k = case
    X = random_rows(n_rows, length, n_columns)
    hashed, starts = tokens(X)
    contenders = {
        "rensa": lambda: rensa.RMinHash.digest_matrix_from_flat_token_hashes(hashed, starts, k, 1)
    }
    for kernel in ("resemblance", "core2", "core1"):
        hasher = ck.CoREHasher(kernel, k, random_state=SEED, n_jobs=threads).fit(X)
        contenders[kernel] = lambda hasher=hasher: hasher.sketch(X)
    times = measure.interleaved(contenders, repeats)
    best = {name: entry["best"] for name, entry in times.items()}
    faster = {f"{name}_than_rensa": round(best["rensa"] / best[name], 2) for name in best}
    del faster["rensa_than_rensa"]
    return {"seconds": times, "times_faster": faster}


def at_start() -> dict[str, object]:
    """Seconds of a first call with nothing compiled, and of a second process.

    Byte code is there, as pip leaves it. scikit-learn and Numba import pandas and coverage
    where they find them; they are no dependencies of ours, so the second process is timed
    without them, and once more with them.
    """
    code = (
        "import sys, time; start = time.perf_counter()\n"
        "sys.modules.update(dict.fromkeys(sys.argv[2:]))\n"
        "import numpy as np, corekernels as ck\n"
        "imported = time.perf_counter() - start\n"
        "X = np.random.default_rng(0).poisson(0.2, (100, 784)).astype(np.float32)\n"
        "ck.CoREHasher(sys.argv[1], 256, random_state=0).fit(X).sketch(X)\n"
        "print(imported, time.perf_counter() - start)"
    )
    absent = ("pandas", "coverage")
    result = {}
    for kernel in ("resemblance", "core1", "core2"):
        with tempfile.TemporaryDirectory() as cache:
            env = os.environ | {"NUMBA_CACHE_DIR": cache, "PYTHONPYCACHEPREFIX": cache}
            env.pop("PYTHONDONTWRITEBYTECODE", None)

            def seconds(
                *absent: str, kernel: str = kernel, env: dict[str, str] = env
            ) -> list[float]:
                command = [sys.executable, "-c", code, kernel, *absent]
                run = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
                return [float(word) for word in run.stdout.split()]

            subprocess.run([sys.executable, "-c", "import corekernels"], env=env, check=True)
            result[f"{kernel}_first_ever"] = round(seconds(*absent)[1], 2)
            best = min(seconds(*absent) for _ in range(5))
            result["imports"] = round(best[0], 2)
            result[f"{kernel}_second_process"] = round(best[1], 2)
            result[f"{kernel}_with_pandas"] = round(min(seconds() for _ in range(3))[1], 2)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--wide", action="store_true", help="measure rows of many columns alone")
    args = parser.parse_args()
    os.environ["RAYON_NUM_THREADS"] = str(args.threads)  # rensa's pool
    found: dict[str, object] = json.loads(RESULTS.read_text()) if args.wide else {}
    if not args.wide:
        found = {
            "machine": measure.machine(),
            "settings": vars(args) | {"seed": SEED, "load_average_at_start": os.getloadavg()[0]},
            "start_seconds": at_start(),
        }
        for name, case in CASES.items():
            found[name] = on_rows(case, args.repeats, args.threads)
            print(name, json.dumps(found[name]["times_faster"], indent=1))
    for name, case in WIDE_CASES.items():
        found[name] = on_wide_rows(case, args.repeats, args.threads)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
