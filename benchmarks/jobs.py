"""Whole jobs, stage by stage: processor time, and bytes read, written and shuffled, per row.

    python benchmarks/jobs.py                              # 10^5 rows, here and on Dask
    python benchmarks/jobs.py --rows 100000 1000000 --jobs hash train dedup --ways here dask

`hash` and `train` read svmlight text of 75 nonzeros per row, `dedup` JSON lines of 20 to 39 words.
Each run is a process of its own, with one thread: "here" is one file in one process, "dask" the
same rows in eight files, a task per part on two workers. Start-up and one small run before are not
counted. Stages are disjoint: what a stage calls of another counts there; "beside" is what is left
of the processor time of the job. On Dask, stages are tasks, by their names, and "beside" is the
driver, the scheduler and what workers do around tasks. Bytes are those that the system counted
(files mapped into memory are not read so), and those of records that tasks gave to a shuffle.

Prints a table and writes benchmarks/results/jobs.json.
"""

import argparse
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import measure
from clusters import tree_seconds
from corekernels import files
from corekernels.files.engines.dask import DaskEngine
from corekernels.files.hashing import rows_per_part
from corekernels.files.readers import recipe_for
from corekernels.files.sources import ROWS_PER_PART

RESULTS = Path(__file__).parent / "results" / "jobs.json"
HERE = Path(__file__).parent
N_FILES, N_WORKERS, N_COLUMNS = 8, 2, 47_236
WARM_ROWS = 2000

# functions whose time is that of a stage: module, class or "", name
STAGES = {
    "reading": [
        ("corekernels.io.svmlight", "SvmlightReader", "_scan"),
        ("corekernels.io.svmlight", "SvmlightReader", "batches"),
        ("corekernels.documents.reader", "DocumentReader", "batches_from"),
    ],
    "making rows": [("corekernels.documents.reader", "", "rows_of_documents")],
    "hashing": [
        ("corekernels.files.readers", "", "sketch_rows"),
        ("corekernels.neighbors.duplicates.candidates", "TablePlan", "write_keys"),
        ("corekernels.files.dedup", "", "row_digests"),
    ],
    "writing": [
        ("corekernels.files.hashing", "Piece", "write"),
        ("corekernels.files.readers", "SignatureReader", "write"),
        ("corekernels.files", "", "write_pairs"),
    ],
    "learning": [("corekernels.linear.core_model", "CoREModel", "fit_signatures")],
    "sorting": [
        ("corekernels.neighbors.duplicates.search", "", "find_copies"),
        ("corekernels.neighbors.duplicates.search", "", "table_pairs"),
    ],
    "comparing": [("corekernels.neighbors.duplicates.search", "", "similar_pairs")],
}


