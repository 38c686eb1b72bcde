"""Every page's commands and code, from top to bottom, as a reader would run them.

    python tests/tour.py [PAGE ...]

runs the blocks of README.md and docs/*.md in order, each page in an empty folder with the small
inputs that it speaks of, and compares what Python prints with the page. `make tour` does so in a
fresh environment with all extras. Addresses of clusters become those of small ones on this machine;
`pip` and `make` are not run: they made the environment, and have targets of their own.
"""

import contextlib
import csv
import doctest
import gzip
import importlib.util
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import corekernels as ck

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMANDS = ("corekernels", "zcat", "head", "ls", "cat")
NOT_RUN = ("pip", "make", ".venv/bin/python")
SHELL = ("sh", "console", "")
OPTIONS = doctest.NORMALIZE_WHITESPACE
WORDS = ["parse", "csv", "file", "with", "pandas", "some", "words", "of", "the", "document"]


def blocks(page: Path) -> Iterator[tuple[str, str]]:
    """The language and the text of each block of code."""
    for match in re.finditer(r"^```(.*)\n((?:.*\n)*?)```$", page.read_text("utf-8"), re.M):
        yield match[1].strip(), match[2]


def commands(text: str) -> list[str]:
    """The commands of a block of the shell; what they print stands between them."""
    prompted = re.findall(r"^\$ (.*)$", text, re.M)
    lines = prompted or re.sub(r"\\\n *", "", text).splitlines()
    return [line for line in lines if line.startswith((*COMMANDS, *NOT_RUN))]


def documents(n: int, seed: int = 0) -> list[dict[str, Any]]:
    """Documents of many subjects, a tenth of which are near another."""
    rng = np.random.default_rng(seed)
    made: list[dict[str, Any]] = []
    for row in range(n):
        words = rng.choice([*WORDS, *(f"w{k}" for k in range(500))], 60).tolist()
        if row % 10 == 9:
            words = made[-1]["body"].split()
            words[3] = "changed"
        about = {"title": f"Title {row}", "url": f"https://example.org/{row}", "key": row}
        made.append(about | {"body": " ".join(words), "text": " ".join(words), "stars": row % 3})
    return made


def write_json_lines(path: Path, made: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(document) + "\n" for document in made), "utf-8")


def digits() -> tuple[Any, Any]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return sparse.csr_array(X), y


def svmlight_files(names: dict[str, slice]) -> None:
    """Parts of the images of digits."""
    X, y = digits()
    for name, some in names.items():
        ck.io.write_rows(name, X[some], y[some])


def of_readme() -> dict[str, Any]:
    svmlight_files({"train.svm": slice(0, 1000), "new.svm": slice(1000, 1200)})
    write_json_lines(Path("corpus.jsonl"), documents(300))
    return {}


def of_documents() -> dict[str, Any]:
    write_json_lines(Path("corpus.jsonl"), documents(300))
    write_json_lines(Path("train.jsonl"), documents(300, 1))
    write_json_lines(Path("test.jsonl"), documents(200, 1))
    for name in ("reviews.csv", "new.csv"):
        with open(name, "w", newline="") as file:
            writer = csv.DictWriter(file, list(documents(1)[0]))
            writer.writeheader()
            writer.writerows(documents(100))
    made = documents(100)
    return {"texts": [one["body"] for one in made], "labels": [one["stars"] for one in made]}


def of_command_line() -> dict[str, Any]:
    names = {"train.svm": slice(0, 1000), "test.svm": slice(1000, 1797), "all.svm": slice(0, 1700),
             "queries.svm": slice(1700, 1797)}  # fmt: skip
    svmlight_files(names)
    Path("test.svm.gz").write_bytes(gzip.compress(Path("test.svm").read_bytes()))
    X, y = digits()
    ck.io.write_rows("news.npz", X, y)
    return {}


def of_neighbours() -> dict[str, Any]:
    X, y = digits()
    return {"X": X, "y": y}


def of_clusters() -> dict[str, Any]:
    from pyspark.ml.linalg import Vectors
    from pyspark.sql import SparkSession

    X, y = digits()
    for base in (Path("shared"), Path()):
        for folder, first in (
            ("parts", 0),
            ("train", 0),
            ("test", 800),
            ("new", 800),
            ("queries", 900),
        ):
            (base / folder).mkdir(parents=True)
            for part in range(2):
                some = slice(first + 400 * part, first + 400 * part + 400)
                ck.io.write_rows(base / folder / f"{part}.parquet", X[some], y[some])
    Path("shared/news").mkdir()
    for part in range(2):
        write_json_lines(Path(f"shared/news/{part}.jsonl"), documents(100, part))
    ck.CoRENeighbors().fit(X[:800]).save("shared/rows.index")
    spark = (
        SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    )
    vectors = [(row, Vectors.sparse(784, X[[row]].indices.tolist(), X[[row]].data.tolist()),
                float(y[row])) for row in range(100)]  # fmt: skip
    return {"spark": spark, "frame": spark.createDataFrame(vectors, ["row", "features", "label"])}


