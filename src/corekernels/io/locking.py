"""Folders that one process writes at a time."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from ..errors import FileError

try:
    import fcntl
except ImportError:  # no such lock on Windows
    fcntl = None  # type: ignore[assignment]


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep a second writer out, where the system can."""
    if fcntl is None:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise FileError(f"{folder}: another process is writing it; wait for that to end.") from None
    finally:
        os.close(handle)