class Stages:
    """Processor time of stages, each without what it calls of another."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._running = threading.local()

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time of the block as that of a stage."""
        stack = self._running.__dict__.setdefault("stack", [])
        start = time.thread_time()
        if stack:
            self.seconds[stack[-1][0]] += start - stack[-1][1]
        stack.append([name, start])
        try:
            yield
        finally:
            end = time.thread_time()
            self.seconds[name] += end - stack.pop()[1]
            if stack:
                stack[-1][1] = end

    def wrap(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """A function whose time is that of a stage; of a generator, each of its items."""

        def items(result: Iterator[Any]) -> Iterator[Any]:
            while True:
                with self.stage(name):
                    item = next(result, None)
                if item is None:
                    return
                yield item

        def call(*arguments: Any, **options: Any) -> Any:
            with self.stage(name):
                result = function(*arguments, **options)
            return items(result) if hasattr(result, "__next__") else result

        return call

    def install(self) -> None:
        """Put wrapped functions in the places of all stages."""
        for name, places in STAGES.items():
            for module, owner, attribute in places:
                place: Any = __import__(module, fromlist=["_"])
                place = getattr(place, owner) if owner else place
                setattr(place, attribute, self.wrap(name, getattr(place, attribute)))


class Counted:
    """A task that notes its processor time and bytes, and what it gives to a shuffle."""

    def __init__(self, task: Callable[[Any, Any], Any], folder: str, is_shuffled: bool) -> None:
        self.task, self.folder, self.is_shuffled = task, folder, is_shuffled

    def __call__(self, shared: Any, argument: Any) -> Any:
        start, bytes_before = time.process_time(), bytes_of(os.getpid())
        result = self.task(shared, argument)
        shuffled = sum(some.nbytes for some in result.values()) if self.is_shuffled else 0
        task = getattr(self.task, "func", self.task).__name__
        read, written = (
            now - before for now, before in zip(bytes_of(os.getpid()), bytes_before, strict=True)
        )
        line = {"task": task, "seconds": time.process_time() - start, "read": read}
        line |= {"written": written, "shuffled": shuffled}
        with open(f"{self.folder}/{os.getpid()}", "a") as file:
            file.write(json.dumps(line) + "\n")
        return result


def counted_engine(folder: str) -> files.Engine:
    """Dask, whose tasks are counted."""

    class CountedDask(DaskEngine):
        def run(self, task: Any, shared: Any, arguments: Any, **options: Any) -> Any:
            return super().run(Counted(task, folder, False), shared, arguments, **options)

        def total(self, task: Any, shared: Any, arguments: Any) -> Any:
            return super().total(Counted(task, folder, False), shared, arguments)

        def shuffle(
            self, task: Any, gather: Any, shared: Any, arguments: Any, n_groups: int
        ) -> Any:
            tasks = Counted(task, folder, True), Counted(gather, folder, False)
            return super().shuffle(*tasks, shared, arguments, n_groups)

    return CountedDask(workers=N_WORKERS)


def bytes_of(pid: int) -> tuple[int, int]:
    """Bytes that a process has read and written."""
    fields = dict(line.split(": ") for line in Path(f"/proc/{pid}/io").read_text().splitlines())
    return int(fields["rchar"]), int(fields["wchar"])


def run_job(job: str, source: Any, target: Path, engine: files.Engine | None) -> None:
    """Run a job on files, in one thread."""
    options: dict[str, Any] = {"progress": False}
    reading: dict[str, Any] = {}
    if job == "dedup":
        reading = {"text": "text", "shingles": {"ngrams": 3, "weights": "binary"}}
    if engine is None:
        data: Any = files.open_reader(source, n_jobs=1, **reading)
        options["n_jobs"] = 1
    else:
        part_rows = ROWS_PER_PART if job == "dedup" else None
        data = files.plan_parts(engine, source, part_rows=part_rows, progress=False, **reading)
    if job == "dedup":
        parts = None if engine is None else f"{target}.work"
        found = files.near_duplicates(data, engine=engine, parts=parts, **options)
        files.write_pairs(found, target)
        return
    recipe = recipe_for(data, kernel="core1", n_hashes=256, seed=0)
    if job == "hash":
        shard_rows = None if engine is None else rows_per_part(recipe)
        files.hash_to_file(
            data, target, recipe, shard_rows=shard_rows, engine=engine, **options
        )  # fmt: skip
    else:
        files.train(data, target, recipe, engine=engine, tol=1e-2, **options)


def measured(job: str, folder: Path, way: str) -> dict[str, Any]:
    """What a job takes, in this process."""
    sources = {name: sorted(map(str, (folder / name).iterdir())) for name in ("warm", "rows")}
    scratch = Path(tempfile.mkdtemp(dir=folder))
    with contextlib.ExitStack() as stack:
        engine = None
        if way == "dask":
            engine = stack.enter_context(counted_engine(str(scratch)))
        run_job(job, of_way(sources["warm"], way), scratch / "warm-target", engine)
        for path in scratch.iterdir():
            if path.name.isdigit():
                path.unlink()
        stages = Stages()
        if engine is None:
            stages.install()
        before, start = bytes_of(os.getpid()), tree_seconds()
        own = time.process_time()
        run_job(job, of_way(sources["rows"], way), scratch / "target", engine)
        if engine is None:
            processor = time.process_time() - own
            now = bytes_of(os.getpid())
            total = {"read": now[0] - before[0], "written": now[1] - before[1], "shuffled": 0}
            seconds = dict(stages.seconds)
        else:
            processor = tree_seconds() - start
            seconds, total = added_up(scratch)
    seconds["beside"] = processor - sum(seconds.values())
    return {"processor": processor, "stages": seconds, "bytes": total}


def added_up(folder: Path) -> tuple[dict[str, float], dict[str, int]]:
    """Seconds of each kind of task, and bytes of all."""
    seconds: dict[str, float] = defaultdict(float)
    total = {"read": 0, "written": 0, "shuffled": 0}
    for path in folder.iterdir():
        for text in path.read_text().splitlines() if path.name.isdigit() else ():
            line = json.loads(text)
            seconds[line["task"]] += line["seconds"]
            for name in total:
                total[name] += line[name]
    return dict(seconds), total


def of_way(paths: list[str], way: str) -> Any:
    """The whole file for this process; its pieces for Dask."""
    return next(path for path in paths if "whole" in path) if way == "here" else [
        path for path in paths if "whole" not in path
    ]  # fmt: skip


def write_data(job: str, folder: Path, n_rows: int) -> None:
    """A file of rows, and the same rows in pieces."""
    folder.mkdir(parents=True)
    if job == "dedup":
        whole = folder / "whole.jsonl"
        command = [sys.executable, HERE / "short_corpus.py", str(n_rows), whole]
        subprocess.run(command, check=True)
    else:
        import files as svmlight  # benchmarks/files.py

        whole = folder / "whole.svm"
        svmlight.write_rows(whole, n_rows)
        if job == "train":
            label_by_columns(whole)
    with open(whole, "rb") as file:
        for number in range(N_FILES):
            with open(folder / f"part-{number}{whole.suffix}", "wb") as part:
                for _ in range(n_rows * (number + 1) // N_FILES - n_rows * number // N_FILES):
                    part.write(file.readline())


def label_by_columns(path: Path) -> None:
    """Labels that most rows' columns tell: whether more of them are even than odd."""
    target = path.with_suffix(".tmp")
    with open(path) as lines, open(target, "w") as out:
        for line in lines:
            words = line.split()
            even = sum(int(word.partition(":")[0]) % 2 == 0 for word in words[1:])
            out.write(f"{int(2 * even > len(words) - 1)} {' '.join(words[1:])}\n")
    target.rename(path)


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000])
    parser.add_argument("--jobs", nargs="+", default=["hash", "train", "dedup"])
    parser.add_argument("--ways", nargs="+", default=["here", "dask"])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        job, folder, way = options.child
        print(json.dumps(measured(job, Path(folder), way)))
        return
    runs = []
    for job in options.jobs:
        for n_rows in options.rows:
            with tempfile.TemporaryDirectory() as name:
                write_data(job, Path(name) / "warm", WARM_ROWS)
                write_data(job, Path(name) / "rows", n_rows)
                size = next((Path(name) / "rows").glob("whole*")).stat().st_size
                for way in options.ways:
                    runs.append({"job": job, "rows": n_rows, "way": way, "source": size})
                    runs[-1] |= in_child(job, name, way)
                    show(runs[-1])
                    about = {"machine": measure.machine(), "runs": runs}
                    options.out.parent.mkdir(exist_ok=True)
                    options.out.write_text(json.dumps(about, indent=2) + "\n")


def in_child(job: str, folder: str, way: str) -> dict[str, Any]:
    """What a job takes in a process of its own."""
    environment = os.environ | {
        "NUMBA_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(
            [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
        ),
    }  # fmt: skip
    command = [sys.executable, __file__, "--child", job, folder, way]
    ended = subprocess.run(
        command, stdout=subprocess.PIPE, text=True, check=True, env=environment
    )  # fmt: skip
    for path in Path(folder).glob("tmp*"):
        shutil.rmtree(path)
    return dict(json.loads(ended.stdout.splitlines()[-1]))


def show(run: dict[str, Any]) -> None:
    """Print what a run took per row."""
    n = run["rows"]
    stages = ", ".join(f"{name} {1e6 * s / n:.2f}" for name, s in run["stages"].items())
    sizes = ", ".join(f"{name} {size / n:,.0f}" for name, size in run["bytes"].items())
    print(
        f"{run['job']} of {n:,} rows ({run['source'] / n:,.0f} bytes each), {run['way']}: "
        f"{1e6 * run['processor'] / n:.2f} µs per row ({stages}); bytes per row: {sizes}",
        flush=True,
    )


if __name__ == "__main__":
    main()
