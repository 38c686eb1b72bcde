"""Jobs that write lines for rows: here, batch by batch, or by a task per part."""

import io
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .._core.progress import Progress
from ..errors import DataError
from ..io.atomic import Target, atomic_write, open_target, require_target
from ..io.job_folder import JobFolder, file_stamps, unfinished_folder
from ..io.readers import Selected, require_rows
from .engines import Engine
from .opening import Source, plan_of, reader_of, source_paths
from .plan import Part, Plan
from .readers import AnyReader


class Lines(NamedTuple):
    """Lines of some rows, how many rows and lines these are, and what they took."""

    text: bytes
    rows: int
    lines: int
    seconds: float = 0.0


class Totals(NamedTuple):
    """Sums over all rows."""

    rows: int = 0
    lines: int = 0
    seconds: float = 0.0

    def plus(self, some: "Lines | Totals") -> "Totals":
        """The sums with some more rows."""
        rows, lines = self.rows + some.rows, self.lines + some.lines
        return Totals(rows, lines, self.seconds + some.seconds)


# makes the lines of a reader's rows from what all tasks share
Maker = Callable[[Any, AnyReader, Progress], Iterator[Lines]]


class LinesJob(NamedTuple):
    """What tasks share."""

    make: Maker
    shared: Any
    folder: str


def write_lines(
    make: Maker, shared: Any, source: Source, target: Target, header: bytes = b"", *,
    about: dict[str, Any], numbered: bool = False, engine: Engine | None = None,
    resume: bool = False,
    progress: bool | None = None, n_jobs: int | None = None,
) -> Totals:  # fmt: skip
    """Write a header and the lines of all rows; an engine needs a path as the target.

    `about` says, for a run that resumes, what the lines depend on beside the source. Rows that are
    `numbered` are so through all parts, which takes reading documents to count them first, and
    there must be some.
    """
    totals = Totals()
    if engine is None:
        reader = reader_of(source, n_jobs)
        with open_target(target, *source_paths(source)) as file:
            file.write(header)
            for lines in make(shared, reader, progress):
                file.write(lines.text)
                totals = totals.plus(lines)
            require_queries(totals, source, numbered)
        return totals
    plan = plan_of(source)
    final = require_target(target, *plan.paths)  # type: ignore[arg-type]
    about = {**about, "files": file_stamps(plan.paths), "parts": len(plan.parts)}
    with JobFolder.open(unfinished_folder(final), about, resume=resume) as folder:
        job = LinesJob(make, shared, str(folder.path))
        counts = row_counts(engine, plan, progress) if numbered else [0] * len(plan.parts)
        firsts = plan.first_rows(counts)
        missing = [
            (part, first)
            for part, first in zip(plan.parts, firsts, strict=True)
            if not folder.file(_name(part)).exists()
        ]
        engine.run(lines_part, job, missing, what="running", progress=progress)
        with atomic_write(final) as file:
            file.write(header)
            for part in plan.parts:
                written = folder.load(_name(part), mmap=True)
                assert written is not None
                file.write(written[0]["text"].data)
                totals = totals.plus(Totals(*written[1]))
            require_queries(totals, source, numbered)
        folder.discard()
    return totals


def require_queries(totals: Totals, source: Source, are_needed: bool = True) -> None:
    """Refuse a source without rows where some are needed."""
    if are_needed and not totals.rows:
        raise DataError(f"{source.name}: holds no rows; give some to look up.")


def lines_part(job: LinesJob, argument: tuple[Part, int]) -> None:
    """A task: write the lines of a part, whose first row has a number, as a part of the job."""
    part, first_row = argument
    text, totals = io.BytesIO(), Totals()
    reader = part.open()
    if reader.holds == "rows":
        reader = Selected(reader, numbered_from=first_row)
    for lines in job.make(job.shared, reader, False) if part.rows != 0 else ():
        text.write(lines.text)
        totals = totals.plus(lines)
    written = np.frombuffer(text.getvalue(), np.uint8)
    JobFolder(job.folder).save(_name(part), list(totals), text=written)


def _name(part: Part) -> str:
    return f"lines-{part.number:05d}"


def count_part(_: Any, part: Part) -> int:
    """A task: number of rows of a part."""
    if part.rows is not None:
        return part.rows
    return sum(len(batch) for batch in require_rows(part.open()))


def row_counts(engine: Engine, plan: Plan, progress: bool | None = None) -> list[int]:
    """Rows of each part; documents are read to count them."""
    known = [part.rows for part in plan.parts if part.rows is not None]
    if len(known) == len(plan.parts):
        return known
    return engine.run(count_part, None, plan.parts, what="counting", progress=progress)
