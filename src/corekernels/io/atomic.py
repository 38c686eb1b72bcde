"""Files that are written whole or not at all, even if the process is killed.

One rule holds for every target: it is a plain file, which is replaced, or a new name. A symbolic
link is followed to what it names, and a file that is replaced keeps its permissions.
"""

import contextlib
import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from .._core.arguments import PathLike
from ..errors import FileError
from .streams import STANDARD_INPUT, display_name

Target = PathLike | IO[bytes]


def require_target(path: PathLike, *others: PathLike) -> Path:
    """What a path stands for, refused before any work is done if it could not be written after it.

    Or should not: because it is one of `others`, which are read, or written as well, or lies in
    a folder of these.
    """
    target = resolve_target(path)
    if any(_is_taken(target, other) for other in others):
        raise FileError(f"{path}: is read or written already; give another name.")
    if not target.parent.is_dir():
        raise FileError(f"{path}: the folder {target.parent} does not exist; make it first.")
    if not os.access(target.parent, os.W_OK):
        raise FileError(f"{path}: the folder {target.parent} may not be written to.")
    return target


def _is_taken(target: Path, other: PathLike) -> bool:
    if os.path.realpath(target) == os.path.realpath(other):
        return True
    with contextlib.suppress(OSError, ValueError):
        if os.path.isdir(other):
            return os.path.samefile(target.parent, other)
        name = os.fspath(other)
        standard = name in (STANDARD_INPUT, display_name(STANDARD_INPUT))
        return os.path.samestat(target.stat(), os.fstat(0) if standard else os.stat(name))
    return False


@contextlib.contextmanager
def open_target(target: Target, *others: PathLike) -> Iterator[IO[bytes]]:
    """A file to write: created or replaced whole or not at all, or the open one as it is."""
    if isinstance(target, str | os.PathLike):
        with atomic_write(require_target(target, *others)) as file:
            yield file
    else:
        yield target


try:
    import fcntl
except ImportError:  # no such lock on Windows, which refuses to replace a file in use by itself
    fcntl = None  # type: ignore[assignment]

_OPEN_FLAGS = os.O_RDWR | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
_LONG_NAME = 200  # bytes; most systems allow 255
_NEW_FILE = 0o666  # the system takes away what the user's umask says


def part_paths(target: Path) -> list[Path]:
    """Files in which bytes for `target` gather, or were left by a killed process."""
    start, end = _part_start(target), ".part"
    with contextlib.suppress(OSError):
        return [
            target.with_name(name)
            for name in sorted(os.listdir(target.parent))
            if name.startswith(start) and name.endswith(end)
            if len(name) == len(start) + 16 + len(end)
        ]
    return []


def _part_start(target: Path) -> str:
    """How the names of such files begin."""
    return f".{short_name(target)}."


def short_name(path: Path) -> str:
    """The name of a file, or its digest if it is so long that nothing could be added to it."""
    name = os.fsencode(path.name)
    return path.name if len(name) <= _LONG_NAME else hashlib.sha256(name).hexdigest()


def resolve_target(path: PathLike) -> Path:
    """The plain file or new name that a path stands for, symbolic links followed."""
    try:
        target = Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)
        mode = target.lstat().st_mode
    except FileNotFoundError:
        return target
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path}: cannot be written ({reason}); check the name.") from error
    if stat.S_ISDIR(mode):
        raise FileError(f"{path}: is a folder; give the name of a file.")
    if stat.S_ISLNK(mode):
        raise FileError(f"{path}: is a symbolic link that leads back to itself; remove it.")
    if not stat.S_ISREG(mode):  # a device or pipe would be renamed away
        raise FileError(f"{path}: is a device or a pipe; give the name of a file.")
    return target


@contextlib.contextmanager
def atomic_write(
    target: PathLike, n_bytes: int = 0, *, durable: bool = True, shared: bool = False
) -> Iterator[IO[bytes]]:
    """A file that takes the name `target` once the block has ended well.

    Bytes gather in a new file `.NAME.XXXXXXXXXXXXXXXX.part` beside the target, are flushed to the
    disk and renamed. After an error the part file is removed; after a kill it stays, and the
    next write to the same target removes it. A second writer of the same target is refused
    while the first is at work.

    Parameters
    ----------
    target : path
        The file to create or replace.
    n_bytes : int
        Bytes about to be written; asked of the disk first, so that a long run does
        not end on a full one.
    durable : bool
        Whether to wait until the bytes are on the disk, safe from a power failure too.
    shared : bool
        Whether other processes may write the same content to the same target meanwhile, as a
        cluster does that tries a task again. No writer is refused, the last to finish stays,
        and what killed ones left is for the caller to remove.

    Examples
    --------
    >>> from pathlib import Path
    >>> import corekernels as ck
    >>> with ck.io.atomic_write("result.txt") as file:
    ...     _ = file.write(b"all or nothing")
    >>> print(Path("result.txt").read_text())
    all or nothing
    """
    final = resolve_target(target)
    with naming_target(target):
        if not shared:
            _clear_leftovers(final, target)
        part = final.with_name(f"{_part_start(final)}{secrets.token_hex(8)}.part")
        with _open_locked(part, final, target) as file:
            try:
                _require_space(part, n_bytes)
                yield file
                file.flush()
                if durable:
                    os.fsync(file.fileno())
                if fcntl is None:
                    file.close()  # elsewhere the lock is kept until the file has its name
                os.replace(part, resolve_target(final))
            except BaseException:
                part.unlink(missing_ok=True)
                raise
        if durable:
            _sync_folder(final.parent)


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a second writer out of a folder, where the system can."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        _lock(handle, folder)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def naming_target(target: PathLike) -> Iterator[None]:
    """Turn what the system says while a target is written into an error that names it."""
    try:
        yield
    except FileError:
        raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise FileError(
            f"{target}: cannot be written ({reason}); what stood there before is unchanged."
        ) from error


def _clear_leftovers(final: Path, target: PathLike) -> None:
    """Remove what killed writers left; refuse where another writer is at work."""
    for path in part_paths(final):
        with contextlib.suppress(FileNotFoundError):
            if fcntl is not None and not path.is_symlink():
                with os.fdopen(os.open(path, _OPEN_FLAGS), "r+b") as file:
                    _lock(file, target)
            path.unlink()


def _open_locked(part: Path, final: Path, target: PathLike) -> IO[bytes]:
    """A new file, with the permissions of the one it will replace."""
    mode = stat.S_IMODE(final.stat().st_mode) if final.exists() else None
    flags = _OPEN_FLAGS | os.O_CREAT | os.O_EXCL
    file = os.fdopen(os.open(part, flags, _NEW_FILE if mode is None else mode), "r+b")
    try:
        if fcntl is not None:
            _lock(file, target)
            if not part.exists():  # another writer took it for a leftover before it was locked
                raise _busy(target)
        if mode is not None:
            part.chmod(mode)
    except BaseException:
        file.close()
        part.unlink(missing_ok=True)
        raise
    return file


def _lock(file: IO[bytes] | int, target: PathLike) -> None:
    """Take an open file for this process alone, where the file system knows locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise _busy(target) from None
    except OSError:
        return


def _busy(target: PathLike) -> FileError:
    return FileError(f"{target}: another process is writing it; wait for that to end.")


def _require_space(part: Path, n_bytes: int) -> None:
    """Raise if the disk has no room for a file of so many bytes."""
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
