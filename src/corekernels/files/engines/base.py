"""Engines: what runs tasks on one part of the data each, and gathers their results.

A task is a function of a module, so that other processes find it by its name. It gets a value
that all tasks of a call share, which every worker receives once, and one argument of its own. It
may run more than once, on any machine: paths must mean the same files everywhere.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from ... import errors
from ..._core.progress import Progress, progress_bar
from ..._core.threads import thread_count
from ...errors import CoREError, DataError

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


def attempt(task: Task, shared: Any, argument: Any) -> Any:
    """The result of a task, or a `Failure`; other errors are left to the engine, to try again."""
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


def attempt_each(task: Task, shared: Any, arguments: Sequence[Any]) -> list[Any]:
    """As `attempt`, for several arguments, one after the other."""
    return [attempt(task, shared, argument) for argument in arguments]


class Engine(ABC):
    """Runs tasks; use in a `with` block, which ends what the engine started.

    Attributes
    ----------
    name : str
    n_workers : int
        Tasks that run at the same time, as far as is known.

    Examples
    --------
    >>> import corekernels as ck
    >>> with ck.files.open_engine("local") as engine:
    ...     isinstance(engine, ck.files.Engine)
    True
    """

    name: str
    n_workers: int

    @abstractmethod
    def results(self, task: Task, shared: Any, arguments: Sequence[Any]) -> Iterator[Any]:
        """Pairs (number of the argument, result or `Failure`), in any order."""

    @abstractmethod
    def total(self, task: Task, shared: Any, arguments: Sequence[Any]) -> Any:
        """The sum of all results, which are tuples of arrays and numbers.

        `FAN_IN` consecutive ones are added, then as many of these sums, and so on: always in the
        same order.
        """

    @abstractmethod
    def shuffle(
        self, task: Task, gather: Task, shared: Any, arguments: Sequence[Any], n_groups: int
    ) -> list[Any]:
        """Results of `gather` for each group of the records that tasks give.

        The result of a task is a dict of structured arrays, by the number of the group that they
        belong to. `gather` gets the records of a group in any order; groups without any are
        left out.
        """

    def run(
        self, task: Task, shared: Any, arguments: Sequence[Any], *, what: str = "running",
        progress: Progress = False, done: Callable[[int, Any], None] | None = None,
    ) -> list[Any]:  # fmt: skip
        """Results in the order of the arguments; the first failure that comes back is raised.

        `done` is called with the number and the result of each task, as they come.
        """
        found: dict[int, Any] = {}
        with progress_bar(len(arguments), what, "parts", progress) as bar:
            for number, result in self.results(task, shared, arguments):
                if isinstance(result, Failure):
                    raise result.error()
                found[number] = result
                if done is not None:
                    done(number, result)
                bar.update(1)
        return [found[number] for number in range(len(arguments))]

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
    (total,) = checked_results(sums)
    return total


def gather_group(gather: Task, shared: Any, pieces: Sequence[Any]) -> Any:
    """The result for the records of a group, or the first failure among them."""
    for piece in pieces:
        if isinstance(piece, Failure):
            return piece
    return attempt(gather, shared, np.concatenate(pieces))


def checked_results(results: Sequence[Any]) -> list[Any]:
    """The results, none of which may be a failure."""
    for result in results:
        if isinstance(result, Failure):
            raise result.error()
    return list(results)


class LocalEngine(Engine):
    """Threads of this process.

    Parameters
    ----------
    workers : int, optional
        Threads; None means all cores.

    Examples
    --------
    >>> import corekernels as ck
    >>> with ck.files.LocalEngine(workers=2) as engine:
    ...     engine.name
    'local'
    """

    name = "local"

    def __init__(self, workers: int | None = None) -> None:
        self.n_workers = thread_count(workers)

    def results(self, task: Task, shared: Any, arguments: Sequence[Any]) -> Iterator[Any]:
        """As of `Engine`, in order."""
        with ThreadPoolExecutor(self.n_workers) as pool:
            waiting = [pool.submit(attempt, task, shared, argument) for argument in arguments]
            try:
                for number, future in enumerate(waiting):
                    yield number, future.result()
            finally:
                pool.shutdown(cancel_futures=True)

    def shuffle(
        self, task: Task, gather: Task, shared: Any, arguments: Sequence[Any], n_groups: int
    ) -> list[Any]:
        """As of `Engine`."""
        groups: dict[int, list[Any]] = {}
        for pieces in self.run(task, shared, arguments):
            for group, records in pieces.items():
                groups.setdefault(group, []).append(records)
        with ThreadPoolExecutor(self.n_workers) as pool:
            waiting = [
                pool.submit(gather_group, gather, shared, groups[group]) for group in sorted(groups)
            ]
            return checked_results([future.result() for future in waiting])

    def total(self, task: Task, shared: Any, arguments: Sequence[Any]) -> Any:
        """As of `Engine`."""
        return total_of([result for _, result in self.results(task, shared, arguments)])
