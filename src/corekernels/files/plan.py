"""Parts of the data: which rows of which file a task works on."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from .._core.arguments import PathLike
from ..documents.folder import FOLDER
from ..documents.opening import is_folder_of_texts
from ..errors import DataError, FileError
from ..io.provenance import column_base, matching_files, text_columns_of
from ..io.readers import Selected
from ..io.streams import is_stream
from ..recipe import MAX_COLUMNS, Recipe
from .engines import Engine, LocalEngine
from .readers import (
    NOTHING_KNOWN,
    AnyReader,
    SvmlightFacts,
    new_columns,
    open_file,
    open_matching_file,
)
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
    svmlight : SvmlightFacts
        What is known of svmlight text.
    columns_before : int or None
        Columns of rows known before, which these must have.
    ignore_new_columns : bool
        Whether other columns are left out, or an error.
    """

    number: int
    path: str
    first_row: int
    rows: int | None
    reading: Mapping[str, Any] = field(default_factory=dict)
    svmlight: SvmlightFacts = NOTHING_KNOWN
    columns_before: int | None = None
    ignore_new_columns: bool = False

    def open(self, n_jobs: int | None = 1) -> AnyReader:
        """A reader of these rows, numbered from 0; tasks use one thread unless told otherwise."""
        options = {**self.reading, "n_jobs": n_jobs, "svmlight": self.svmlight}
        if self.columns_before is None:
            reader = open_file(self.path, **options)
        else:
            reader = open_matching_file(
                self.path, self.columns_before, ignore_new_columns=self.ignore_new_columns,
                **options,
            )  # fmt: skip
        if self.rows is None or reader.holds == "signatures":
            return reader
        return Selected(reader, self.first_row, self.rows)

    def cut(self, rows: int) -> Iterator["Part"]:
        """Parts of at most so many rows; a part whose number of rows is not known stays whole."""
        for first in range(0, max(1, self.rows or 0), rows if self.rows else 1):
            row = self.first_row + first
            starts = [start for start in self.svmlight.starts if start.row <= row][-1:]
            n_rows = None if self.rows is None else min(rows, self.rows - first)
            svmlight = replace(self.svmlight, starts=starts)
            yield replace(self, first_row=row, rows=n_rows, svmlight=svmlight)


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
    """

    name: str
    parts: tuple[Part, ...]
    n_columns: int
    n_rows: int | None
    n_bytes: int
    recipe: Recipe | None = None

    @property
    def paths(self) -> list[str]:
        """The files, each once."""
        return list(dict.fromkeys(part.path for part in self.parts))

    @property
    def is_text(self) -> bool:
        """Whether rows are documents."""
        reading = self.parts[0].reading
        return bool(reading.get("text") or text_columns_of(reading.get("like", ())))

    def cut(self, rows: int | None) -> "Plan":
        """The same rows in parts of at most so many; files of signatures are not cut."""
        if rows is None or self.recipe is not None:
            return self
        pieces = (piece for part in self.parts for piece in part.cut(rows))
        parts = tuple(replace(piece, number=number) for number, piece in enumerate(pieces))
        return replace(self, parts=parts)

    def first_rows(self, counts: Sequence[int]) -> list[int]:
        """The number of each part's first row among all rows, given how many each has."""
        return [sum(counts[:number]) for number in range(len(counts))]


@dataclass(frozen=True)
class FileFacts:
    """What a first look at a file tells."""

    format: str
    n_rows: int | None
    n_columns: int
    n_bytes: int
    one_based: bool | None = None
    recipe: Recipe | None = None
    column_names: tuple[str, ...] | None = None
    svmlight: SvmlightFacts = NOTHING_KNOWN
    is_text: bool = False


class Look(NamedTuple):
    """How files are looked at."""

    reading: Mapping[str, Any]
    columns_before: int | None  # if svmlight text need not be scanned for its own


def look_at_file(look: Look, path: str) -> FileFacts:
    """A task: footers are read; svmlight text is scanned if its columns are not known."""
    known = SvmlightFacts(look.columns_before)
    reader = open_file(path, n_jobs=1, svmlight=known, **look.reading)
    n_bytes = (reader.n_bytes or 0) if os.path.isdir(path) else os.path.getsize(path)
    about = reader.format, reader.n_rows, reader.n_columns, n_bytes
    if reader.holds == "signatures":
        return FileFacts(*about, column_base(reader.provenance), recipe=reader.recipe)
    if reader.one_based is not None:
        svmlight = SvmlightFacts(None, reader.block_starts, reader.integer_labels)
        return FileFacts(*about, reader.one_based, svmlight=svmlight)
    is_text = reader.settings is not None
    return FileFacts(*about, column_names=reader.column_names, is_text=is_text)


