"""Documents in text files: blocks of whole records, and copies of some of them; plain lines."""

import contextlib
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._core.types import Array, PathLike
from .._core.validation import read_only
from .._loops.text import records as loops
from ..io.atomic import atomic_write
from ..io.packing import packing_of_name
from ..io.sources import SourceFile
from ..io.streams import ByteStream, display_name, is_stream
from ..io.text_blocks import line_blocks
from .file import Chosen, Copied, DocumentFile, Table, missing_column, pyarrow

_LINE = "text"  # the column of plain text


@dataclass(frozen=True, eq=False)
class Records:
    """Consecutive records: record r is text[starts[r]:ends[r]], and its newline behind."""

    text: Array
    starts: Array
    ends: Array
    first_row: int
    bytes_done: int

    def __len__(self) -> int:
        return len(self.starts)

    def record(self, row: int) -> bytes:
        """The bytes of one record, by its number in the file."""
        place = row - self.first_row
        return self.text[self.starts[place] : self.ends[place]].tobytes()

    def without_first(self) -> "Records":
        """The same records but for the first one."""
        return replace(self, starts=self.starts[1:], ends=self.ends[1:])


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
    def _columns(self, records: Records, names: Sequence[str]) -> dict[str, Any]:
        """Columns of some records as Arrow arrays."""

    def tables(
        self, columns: Sequence[str], batch_bytes: int, from_row: int = 0
    ) -> Iterator[Table]:
        """Columns of all documents, in batches."""
        for records in self._records(batch_bytes):
            is_wanted = records.first_row + len(records) > from_row
            found = self._columns(records, columns) if is_wanted else {}
            yield Table(
                self.name, found, records.first_row, len(records), records.bytes_done,
                self.is_typed,
            )  # fmt: skip

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

    def copy(self, chosen: Chosen, out: Any, batch_bytes: int) -> Iterator[Copied]:
        """Append the chosen records."""
        n_written = 0
        for records in self._records(batch_bytes):
            wanted = read_only(chosen(records.first_row, len(records)), np.bool_)
            room = np.empty(int((records.ends - records.starts + 1)[wanted].sum()), np.uint8)
            loops.gather_records(records.text, records.starts, records.ends, wanted, room)
            out.write(room.data)
            n_written += int(wanted.sum())
            yield Copied(n_written, records.bytes_done)

    def _records(self, batch_bytes: int) -> Iterator[Records]:
        """All documents, in batches of about that many bytes, none empty."""
        first_row = 0
        with ByteStream(self._source) as stream:
            blocks = line_blocks(stream, batch_bytes, what=self.kind, find_cut=self._find_cut())
            with contextlib.closing(blocks):
                for number, block in enumerate(blocks):
                    text = read_only(block)
                    room = int(loops.count_newlines(text, len(text)))
                    starts, ends = np.empty(room, np.int64), np.empty(room, np.int64)
                    n = self._find(text, starts, ends)
                    found = Records(
                        text, read_only(starts[:n]), read_only(ends[:n]), first_row, stream.position
                    )
                    if number == 0:
                        found = self._after_header(found)
                    if len(found):
                        yield found
                    first_row += len(found)

    def _find(self, text: Array, starts: Array, ends: Array) -> int:
        """Write where records begin and end; how many there are."""
        return int(loops.find_lines(text, len(text), True, starts, ends))

    def _find_cut(self) -> Any:
        """Where the last whole record ends, if not at the last newline; see `line_blocks`."""
        return None

    def _after_header(self, records: Records) -> Records:
        """The records of the first block that are documents."""
        return records


class Lines(RecordFile):
    """A file whose only column, "text", has one document per line, be it empty."""

    format = "lines"
    kind = "text with one document per line"

    def _find(self, text: Array, starts: Array, ends: Array) -> int:
        return int(loops.find_lines(text, len(text), False, starts, ends))

    def _columns(self, records: Records, names: Sequence[str]) -> dict[str, Any]:
        for name in names:
            if name != _LINE:
                raise missing_column(self.name, name, [_LINE], "text with a document per line ")
        out = np.empty(int((records.ends - records.starts).sum()), np.uint8)
        offsets = np.empty(len(records) + 1, np.int64)
        loops.gather_lines(records.text, records.starts, records.ends, out, offsets)
        arrow = pyarrow()
        buffers = arrow.py_buffer(offsets), arrow.py_buffer(out)
        return {_LINE: arrow.LargeStringArray.from_buffers(len(records), *buffers)}
