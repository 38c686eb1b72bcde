"""Parts of the data: which rows of which file a task works on."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .._core.arguments import PathLike
from ..documents.folder import FOLDER
from ..documents.opening import is_folder_of_texts
from ..errors import DataError, FileError
from ..io.provenance import column_base, matching_files
from ..io.readers import Batch, BlockStart, RowReader, Selected, require_rows
from ..recipe import Recipe
from .engines import Engine
from .matching import new_columns
from .readers import AnyReader, SignatureReader, open_reader, recipe_for
from .shards import is_shard_folder, part_files

ROWS_PER_PART = 1 << 17  # of rows that are not hashed into shards
ROWS_FOR_ONE_MACHINE = 10_000_000  # which one learns from in minutes, once they are hashed


@dataclass(frozen=True)
class Part:
    """Some consecutive rows of a file.

    Attributes
    ----------
    number : int
        Of the part among all, from 0.
    path : str
    first_row : int
        In the file.
    rows : int or None
        None: all rows of the file, whose number only reading it would tell.
    reading : dict
        Options of `files.open_reader`.
    start : BlockStart or None
        Where in svmlight text reading can begin.
    integer_labels : bool or None
        Whether labels of svmlight text are integers in all files.
    narrow : int or None
        Columns that are kept, if not all.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.files.Part(number=0, path="rows.npz", first_row=0, rows=2).rows
    2
    """

    number: int
    path: str
    first_row: int
    rows: int | None
    reading: Mapping[str, Any] = field(default_factory=dict)
    start: BlockStart | None = None
    integer_labels: bool | None = None
    narrow: int | None = None

    def open(self, n_jobs: int | None = 1) -> AnyReader:
        """A reader of these rows, numbered from 0; tasks use one thread unless told otherwise."""
        reader = open_reader(self.path, n_jobs=n_jobs, **self.reading)
        if reader.holds == "signatures":
            return reader
        reader.block_starts = () if self.start is None else (self.start,)
        reader.integer_labels = self.integer_labels
        if self.rows is not None:
            reader = Selected(reader, self.first_row, self.rows)
        return reader if self.narrow is None else Selected(reader, n_columns=self.narrow)


@dataclass(frozen=True)
class Plan:
    """All parts of a job.

    Attributes
    ----------
    name : str
        What messages call the data.
    parts : tuple of Part
    n_columns : int
    n_rows : int or None
        None where only reading would tell.
    n_bytes : int
        Size of the files.
    recipe : Recipe or None
        How the rows were hashed, if they are signatures.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("rows.npz", [[1.0, 0], [0, 2]])
    >>> with ck.files.LocalEngine() as engine:
    ...     plan = ck.files.plan_parts(engine, "rows.npz")
    >>> len(plan.parts), plan.n_rows, plan.n_columns
    (1, 2, 2)
    """

    name: str
    parts: tuple[Part, ...]
    n_columns: int
    n_rows: int | None
    n_bytes: int
    recipe: Recipe | None = None

    @property
    def key(self) -> str:
        """Equal for equal parts of equal files, however these are reached."""
        told = [(Path(part.path).name, part.first_row, part.rows) for part in self.parts]
        return hashlib.sha256(repr((told, self.n_bytes)).encode()).hexdigest()[:16]

    def recipe_for(self, **options: Any) -> Recipe:
        """A recipe for these rows, as `files.recipe_for`; signatures have theirs already."""
        if self.recipe is not None:
            return recipe_for(SignatureReader(self.parts[0].path), **options)
        given = {name: value for name, value in options.items() if value is not None}
        return Recipe(n_columns=self.n_columns, **given)

    def first_rows(self, counts: Sequence[int]) -> list[int]:
        """The number of each part's first row among all rows, given how many each has."""
        firsts = [0]
        for count in counts[:-1]:
            firsts.append(firsts[-1] + count)
        return firsts


