"""What a file of documents is, and some of its documents as a table; text files of records.

Each format is a class. Tables have Arrow arrays for columns.
"""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from .._core.arguments import Array, PathLike, require_extra
from .._core.validation import read_only
from .._loops.text import records as loops
from ..errors import DataError
from ..io.atomic import atomic_write
from ..io.parquet import label_array, places_of_nulls, strings_of
from ..io.provenance import SourceFile
from ..io.streams import (
    MAX_RECORD_BYTES,
    BadRecords,
    ByteStream,
    display_name,
    is_stream,
    line_blocks,
    packing_of_name,
)

BATCH_BYTES = 8 << 20
SEPARATOR = "\n"  # between the texts of several columns
_SHOWN, _LONG = 20, 80  # names of columns in a message, and characters of one


def pyarrow(module: str = "") -> Any:
    """The package, or one of its modules, imported on use."""
    return require_extra(f"pyarrow{module and '.'}{module}", "documents", "documents from files")


@dataclass(frozen=True)
class DocumentTable:
    """Columns of some documents; a document that cannot be used as asked is in `BadRecords`."""

    name: str  # of the file they come from
    columns: dict[str, Any]  # Arrow arrays of equal length

    def texts(self, names: Sequence[str]) -> Any:
        """The text of each document: that of several columns is joined by newlines."""
        arrays = [self._text(name) for name in names]
        if len(arrays) == 1:
            return arrays[0]
        arrow = pyarrow()
        wide = [array.cast(arrow.large_string()) for array in arrays]
        separator = arrow.scalar(SEPARATOR, arrow.large_string())
        return pyarrow("compute").binary_join_element_wise(*wide, separator)

    def labels(self, name: str, is_text: bool | None = None) -> Array:
        """The labels of the documents: numbers, booleans or strings.

        `is_text` says whether those before were strings.
        """
        y = label_array(self.columns[name], self.name)
        if is_text is not None and (y.dtype.kind == "U") != is_text:
            raise BadRecords.at(
                range(len(y)), f"has the label {y.tolist()[0]!r}, {others(is_text)}"
            )
        return y

    def strings(self, name: str) -> list[str]:
        """A column as text, whatever it holds; empty where there is nothing."""
        values = strings_of(self.columns[name], repr(name))
        return ["" if value is None else str(value) for value in values]

    def joined_strings(self, names: Sequence[str]) -> list[str]:
        """Columns as text, whatever they hold, joined by newlines."""
        parts = [self.strings(name) for name in names]
        return [SEPARATOR.join(part) for part in zip(*parts, strict=True)]

    def _text(self, name: str) -> Any:
        array = self.columns[name]
        if len(places := places_of_nulls(array)):
            raise BadRecords.at(places, without(name))
        kind = array.type
        kind = kind.value_type if pyarrow().types.is_dictionary(kind) else kind
        if str(kind) not in ("string", "large_string", "string_view"):
            raise DataError(
                f"{self.name}: column {name!r} is of type {kind}; give a column of text."
            )
        return array


def without(name: str) -> str:
    """The fault of a document that has null in a column of text."""
    return f"has no {name!r}; fill it with an empty text, or drop it"


def others(is_text: bool) -> str:
    """The end of the fault of a label of another kind than the rest."""
    return f"others are {'text' if is_text else 'numbers'}; make them alike"


@dataclass(frozen=True, eq=False)
class Documents(ABC):
    """Some documents of a file, not yet looked at; consecutive as they are read."""

    name: str  # of the file
    numbers: Array  # of the documents in the file, from 0
    bytes_done: int  # how far the file, as stored, has been read

    def __len__(self) -> int:
        return len(self.numbers)

    @abstractmethod
    def table(self, columns: Sequence[str]) -> DocumentTable:
        """These columns; `BadRecords` if some of the documents cannot be read."""

    @abstractmethod
    def take(self, places: Array) -> Self:
        """Some of the documents, by their places among these."""

    @abstractmethod
    def write_to(self, out: Any) -> None:
        """Add these documents, exactly as they are, to what `create` of their file gave."""

    def where(self, place: int) -> str:
        """What messages call the document at a place: they count from 1."""
        return f"{self.name}: document {self.numbers[place] + 1}"


@dataclass(frozen=True, eq=False)
class ArrowDocuments(Documents):
    """Documents that are in memory as Arrow arrays."""

    data: Any

    def table(self, columns: Sequence[str]) -> DocumentTable:
        """These columns."""
        return DocumentTable(self.name, {column: self.data.column(column) for column in columns})

    def take(self, places: Array) -> Self:
        """Some of the documents."""
        data = self.data.take(pyarrow().array(places))
        return replace(self, numbers=self.numbers[places], data=data)

    def write_to(self, out: Any) -> None:
        """Add the documents to a Parquet file, which has the same columns."""
        if not self.data.schema.equals(out.schema):
            raise DataError(
                f"{self.name}: has other columns than the first file; write them apart."
            )
        out.write_batch(self.data)


class DocumentFile(ABC):
    """Documents of one file, in batches.

    Attributes have the meaning of those of `io.RowReader`. With `starts_anywhere`, `documents`
    begins with document `start` without reading those before.
    """

    format: str
    name: str
    n_rows: int | None = None
    n_bytes: int | None = None
    is_stream: bool = False
    starts_anywhere: bool = False
    notes: Sequence[str] = ()
    max_record_bytes: int = MAX_RECORD_BYTES  # of a document; a longer one is an error

    @abstractmethod
    def documents(
        self, columns: Sequence[str] | None, batch_bytes: int, start: int = 0
    ) -> Iterator[Documents]:
        """All documents, in batches of about that many bytes, none empty.

        `columns` are those that will be looked at; None is for documents to be written.
        """

    @abstractmethod
    def create(self, target: Path) -> contextlib.AbstractContextManager[Any]:
        """A file like this one, written whole or not at all, for documents to be written to."""


