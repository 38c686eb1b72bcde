"""Documents that are in memory as Arrow tables: those of Parquet files, and of folders of texts."""

import codecs
import contextlib
import itertools
import os
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._core.arguments import PathLike
from ..errors import DataError, FileError
from ..io.atomic import atomic_write
from ..io.parquet import column_chunks
from ..io.provenance import reading
from ..io.streams import ByteStream
from .files import ArrowDocuments, DocumentFile, no_column, pyarrow

_MOST_ROWS = 1 << 20  # per batch
_INDEX_BYTES = 4  # of a value that is stored as its place in a list


class ParquetDocuments(DocumentFile):
    """The rows of a Parquet file."""

    format = "parquet"

    def __init__(self, path: PathLike) -> None:
        self.name = os.fspath(path)
        with self._opened() as file:
            self.n_rows = int(file.metadata.num_rows)
            self._names = list(file.schema_arrow.names)
        self.n_bytes = os.path.getsize(path)

    def documents(
        self, columns: Sequence[str] | None, batch_bytes: int, start: int = 0
    ) -> Iterator[ArrowDocuments]:
        """All documents, in batches."""
        for name in columns or ():
            if name not in self._names:
                raise DataError(f"{self.name}: {no_column(name, self._names)}.")
        first = 0
        for batch in self._batches(columns, batch_bytes):
            numbers = np.arange(first, first + batch.num_rows)
            first += batch.num_rows
            yield ArrowDocuments(self.name, numbers, self._bytes_done(first), batch)

    @contextlib.contextmanager
    def create(self, target: Path) -> Iterator[Any]:
        """A Parquet file of the same columns and compression."""
        module = pyarrow("parquet")
        with self._opened() as file:
            schema, compression = file.schema_arrow, "snappy"
            if file.metadata.num_row_groups and len(schema):
                compression = file.metadata.row_group(0).column(0).compression
        with atomic_write(target) as out, module.ParquetWriter(
            out, schema, compression=compression
        ) as writer:  # fmt: skip
            yield writer

    def _batches(self, columns: Sequence[str] | None, batch_bytes: int) -> Iterator[Any]:
        """Batches of rows, none empty."""
        with self._opened() as file:
            repeated = set() if columns is None else _repeated(file.metadata)
        with self._opened(repeated) as file:
            chunks = column_chunks(file.metadata, *(columns or ()))
            size = max(1, sum(chunk.total_uncompressed_size for chunk in chunks))
            n_rows = min(_MOST_ROWS, max(1, batch_bytes * max(1, self.n_rows or 0) // size))
            names_read = None if columns is None else list(dict.fromkeys(columns))
            for batch in file.iter_batches(batch_size=n_rows, columns=names_read):
                yield from self._slices(batch, batch_bytes)

    def _slices(self, batch: Any, n_bytes: int) -> Iterator[Any]:
        """Rows of a batch, at least one, whose values take about so many bytes once decoded.

        A value that comes often is stored once, so that a small file may hold a lot of text.
        """
        arrow, compute = pyarrow(), pyarrow("compute")
        sizes = np.zeros(batch.num_rows, np.int64)
        for column in batch.columns:
            is_list = arrow.types.is_dictionary(column.type)
            with contextlib.suppress(arrow.ArrowNotImplementedError):  # no text
                lengths = compute.binary_length(column.dictionary if is_list else column)
                lengths = lengths.take(column.indices) if is_list else lengths
                sizes += lengths.fill_null(0).to_numpy(zero_copy_only=False)
        if sizes.max(initial=0) > self.max_record_bytes:
            raise DataError(
                f"{self.name}: a document is longer than {self.max_record_bytes:,} bytes; cut it, "
                "or raise max_record_bytes."
            )
        cuts = np.flatnonzero(np.diff(np.cumsum(sizes) // n_bytes, prepend=0)).tolist()
        for start, stop in itertools.pairwise(sorted({0, *cuts, batch.num_rows})):
            rows = batch.slice(start, stop - start)
            columns = [
                column.dictionary_decode() if arrow.types.is_dictionary(column.type) else column
                for column in rows.columns
            ]
            yield arrow.RecordBatch.from_arrays(columns, batch.schema.names)

    @contextlib.contextmanager
    def _opened(self, dictionaries: Iterable[str] = ()) -> Iterator[Any]:
        module = pyarrow("parquet")
        with (
            reading(self.name, "Parquet"),
            module.ParquetFile(self.name, read_dictionary=list(dictionaries)) as file,
        ):
            yield file

    def _bytes_done(self, rows_done: int) -> int:
        return (self.n_bytes or 0) * rows_done // max(1, self.n_rows or 0)


def _repeated(about: Any) -> set[str]:
    """Columns that are stored as a list of different values and a few bytes for each row."""
    return {
        chunk.path_in_schema
        for chunk in column_chunks(about)
        if chunk.has_dictionary_page
        and chunk.total_compressed_size - (chunk.data_page_offset - chunk.dictionary_page_offset)
        <= _INDEX_BYTES * chunk.num_values
    }


FOLDER = "folder"
_COLUMNS = ("text", "path")
_SHOWN = 5  # of what is left out, in a note
_OTHER_FORMATS = (".parquet", ".pq", ".jsonl", ".ndjson")


class Folder(DocumentFile):
    """All files in a folder and the folders within, in the order of their paths.

    Columns are "text" and "path", which is relative to the folder. Names that begin with a dot
    are left out.
    """

    format = FOLDER
    starts_anywhere = True

    def __init__(self, path: PathLike) -> None:
        self.name = os.fspath(path)
        self._root = Path(path)
        self._paths, others = _files(self._root)
        if others:
            shown = ", ".join(others[:_SHOWN]) + (", ..." if len(others) > _SHOWN else "")
            self.notes = [f"what is no file was left out: {shown}"]
        for inner in self._paths:
            if Path(inner).suffix in _OTHER_FORMATS:
                raise FileError(
                    f"{self.name}: holds {inner}, which is not plain text; name such files by a "
                    f"pattern, as '{self.name}/*{Path(inner).suffix}'."
                )
        self.n_rows = len(self._paths)
        self.n_bytes = sum((self._root / inner).stat().st_size for inner in self._paths)

    def documents(
        self, columns: Sequence[str] | None, batch_bytes: int, start: int = 0
    ) -> Iterator[ArrowDocuments]:
        """All documents, in batches; without their texts if no column is named."""
        for name in columns or ():
            if name not in _COLUMNS:
                raise DataError(f"{self.name}: a folder of text files {no_column(name, _COLUMNS)}.")
        first = min(max(0, start), len(self._paths))
        bytes_done = n_bytes = 0
        contents: list[bytes] = []
        for row, path in enumerate(self._paths[first:], first + 1):
            content = b"" if columns is None else self._content(path)
            n_bytes += len(content)
            bytes_done += (self._root / path).stat().st_size
            contents.append(content)
            if n_bytes >= batch_bytes or row == len(self._paths):
                yield self._together(first, contents, bytes_done)
                first, n_bytes, contents = row, 0, []

    def _together(self, first: int, contents: list[bytes], bytes_done: int) -> ArrowDocuments:
        """Documents of such contents; whether these are UTF-8 is found out later."""
        arrow = pyarrow()
        numbers = np.arange(first, first + len(contents))
        paths = self._paths[first : first + len(contents)]
        texts = arrow.array(contents, arrow.large_binary()).view(arrow.large_string())
        data = arrow.table({"text": texts, "path": arrow.array(paths, arrow.large_string())})
        return FolderDocuments(self.name, numbers, bytes_done, data)

    @contextlib.contextmanager
    def create(self, target: Path) -> Iterator[Path]:
        """An empty folder, which takes its name once all files are in it."""
        if target.exists():
            raise FileError(f"{target}: exists already; name a folder that does not.")
        part = target.with_name(f".{target.name}.part")
        shutil.rmtree(part, ignore_errors=True)  # of a killed run
        try:
            part.mkdir()
            yield part
            part.rename(target)
        except OSError as error:
            raise FileError(f"{target}: cannot be written ({error.strerror or error}).") from error
        finally:
            shutil.rmtree(part, ignore_errors=True)

    def _content(self, path: str) -> bytes:
        with ByteStream(self._root / path) as stream:
            content = stream.read(self.max_record_bytes + 1)
        if len(content) > self.max_record_bytes:
            raise FileError(
                f"{self._root / path}: is longer than {self.max_record_bytes:,} bytes; cut it, "
                "take it out of the folder, or raise max_record_bytes."
            )
        return content.removeprefix(codecs.BOM_UTF8)


class FolderDocuments(ArrowDocuments):
    """Files of a folder."""

    def write_to(self, out: Path) -> None:
        """Copy the files to another folder."""
        for path in self.data["path"].to_pylist():
            (out / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(Path(self.name) / path, out / path)

    def where(self, place: int) -> str:
        """The name of the file."""
        return f"{Path(self.name) / self.data['path'][place].as_py()}:"


def _files(root: Path) -> tuple[list[str], list[str]]:
    """Paths of all files below, and of what is no file (pipes, devices), relative to the root."""
    files: list[str] = []
    others: list[str] = []
    for folder, inner, names in os.walk(root):
        inner[:] = [name for name in inner if not name.startswith(".")]
        for path in (os.path.join(folder, name) for name in names if not name.startswith(".")):
            (files if os.path.isfile(path) else others).append(os.path.relpath(path, root))
    return sorted(files), sorted(others)
