"""Where results go: a file, checked before any work is done, or an open binary file."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from .._core.types import PathLike
from ..errors import FileError
from .atomic import atomic_write

Target = PathLike | IO[bytes]


def require_target(path: PathLike, *others: PathLike) -> Path:
    """The path, refused before any work is done if it could not be written after it.

    Or should not: because it is one of `others`, which are read, or written as well.
    """
    target = Path(path)
    if os.path.realpath(target) in [os.path.realpath(other) for other in others]:
        raise FileError(f"{target}: is read or written already; give another name.")
    if target.is_dir():
        raise FileError(f"{target}: is a folder; give the name of a file.")
    if not target.parent.is_dir():
        raise FileError(f"{target}: the folder {target.parent} does not exist; make it first.")
    if not os.access(target.parent, os.W_OK):
        raise FileError(f"{target}: the folder {target.parent} may not be written to.")
    return target


@contextlib.contextmanager
def open_target(target: Target, *others: PathLike) -> Iterator[IO[bytes]]:
    """A file to write: created or replaced whole or not at all, or the open one as it is."""
    if isinstance(target, str | os.PathLike):
        with atomic_write(require_target(target, *others)) as file:
            yield file
    else:
        yield target
