"""What a file of documents is; each format is a class of its own."""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from .._core.types import Array
from ..errors import DataError
from .table import Table

Chosen = Callable[[int, int], Array]  # a mask: which of so many documents, from one on, are wanted

BATCH_BYTES = 8 << 20


class Copied(NamedTuple):
    """How far a copy is: documents written, and bytes of the source read."""

    n_rows: int
    bytes_done: int


class DocumentFile(ABC):
    """Documents of one file: some of their columns in batches, or copies of some documents.

    Attributes
    ----------
    format, name : str
    n_rows : int or None
        None where only reading would tell.
    n_bytes : int or None
        Size as stored; None for a pipe.
    is_stream : bool
        Whether the documents pass only once.
    is_typed : bool
        Whether the file tells numbers from text; labels are numbers where all look like it if not.
    starts_anywhere : bool
        Whether `tables` begins with document `from_row`, without reading those before.
    """

    format: str
    name: str
    n_rows: int | None = None
    n_bytes: int | None = None
    is_stream: bool = False
    is_typed: bool = True
    starts_anywhere: bool = False

    @abstractmethod
    def tables(
        self, columns: Sequence[str], batch_bytes: int, from_row: int = 0
    ) -> Iterator[Table]:
        """These columns of all documents, in batches of about that many bytes, none empty.

        Tables of documents before `from_row` may be without their columns.
        """

    @abstractmethod
    def create(self, target: Path) -> contextlib.AbstractContextManager[Any]:
        """A file like this one, written whole or not at all, that `copy` writes to."""

    @abstractmethod
    def copy(self, chosen: Chosen, out: Any, batch_bytes: int) -> Iterator[Copied]:
        """Add the chosen documents to what `create` gave, exactly as they are."""


def missing_column(name: str, column: str, known: Sequence[str], where: str = "") -> DataError:
    """The error for a column that is not there."""
    there = ", ".join(known) or "none"
    return DataError(f"{name}: {where}has no column {column!r}; choose from: {there}.")
