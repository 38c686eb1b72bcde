"""Bytes from files and pipes: decompressed and counted, with errors that name the file."""

import bz2
import contextlib
import gzip
import io
import os
import stat
import sys
import zlib
from collections.abc import Iterator
from typing import IO, Any, Protocol

from .._core.types import PathLike
from ..errors import CoREError, FileError

STANDARD_INPUT = "-"

HEAD_BYTES = 1 << 16  # that tell what a file is
_MAGIC_BYTES = 10
_CHUNK_BYTES = 1 << 18
_BZ2_STARTS = (b"1AY&SY", b"\x17rE8P\x90")  # of a first block, of no block at all


class _Readable(Protocol):
    def read(self, size: int, /) -> bytes: ...


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


def open_file(path: PathLike) -> IO[bytes]:
    """A file opened for reading, or a `FileError` that says why not."""
    try:
        if os.path.isdir(path):
            raise FileError(f"{path}: is a folder; give the name of a file.")
        return open(path, "rb")
    except FileNotFoundError:
        raise FileError(f"{path}: does not exist; check the name.") from None
    except PermissionError as error:
        raise FileError(f"{path}: may not be read; ask for the permission.") from error
    except (OSError, ValueError) as error:
        if isinstance(error, CoREError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path}: cannot be opened ({reason}); check the name.") from error


@contextlib.contextmanager
def reading(name: str, kind: str) -> Iterator[None]:
    """Turn whatever a reader of untrusted bytes raises into a `FileError`."""
    try:
        yield
    except CoREError:
        raise
    except EOFError as error:
        raise FileError(
            f"{name}: this {kind} file is cut short; fetch or make it again."
        ) from error
    except Exception as error:  # NumPy, zipfile and pyarrow let everything through
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise FileError(
            f"{name}: not a whole {kind} file ({reason.rstrip('.')}); fetch or make it again."
        ) from error


class ByteStream:
    """The bytes of a file or of standard input, unpacked if they are gz or bz2.

    Attributes
    ----------
    name : str
    n_bytes : int or None
        Size as stored; None for a pipe.
    packing : str or None
        "gz", "bz2" or None.
    """

    def __init__(self, path: PathLike) -> None:
        self.name = display_name(path)
        standard = os.fspath(path) == STANDARD_INPUT
        if standard and sys.stdin is None:
            raise FileError("standard input: is closed; give a file or a pipe.")
        self._handle: IO[bytes] = sys.stdin.buffer if standard else open_file(path)
        self._close = not standard
        self.n_bytes = None if is_stream(path) else os.fstat(self._handle.fileno()).st_size
        self.packing: str | None = None
        with reading(self.name, "stored"):
            self._raw = _Counted(self._handle)
        self._unpacked: _Readable = self._raw
        if self._raw.head.startswith(b"\x1f\x8b"):
            self.packing, self._unpacked = "gz", gzip.GzipFile(fileobj=io.BufferedReader(self._raw))
        elif self._raw.head.startswith(b"BZh") and self._raw.head[4:].startswith(_BZ2_STARTS):
            self.packing, self._unpacked = "bz2", _Bz2(self._raw)

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
        except (OSError, zlib.error) as error:
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
        self.head = handle.read(_MAGIC_BYTES)
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


class _Bz2:
    """bz2 streams one after another; unlike BZ2File, strange bytes after one are an error."""

    def __init__(self, raw: _Counted) -> None:
        self._raw = raw
        self._unpack = bz2.BZ2Decompressor()

    def read(self, size: int, /) -> bytes:
        while True:
            if self._unpack.eof:
                more = self._unpack.unused_data or self._raw.read(_CHUNK_BYTES)
                if not more:
                    return b""
                self._unpack = bz2.BZ2Decompressor()
            else:
                more = self._raw.read(_CHUNK_BYTES) if self._unpack.needs_input else b""
                if self._unpack.needs_input and not more:
                    raise EOFError
            if data := self._unpack.decompress(more, size):
                return data
