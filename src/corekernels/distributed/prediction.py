"""A model or an index applied to parts: predictions, evaluation, search."""

import copy
import io
import shutil
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from .._core.arguments import PathLike, require_count
from ..errors import FileError, ParameterError
from ..files import prediction
from ..files.engines.base import Engine, Task
from ..files.plan import Part, Plan
from ..files.searching import SearchReport, search
from ..io.atomic import atomic_write, require_target
from ..io.readers import Selected, require_rows
from ..models import Model
from ..neighbors import CoRENeighbors


class PredictJob(NamedTuple):
    """What is predicted, and where its lines go."""

    model: Model
    output: str
    folder: str


def predict_part(job: PredictJob, part: Part) -> int:
    """A task: the lines of `files.predict` for a part, in a file; number of rows."""
    lines = io.BytesIO()
    n_rows = prediction.predict(
        _in_one_thread(job.model), part.open(), lines, output=job.output, progress=False
    )
    _write_lines(job.folder, part, lines, 0 if job.output == "labels" else 1)
    return n_rows


def predict_parts(
    engine: Engine, model: Model, plan: Plan, target: PathLike, *, output: str = "labels",
    progress: bool | None = None,
) -> int:  # fmt: skip
    """What `files.predict` writes for the rows of all parts; number of rows.

    Lines gather in the hidden folder `.NAME.lines` beside the target, which every worker must
    reach.

    Examples
    --------
    >>> import corekernels as ck
    >>> model = ck.CoREClassifier(n_hashes=16, random_state=0).fit([[1.0, 0], [0, 1]], [0, 1])
    >>> ck.io.write_rows("rows.npz", [[2.0, 0], [0, 3], [4, 0]])
    >>> with ck.files.LocalEngine() as engine:
    ...     plan = ck.files.plan_parts(engine, "rows.npz")
    ...     ck.distributed.predict_parts(engine, model, plan, "labels.txt")
    3
    """

    def job(folder: str) -> PredictJob:
        return PredictJob(model, output, folder)

    return sum(_gather(engine, predict_part, job, plan.parts, target, plan, progress))


def evaluate_part(model: Model, part: Part) -> prediction.Outcomes:
    """A task: how often each label was given to rows of each, or values found and true."""
    return prediction.outcomes(_in_one_thread(model), part.open(), False)


def evaluate_parts(
    engine: Engine, model: Model, plan: Plan, *, progress: bool | None = None
) -> prediction.Evaluation | prediction.RegressionEvaluation:
    """How well a model does on the labelled rows of all parts, as `files.evaluate`.

    Examples
    --------
    >>> import corekernels as ck
    >>> model = ck.CoREClassifier(n_hashes=16, random_state=0).fit([[1.0, 0], [0, 1]], [0, 1])
    >>> ck.io.write_rows("rows.npz", [[2.0, 0], [0, 3], [4, 0]], [0, 1, 1])
    >>> with ck.files.LocalEngine() as engine:
    ...     plan = ck.files.plan_parts(engine, "rows.npz")
    ...     found = ck.distributed.evaluate_parts(engine, model, plan)
    >>> found.rows, round(found.accuracy, 2)
    (3, 0.67)
    """
    found = engine.run(evaluate_part, model, plan.parts, what="evaluating", progress=progress)
    return prediction.evaluation(model, found, plan.name)


class SearchJob(NamedTuple):
    """What is searched, how, and where the lines go."""

    index_file: str
    n_neighbors: int | None
    radius: float | None
    folder: str


def search_part(job: SearchJob, argument: tuple[Part, int]) -> SearchReport | None:
    """A task: the lines of `files.search` for the queries of a part, in a file."""
    part, first_row = argument
    lines, found = io.BytesIO(), None
    if part.rows != 0:
        reader = Selected(require_rows(part.open()), numbered_from=first_row)
        found = search(
            _loaded_index(job.index_file), reader, lines, job.n_neighbors, radius=job.radius,
            progress=False,
        )  # fmt: skip
    _write_lines(job.folder, part, lines, 1)
    return found


def search_parts(
    engine: Engine, index: PathLike, plan: Plan, target: PathLike,
    n_neighbors: int | None = None, *, radius: float | None = None, progress: bool | None = None,
) -> SearchReport:  # fmt: skip
    """What `files.search` writes for the queries of all parts.

    Parameters
    ----------
    engine : Engine
    index : path
        An index file, which every worker must reach, and maps into its memory.
    plan : Plan
        Of the queries.
    target : path
        The file of lines to create or replace.
    n_neighbors, radius, progress
        As for `files.search`.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.CoRENeighbors(n_neighbors=2).fit([[1.0, 2], [0, 3], [2, 1]]).save("rows.index")
    >>> ck.io.write_rows("queries.npz", [[1.0, 1]])
    >>> with ck.files.LocalEngine() as engine:
    ...     plan = ck.files.plan_parts(engine, "queries.npz")
    ...     found = ck.distributed.search_parts(engine, "rows.index", plan, "found.tsv")
    >>> found.queries, found.found
    (1, 2)
    """
    if Path(target).suffix == ".npz":
        raise ParameterError("target: arrays are not written on a cluster; name a file of lines.")
    if n_neighbors is not None:
        require_count("n_neighbors", n_neighbors)
    first_rows = plan.first_rows(row_counts(engine, plan, progress))

    def job(folder: str) -> SearchJob:
        return SearchJob(str(Path(index).absolute()), n_neighbors, radius, folder)

    asked = list(zip(plan.parts, first_rows, strict=True))
    reports = _gather(engine, search_part, job, asked, target, plan, progress)
    found: list[SearchReport] = [report for report in reports if report is not None]
    return replace(
        found[0],
        target=str(target),
        queries=sum(report.queries for report in found),
        found=sum(report.found for report in found),
        seconds=sum(report.seconds for report in found),
    )


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


def _gather(
    engine: Engine, task: Task, job: Any, arguments: Sequence[Any], target: PathLike, plan: Plan,
    progress: bool | None,
) -> list[Any]:  # fmt: skip
    """Results of a task that writes lines; all lines, in order, become the target."""
    final = require_target(target, *{part.path for part in plan.parts})
    folder = final.absolute().with_name(f".{final.name}.lines")
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise FileError(f"{folder}: is no folder; remove it, lines gather there.")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(0o700)
    try:
        found = engine.run(task, job(str(folder)), arguments, what="running", progress=progress)
        with atomic_write(final) as file:
            for part in plan.parts:
                with open(_lines_file(folder, part), "rb") as lines:
                    shutil.copyfileobj(lines, file)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return found


def _write_lines(folder: str, part: Part, lines: io.BytesIO, n_titles: int) -> None:
    """Write lines of a part; only the first part keeps lines of titles."""
    lines.seek(0)
    for _ in range(n_titles if part.number else 0):
        lines.readline()
    with atomic_write(_lines_file(Path(folder), part), durable=False, shared=True) as file:
        shutil.copyfileobj(lines, file)


def _lines_file(folder: Path, part: Part) -> Path:
    return folder / f"lines-{part.number:05d}"


def _in_one_thread(model: Model) -> Model:
    """A copy of the model, which tasks of a process share, that uses one thread."""
    mine: Model = copy.copy(model).set_params(n_jobs=1)
    mine.linear_ = copy.copy(model.linear_).set_params(n_jobs=1)
    return mine


@lru_cache(1)
def _loaded_index(path: str) -> CoRENeighbors:
    return CoRENeighbors.load(path).set_params(n_jobs=1)