@dataclass(frozen=True)
class FileFacts:
    """What a first look at a file tells."""

    format: str
    n_rows: int | None
    n_columns: int
    n_bytes: int
    one_based: bool | None = None
    integer_labels: bool | None = None
    block_starts: Sequence[BlockStart] = ()
    recipe: Recipe | None = None
    column_names: tuple[str, ...] | None = None


def look_at_file(reading: Mapping[str, Any], path: str) -> FileFacts:
    """A task: footers are read; svmlight text is scanned if its columns are not known."""
    reader = open_reader(path, n_jobs=1, **reading)
    n_bytes = (reader.n_bytes or 0) if os.path.isdir(path) else os.path.getsize(path)
    about = reader.format, reader.n_rows, reader.n_columns, n_bytes
    if reader.holds == "signatures":
        return FileFacts(*about, column_base(reader.provenance), recipe=reader.recipe)
    return FileFacts(
        *about, reader.one_based, reader.integer_labels, reader.block_starts,
        column_names=reader.column_names,
    )  # fmt: skip


def plan_parts(
    engine: Engine, source: PathLike | Iterable[PathLike], *, part_rows: int | None = None,
    match_columns: int | None = None, ignore_new_columns: bool = False,
    progress: bool | None = None, **reading: Any,
) -> Plan:  # fmt: skip
    """Parts of one file, several, a folder of files, or all files that a pattern matches.

    Parameters
    ----------
    engine : Engine
        Where files are looked at.
    source : path, or several
        Files of rows or of signatures; a shard folder; a folder, of which all files are meant
        whose names do not begin with a dot or an underscore; or a name with `*`, `?` or `[`. With
        `text`, each file of a folder of plain texts is a document, as for `files.open_reader`.
    part_rows : int, optional
        Most rows of a part; if not given, each file is a part. Files of signatures or of
        documents are not cut; a folder of plain texts is.
    match_columns, ignore_new_columns
        `n_columns` and `ignore_new_columns` of `files.open_matching`, for rows that must have the
        columns of others known before.
    progress : bool, optional
        Whether to show a progress bar; None means where there is a terminal.
    **reading
        `format`, `n_columns`, `one_based`, `labels`, `text`, `label`, `id`, `shingles`, `like`,
        `column_names` of `files.open_reader`.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("a.npy", [[1.0, 0], [0, 2]])
    >>> ck.io.write_rows("b.npy", [[3.0, 0]])
    >>> with ck.files.LocalEngine() as engine:
    ...     plan = ck.files.plan_parts(engine, "*.npy")
    >>> [(part.number, part.rows) for part in plan.parts]
    [(0, 2), (1, 1)]
    """
    is_text = reading.get("text") is not None
    paths = source_files(source, is_text)
    name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    found = engine.run(look_at_file, reading, paths, what="looking at files", progress=progress)
    _require_alike(paths, found)
    n_columns, common = _columns(name, found, reading, match_columns, ignore_new_columns)
    narrow = match_columns if match_columns is not None and match_columns < n_columns else None
    integers = [facts.integer_labels for facts in found if facts.integer_labels is not None]
    options = {**reading, **common}
    parts = [
        replace(part, number=number, reading=options, narrow=narrow,
                integer_labels=all(integers) if integers else None)
        for number, part in enumerate(
            part for path, facts in zip(paths, found, strict=True)
            for part in _cut(path, facts, part_rows, is_text)
        )
    ]  # fmt: skip
    counts = [facts.n_rows for facts in found]
    n_rows = None if None in counts else sum(count or 0 for count in counts)
    n_bytes = sum(facts.n_bytes for facts in found)
    return Plan(name, tuple(parts), narrow or n_columns, n_rows, n_bytes, found[0].recipe)


def _cut(path: str, facts: FileFacts, part_rows: int | None, is_text: bool) -> Iterator[Part]:
    """The parts of a file; one of documents or of signatures is not cut, a folder of texts is."""
    n_rows = None if is_text and facts.format != FOLDER else facts.n_rows
    if n_rows is None or part_rows is None or facts.recipe is not None:
        yield Part(0, path, 0, n_rows)
        return
    for first in range(0, max(1, n_rows), part_rows):
        starts = [start for start in facts.block_starts if start.row <= first]
        start = starts[-1] if starts else None
        yield Part(0, path, first, min(part_rows, n_rows - first), start=start)


