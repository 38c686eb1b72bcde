"""Engines: what runs tasks on one part of the data each, and gathers their results.

A task is a function of a module, so that other processes find it by its name. It gets a value
that all tasks of a call share, which every worker receives once, and one argument of its own. It
may run more than once, on any machine: paths must mean the same files everywhere.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from ... import errors
from ..._core.arguments import require_choice
from ..._core.progress import Progress, progress_bar
from ..._core.threads import thread_count
from ...errors import CoREError, DataError, ParameterError

Task = Callable[[Any, Any], Any]
FAN_IN = 8  # sums that are added at a time; the result of a sum depends on it in its last bits


class Failure(NamedTuple):
    """User error from a task; raised by the driver, not retried."""

    kind: str
    message: str

    def error(self) -> CoREError:
        """The error itself."""
        kind = getattr(errors, self.kind, DataError)
        return (DataError if kind is errors.RecipeMismatch else kind)(self.message)


def attempt(work: tuple[Task, Any], argument: Any) -> Any:
    """A task: the result of another, or a `Failure`; other errors are the engine's to try again."""
    task, shared = work
    try:
        return task(shared, argument)
    except CoREError as error:
        return Failure(type(error).__name__, _with_path(str(error), argument))


def _with_path(message: str, argument: Any) -> str:
    """A message that names the file of the part that a task was given, if it was given one."""
    part = argument[0] if isinstance(argument, tuple) and argument else argument
    path = getattr(part, "path", None)
    if not isinstance(path, str) or os.path.basename(path) in message:
        return message
    return f"{path}: {message.removeprefix('y: ')}"


class Engine(ABC):
    """Runs tasks; use in a `with` block, which ends what the engine started.

    An engine of your own needs a `name`, `n_workers` and `results`; its tasks are functions of
    modules, with arguments that can be pickled.

    Attributes
    ----------
    name : str
    n_workers : int
        Tasks that run at the same time, as far as is known.
    shuffles_here : bool
        Whether records that are shuffled are in the memory of this process.

    Examples
    --------
    >>> import corekernels as ck
    >>> with ck.files.open_engine("local") as engine:
    ...     isinstance(engine, ck.files.Engine)
    True
    """

    name: str
    n_workers: int
    shuffles_here = True

    @abstractmethod
    def results(self, task: Task, shared: Any, arguments: Sequence[Any]) -> Iterator[Any]:
        """Pairs (number of the argument, `task(shared, argument)`), in any order."""

    def total(self, task: Task, shared: Any, arguments: Sequence[Any]) -> Any:
        """The sum of all results, which are tuples of arrays and numbers.

        `FAN_IN` consecutive ones are added, then as many of these sums, and so on: always in the
        same order.
        """
        return total_of(self.run(task, shared, arguments))

    def shuffle(
        self, task: Task, gather: Task, shared: Any, arguments: Sequence[Any], n_groups: int
    ) -> list[Any]:
        """Results of `gather` for each group of the records that tasks give.

        The result of a task is a dict of structured arrays, by the number of the group that they
        belong to. `gather` gets the records of a group in any order; groups without any are
        left out.
        """
        groups: dict[int, list[Any]] = {}
        for pieces in self.run(task, shared, arguments):
            for group, records in pieces.items():
                groups.setdefault(group, []).append(records)
        pieces = [groups[group] for group in sorted(groups)]
        return self.run(gather_group, (gather, shared), pieces)

    def run(
        self, task: Task, shared: Any, arguments: Sequence[Any], *, what: str = "running",
        progress: Progress = False, done: Callable[[int, Any], None] | None = None,
    ) -> list[Any]:  # fmt: skip
        """Results in the order of the arguments; the first failure that comes back is raised.

        `done` is called with the number and the result of each task, as they come.
        """
        finished: dict[int, Any] = {}
        with progress_bar(len(arguments), what, "parts", progress) as bar:
            for number, result in self.results(attempt, (task, shared), arguments):
                finished[number] = value_of(result)
                if done is not None:
                    done(number, result)
                bar.update(1)
        return [finished[number] for number in range(len(arguments))]

    def close(self) -> None:  # noqa: B027 (most engines start nothing)
        """End what the engine has started."""

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def add_up(results: Sequence[Any]) -> Any:
    """The sum of tuples, item by item, from the first to the last; or the first failure."""
    for result in results:
        if isinstance(result, Failure):
            return result
    total = results[0]
    for result in results[1:]:
        total = tuple(one + other for one, other in zip(total, result, strict=True))
    return total


def total_of(sums: Sequence[Any]) -> Any:
    """The sum of consecutive results, in the order of `Engine.total`; a failure is raised."""
    while len(sums) > 1:
        sums = [add_up(sums[at : at + FAN_IN]) for at in range(0, len(sums), FAN_IN)]
    return value_of(sums[0])


def gather_group(work: tuple[Task, Any], pieces: Sequence[Any]) -> Any:
    """A task: what another makes of the records of a group."""
    gather, shared = work
    return gather(shared, np.concatenate([value_of(piece) for piece in pieces]))


def reason_of(error: BaseException) -> str:
    """The first line of an error of another package, or its kind."""
    return next(iter(str(error).splitlines()), type(error).__name__)


def value_of(result: Any) -> Any:
    """A result that came back from a task; a failure is raised."""
    if isinstance(result, Failure):
        raise result.error()
    return result


class LocalEngine(Engine):
    """Threads of this process; `workers` of them, or one per core if that is None."""

    name = "local"

    def __init__(self, address: Any = None, workers: int | None = None) -> None:
        if address is not None:
            raise ParameterError("address: is of a cluster, which engine='local' is not.")
        self.n_workers = thread_count(workers)

    def results(self, task: Task, shared: Any, arguments: Sequence[Any]) -> Iterator[Any]:
        """As of `Engine`, in order."""
        with ThreadPoolExecutor(self.n_workers) as pool:
            waiting = [pool.submit(task, shared, argument) for argument in arguments]
            try:
                for number, future in enumerate(waiting):
                    yield number, future.result()
            finally:
                pool.shutdown(cancel_futures=True)


ENGINES = {  # modules, imported on use, and what engines are called there
    "local": (".base", "LocalEngine"), "dask": (".dask", "DaskEngine"),
    "spark": (".spark", "SparkEngine"),
}  # fmt: skip


def open_engine(name: str, address: Any = None, workers: int | None = None) -> Engine:
    """An engine, to be used in a `with` block.

    Parameters
    ----------
    name : {"local", "dask", "spark"}
        "local" is this process.
    address : str, distributed.Client or pyspark.sql.SparkSession, optional
        Of a cluster that runs already, as "tcp://host:8786", "spark://host:7077" or "yarn"; or
        what is connected with one, and stays so. Without it, a cluster is started on this machine,
        and ended with the `with` block.
    workers : int, optional
        Tasks at a time on this machine; None means one per core.

    Examples
    --------
    >>> import corekernels as ck
    >>> with ck.files.open_engine("local", workers=1) as engine:
    ...     engine.run(pow, 2, [0, 1, 5])
    [1, 2, 32]
    """
    require_choice("engine", name, tuple(ENGINES))
    if address is not None and workers is not None:
        raise ParameterError("workers: is for a cluster on this machine; leave it or address out.")
    module, kind = ENGINES[name]
    engine: Engine = getattr(import_module(module, __package__), kind)(address, workers)
    return engine
