"""Jobs that write lines for rows: here, batch by batch, or by a task per part."""

import io
import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .._core.progress import Progress
from ..errors import DataError
from ..io.atomic import Target, atomic_write, open_target, require_target
from ..io.job_folder import JobFolder, file_stamps, unfinished_folder
from ..io.readers import Selected, require_rows
from .engines import Engine
from .readers import AnyReader
from .sources import FilePart, PartPlan, Source, plan_of, reader_of


class Counts(NamedTuple):
    """How many rows were looked at, how many lines these are, and the seconds they took."""

    rows: int = 0
    lines: int = 0
    seconds: float = 0.0

    def plus(self, other: "Counts") -> "Counts":
        """The sums of both."""
        rows, lines = self.rows + other.rows, self.lines + other.lines
        return Counts(rows, lines, self.seconds + other.seconds)


# makes the lines of a reader's rows, batch by batch, from what all tasks share
Maker = Callable[[Any, AnyReader, Progress], Iterator[tuple[bytes, Counts]]]


class LinesJob(NamedTuple):
    """What tasks share."""

    make: Maker
    shared: Any
    folder: str


def write_lines(
    make: Maker, shared: Any, source: Source, target: Target, header: bytes = b"", *,
    about: dict[str, Any], is_numbered: bool = False, engine: Engine | None = None,
    resume: bool = False, progress: bool | None = None, n_jobs: int | None = None,
) -> Counts:  # fmt: skip
    """Write a header and the lines of all rows; an engine needs a path as the target.

    `about` says, for a run that resumes, what the lines depend on beside the source. Rows that are
    numbered are so through all parts, which takes reading documents to count them first, and
    there must be some.
    """
    total = Counts()
    if engine is None:
        reader = reader_of(source, n_jobs)
        with open_target(target, *source.paths) as file:
            file.write(header)
            for text, counts in make(shared, reader, progress):
                file.write(text)
                total = total.plus(counts)
            require_queries(total, source, is_numbered)
        return total
    plan = plan_of(source)
    final = require_target(target, *plan.paths)  # type: ignore[arg-type]
    about = {**about, "files": file_stamps(plan.paths), "parts": len(plan.parts)}
    with JobFolder.open(
        unfinished_folder(final), about, resume=resume, redo_changed=True
    ) as folder:
        if is_numbered and folder.changed:  # rows of other files may have other numbers
            folder.remove("lines-*")
        job = LinesJob(make, shared, str(folder.path))
        n_rows = _row_counts(engine, plan, progress) if is_numbered else [0] * len(plan.parts)
        firsts = np.cumsum([0, *n_rows]).tolist()
        missing = [
            (part, first)
            for part, first in zip(plan.parts, firsts, strict=False)
            if not folder.file(_name(part)).exists()
            or os.path.basename(part.path) in folder.changed
        ]
        engine.run(lines_part, job, missing, what="running", progress=progress)
        with atomic_write(final) as file:
            file.write(header)
            for part in plan.parts:
                written = folder.load(_name(part), mmap=True)
                assert written is not None
                file.write(written[0]["text"].data)
                total = total.plus(Counts(*written[1]))
            require_queries(total, source, is_numbered)
        folder.discard()
    return total


def require_queries(counts: Counts, source: Source, are_needed: bool = True) -> None:
    """Refuse a source without rows where some are needed."""
    if are_needed and not counts.rows:
        raise DataError(f"{source.name}: holds no rows; give some to look up.")


def lines_part(job: LinesJob, argument: tuple[FilePart, int]) -> None:
    """A task: write the lines of a part, whose first row has a number, as a part of the job."""
    part, first_row = argument
    text, total = io.BytesIO(), Counts()
    reader = part.open()
    if reader.holds == "rows":
        reader = Selected(reader, numbered_from=first_row)
    for lines, counts in job.make(job.shared, reader, False) if part.rows != 0 else ():
        text.write(lines)
        total = total.plus(counts)
    written = np.frombuffer(text.getvalue(), np.uint8)
    JobFolder(job.folder).save(_name(part), list(total), text=written)


def _name(part: FilePart) -> str:
    return f"lines-{part.number:05d}"


def count_part(_: Any, part: FilePart) -> int:
    """A task: number of rows of a part."""
    if part.rows is not None:
        return part.rows
    return sum(len(batch) for batch in require_rows(part.open()))


def _row_counts(engine: Engine, plan: PartPlan, progress: bool | None) -> list[int]:
    """Rows of each part; documents are read to count them."""
    known = [part.rows for part in plan.parts if part.rows is not None]
    if len(known) == len(plan.parts):
        return known
    return engine.run(count_part, None, plan.parts, what="counting", progress=progress)