PREPARE: dict[str, Callable[[], dict[str, Any]]] = {
    "README.md": of_readme, "documents.md": of_documents, "command-line.md": of_command_line,
    "neighbours.md": of_neighbours, "clusters.md": of_clusters,
}  # fmt: skip


class Tour:
    """The blocks of a page, run in the current folder."""

    def __init__(self, page: Path) -> None:
        self.page = page
        self.n_run = 0
        self.not_run: list[str] = []
        self.failures: list[str] = []
        self.names: dict[str, Any] = PREPARE.get(page.name, dict)()
        self.replaced: dict[str, str] = {}

    def adapted(self, text: str) -> str:
        """Text with the addresses and folders of this machine."""
        for name, here in self.replaced.items():
            text = text.replace(name, here)
        return text

    def run(self) -> None:
        """All blocks, one after the other."""
        for language, text in blocks(self.page):
            if language in SHELL:
                for command in commands(text):
                    self._run_command(command)
            elif language == "python" and text.startswith(">>> "):
                self._compare(text)
            elif language == "python":
                self._execute(text)

    def _run_command(self, command: str) -> None:
        if command.startswith(NOT_RUN):
            self.not_run.append(command)
            return
        self.n_run += 1
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", self.adapted(command)], capture_output=True, text=True,
            timeout=600, check=False,
        )  # fmt: skip
        if done.returncode:
            self.failures.append(f"$ {command}\n{(done.stdout + done.stderr)[-2000:]}")

    def _compare(self, text: str) -> None:
        self.n_run += 1
        session = doctest.DocTestParser().get_doctest(text, {}, self.page.name, None, 0)
        session.globs = self.names
        report: list[str] = []
        runner = doctest.DocTestRunner(verbose=False, optionflags=OPTIONS)
        runner.run(session, out=report.append, clear_globs=False)
        if report:
            self.failures.append("".join(report))

    def _execute(self, text: str) -> None:
        missing = [
            name for name in re.findall(r"^(?:from|import) (\w+)", text, re.M)
            if importlib.util.find_spec(name) is None
        ]  # fmt: skip
        if missing:
            self.not_run.append(f"code that needs {missing[0]}, which no extra installs")
            return
        self.n_run += 1
        try:
            code = compile(self.adapted(text), str(self.page), "exec")
            with contextlib.redirect_stdout(None):
                exec(code, self.names)
        except Exception:
            self.failures.append(text + traceback.format_exc(limit=-1))


@contextlib.contextmanager
def clusters(tour: Tour) -> Iterator[None]:
    """Small clusters on this machine, for a page that names some."""
    from distributed import LocalCluster
    from pyspark.sql import SparkSession

    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None) as cluster:
        address = cluster.scheduler_address
        tour.replaced = {
            "/shared/": f"{Path('shared').absolute()}/", "tcp://scheduler:8786": address,
            "--address ...": f"--address {address}", "spark://host:7077": "local[2]",
        }  # fmt: skip
        yield
    session = SparkSession.getActiveSession()
    if session is not None:
        session.stop()


def visit(page: Path) -> Tour:
    """Run a page in a folder of its own."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            tour = Tour(page)
            with clusters(tour) if page.name == "clusters.md" else contextlib.nullcontext():
                tour.run()
        finally:
            os.chdir(before)
    return tour


def main() -> None:
    """Visit the pages that are named, or all; the exit status says whether all of it ran."""
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    pages = [Path(name).absolute() for name in sys.argv[1:]] or PAGES
    n_failed = 0
    for page in pages:
        began = time.perf_counter()
        tour = visit(page)
        n_failed += len(tour.failures)
        seconds = time.perf_counter() - began
        print(f"{page.name}: {tour.n_run} ran, {len(tour.failures)} failed ({seconds:.0f} s)")
        for text in tour.not_run:
            print(f"  not run: {text}")
        for text in tour.failures:
            print(f"  FAILED {text}")
        sys.stdout.flush()
    sys.exit(n_failed > 0)


if __name__ == "__main__":
    main()
