"""Where results go: a file, checked before any work is done, or an open binary file."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from .._core.types import PathLike
from ..errors import FileError
from .atomic import atomic_write, resolve_target
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
