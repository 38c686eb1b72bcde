"""Jobs that write something for each row: lines, here or by parts; the row in another format."""

import contextlib
import os
from collections.abc import Callable, Iterator
from io import BytesIO
from typing import Any, NamedTuple

import numpy as np

from .. import io
from .._core.arguments import PathLike
from .._core.progress import Progress
from ..errors import DataError
from ..io.atomic import Target, open_target, require_target
from ..io.job_folder import JobFolder, file_stamps, unfinished_folder
from ..io.readers import RowReader, Selected, require_rows, with_progress
from ..io.streams import STANDARD_INPUT
from .engines import Engine
from .readers import AnyReader
from .sources import FilePart, Source, plan_of, reader_of


class Counts(NamedTuple):
    """How many rows were looked at, how many lines these are, and the seconds they took."""

    rows: int = 0
    lines: int = 0
    seconds: float = 0.0

    def plus(self, other: "Counts") -> "Counts":
        """The sums of both."""
        rows, lines = self.rows + other.rows, self.lines + other.lines
        return Counts(rows, lines, self.seconds + other.seconds)


Lines = Iterator[tuple[Any, Counts]]  # bytes of whole lines, and how many rows they are for


class LinesJob(NamedTuple):
    """What lines are made of, and how; `about` is what they depend on beside the source."""

    make: Callable[[Any, AnyReader, Progress], Lines]  # the lines of a reader's rows
    shared: Any
    about: dict[str, Any]
    is_numbered: bool = False  # rows are so through all parts, and there must be some

    def by_parts(
        self, folder: JobFolder, engine: Engine, source: Source, progress: bool | None
    ) -> Lines:
        """The lines of each part, after tasks have made those that are missing."""
        parts = plan_of(source).parts
        if self.is_numbered and folder.changed:  # rows of other files may have other numbers
            folder.remove("lines-*")
        n_rows = [part.rows if self.is_numbered else 0 for part in parts]
        if None in n_rows:
            n_rows = engine.run(count_part, None, parts, what="counting", progress=progress)
        missing = [
            (part, first)
            for part, first in zip(parts, np.cumsum([0, *n_rows]).tolist(), strict=False)
            if not folder.file(_name(part)).exists()
            or os.path.basename(part.path) in folder.changed
        ]
        shared = self, str(folder.path)
        engine.run(lines_part, shared, missing, what="running", progress=progress)
        for part in parts:
            written = folder.load(_name(part), mmap=True)
            assert written is not None
            yield written[0]["text"].data, Counts(*written[1])


def write_lines(
    job: LinesJob, source: Source, target: Target, header: bytes = b"", *,
    engine: Engine | None = None, resume: bool = False, progress: bool | None = None,
    n_jobs: int | None = None,
) -> Counts:  # fmt: skip
    """Write a header and the lines of all rows; an engine needs a path as the target."""
    total = Counts()
    with contextlib.ExitStack() as stack:
        if engine is None:
            lines = job.make(job.shared, reader_of(source, n_jobs), progress)
        else:
            about = {**job.about, "files": file_stamps(source.paths)}
            about["parts"] = len(plan_of(source).parts)
            path = unfinished_folder(require_target(target, *source.paths))  # type: ignore[arg-type]
            opened = JobFolder.open(path, about, resume=resume, redo_changed=True)
            folder = stack.enter_context(opened)
            lines = job.by_parts(folder, engine, source, progress)
        with open_target(target, *source.paths) as file:
            file.write(header)
            for text, counts in lines:
                file.write(text)
                total = total.plus(counts)
            if job.is_numbered:
                require_queries(total, source)
        if engine is not None:
            folder.discard()
    return total


def require_queries(counts: Counts, source: Source) -> None:
    """Refuse a source without rows."""
    if not counts.rows:
        raise DataError(f"{source.name}: holds no rows; give some to look up.")


def lines_part(shared: tuple[LinesJob, str], argument: tuple[FilePart, int]) -> None:
    """A task: write the lines of a part, whose first row has a number, as a part of the job."""
    (job, folder), (part, first_row) = shared, argument
    text, total = BytesIO(), Counts()
    reader = part.open()
    if reader.holds == "rows":
        reader = Selected(reader, numbered_from=first_row)
    for lines, counts in job.make(job.shared, reader, False) if part.rows != 0 else ():
        text.write(lines)
        total = total.plus(counts)
    written = np.frombuffer(text.getvalue(), np.uint8)
    JobFolder(folder).save(_name(part), list(total), text=written)


def _name(part: FilePart) -> str:
    return f"lines-{part.number:05d}"


def count_part(_: Any, part: FilePart) -> int:
    """A task: number of rows of a part, which documents tell when they are read."""
    if part.rows is not None:
        return part.rows
    return sum(len(batch) for batch in require_rows(part.open()))


def convert(
    reader: RowReader, target: PathLike, *, format: str | None = None,  # noqa: A002
    progress: bool | None = None,
) -> int:  # fmt: skip
    """Write all rows and labels of a reader in another format; number of rows.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("rows.svm", [[0, 1.5], [2, 0]], [1, -1])
    >>> ck.files.convert(ck.files.open_reader("rows.svm"), "rows.npz")
    2
    """
    n_rows = 0
    if os.fspath(target) != STANDARD_INPUT:
        require_target(target, reader.name)
    with io.RowWriter(target, format=format) as writer:
        for batch in with_progress(reader, "converting", progress):
            writer.write(batch.rows, batch.y)
            n_rows += len(batch)
    return n_rows
