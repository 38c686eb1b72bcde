"""Hashing by parts on Dask and Spark beside one process: processor time at equal work.

    python benchmarks/clusters.py                 # 240,000 rows in 12 Parquet files
    python benchmarks/clusters.py --engines dask
    python benchmarks/clusters.py --out DIR

Processor seconds are those of this process and all that it started (schedulers, workers, Java),
start-up apart; one run before the clock starts loads what needs loading. Prints ratios and writes
them, with versions, to benchmarks/results/clusters.json.
"""

import argparse
import json
import os
import shutil
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from scipy import sparse

import data
import measure
from corekernels import files, io
from corekernels.files.readers import recipe_for

RESULTS = Path(__file__).parent / "results"
N_HASHES, N_FILES = 1024, 12
TICKS = os.sysconf("SC_CLK_TCK")


def tree_seconds() -> float:
    """Processor seconds of this process and of all its descendants, those that ended included."""
    about = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            about[int(entry.name)] = int(fields[1]), sum(map(int, fields[11:15]))
    family, found = {os.getpid()}, True
    while found:
        found = {pid for pid, (parent, _) in about.items() if parent in family} - family
        family |= found
    return sum(about[pid][1] for pid in family if pid in about) / TICKS


def write_parts(folder: Path, n_rows: int) -> None:
    """Images in Parquet files."""
    X = data.mnist("train")
    y = np.random.default_rng(0).integers(0, 10, n_rows)
    for number, some in enumerate(np.array_split(np.arange(n_rows), N_FILES)):
        rows = sparse.csr_array(X[some % len(X)])
        io.write_rows(folder / f"{number:02d}.parquet", rows, y[some])


def timed(engine: files.Engine, source: Path, folder: Path, part_rows: int | None) -> dict:
    """Seconds to hash all parts, best of three after one that does not count."""
    found = []
    for turn in range(4):
        target = folder / "signatures"
        start, start_cpu = time.perf_counter(), tree_seconds()
        plan = files.plan_parts(engine, source)
        recipe = recipe_for(plan, n_hashes=N_HASHES)
        shard_rows = part_rows or plan.n_rows
        report = files.hash_to_file(plan, target, recipe, shard_rows=shard_rows, engine=engine)
        if turn:
            found.append((tree_seconds() - start_cpu, time.perf_counter() - start))
        shutil.rmtree(target)
    processor, seconds = (min(column) for column in zip(*found, strict=True))
    processor, seconds = round(processor, 2), round(seconds, 2)
    return {"parts": report.parts, "processor": processor, "seconds": seconds}


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=240_000)
    parser.add_argument("--engines", nargs="+", default=["dask", "spark"])
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    results: dict[str, object] = {
        "machine": measure.machine(), "data": data.describe(), "rows": options.rows,
        "n_hashes": N_HASHES, "versions": {name: version(name) for name in ("dask", "pyspark")},
        "hashing": {},
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder, source = Path(name), Path(name) / "rows"
        source.mkdir()
        write_parts(source, options.rows)
        alone: dict[int | None, float] = {}  # processor seconds of one process, by rows per part
        for engine_name in ("local", *options.engines):
            start = time.perf_counter()
            with files.open_engine(engine_name, workers=1) as engine:
                started = time.perf_counter() - start
                for part_rows in (None, 2000):
                    found = timed(engine, source, folder, part_rows)
                    one = alone.setdefault(part_rows, found["processor"])
                    found |= {"ratio": round(found["processor"] / one, 2)}
                    found |= {"start_seconds": round(started, 1)}
                    results["hashing"][f"{engine_name}, {found['parts']} parts"] = found
                    print(engine_name, found, flush=True)
    options.out.mkdir(exist_ok=True)
    path = options.out / "clusters.json"
    path.write_text(json.dumps(results, indent=2) + "\n")


if __name__ == "__main__":
    main()
