"""What a file format of rows is; each format's module describes itself in one `FORMAT`."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from .._core.arguments import Array, PathLike
from .._core.validation import Rows
from .provenance import SourceFile
from .readers import RowReader
from .streams import display_name


@dataclass(frozen=True)
class ReadOptions:
    """How a file is to be read; `open_rows` says what the options mean."""

    n_columns: int | None
    one_based: bool | None
    labels: bool
    n_jobs: int | None
    batch_bytes: int
    batch_rows: int | None
    column_names: Sequence[str] | None = None
    label: str | None = None


class FileRows(RowReader):
    """Rows of a file, whose content must stay the same between readings."""

    def __init__(self, path: PathLike, options: ReadOptions) -> None:
        super().__init__(display_name(path))
        self._source = SourceFile(path)
        self._batch_bytes, self._batch_rows = options.batch_bytes, options.batch_rows


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

    `confirm` raises a `FileError` for a file that begins like one of this format and is none; it
    is given the path and the first bytes.
    """

    name: str
    suffixes: tuple[str, ...]  # of file names that ask for this format
    magic: tuple[bytes, ...]  # what its files may begin with; none for text
    reader: Callable[[PathLike, ReadOptions], RowReader]
    writer: Callable[[IO[bytes], Path], Writer]  # to an open file that will get this path
    confirm: Callable[[PathLike, bytes], None] | None = None
    is_text: bool = False  # which may come compressed or through a pipe
    names_columns: bool = False  # so that one can be asked for by its name
