"""Documents in text files: blocks of whole records, and copies of some of them; plain lines."""

import contextlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from .._core.arguments import Array, PathLike
from .._core.validation import read_only
from .._loops.text import records as loops
from ..io.atomic import atomic_write
from ..io.packing import packing_of_name
from ..io.provenance import SourceFile
from ..io.streams import ByteStream, display_name, is_stream, line_blocks
from .file import DocumentFile, Documents, DocumentTable, missing_column, pyarrow

_LINE = "text"  # the column of plain text


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
        loops.gather_records(self.text, self.starts, self.ends, room)
        return room


class RecordFile(DocumentFile):
    """A text file, plain or compressed, in which each document is a record."""

    kind: str  # of records, for errors

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
        return int(loops.find_lines(text, len(text), True, starts, ends))

    def _find_cut(self) -> Any:
        """Where the last whole record ends, if not at the last newline; see `line_blocks`."""
        return None

    def _read_titles(self, text: Array, starts: Array, ends: Array) -> int:
        """Take note of what the first records say of the others; how many of them do."""
        return 0


class TextLines(RecordFile):
    """A file whose only column, "text", has one document per line, be it empty."""

    format = "lines"
    kind = "text with one document per line"

    def _find(self, text: Array, starts: Array, ends: Array) -> int:
        return int(loops.find_lines(text, len(text), False, starts, ends))

    def table(self, records: Records, columns: Sequence[str]) -> DocumentTable:
        """The lines."""
        for name in columns:
            if name != _LINE:
                raise missing_column(self.name, name, [_LINE], "text with a document per line ")
        out = np.empty(int((records.ends - records.starts).sum()), np.uint8)
        offsets = np.empty(len(records) + 1, np.int64)
        loops.gather_lines(records.text, records.starts, records.ends, out, offsets)
        arrow = pyarrow()
        buffers = arrow.py_buffer(offsets), arrow.py_buffer(out)
        array = arrow.LargeStringArray.from_buffers(len(records), *buffers)
        return DocumentTable(self.name, {_LINE: array})
