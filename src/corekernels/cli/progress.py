"""Progress on standard error, where that is a terminal: rows, rows a second, time left."""

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


class Watched:
    """A reader that tells a progress bar how far it is."""

    def __init__(self, source: Any, bar: Progress, task: Any) -> None:
        self._source, self._bar, self._task = source, bar, task

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def say(self, what: str) -> None:
        """Name what is being done now."""
        self._bar.update(self._task, description=what)

    def __iter__(self) -> Iterator[Any]:
        n_rows = 0
        self._bar.reset(self._task)  # some jobs read their file more than once
        for batch in self._source:
            yield batch
            n_rows = batch.first_row + _n_rows(batch)
            elapsed = self._bar.tasks[self._task].elapsed or 0
            speed = n_rows / elapsed if elapsed else 0.0
            self._bar.update(
                self._task, completed=batch.bytes_done, rows=f"{n_rows:,}", speed=f"{speed:,.0f}"
            )


@contextlib.contextmanager
def watched(source: Any, what: str, quiet: bool) -> Iterator[Any]:
    """The same reader, watched if somebody can see it."""
    if quiet or not sys.stderr.isatty() or hasattr(source, "parts"):
        yield source
        return
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %  {task.fields[rows]} rows"),
        TextColumn("{task.fields[speed]} rows/s"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    ) as bar:
        task = bar.add_task(what, total=source.n_bytes, rows="0", speed="0")
        yield Watched(source, bar, task)


def _n_rows(batch: Any) -> int:
    return int(batch.X.shape[0]) if hasattr(batch, "X") else len(batch.signatures)
