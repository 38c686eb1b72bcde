"""Files that are written whole or not at all, even if the process is killed."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from .._core.types import PathLike
from ..errors import FileError

try:
    import fcntl
except ImportError:  # Windows refuses to replace a file in use by itself
    fcntl = None  # type: ignore[assignment]


def part_path(target: Path) -> Path:
    """Where the bytes for `target` gather until they are complete."""
    return target.with_name(f".{target.name}.part")


@contextlib.contextmanager
def atomic_write(
    target: PathLike, n_bytes: int = 0, *, durable: bool = True
) -> Iterator[IO[bytes]]:
    """A file that takes the name `target` once the block has ended well.

    Bytes gather in `.NAME.part` beside the target, are flushed to the disk and
    renamed. After an error the part file is removed; after a kill it stays, and
    the next write to the same target takes its place. A second writer of the same
    target is refused while the first is at work.

    Parameters
    ----------
    target : path
        The file to create or replace.
    n_bytes : int
        Bytes about to be written; asked of the disk first, so that a long run does
        not end on a full one.
    durable : bool
        Whether to wait until the bytes are on the disk, safe from a power failure too.
    """
    target = Path(target)
    part = part_path(target)
    try:
        if target.is_dir():
            raise FileError(f"{target}: is a folder; give the name of a file.")
        if target.exists() and not target.is_file():  # a device or pipe would be renamed away
            raise FileError(f"{target}: is a device or a pipe; give the name of a file.")
        with _open_locked(part, target) as file:
            try:
                _require_space(part, n_bytes)
                yield file
                file.flush()
                if durable:
                    os.fsync(file.fileno())
                if fcntl is None:
                    file.close()  # elsewhere the lock is kept until the file has its name
                os.replace(part, target)
            except BaseException:
                part.unlink(missing_ok=True)
                raise
        if durable:
            _sync_folder(target.parent)
    except FileError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(
            f"{target}: cannot be written ({reason}); what stood there before is unchanged."
        ) from error


def _open_locked(part: Path, target: Path) -> IO[bytes]:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
    file = os.fdopen(os.open(part, flags, 0o666), "r+b")
    try:
        # between opening and locking, another writer may have given the file its final name
        if fcntl is not None and _lock(file) and not _is_still(part, file):
            raise BlockingIOError
        file.truncate(0)
    except BlockingIOError:
        file.close()
        raise FileError(f"{target}: another process is writing it; wait for that to end.") from None
    except BaseException:
        file.close()
        raise
    return file


def _lock(file: IO[bytes]) -> bool:
    """Take the file for this process alone; False where the file system knows no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def _is_still(part: Path, file: IO[bytes]) -> bool:
    return part.exists() and os.path.samestat(part.stat(), os.fstat(file.fileno()))


def _require_space(part: Path, n_bytes: int) -> None:
    free = shutil.disk_usage(part.parent).free
    if n_bytes > free:
        raise FileError(
            f"{part.parent}: {n_bytes / 1e9:.2f} GB are needed and {free / 1e9:.2f} GB are free; "
            "make room or choose another place."
        )


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable, where the system can."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
