"""Files of documents opened: one, several, or all that a pattern matches."""

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._core.arguments import Array, PathLike, require_choice, require_count
from ..errors import DataError, FileError, ParameterError
from ..io.provenance import matching_files
from ..io.readers import RowReader
from ..io.streams import MAX_RECORD_BYTES, ByteStream, is_stream, packing_of_name
from ..text.settings import TextSettings
from .arrow_files import FOLDER, Folder, ParquetDocuments
from .delimited import Delimited
from .files import BATCH_BYTES, DocumentFile
from .lines import JsonLines, TextLines
from .reader import Columns, DocumentReader

if TYPE_CHECKING:
    from ..text.frequencies import InverseDocumentFrequency
    from ..text.shingles import Shingles

FIRST, LONGEST = "first", "longest"


def preference_scores(
    reader: RowReader, prefer: str, rows: Array, progress: bool | None = None
) -> Mapping[int, float] | None:
    """A score for some documents, the highest of which is to stay; None for the first one.

    Parameters
    ----------
    reader : io.RowReader
    prefer : str
        "first", "longest" (the most characters), or the name of a column of numbers.
    rows : ndarray
        Numbers of the documents.

    Examples
    --------
    >>> import corekernels as ck
    >>> with open("notes.txt", "w") as file:
    ...     print("a rose", "a rose is a rose", sep="\\n", file=file)
    >>> reader = ck.documents.open_documents("notes.txt")
    >>> ck.documents.preference_scores(reader, "longest", [0, 1])
    {0: 6, 1: 16}
    """
    if prefer == FIRST:
        return None
    if prefer == LONGEST:
        return {row: len(text) for row, text in reader.texts(rows, progress).items()}
    values = reader.values(prefer, rows, progress)
    return {row: _number(reader, prefer, row, value) for row, value in values.items()}


def _number(reader: RowReader, column: str, row: int, value: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if math.isnan(number):
        raise DataError(
            f"{reader.name}: document {row + 1} has {value!r} as {column!r}; documents are "
            "preferred by numbers: give another column, or fill it."
        )
    return number


FORMATS: dict[str, Callable[[PathLike], DocumentFile]] = {
    "jsonl": JsonLines,
    "csv": partial(Delimited, delimiter=","),
    "tsv": partial(Delimited, delimiter="\t"),
    "lines": TextLines,
    "parquet": ParquetDocuments,
    FOLDER: Folder,
}
_SUFFIXES = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl", ".csv": "csv", ".tsv": "tsv",
    ".tab": "tsv", ".txt": "lines", ".text": "lines", ".parquet": "parquet", ".pq": "parquet",
}  # fmt: skip
_HEAD_BYTES = 1 << 12


