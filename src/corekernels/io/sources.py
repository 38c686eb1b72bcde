"""Files that are read: opened with errors that name them, and still the same when opened again."""

import contextlib
import glob
import os
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple

from .._core.types import PathLike
from ..errors import CoREError, FileError


class Identity(NamedTuple):
    """What tells one content of a file from another that has taken its name."""

    device: int
    inode: int
    n_bytes: int
    modified: int  # nanoseconds

    @classmethod
    def of(cls, file: IO[bytes]) -> "Identity":
        """The identity of an open file."""
        found = os.fstat(file.fileno())
        return cls(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)


def open_file(path: PathLike) -> IO[bytes]:
    """A file opened for reading, or a `FileError` that says why not."""
    try:
        if os.path.isdir(path):
            raise FileError(f"{path}: is a folder; give the name of a file.")
        return open(path, "rb")
    except FileNotFoundError:
        remedy = "check the name"
        if glob.has_magic(os.fspath(path)):
            remedy = "patterns are for documents and for work by parts on an engine; name one file"
        raise FileError(f"{path}: does not exist; {remedy}.") from None
    except PermissionError as error:
        raise FileError(f"{path}: may not be read; ask for the permission.") from error
    except (OSError, ValueError) as error:
        if isinstance(error, CoREError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path}: cannot be opened ({reason}); check the name.") from error


def open_same(path: PathLike, identity: Identity) -> IO[bytes]:
    """A file opened again; a `FileError` if it is no longer the one that was read before."""
    file = open_file(path)
    if Identity.of(file) != identity:
        file.close()
        raise FileError(f"{path}: changed while it was read; begin again.")
    return file


def matching_files(name: str, is_wanted: Callable[[str], bool]) -> list[str] | None:
    """The files that a name with `*`, `?` or `[` matches, in order; None if it is no pattern."""
    if not any(sign in name for sign in "*?[") or os.path.exists(name):
        return None
    found = sorted(filter(is_wanted, glob.glob(name, recursive=True)))
    if not found:
        raise FileError(f"{name}: no file matches; check the pattern.")
    return found


class SourceFile:
    """A file that is opened more than once: its content must stay the one first seen."""

    def __init__(self, path: PathLike) -> None:
        self.path = path
        self._identity: Identity | None = None

    def open(self) -> IO[bytes]:
        """The file, opened for reading."""
        if self._identity is not None:
            return open_same(self.path, self._identity)
        file = open_file(self.path)
        self._identity = Identity.of(file)
        return file


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