def plan_parts(
    engine: Engine | None, source: PathLike | Iterable[PathLike], *, part_rows: int | None = None,
    match_columns: int | None = None, ignore_new_columns: bool = False,
    progress: bool | None = None, **reading: Any,
) -> Plan:  # fmt: skip
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
    >>> plan = ck.files.plan_parts(None, "*.npy")
    >>> [(part.number, part.rows) for part in plan.parts]
    [(0, 2), (1, 1)]
    """
    is_text = bool(reading.get("text") or text_columns_of(reading.get("like", ())))
    paths = source_files(source, is_text)
    name = paths[0] if len(paths) == 1 else f"{paths[0]} and {len(paths) - 1} more"
    scanned = part_rows is not None or match_columns is None
    wide = MAX_COLUMNS if ignore_new_columns else match_columns
    look = Look(reading, None if scanned else wide)
    with contextlib.nullcontext(engine) if engine is not None else LocalEngine() as runner:
        facts = runner.run(look_at_file, look, paths, what="looking at files", progress=progress)
    _require_alike(paths, facts)
    common = _common_options(facts, reading, match_columns)
    n_columns = common.get("n_columns", facts[0].n_columns)
    if match_columns is not None:
        if scanned and n_columns > match_columns and not ignore_new_columns:
            raise new_columns(name, n_columns, match_columns)
        if n_columns != match_columns and "n_columns" not in common:
            raise DataError(f"{name}: has {n_columns} columns, {match_columns} were known before.")
        common.pop("n_columns", None)
        n_columns = match_columns
    integers = [f.svmlight.integer_labels for f in facts if f.svmlight.integer_labels is not None]
    parts = []
    for number, (path, file) in enumerate(zip(paths, facts, strict=True)):
        is_corpus = file.is_text and file.format != FOLDER
        svmlight = replace(file.svmlight, integer_labels=all(integers) if integers else None)
        parts.append(
            Part(
                number, path, 0, None if is_corpus else file.n_rows, {**reading, **common},
                svmlight, match_columns, ignore_new_columns,
            )
        )  # fmt: skip
    counts = [file.n_rows for file in facts]
    n_rows = None if None in counts else sum(count or 0 for count in counts)
    n_bytes = sum(file.n_bytes for file in facts)
    return Plan(name, tuple(parts), n_columns, n_rows, n_bytes, facts[0].recipe).cut(part_rows)


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


def _require_alike(paths: Sequence[str], facts: Sequence[FileFacts]) -> None:
    """Refuse files of which one holds what does not go with the first."""
    first = facts[0]
    named = [(path, file) for path, file in zip(paths, facts, strict=True) if file.column_names]
    for path, file in zip(paths, facts, strict=True):
        if (file.recipe is None) != (first.recipe is None):
            raise FileError(
                f"{path}: holds {file.format}, {paths[0]} holds {first.format}; give either rows "
                "or signatures."
            )
        if file.recipe != first.recipe:
            raise DataError(f"{path}: was hashed in another way than {paths[0]}; hash both alike.")
    for other in named:
        for (path, has), (lacking, lacks) in (named[0], other), (other, named[0]):
            if missing := set(has.column_names or ()) - set(lacks.column_names or ()):
                raise DataError(
                    f"{lacking}: has no column {min(missing)!r}, which {path} has; give files with "
                    "the same columns."
                )


def _common_options(
    facts: Sequence[FileFacts], reading: Mapping[str, Any], columns_before: int | None
) -> dict[str, Any]:
    """Options of `open_reader` that follow from all files together."""
    if facts[0].recipe is not None or facts[0].is_text:
        return {}
    bases = [file.one_based for file in facts if file.one_based is not None]
    base = all(bases) if bases else None
    largest = max(file.n_columns + bool(file.one_based) for file in facts) - bool(base)
    common: dict[str, Any] = {
        "n_columns": max(largest, columns_before or 0, reading.get("n_columns") or 0)
    }
    if len(bases) == len(facts):
        common["one_based"] = base
    names = [file.column_names for file in facts if file.column_names is not None]
    if names:  # of all files, in whatever order each has them
        common["column_names"] = names[0]
    return common
