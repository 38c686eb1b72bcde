"""What a path means: a file, several, a folder or a pattern; its parts, and a reader of them."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from .._core.arguments import PathLike
from ..documents.arrow_files import FOLDER
from ..documents.opening import is_folder_of_texts
from ..errors import DataError, FileError
from ..io.provenance import Origin, column_base, matching_files, text_columns_of
from ..io.readers import Batch, RowReader, Selected, require_rows
from ..io.streams import is_stream
from ..recipe import MAX_COLUMNS, Recipe
from .engines import Engine, LocalEngine
from .readers import (
    NOTHING_KNOWN,
    AnyReader,
    SignatureReader,
    SvmlightFacts,
    is_shard_folder,
    label_kind,
    new_columns,
    open_file,
    part_files,
    require_one_kind,
)

ROWS_PER_PART = 1 << 17  # of rows that are not hashed into shards


@dataclass(frozen=True)
class FilePart:
    """Some consecutive rows of a file."""

    number: int  # of the part among all
    path: str
    first_row: int  # in the file
    rows: int | None  # None: all rows of the file, whose number only reading it would tell
    reading: Mapping[str, Any] = field(default_factory=dict)  # options of `open_file`
    svmlight: SvmlightFacts = NOTHING_KNOWN

    def open(self, n_jobs: int | None = 1) -> AnyReader:
        """A reader of these rows, numbered from 0; tasks use one thread unless told otherwise."""
        reader = open_file(self.path, n_jobs=n_jobs, svmlight=self.svmlight, **self.reading)
        if self.rows is None or reader.holds == "signatures":
            return reader
        return Selected(reader, self.first_row, self.rows)

    def cut(self, rows: int) -> Iterator["FilePart"]:
        """Parts of at most so many rows; a part whose number of rows is not known stays whole."""
        if not self.rows:
            yield self
            return
        for first in range(0, self.rows, rows):
            row = self.first_row + first
            starts = [start for start in self.svmlight.starts if start.row <= row][-1:]
            svmlight = self.svmlight._replace(starts=starts)
            n_rows = min(rows, self.rows - first)
            yield replace(self, first_row=row, rows=n_rows, svmlight=svmlight)


@dataclass(frozen=True)
class PartPlan:
    """All parts of a job."""

    name: str  # what messages call the data
    parts: tuple[FilePart, ...]
    n_columns: int
    n_rows: int | None  # None where only reading would tell
    n_bytes: int  # of the files
    recipe: Recipe | None = None  # of rows that are hashed

    @property
    def paths(self) -> list[str]:
        """The files, each once."""
        return list(dict.fromkeys(part.path for part in self.parts))

    @property
    def is_text(self) -> bool:
        """Whether rows are documents."""
        return _is_text(self.parts[0].reading)

    def cut(self, rows: int | None) -> "PartPlan":
        """The same rows in parts of at most so many; files of signatures are not cut."""
        if rows is None or self.recipe is not None:
            return self
        pieces = (piece for part in self.parts for piece in part.cut(rows))
        parts = tuple(replace(piece, number=number) for number, piece in enumerate(pieces))
        return replace(self, parts=parts)


Source = AnyReader | PartPlan


def open_reader(path: PathLike | Iterable[PathLike], **options: Any) -> AnyReader:
    """A reader of rows (`io.open_rows`), documents (`documents.open_documents`) or signatures.

    Parameters
    ----------
    path : path, or several
        A file of rows, of signatures or of documents, or a shard folder; "-" is standard input.
        Several files, a folder of files, or a name with `*`, `?` or `[`, are read one after the
        other.
    format, n_columns, one_based, labels, n_jobs
        As for `io.open_rows`; a signature file needs none of them.
    match_columns : int, optional
        Columns of rows known before, as those of a model: `n_features_in_`. Narrower rows are
        taken to lack the last ones; more are an error.
    ignore_new_columns : bool
        Whether columns beyond these are left out, with a note.
    like : sequence of io.Origin
        Provenance of the signatures or the model that the rows are for. svmlight text does not
        say whether columns count from 0 or 1; unless `one_based` does, it is read as they were.
        Text becomes rows as theirs did, and plain columns of Parquet are matched by their names.
    column_names : sequence of str, optional
        Names of those columns, if `like` does not tell: `feature_names_in_` of a model.
    text, label, id
        Columns of a file of documents, as for `documents.open_documents`: with `text`, it is one.
        Without, `label` is a column of Parquet, as for `io.open_rows`; a signature file needs none.
    shingles : text.Shingles, text.TextSettings or dict, optional
        How text becomes rows; a dict has some of the settings of `Shingles`, by name.
    frequencies : text.InverseDocumentFrequency, optional
        What weighs n-grams by their rarity: `count_frequencies` makes it.
    missing : {"error", "zero"}
        What a missing value of a table is, as for `io.open_rows`.
    skip_bad : int, optional
        Bad documents to leave out, as for `documents.open_documents`.
    max_record_bytes : int
        The longest document or line of svmlight text; beyond, it is an error.

    Returns
    -------
    reader : io.RowReader; of signatures, one whose `recipe` says how they were hashed.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("rows.svm", [[0, 1.5, 0], [2, 0, 1]], [1, -1])
    >>> reader = ck.files.open_reader("rows.svm")
    >>> [(batch.X.nnz, batch.y.tolist()) for batch in reader]
    [(3, [1, -1])]
    >>> reader.format, reader.n_columns
    ('svmlight', 3)
    >>> ck.files.open_reader(["rows.svm", "rows.svm"]).n_rows
    4
    """
    if not is_several(path, options.get("text") is not None):
        return open_file(path, **options)
    n_jobs = options.pop("n_jobs", None)
    return reader_of(plan_parts(None, path, progress=False, **options), n_jobs)


class FileFacts(NamedTuple):
    """What a first look at a file tells."""

    format: str
    n_rows: int | None
    n_columns: int
    n_bytes: int
    one_based: bool | None
    recipe: Recipe | None = None
    column_names: tuple[str, ...] | None = None
    svmlight: SvmlightFacts = NOTHING_KNOWN
    is_text: bool = False


def look_at_file(look: tuple[Mapping[str, Any], SvmlightFacts], path: str) -> FileFacts:
    """A task: footers are read; svmlight text is scanned if its columns are not known."""
    reading, svmlight = look
    reader = open_file(path, n_jobs=1, svmlight=svmlight, **reading)
    n_bytes = (reader.n_bytes or 0) if os.path.isdir(path) else os.path.getsize(path)
    about = reader.format, reader.n_rows, reader.n_columns, n_bytes
    if reader.holds == "signatures":
        return FileFacts(*about, column_base(reader.provenance), reader.recipe)
    svmlight = SvmlightFacts(None, reader.block_starts, reader.integer_labels)
    is_text = reader.settings is not None
    return FileFacts(*about, reader.one_based, None, reader.column_names, svmlight, is_text)


def plan_parts(
    engine: Engine | None, source: PathLike | Iterable[PathLike], *, part_rows: int | None = None,
    match_columns: int | None = None, ignore_new_columns: bool = False,
    progress: bool | None = None, **reading: Any,
) -> PartPlan:  # fmt: skip
    """Parts of one file, several, a folder of files, or all files that a pattern matches.

    Parameters
    ----------
    engine : Engine or None
        Where files are looked at; None means in this process.
    source : path, or several
        Files of rows or of signatures; a shard folder; a folder, of which all files are meant
        whose names do not begin with a dot or an underscore; or a name with `*`, `?` or `[`. With
        `text`, each file of a folder of plain texts is a document, as for `files.open_reader`.
    part_rows : int, optional
        Most rows of a part; if not given, each file is a part, until a job cuts it. Files of
        signatures or of documents are not cut; a folder of plain texts is.
    match_columns, ignore_new_columns
        As for `files.open_reader`.
    progress : bool, optional
        Whether to show a progress bar; None means where there is a terminal.
    **reading
        `format`, `n_columns`, `one_based`, `labels`, `text`, `label`, `id`, `shingles`, `like`,
        `column_names` of `files.open_reader`.

    Returns
    -------
    plan : has `parts`, `paths`, `n_columns` and, where only reading would not tell, `n_rows`.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("a.npy", [[1.0, 0], [0, 2]])
    >>> ck.io.write_rows("b.npy", [[3.0, 0]])
    >>> plan = ck.files.plan_parts(None, "*.npy")
    >>> [(part.number, part.rows) for part in plan.parts]
    [(0, 2), (1, 1)]
    """
    paths = source_files(source, _is_text(reading))
    name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    is_scanned = part_rows is not None or match_columns is None
    wide = MAX_COLUMNS if ignore_new_columns else match_columns
    look = reading, SvmlightFacts(None if is_scanned else wide)
    runner = LocalEngine() if engine is None else engine
    facts = runner.run(look_at_file, look, paths, what="looking at files", progress=progress)
    _require_alike(paths, facts)
    common = _common_options(facts, reading, match_columns)
    n_columns = common.get("n_columns", facts[0].n_columns)
    if match_columns is not None:
        if is_scanned and n_columns > match_columns and not ignore_new_columns:
            raise new_columns(name, n_columns, match_columns)
        if n_columns != match_columns and "n_columns" not in common:
            raise DataError(f"{name}: has {n_columns} columns, {match_columns} were known before.")
        common.pop("n_columns", None)
        common |= {"match_columns": match_columns, "ignore_new_columns": ignore_new_columns}
        n_columns = match_columns
    integers = [file.svmlight.integer_labels for file in facts]
    integer_labels = [are for are in integers if are is not None]
    parts = []
    for number, (path, file) in enumerate(zip(paths, facts, strict=True)):
        n_rows = None if file.is_text and file.format != FOLDER else file.n_rows
        svmlight = file.svmlight._replace(
            integer_labels=all(integer_labels) if integer_labels else None
        )
        parts.append(FilePart(number, path, 0, n_rows, {**reading, **common}, svmlight))
    counts = [file.n_rows for file in facts]
    total = None if None in counts else sum(counts)
    n_bytes = sum(file.n_bytes for file in facts)
    return PartPlan(name, tuple(parts), n_columns, total, n_bytes, facts[0].recipe).cut(part_rows)


def _is_text(reading: Mapping[str, Any]) -> bool:
    """Whether options of `open_file` make documents of files."""
    return bool(reading.get("text") or text_columns_of(reading.get("like", ())))


def is_several(path: Any, is_text: bool) -> bool:
    """Whether a path means several files: a list, a folder of files, or a pattern."""
    if not isinstance(path, str | os.PathLike):
        return not is_text
    if is_text or is_stream(path) or is_shard_folder(path):
        return False
    name = os.fspath(path)
    return os.path.isdir(name) or (any(sign in name for sign in "*?[") and not os.path.exists(name))


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
    if os.path.isdir(name):
        if is_text and is_folder_of_texts(name):
            return [name]
        entries = (entry for entry in os.scandir(name) if not entry.name.startswith((".", "_")))
        files = sorted(entry.path for entry in entries if entry.is_file())
        if not files:
            raise FileError(f"{name}: is a folder without files; check the name.")
        return files
    if (matching := matching_files(name, os.path.isfile)) is not None:
        return matching
    if not os.path.isfile(name):
        raise FileError(f"{name}: does not exist, or is a pipe; give files.")
    return [name]


def _require_alike(paths: Sequence[str], facts: Sequence[FileFacts]) -> None:
    """Refuse files of which one holds what does not go with the first."""
    first, pairs = facts[0], list(zip(paths, facts, strict=True))
    for path, file in pairs:
        if (file.recipe is None) != (first.recipe is None):
            raise FileError(
                f"{path}: holds {file.format}, {paths[0]} holds {first.format}; give either rows "
                "or signatures."
            )
        if file.recipe != first.recipe:
            raise DataError(f"{path}: was hashed in another way than {paths[0]}; hash both alike.")
    named = [(path, {*file.column_names}) for path, file in pairs if file.column_names]
    for path, names in named[1:]:
        first_path, first_names = named[0]
        for column in sorted(names ^ first_names)[:1]:
            lacking, other = (first_path, path) if column in names else (path, first_path)
            raise DataError(
                f"{lacking}: has no column {column!r}, which {other} has; give files with the same "
                "columns."
            )


def _common_options(
    facts: Sequence[FileFacts], reading: Mapping[str, Any], columns_before: int | None
) -> dict[str, Any]:
    """Options of `open_file` that follow from all files together."""
    if facts[0].recipe is not None or facts[0].is_text:
        return {}
    bases = [file.one_based for file in facts if file.one_based is not None]
    base = all(bases) if bases else None
    largest = max(file.n_columns + bool(file.one_based) for file in facts) - bool(base)
    n_columns = max(largest, columns_before or 0, reading.get("n_columns") or 0)
    common: dict[str, Any] = {"n_columns": n_columns}
    if len(bases) == len(facts):
        common["one_based"] = base
    names = next((file.column_names for file in facts if file.column_names is not None), None)
    return common if names is None else common | {"column_names": names}


def reader_of(source: Source, n_jobs: int | None = None) -> AnyReader:
    """A reader of all rows of a job's source."""
    if not isinstance(source, PartPlan):
        return source
    if source.recipe is not None:
        return SignatureReader(source.paths)
    if source.is_text:
        return open_file(source.paths, n_jobs=n_jobs, **source.parts[0].reading)
    return PlanReader(source, n_jobs)


