"""Compressed files: one table of the kinds that are read and written."""

import bz2
import codecs
import gzip
import io
import lzma
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Protocol

from .._core.arguments import PathLike, require_extra

_CHUNK_BYTES = 1 << 18
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