def open_documents(
    source: PathLike | Iterable[PathLike],
    text: str | Sequence[str] = "text",
    *,
    label: str | None = None,
    id: str | None = None,  # noqa: A002
    shingles: "Shingles | TextSettings | None" = None,
    frequencies: "InverseDocumentFrequency | None" = None,
    format: str | None = None,  # noqa: A002
    labels: bool = True,
    n_jobs: int | None = None,
    batch_bytes: int = BATCH_BYTES,
    skip_bad: int = 0,
    max_record_bytes: int = MAX_RECORD_BYTES,
) -> DocumentReader:
    """A reader that gives rows of the n-grams of documents, for every job on files of rows.

    Parameters
    ----------
    source : path, or several
        JSON lines, CSV, TSV, plain text with one document per line (any of these also
        compressed by gz, bz2, xz or zst), Parquet, or a folder of text files. A name with `*`,
        `?` or `[` in it means all files that it matches, in the order of their names. "-" is
        standard input.
    text : str or several
        Column of the text. Plain text and folders have the column "text", folders also "path".
    label, id : str, optional
        Columns of labels, and of names for documents in results.
    shingles : text.Shingles or text.TextSettings, optional
        How text becomes rows.
    frequencies : text.InverseDocumentFrequency, optional
        What weighs n-grams by their rarity: `files.count_frequencies` makes it.
    format : {"jsonl", "csv", "tsv", "lines", "parquet", "folder"}, optional
        Told from the name, or else from the content, if not given.
    labels : bool
        Whether labels are wanted.
    n_jobs : int, optional
        Threads; None means all cores.
    batch_bytes : int
        About how many bytes make a batch.
    skip_bad : int
        Leave out up to this many documents that cannot be used, and note which; none by default.
    max_record_bytes : int
        The longest document, with all its columns; a longer one ends the job.

    Examples
    --------
    >>> import corekernels as ck
    >>> path = "notes.jsonl"
    >>> with open(path, "w") as file:
    ...     _ = file.write('{"body": "a rose is a rose"}\\n{"body": "a thorn"}\\n')
    >>> rows = [batch.X for batch in ck.documents.open_documents(path, "body")]
    >>> rows[0].shape[0], rows[0].nnz
    (2, 3)
    """
    columns = Columns((text,) if isinstance(text, str) else tuple(text), label, id)
    if not columns.text:
        raise ParameterError("text: names no column; name that of the text.")
    if format is not None:
        require_choice("format", format, tuple(FORMATS))
    settings = TextSettings.of() if shingles is None else getattr(shingles, "settings", shingles)
    if frequencies is not None:
        frequencies.require_settings(settings)
        settings = replace(settings, frequencies=frequencies.digest())
    files = [FORMATS[format or document_format(path)](path) for path in _paths(source)]
    for file in files:
        file.max_record_bytes = require_count("max_record_bytes", max_record_bytes)
    if len({file.format for file in files}) > 1:
        raise FileError(f"{files[0].name}: not all files are of its format; read them apart.")
    return DocumentReader(
        files, columns, settings, labels, n_jobs, require_count("batch_bytes", batch_bytes),
        frequencies, require_count("skip_bad", skip_bad, least=0),
    )  # fmt: skip


def _paths(source: Any) -> list[PathLike]:
    """The files that are meant, of which there is at least one."""
    sources = [source] if isinstance(source, str | os.PathLike) else list(source)
    paths: list[PathLike] = []
    for path in sources:
        paths += matching_files(os.fspath(path), os.path.exists) or [path]
    if not paths:
        raise FileError("source: names no file; give one.")
    return paths


def document_format(path: PathLike) -> str:
    """The format of a file of documents, by its name or else by how it begins.

    Examples
    --------
    >>> import corekernels as ck
    >>> with open("notes", "w") as file:
    ...     _ = file.write('{"body": "a rose"}\\n')
    >>> ck.documents.document_format("notes")
    'jsonl'
    """
    if os.path.isdir(path):
        return FOLDER
    named = format_of_name(path)
    if named is not None:
        return named
    if is_stream(path):
        return "jsonl"
    with ByteStream(path) as stream:
        head = stream.read(_HEAD_BYTES)
    if head.startswith(b"PAR1"):
        return "parquet"
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return "jsonl"
    raise FileError(
        f"{path}: neither its name nor its content tells what it is; name the format: "
        f"{', '.join(FORMATS)}."
    )


def is_folder_of_texts(path: PathLike) -> bool:
    """Whether each file of a folder is a document, as far as their names tell."""
    names = [entry.name for entry in os.scandir(path) if not entry.name.startswith(".")]
    return bool(names) and all(format_of_name(name) in (None, "lines") for name in names)


def format_of_name(path: PathLike) -> str | None:
    """The format that a file's name asks for, if it does.

    >>> format_of_name("corpus.jsonl.zst"), format_of_name("corpus")
    ('jsonl', None)
    """
    name = Path(path)
    if packing_of_name(name) is not None:
        name = name.with_suffix("")
    return _SUFFIXES.get(name.suffix.lower())
