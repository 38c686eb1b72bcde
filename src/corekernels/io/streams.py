"""Bytes from files and pipes: unpacked, counted, cut into lines; and records that are bad."""

import bz2
import codecs
import contextlib
import gzip
import io
import itertools
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from .._core.arguments import Array, PathLike, require_extra
from .._core.progress import read_ahead
from ..errors import DataError, FileError
from .provenance import SourceFile, reading

STANDARD_INPUT = "-"

HEAD_BYTES = 1 << 16  # that tell what a file is
_CHUNK_BYTES = 1 << 18


def is_stream(path: PathLike) -> bool:
    """Whether a path can be read only once: standard input, a pipe or a device."""
    if os.fspath(path) == STANDARD_INPUT:
        return True
    with contextlib.suppress(OSError, ValueError):
        mode = os.stat(path).st_mode
        return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode) or stat.S_ISSOCK(mode)
    return False


def display_name(path: PathLike) -> str:
    """What messages call the file."""
    return "standard input" if os.fspath(path) == STANDARD_INPUT else os.fspath(path)


def require_file(name: str, passes_once: bool) -> None:
    """Refuse a pipe where rows have to be read again."""
    if passes_once:
        raise FileError(
            f"{name}: can be read only once, and its rows are needed again; write them to a file "
            "first."
        )


_BZ2_STARTS = (b"1AY&SY", b"\x17rE8P\x90")  # of a first block, of no block at all
MAGIC_BYTES = 10


class Readable(Protocol):
    """Something to read bytes from."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(frozen=True)
class Packing:
    """A kind of compression."""

    name: str  # as in messages
    is_start_of: Callable[[bytes], bool]  # whether bytes are the first of such a file
    unpack: Callable[[io.RawIOBase], Readable]  # the bytes behind those of a raw file
    pack: Callable[[IO[bytes]], Any]  # a file that writes what it gets, compressed; to be closed

    @property
    def suffix(self) -> str:
        """How names of such files end."""
        return f".{self.name}"


class _Bz2:
    """bz2 streams one after another; unlike BZ2File, strange bytes after one are an error."""

    def __init__(self, raw: io.RawIOBase) -> None:
        self._raw = raw
        self._unpack = bz2.BZ2Decompressor()

    def read(self, size: int, /) -> bytes:
        while True:
            if self._unpack.eof:
                more = self._unpack.unused_data or self._raw.read(_CHUNK_BYTES) or b""
                if not more:
                    return b""
                self._unpack = bz2.BZ2Decompressor()
            else:
                more = (self._raw.read(_CHUNK_BYTES) or b"") if self._unpack.needs_input else b""
                if self._unpack.needs_input and not more:
                    raise EOFError
            if data := self._unpack.decompress(more, size):
                return data


class _Zst:
    """zst frames one after another; a file that is cut short is an EOFError, as for the others."""

    def __init__(self, raw: io.RawIOBase) -> None:
        arrow = _pyarrow()
        file = arrow.PythonFile(io.BufferedReader(raw), "r")
        self._unpacked = arrow.CompressedInputStream(file, "zstd")

    def read(self, size: int, /) -> bytes:
        try:
            return bytes(self._unpacked.read(size))
        except OSError as error:
            if "truncated" in str(error).lower():
                raise EOFError from error
            raise


def _is_zst(head: bytes) -> bool:
    """Whether bytes begin a frame, or one of those that readers skip."""
    return head.startswith(b"\x28\xb5\x2f\xfd") or (
        head[1:4] == b"\x2a\x4d\x18" and 0x50 <= head[0] <= 0x5F
    )


class _KeptOpen(io.RawIOBase):
    """A file that pyarrow may close: the one behind it stays open."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        return self._file.write(data)


def _pyarrow() -> Any:
    return require_extra("pyarrow", "documents", "zst files")


PACKINGS = (
    Packing(
        "gz",
        lambda head: head.startswith(b"\x1f\x8b"),
        lambda raw: gzip.GzipFile(fileobj=io.BufferedReader(raw)),
        # no name and no date: equal contents make equal bytes
        lambda file: gzip.GzipFile("", "wb", 6, file, mtime=0),
    ),
    Packing(
        "bz2",
        lambda head: head.startswith(b"BZh") and head[4:].startswith(_BZ2_STARTS),
        _Bz2,
        lambda file: bz2.BZ2File(file, "wb"),
    ),
    Packing(
        "xz",
        lambda head: head.startswith(b"\xfd7zXZ\0"),
        lambda raw: lzma.LZMAFile(io.BufferedReader(raw)),  # noqa: SIM115
        lambda file: lzma.LZMAFile(file, "wb"),  # noqa: SIM115
    ),
    Packing(
        "zst",
        _is_zst,
        _Zst,
        lambda file: _pyarrow().CompressedOutputStream(_KeptOpen(file), "zstd"),
    ),
)