def no_column(column: str, names: Sequence[str]) -> str:
    """What is wrong where a column is not there."""
    shown = [name if len(name) <= _LONG else f"{name[:_LONG]}..." for name in names[:_SHOWN]]
    shown += ["..."] if len(names) > _SHOWN else []
    return f"has no column {column!r}; choose from: {', '.join(shown) or 'none'}"


_NAMED = 10  # in a note


class LeftOut:
    """Bad records that a job leaves out, up to a number of them; none if that is 0."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.errors: dict[int, DataError] = {}  # by the number of the record

    def add(self, number: int, error: DataError) -> None:
        """Leave a record out; raises the error if there are too many."""
        if not self.most:
            raise error
        self.errors[number] = error
        if len(self.errors) > self.most:
            raise DataError(
                f"{error} More than skip_bad={self.most} records are bad; mend them, or allow more."
            )

    @property
    def notes(self) -> list[str]:
        """How many records were left out, and why the first ones were."""
        if not self.errors:
            return []
        n = len(self.errors)
        named = [str(self.errors[number]) for number in sorted(self.errors)[:_NAMED]]
        more = [f"and {n - _NAMED:,} more"] if n > _NAMED else []
        return [f"{n:,} bad record{'s were' if n > 1 else ' was'} left out", *named, *more]


@dataclass(frozen=True, eq=False)
class Records(Documents):
    """Records of a text file: that at place r is text[starts[r]:ends[r]], a newline behind it."""

    file: "RecordFile"
    text: Array
    starts: Array
    ends: Array
    first_line: int  # of the text, from 1

    def table(self, columns: Sequence[str]) -> DocumentTable:
        """These columns."""
        return self.file.table(self, columns)

    def take(self, places: Array) -> Self:
        """Some of the records."""
        numbers, starts, ends = self.numbers[places], self.starts[places], self.ends[places]
        return replace(self, numbers=numbers, starts=starts, ends=ends)

    def where(self, place: int) -> str:
        """The document and the line that it begins in."""
        line = self.first_line + int(loops.count_lines(self.text, self.starts[place]))
        return f"{super().where(place)} (line {line})"

    def record(self, place: int) -> bytes:
        """The bytes of one record."""
        return self.text[self.starts[place] : self.ends[place]].tobytes()

    def whole(self) -> Array:
        """The bytes of all records, with their newlines."""
        if self.numbers[-1] - self.numbers[0] == len(self) - 1:
            return self.text[self.starts[0] : self.ends[-1] + 1]
        return self._gathered()

    def write_to(self, out: IO[bytes]) -> None:
        """Add the records to an open file."""
        out.write(self._gathered().data)

    def _gathered(self) -> Array:
        """The bytes of the records, each with its newline and nothing between."""
        room = np.empty(int((self.ends - self.starts + 1).sum()), np.uint8)
        loops.gather(self.text, self.starts, self.ends, True, room)
        return room


class RecordFile(DocumentFile):
    """A text file, plain or compressed, in which each document is a record."""

    kind: str  # of records, for errors
    skips_blank = True  # whether blank lines are no records

    def __init__(self, path: PathLike) -> None:
        self._source = SourceFile(path)
        self.name, self.is_stream = display_name(path), is_stream(path)
        if not self.is_stream:  # what was read from a pipe could not be read again
            with ByteStream(self._source) as stream:
                self.n_bytes = stream.n_bytes

    @abstractmethod
    def table(self, records: Records, columns: Sequence[str]) -> DocumentTable:
        """Columns of some records; see `Documents.table`."""

    @contextlib.contextmanager
    def create(self, target: Path) -> Iterator[IO[bytes]]:
        """An empty file, compressed if its name says so."""
        with atomic_write(target) as file:
            packing = packing_of_name(target)
            if packing is None:
                yield file
                return
            packed = packing.pack(file)
            with contextlib.closing(packed):
                yield packed

    def documents(
        self, columns: Sequence[str] | None, batch_bytes: int, start: int = 0
    ) -> Iterator[Records]:
        """All documents, in batches."""
        first, line = 0, 1
        with ByteStream(self._source) as stream:
            blocks = line_blocks(
                stream,
                batch_bytes,
                self.max_record_bytes,
                what=self.kind,
                find_cut=self._find_cut(),
            )
            with contextlib.closing(blocks):
                for number, block in enumerate(blocks):
                    text = read_only(block)
                    n_lines = int(loops.count_lines(text, len(text)))
                    starts, ends = np.empty(n_lines, np.int64), np.empty(n_lines, np.int64)
                    n = self._find(text, starts, ends)
                    starts, ends = read_only(starts[:n]), read_only(ends[:n])
                    if number == 0 and (n_titles := self._read_titles(text, starts, ends)):
                        starts, ends = starts[n_titles:], ends[n_titles:]
                    if len(starts):
                        numbers = np.arange(first, first + len(starts))
                        yield Records(
                            self.name, numbers, stream.position, self, text, starts, ends, line
                        )
                    first += len(starts)
                    line += n_lines

    def _find(self, text: Array, starts: Array, ends: Array) -> int:
        """Write where records begin and end; how many there are."""
        return int(loops.find_lines(text, len(text), self.skips_blank, starts, ends))

    def _find_cut(self) -> Any:
        """Where the last whole record ends, if not at the last newline; see `line_blocks`."""
        return None

    def _read_titles(self, text: Array, starts: Array, ends: Array) -> int:
        """Take note of what the first records say of the others; how many of them do."""
        return 0
