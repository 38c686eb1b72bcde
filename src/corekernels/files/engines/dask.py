"""Tasks on a Dask cluster."""

import contextlib
import logging
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..._core.arguments import require_extra
from ..._core.threads import thread_count
from ...errors import FileError
from .base import (
    FAN_IN,
    Engine,
    Task,
    add_up,
    attempt,
    gather_group,
    reason_of,
    total_of,
    value_of,
)

_GROUP = "group"  # the column of numbers of groups, in tables of records
_TASKS_PER_WORKER = 16  # at least, so that all workers end at about the same time
_PARTS_PER_TASK = 16  # where there are more: Dask spends some milliseconds on each task
_RETRIES = 3  # of a task whose worker died or that failed other than by bad input
_SETTINGS = {  # of clusters on this machine
    # A worker is given up that is not there so long after a death. Dask looks once: at its own 15
    # seconds, it also gives up one that has died again and is just being started.
    "distributed.deploy.lost-worker-timeout": "1 day",
    # Processes that wait spend 7 % of a core on the profiler and 50 ticks per second, else 2 %
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    # Dask has workers give freed memory back at once: each new array then costs page faults, a
    # third of the time of hashing. These are the largest values that C's library comes to itself.
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 64 << 20,
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 32 << 20,
}


class DaskEngine(Engine):
    """Runs tasks on a Dask cluster: that of a client, of an address, or one started here."""

    name = "dask"
    shuffles_here = False

    def __init__(self, address: Any = None, workers: int | None = None) -> None:
        self._distributed = require_extra("distributed", "dask", "Dask clusters")
        self._dask = require_extra("dask", "dask", "Dask clusters")
        self._own = contextlib.ExitStack()
        is_client = isinstance(address, self._distributed.Client)
        self.client = address if is_client else self._connected(address, workers)
        self.n_workers = max(1, sum(self.client.nthreads().values()))

    def _connected(self, address: str | None, workers: int | None) -> Any:
        cluster: Any = address
        if address is None:
            self._own.enter_context(self._dask.config.set(_SETTINGS))
            cluster = self._distributed.LocalCluster(
                n_workers=thread_count(workers),
                threads_per_worker=1,
                dashboard_address=":0",
                silence_logs=logging.CRITICAL,  # what fails comes back as an error
            )
            self._own.callback(cluster.close)
        try:
            client = self._distributed.Client(cluster, set_as_default=False)
        except (OSError, ValueError) as error:
            raise FileError(
                f"{address}: no Dask scheduler answers ({reason_of(error)}); give the address "
                "that it printed when it started."
            ) from error
        self._own.callback(client.close)
        return client

    def results(self, task: Task, shared: Any, arguments: Sequence[Any]) -> Iterator[Any]:
        """As of `Engine`, as they are finished."""
        n_tasks = max(self.n_workers * _TASKS_PER_WORKER, len(arguments) // _PARTS_PER_TASK)
        size = max(1, len(arguments) // n_tasks)
        firsts = range(0, len(arguments), size)
        batches = [list(arguments[first : first + size]) for first in firsts]
        futures = self._submit(_each, (task, shared), batches)
        numbers = {future.key: first for future, first in zip(futures, firsts, strict=True)}
        finished = self._distributed.as_completed(futures, loop=self.client.loop, with_results=True)
        try:
            for future, results in finished:
                if future.cancelled():
                    raise FileError(
                        "dask: the cluster has given up a task, its workers died too often; look "
                        "at their logs, and run the same again to go on."
                    )
                yield from enumerate(results, numbers[future.key])
        finally:
            self.client.cancel(futures, force=True)

    def total(self, task: Task, shared: Any, arguments: Sequence[Any]) -> Any:
        """As of `Engine`."""
        sums = self._submit(attempt, (task, shared), arguments)
        while len(sums) > 1:
            sums = [
                self.client.submit(add_up, sums[at : at + FAN_IN], pure=False)
                for at in range(0, len(sums), FAN_IN)
            ]
        return total_of(self.client.gather(sums))

    def shuffle(
        self, task: Task, gather: Task, shared: Any, arguments: Sequence[Any], n_groups: int
    ) -> list[Any]:
        """As of `Engine`, by the shuffle of Dask's data frames."""
        frames = require_extra("dask.dataframe", "dask", "Dask clusters")
        sent = self._send((task, shared))
        table = self._dask.delayed(_as_table, pure=False)
        first = self.client.submit(_as_table, sent, arguments[0], pure=False)
        tables = [first, *(table(sent, argument) for argument in arguments[1:])]
        meta = self.client.submit(_without_rows, first, pure=False).result()
        shuffled = frames.from_delayed(tables, meta=meta).shuffle(_GROUP, npartitions=n_groups)
        gathered, sent = self._dask.delayed(_gather_table, pure=False), self._send((gather, shared))
        lists = [gathered(sent, part) for part in shuffled.to_delayed()]
        futures = self.client.compute(lists, retries=_RETRIES)
        pairs = [pair for group in self.client.gather(futures) for pair in group]
        return [value_of(result) for _, result in sorted(pairs, key=lambda pair: pair[0])]

    def _send(self, value: Any) -> Any:
        """A value for all tasks, as a task of its own: what a dead worker held is made again."""
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sending large graph", UserWarning)
            return self.client.submit(_given, value, pure=False)

    def _submit(self, task: Task, shared: Any, arguments: Sequence[Any]) -> list[Any]:
        """Futures; an argument may be, or hold, Dask objects, which are computed first."""
        lazy, sent = self._dask.delayed(task, pure=False), self._send(shared)
        delayed = [lazy(sent, argument) for argument in arguments]
        futures: list[Any] = self.client.compute(delayed, retries=_RETRIES)
        return futures

    def close(self) -> None:
        """Close the connection and end the cluster, if they were made here."""
        self._own.close()


def _given(value: Any) -> Any:
    return value


def _each(work: tuple[Task, Any], arguments: Sequence[Any]) -> list[Any]:
    """Results of a task for several arguments, one after the other."""
    task, shared = work
    return [task(shared, argument) for argument in arguments]


def _as_table(work: tuple[Task, Any], argument: Any) -> Any:
    """The records of a task as a table, with the numbers of their groups."""
    pandas = require_extra("pandas", "dask", "Dask clusters")
    pieces = value_of(attempt(work, argument))
    groups = np.repeat(list(pieces), [len(records) for records in pieces.values()])
    records = np.concatenate(list(pieces.values()))
    return pandas.DataFrame.from_records(records).assign(**{_GROUP: groups.astype(np.int64)})


def _without_rows(table: Any) -> Any:
    return table.iloc[:0]


def _gather_table(work: tuple[Task, Any], table: Any) -> list[tuple[int, Any]]:
    """Numbers and results of the groups in a table."""
    groups = (
        (int(group), [rows.drop(columns=_GROUP).to_records(False)])
        for group, rows in table.groupby(_GROUP)
    )
    return [(group, attempt((gather_group, work), records)) for group, records in groups]