def packing_of(head: bytes) -> Packing | None:
    """The compression of a file that begins so, if there is one."""
    return next((packing for packing in PACKINGS if packing.is_start_of(head)), None)


def packing_of_name(path: PathLike) -> Packing | None:
    """The compression that a file's name asks for, if it does.

    >>> packing_of_name("corpus.jsonl.zst").name
    'zst'
    """
    suffix = Path(path).suffix.lower()
    return next((packing for packing in PACKINGS if packing.suffix == suffix), None)


def is_text_start(head: bytes) -> bool:
    """Whether bytes may be the first of UTF-8 text, the last character of which may be cut."""
    if any(byte < 32 and byte not in b"\t\n\f\r" for byte in head):
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


class ByteStream:
    """The bytes of a file or of standard input, unpacked if they are gz, bz2, xz or zst.

    `packing` says which of these, if any; `n_bytes` is the size as stored, None for a pipe.
    """

    def __init__(self, source: PathLike | SourceFile) -> None:
        file = source if isinstance(source, SourceFile) else SourceFile(source)
        path = file.path
        self.name = display_name(path)
        standard = os.fspath(path) == STANDARD_INPUT
        if standard and sys.stdin is None:
            raise FileError("standard input: is closed; give a file or a pipe.")
        self._handle: IO[bytes] = sys.stdin.buffer if standard else file.open()
        self._close = not standard
        self.n_bytes = None if is_stream(path) else os.fstat(self._handle.fileno()).st_size
        self.packing: str | None = None
        with reading(self.name, "stored"):
            self._raw = _Counted(self._handle)
        self._unpacked: Readable = self._raw
        packing = packing_of(self._raw.head)
        if packing is not None:
            self.packing, self._unpacked = packing.name, packing.unpack(self._raw)
        else:
            self._require_no_other_packing(path)

    def _require_no_other_packing(self, path: PathLike) -> None:
        """Refuse a file named as compressed that holds something else; plain text will do."""
        named = packing_of_name(path)
        if named is not None and not is_text_start(self._raw.head):
            self.__exit__()
            raise FileError(
                f"{self.name}: its name says {named.name}, but it does not begin as a "
                f"{named.name} file does; make it again, or give it the name of what it holds."
            )

    @property
    def position(self) -> int:
        """Stored bytes taken so far."""
        return self._raw.position

    def seek(self, position: int) -> None:
        """Go on from a position of a file that is not packed."""
        with self._watched():
            self._raw.seek_to(position)

    def read(self, size: int) -> bytes:
        """The next `size` unpacked bytes; fewer at the end."""
        pieces = []
        while size > 0:
            with self._watched():
                piece = self._unpacked.read(size)
            if not piece:
                break
            pieces.append(piece)
            size -= len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def read_into(self, buffer: memoryview) -> int:
        """Fill a buffer with the next bytes; how many, which are fewer at the end only."""
        end = 0
        while end < len(buffer):
            with self._watched():
                if self.packing is None:
                    n = self._raw.readinto(buffer[end:])
                else:
                    data = self._unpacked.read(min(len(buffer) - end, _CHUNK_BYTES))
                    n = len(data)
                    buffer[end : end + n] = data
            if n == 0:
                break
            end += n
        return end

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        try:
            yield
        except EOFError as error:
            raise FileError(
                f"{self.name}: the {self.packing} file is cut short, it ends at byte "
                f"{self.position} before its content does; fetch or make it again."
            ) from error
        except (OSError, zlib.error, lzma.LZMAError) as error:
            what = f"its {self.packing} packing is damaged" if self.packing else "reading failed"
            raise FileError(
                f"{self.name}: {what} before byte {self.position} ({error}); "
                "fetch or make it again."
            ) from error

    def __enter__(self) -> "ByteStream":
        return self

    def __exit__(self, *error: object) -> None:
        if self._close:
            self._handle.close()


class _Counted(io.RawIOBase):
    """A file read once through: its first bytes can be looked at, and all are counted."""

    def __init__(self, handle: IO[bytes]) -> None:
        self.position = 0
        self.head = handle.read(MAGIC_BYTES)
        self._rest = self.head
        self._handle = handle

    def readable(self) -> bool:
        return True

    def seek_to(self, position: int) -> None:
        self._handle.seek(position)
        self.position, self._rest = position, b""

    def read(self, size: int = -1, /) -> bytes:
        data = self._rest or self._handle.read(size)
        self._rest = b""
        self.position += len(data)
        return data

    def readinto(self, buffer: Any, /) -> int:
        if self._rest:
            data = self._rest[: len(buffer)]
            self._rest = self._rest[len(data) :]
            buffer[: len(data)] = data
            n = len(data)
        else:
            n = self._handle.readinto(buffer)  # type: ignore[attr-defined]
        self.position += n
        return n