def source_files(source: PathLike | Iterable[PathLike], is_text: bool = False) -> list[str]:
    """The files that are meant, in the order of their names where they are not listed.

    A folder of plain texts, each of which is a document, stands for itself.
    """
    if not isinstance(source, str | os.PathLike):
        files = [os.fspath(path) for path in source]
        if not files:
            raise FileError("source: names no file; give one or more.")
        return files
    name = os.fspath(source)
    if is_shard_folder(name):
        return [str(path) for path in part_files(name)]
    if os.path.isdir(name) and is_text and is_folder_of_texts(name):
        return [name]
    if os.path.isdir(name):
        files = sorted(
            entry.path for entry in os.scandir(name)
            if entry.is_file() and not entry.name.startswith((".", "_"))
        )  # fmt: skip
        if not files:
            raise FileError(f"{name}: is a folder without files; check the name.")
        return files
    if (matching := matching_files(name, os.path.isfile)) is not None:
        return matching
    if not os.path.isfile(name):
        raise FileError(f"{name}: does not exist, or is a pipe; give files.")
    return [name]


def _require_alike(paths: Sequence[str], found: Sequence[FileFacts]) -> None:
    first = found[0]
    for path, facts in zip(paths, found, strict=True):
        if (facts.recipe is None) != (first.recipe is None):
            raise FileError(
                f"{path}: holds {facts.format}, {paths[0]} holds {first.format}; give either rows "
                "or signatures."
            )
        names, others = facts.column_names, _names(found)
        if names is not None and others is not None and set(names) != set(others):
            raise DataError(
                f"{path}: of it and those before, one has no column {min({*names} ^ {*others})!r}; "
                "give files with the same columns."
            )
        if facts.recipe != first.recipe:
            raise DataError(f"{path}: was hashed in another way than {paths[0]}; hash both alike.")


def _names(found: Sequence[FileFacts]) -> tuple[str, ...] | None:
    """What the columns are called, in the order of the first file that says so."""
    return next((facts.column_names for facts in found if facts.column_names is not None), None)


def _columns(
    name: str, found: Sequence[FileFacts], reading: Mapping[str, Any], wanted: int | None,
    ignore_new: bool,
) -> tuple[int, dict[str, Any]]:  # fmt: skip
    """The number of columns of all files, and the options of `open_reader` that follow from it."""
    first = found[0]
    bases = [facts.one_based for facts in found if facts.one_based is not None]
    base = all(bases) if bases else None
    largest = max(facts.n_columns + bool(facts.one_based) for facts in found) - bool(base)
    if wanted is not None and largest > wanted and not ignore_new:
        raise new_columns(name, largest, wanted)
    if first.recipe is not None or reading.get("text") is not None:
        if wanted is not None and wanted != first.n_columns:
            raise DataError(f"{name}: has {first.n_columns} columns, {wanted} were known before.")
        return first.n_columns, {}
    n_columns = max(largest, wanted or 0, reading.get("n_columns") or 0)
    common: dict[str, Any] = {"n_columns": n_columns}
    if len(bases) == len(found):
        common["one_based"] = base
    if _names(found) is not None:  # of all files, in whatever order each has them
        common["column_names"] = _names(found)
    return n_columns, common


def open_plan(plan: Plan, n_jobs: int | None = None) -> RowReader:
    """A reader of all rows, one part after the other; of documents, a `DocumentReader`.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("a.npy", [[1.0, 0], [0, 2]])
    >>> ck.io.write_rows("b.npy", [[3.0, 0]])
    >>> with ck.files.LocalEngine() as engine:
    ...     plan = ck.files.plan_parts(engine, "*.npy")
    >>> [batch.first_row for batch in ck.files.open_plan(plan)]
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
