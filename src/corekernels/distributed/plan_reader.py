"""All rows of a plan in one reader, for what follows a job on parts."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ..files.readers import open_reader
from ..io.readers import Batch, RowReader, require_rows
from .plan import Plan


def open_plan(plan: Plan, n_jobs: int | None = None) -> RowReader:
    """A reader of all rows, one part after the other; of documents, a `DocumentReader`.

    Examples
    --------
    >>> import corekernels as ck
    >>> from corekernels import distributed
    >>> ck.io.write_rows("a.npy", [[1.0, 0], [0, 2]])
    >>> ck.io.write_rows("b.npy", [[3.0, 0]])
    >>> with distributed.LocalEngine() as engine:
    ...     plan = distributed.plan_parts(engine, "*.npy")
    >>> [batch.first_row for batch in distributed.open_plan(plan)]
    [0, 2]
    """
    reading = plan.parts[0].reading
    if reading.get("text") is None:
        return PlanReader(plan, n_jobs)
    paths: Any = list(dict.fromkeys(part.path for part in plan.parts))
    return require_rows(open_reader(paths, n_jobs=n_jobs, **reading))


class PlanReader(RowReader):
    """The rows of all parts."""

    def __init__(self, plan: Plan, n_jobs: int | None = None) -> None:
        super().__init__(plan.name)
        self._plan, self._n_jobs = plan, n_jobs
        first = require_rows(plan.parts[0].open(n_jobs))
        self.format, self._first_notes = first.format, first.notes
        self.one_based, self.column_names = first.one_based, first.column_names
        self.n_columns, self.n_rows, self.n_bytes = plan.n_columns, plan.n_rows, plan.n_bytes

    @property
    def notes(self) -> Sequence[str]:
        """What the reader of the first part noted."""
        return self._first_notes

    def batches(self, first_row: int = 0) -> Iterator[Batch]:
        """The batches of each part."""
        first, parts = 0, self._plan.parts
        for number, part in enumerate(parts):
            n_rows, bytes_done = 0, self._plan.n_bytes * number // len(parts)
            for batch in require_rows(part.open(self._n_jobs)):
                yield replace(batch, first_row=first + n_rows, bytes_done=bytes_done)
                n_rows += len(batch)
            first += n_rows