Cut = Callable[[Array, int], int]

MAX_RECORD_BYTES = 256_000_000
PADDING = 64  # bytes behind each block
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_NEWLINE = ord("\n")
_TAIL_BYTES = 1 << 16
_LEAST_SEGMENT = 1 << 16


def line_blocks(
    stream: ByteStream,
    n_bytes: int,
    most_bytes: int = MAX_RECORD_BYTES,
    *,
    what: str = "svmlight text",
    find_cut: Cut | None = None,
) -> Generator[Array]:
    """The stream in blocks of about `n_bytes` that end where lines end, read ahead in a thread.

    Each block is an array of bytes, valid until the next one is asked for, whose last byte is
    a newline. A line of more than `most_bytes` is an error, which says that this is not `what`;
    a byte order mark is left out. `find_cut` says where, before the end of the bytes read so
    far, the last line that is whole ends, if not at the last newline; 0 if nowhere.
    """
    cut = _after_last_newline if find_cut is None else find_cut
    return read_ahead(_blocks(stream, n_bytes, most_bytes, what, cut))


def _blocks(
    stream: ByteStream, n_bytes: int, most_bytes: int, what: str, find_cut: Cut
) -> Iterator[Array]:
    n_bytes = min(n_bytes, most_bytes + 1)
    buffers = [np.empty(n_bytes + PADDING, np.uint8) for _ in range(4)]  # used in turn
    turn, n_left, first = 0, 0, True
    while True:
        buffer = buffers[turn]
        room = len(buffer) - PADDING
        end = n_left + stream.read_into(buffer.data[n_left:room])
        is_last = end < room
        if first and buffer[:3].tobytes() == _BYTE_ORDER_MARK and end >= 3:
            buffer[: end - 3] = buffer[3:end].copy()
            end -= 3
        first = False
        if is_last and end and buffer[end - 1] != _NEWLINE:
            buffer[end] = _NEWLINE
            end += 1
        cut = end if is_last else find_cut(buffer, end)
        if cut == 0 and not is_last:
            if end > most_bytes:
                raise FileError(
                    f"{stream.name}: a line before byte {stream.position} is longer than "
                    f"{most_bytes:,} bytes; cut it, name the format if this is not {what}, or "
                    "raise max_record_bytes."
                )
            more = min(end, most_bytes + 1 - end)
            buffers[turn] = np.concatenate([buffer[:end], np.empty(more + PADDING, np.uint8)])
            n_left = end
            continue
        n_left = end - cut
        turn = (turn + 1) % len(buffers)
        if len(buffers[turn]) < len(buffer):
            buffers[turn] = np.empty(len(buffer), np.uint8)
        buffers[turn][:n_left] = buffer[cut:end]
        if cut:
            yield buffer[:cut]
        if is_last:
            return


def segments(text: Array, n_parts: int) -> list[tuple[int, int]]:
    """Consecutive (start, stop) ranges of whole lines, about equally long and not too short."""
    n_parts = max(1, min(n_parts, len(text) // _LEAST_SEGMENT))
    ends = [0]
    for part in range(1, n_parts):
        start = max(ends[-1], len(text) * part // n_parts)
        ends.append(line_end(text, start))
    ends.append(len(text))
    return [(start, stop) for start, stop in itertools.pairwise(ends) if start < stop]


def line_end(text: Array, start: int) -> int:
    """The place behind the first newline from `start` on; there is one."""
    size = _TAIL_BYTES
    while True:
        place = text[start : start + size].tobytes().find(b"\n")
        if place >= 0:
            return start + place + 1
        start += size


def _after_last_newline(buffer: Array, end: int) -> int:
    """The place behind the last newline before `end`; 0 if there is none."""
    for stop in range(end, 0, -_TAIL_BYTES):
        start = max(0, stop - _TAIL_BYTES)
        place = buffer[start:stop].tobytes().rfind(b"\n")
        if place >= 0:
            return start + place + 1
    return 0


class BadRecords(Exception):
    """Records that cannot be used, by their places among those at hand, and why not."""

    TOGETHER = 1000  # faults to look for at a time: in another kind of text, every record is bad

    def __init__(self, faults: dict[int, str]) -> None:
        super().__init__(faults)
        self.faults = faults

    @classmethod
    def at(cls, places: Iterable[int], fault: str) -> "BadRecords":
        """Records that have the same fault."""
        first = itertools.islice(places, cls.TOGETHER)
        return cls({int(place): fault for place in first})

    def error(self, where: Callable[[int], str], place: int | None = None) -> DataError:
        """The error about the first of them, or another; `where` names the record at a place."""
        place = min(self.faults) if place is None else place
        return DataError(f"{where(place)} {self.faults[place]}.")
