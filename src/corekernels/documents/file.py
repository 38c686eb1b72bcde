"""What a file of documents is, and some of its documents as a table; each format is a class.

Tables have Arrow arrays for columns.
"""

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._core.extras import require_extra
from .._core.types import Array
from ..errors import DataError
from ..io.arrow import labels_of_arrow

Chosen = Callable[[int, int], Array]  # a mask: which of so many documents, from one on, are wanted

BATCH_BYTES = 8 << 20
SEPARATOR = "\n"  # between the texts of several columns


def pyarrow(module: str = "") -> Any:
    """The package, or one of its modules, imported on use."""
    return require_extra(f"pyarrow{module and '.'}{module}", "documents", "documents from files")


@dataclass(frozen=True)
class Table:
    """Columns of some consecutive documents."""

    name: str  # of the file they come from
    columns: dict[str, Any]  # Arrow arrays of equal length
    first_row: int  # number of the first document in that file, from 0
    n_rows: int
    bytes_done: int  # how far the file, as stored, has been read
    is_typed: bool = True  # whether the file tells numbers from text

    def __len__(self) -> int:
        return self.n_rows

    def texts(self, names: tuple[str, ...]) -> Any:
        """The text of each document: that of several columns is joined by newlines."""
        arrow = pyarrow()
        arrays = []
        for name in names:
            array = self.columns[name]
            self._require_values(array, name)
            arrays.append(_as_text(arrow, array, f"{self.name}: column {name!r}"))
        if len(arrays) == 1:
            return arrays[0]
        wide = [array.cast(arrow.large_string()) for array in arrays]
        separator = arrow.scalar(SEPARATOR, arrow.large_string())
        return pyarrow("compute").binary_join_element_wise(*wide, separator)

    def labels(self, name: str) -> Array:
        """The labels of the documents: numbers, booleans or strings."""
        if self.is_typed:
            return labels_of_arrow(self.columns[name], self.name, self.first_row)
        return _numbers_if_all(np.array(self.strings(name), dtype=np.str_))

    def strings(self, name: str) -> list[str]:
        """A column as text, whatever it holds; empty where there is nothing."""
        try:
            values = self.columns[name].to_pylist()
        except UnicodeDecodeError as error:
            raise DataError(
                f"{self.name}: column {name!r} is not valid UTF-8 ({error.reason}) near document "
                f"{self.first_row}; convert the file to UTF-8."
            ) from None
        return ["" if value is None else str(value) for value in values]

    def take(self, places: Array) -> "Table":
        """Some of the documents; `first_row` no longer says which they are."""
        chosen = {name: array.take(pyarrow().array(places)) for name, array in self.columns.items()}
        return replace(self, columns=chosen, n_rows=len(places))

    def joined_strings(self, names: tuple[str, ...]) -> list[str]:
        """Columns as text, whatever they hold, joined by newlines."""
        parts = [self.strings(name) for name in names]
        return [SEPARATOR.join(part) for part in zip(*parts, strict=True)]

    def _require_values(self, array: Any, name: str) -> None:
        if array.null_count:
            row = int(np.flatnonzero(array.is_null().to_numpy(zero_copy_only=False))[0])
            raise DataError(
                f"{self.name}: document {self.first_row + row} has no {name!r}; fill it with an "
                "empty text, or drop it."
            )


def _as_text(arrow: Any, array: Any, name: str) -> Any:
    kind = array.type
    if arrow.types.is_dictionary(kind):
        array, kind = array.dictionary_decode(), kind.value_type
    if str(kind) in ("string", "large_string"):
        return array
    if str(kind) == "string_view":
        return array.cast(arrow.large_string())
    raise DataError(f"{name} is of type {kind}; give a column of text.")


def _numbers_if_all(labels: Array) -> Array:
    """Labels as whole numbers, or as numbers, if all of them look like it."""
    for kind in (np.int64, np.float64):
        try:
            numbers = labels.astype(kind)
        except (ValueError, OverflowError):
            continue
        if np.isfinite(numbers).all():
            return numbers
    return labels


class Copied(NamedTuple):
    """How far a copy is: documents written, and bytes of the source read."""

    n_rows: int
    bytes_done: int


class DocumentFile(ABC):
    """Documents of one file: some of their columns in batches, or copies of some documents.

    Attributes have the meaning of those of `io.Reader`. Where a file does not tell numbers from
    text (`is_typed`), labels are numbers if all look like it. With
    `starts_anywhere`, `tables` begins with document `from_row` without reading those before.
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