def plan_of(source: Source) -> PartPlan:
    """The parts of a job's source, which an engine needs."""
    if isinstance(source, PlanReader):
        return source.plan
    if not isinstance(source, PartPlan):
        raise DataError(f"{source.name}: is a reader; give an engine a plan (files.plan_parts).")
    return source


class PlanReader(RowReader):
    """The rows of all parts of a plan.

    Attributes are those of `io.RowReader`, and `plan`, and `first_rows`: of the parts that have
    been begun.
    """

    def __init__(self, plan: PartPlan, n_jobs: int | None = None) -> None:
        super().__init__(plan.name)
        self.plan, self._n_jobs = plan, n_jobs
        self._begun = [require_rows(plan.parts[0].open(n_jobs))]
        self.first_rows = [0]
        first = self._begun[0]
        self.format, self.one_based, self.column_names = (
            first.format, first.one_based, first.column_names,
        )  # fmt: skip
        self.n_columns, self.n_rows, self.n_bytes = plan.n_columns, plan.n_rows, plan.n_bytes

    @property
    def paths(self) -> list[str]:
        """The files that are read."""
        return self.plan.paths

    @property
    def sources(self) -> set[str]:
        """Names of the files in the origins of the rows."""
        return {os.path.basename(path) for path in self.paths}

    @property
    def notes(self) -> Sequence[str]:
        """What readers of the parts noted, each once."""
        return list(dict.fromkeys(note for reader in self._begun for note in reader.notes))

    @property
    def provenance(self) -> list[Origin]:
        """Of the first part, whose columns are those of all."""
        return self._begun[0].provenance

    def origins(self, first_row: int, n_rows: int) -> list[Origin]:
        """As of `RowReader`."""
        ends, origins = [*self.first_rows[1:], first_row + n_rows], []
        for reader, first, end in zip(self._begun, self.first_rows, ends, strict=True):
            start, stop = max(first_row, first), min(first_row + n_rows, end)
            if start < stop:
                origins.append(reader.origin(start - first, stop - start))
        return origins

    def batches(self, first_row: int = 0) -> Iterator[Batch]:
        """The batches of each part."""
        first_row, parts, kinds = 0, self.plan.parts, dict[str, str]()
        self._begun, self.first_rows = [], []
        for number, part in enumerate(parts):
            reader = require_rows(part.open(self._n_jobs))
            self._begun.append(reader)
            self.first_rows.append(first_row)
            n_rows, bytes_done = 0, self.plan.n_bytes * number // len(parts)
            for batch in reader:
                kinds.setdefault(label_kind(batch.y), part.path)
                require_one_kind(kinds)
                yield replace(batch, first_row=first_row + n_rows, bytes_done=bytes_done)
                n_rows += len(batch)
            first_row += n_rows
