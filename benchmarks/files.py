"""Files of svmlight text: reading, hashing and writing them beside scikit-learn's functions.

    python benchmarks/files.py             # a generated file of 200,000 rows: a few minutes
    python benchmarks/files.py --rows N

Prints ratios and writes them, with versions and seeds, to benchmarks/results/files.json.
The file is text-like: 75 nonzeros per row on average over 47,236 columns, as in RCV1.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import measure
from corekernels import files, io
from corekernels.files.readers import recipe_for

RESULTS = Path(__file__).parent / "results" / "files.json"
N_COLUMNS = 47_236
CHUNK_ROWS = 20_000
THREADS, KERNELS = (1, 2), ("resemblance", "core1", "core2")
RECIPE = {"kernel": "core1", "n_hashes": 256, "n_bits": 8, "seed": 0}

PEAK = """
import sys
from corekernels import Recipe, files
reader = files.open_reader(sys.argv[1], n_columns=int(sys.argv[3]))
recipe = Recipe("core1", 256, 8, n_columns=reader.n_columns, seed=0)
files.hash_to_file(reader, sys.argv[2], recipe)
with open("/proc/self/status") as file:
    print(next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1e3)
"""


def write_rows(path: Path, n_rows: int) -> None:
    """Rows of a Zipf-like vocabulary with weights of six digits, as TF-IDF files have them."""
    rng = np.random.default_rng(0)
    with io.RowWriter(path) as writer:
        for first in range(0, n_rows, CHUNK_ROWS):
            n = min(CHUNK_ROWS, n_rows - first)
            lengths = rng.poisson(75, n)
            columns = (N_COLUMNS * rng.random(lengths.sum()) ** 3).astype(np.int32)
            values = np.round(rng.random(len(columns)), 6) + 1e-6
            indptr = np.concatenate([[0], np.cumsum(lengths)])
            X = sparse.csr_array((values, columns, indptr), shape=(n, N_COLUMNS))
            X.sum_duplicates()
            writer.write(X, rng.integers(0, 2, n))


def hash_file(source: Path, target: Path, kernel: str, n_jobs: int) -> None:
    """What `corekernels hash` does, without the start of a process."""
    reader = files.open_reader(source, n_columns=N_COLUMNS, n_jobs=n_jobs)
    recipe = recipe_for(reader, **{**RECIPE, "kernel": kernel})
    files.hash_to_file(reader, target, recipe, n_jobs=n_jobs)


def read_batches(source: Path, n_jobs: int) -> None:
    """Our reader alone, batch by batch."""
    for _ in files.open_reader(source, n_columns=N_COLUMNS, n_jobs=n_jobs):
        pass


def write_again(X: sparse.csr_array, y: np.ndarray, target: Path) -> None:
    """Our writer, with values of all digits as `dump_svmlight_file` writes them."""
    with io.RowWriter(target) as writer:
        writer.write(X, y)


def peak_megabytes(source: Path, target: Path) -> float:
    """Most memory a process that hashes the file ever held, imports included."""
    command = [sys.executable, "-c", PEAK, source, target, str(N_COLUMNS)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "rows.svm", Path(folder) / "rows.safetensors"
        write_rows(source, options.rows)
        load = partial(load_svmlight_file, str(source), n_features=N_COLUMNS, zero_based=False)
        contenders = {"load_svmlight_file": load}
        for n_jobs in THREADS:
            contenders[f"read, {n_jobs} threads"] = partial(read_batches, source, n_jobs)
            for kernel in KERNELS:
                name = f"hash {kernel}, {n_jobs} threads"
                contenders[name] = partial(hash_file, source, target, kernel, n_jobs)
        times = measure.interleaved(contenders, options.repeats)
        megabytes = source.stat().st_size / 1e6
        X, y = io.read_rows(source)
        copy = Path(folder) / "copy.svm"
        writing = measure.interleaved(
            {
                "dump_svmlight_file": lambda: dump_svmlight_file(X, y, str(copy), zero_based=False),
                "write": lambda: write_again(X, y, copy),
            },
            options.repeats,
        )
        peaks = {"all rows": peak_megabytes(source, target)}
        write_rows(source, options.rows // 4)
        peaks["a quarter of them"] = peak_megabytes(source, target)
    alone, dumping = times["load_svmlight_file"]["best"], writing["dump_svmlight_file"]["best"]
    found = {
        "rows": options.rows,
        "file_megabytes": round(megabytes, 1),
        "recipe": RECIPE,
        "seconds": times | writing,
        "times_as_fast_as_load_svmlight_file": {
            name: round(alone / all_["best"], 2) for name, all_ in times.items()
        },
        "times_as_fast_as_dump_svmlight_file": round(dumping / writing["write"]["best"], 2),
        "megabytes_per_second": {
            name: round(megabytes / all_["best"], 1) for name, all_ in (times | writing).items()
        },
        "peak_megabytes": peaks,
        "machine": measure.machine(),
    }
    RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    for name, ratio in found["times_as_fast_as_load_svmlight_file"].items():
        speed = found["megabytes_per_second"][name]
        print(f"{name:<32}{speed:8.1f} MB/s {ratio:6.2f} times load_svmlight_file")
    ratio = found["times_as_fast_as_dump_svmlight_file"]
    print(f"writing: {ratio:.2f} times dump_svmlight_file; peak megabytes: {peaks}")


if __name__ == "__main__":
    main()
