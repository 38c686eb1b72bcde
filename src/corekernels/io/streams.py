"""Bytes from files and pipes: decompressed and counted, with errors that name the file."""

import contextlib
import io
import lzma
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from typing import IO, Any

from .._core.types import PathLike
from ..errors import FileError
from .packing import MAGIC_BYTES, Readable, is_text_start, packing_of, packing_of_name
from .sources import SourceFile, reading

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
        found = packing_of(self._raw.head)
        if found is not None:
            self.packing, self._unpacked = found.name, found.unpack(self._raw)
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
