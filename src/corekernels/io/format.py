"""What a file format of rows is; each format's module describes itself in one `FORMAT`."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from .._core.types import Array, PathLike
from .._core.validation import Rows
from .readers import RowReader


@dataclass(frozen=True)
class ReadOptions:
    """How a file is to be read; `open_rows` says what the options mean."""

    n_columns: int | None
    one_based: bool | None
    labels: bool
    n_jobs: int | None
    batch_bytes: int
    batch_rows: int | None


class Writer(Protocol):
    """Writes clean rows to an open file, batch by batch."""

    def write(self, rows: Rows, y: Array | None) -> None:
        """Add rows."""

    def finish(self) -> None:
        """Write what stands at the end."""

    def close(self) -> None:
        """Release what is held, also after an error."""


@dataclass(frozen=True)
class Format:
    """A file format of rows.

    Attributes
    ----------
    name : str
    suffixes : tuple of str
        Of file names that ask for this format.
    magic : tuple of bytes
        What its files may begin with; none for text.
    reader : callable
        The reader of a file of this format.
    writer : callable
        The writer to an open file that will get this path.
    confirm : callable or None
        Raises a `FileError` for a file that begins like one of this format and is none; it is
        given the path and the first bytes.
    is_text : bool
        Whether it is text, which may come compressed or through a pipe.
    """

    name: str
    suffixes: tuple[str, ...]
    magic: tuple[bytes, ...]
    reader: Callable[[PathLike, ReadOptions], RowReader]
    writer: Callable[[IO[bytes], Path], Writer]
    confirm: Callable[[PathLike, bytes], None] | None = None
    is_text: bool = False
