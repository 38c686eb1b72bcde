"""Documents as rows: what every job on files of rows can take."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._core.progress import progress_bar
from .._core.types import Array, PathLike
from ..errors import DataError, FileError
from ..io.provenance import Origin
from ..io.readers import Batch, RowReader
from ..text.documents import as_texts
from ..text.frequencies import InverseDocumentFrequency
from ..text.rows import text_rows
from ..text.settings import N_COLUMNS, TextSettings
from .file import DocumentFile, Table


@dataclass(frozen=True)
class Columns:
    """The columns of a file of documents that are of interest.

    Attributes
    ----------
    text : tuple of str
        Where the text is; that of several columns is joined by newlines.
    label, id : str or None
        What is to be predicted; what documents are called in results.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.documents.Columns(("title", "body"), label="stars")
    Columns(text=('title', 'body'), label='stars', id=None)
    """

    text: tuple[str, ...]
    label: str | None = None
    id: str | None = None


class DocumentReader(RowReader):
    """Rows of the n-grams of documents, from one file or several, batch by batch.

    Attributes are those of `io.RowReader`, and:

    Attributes
    ----------
    columns : Columns
    settings : text.TextSettings
        How text becomes rows.
    files : list of DocumentFile
        Rows are numbered through all of them.

    Examples
    --------
    >>> import corekernels as ck
    >>> with open("notes.jsonl", "w") as file:
    ...     _ = file.write('{"body": "a rose"}\\n{"body": "a rose is a rose"}\\n')
    >>> reader = ck.documents.open_documents("notes.jsonl", "body")
    >>> reader.texts([1])
    {1: 'a rose is a rose'}
    >>> reader.format, reader.columns.text
    ('jsonl', ('body',))
    """

    n_columns = N_COLUMNS

    def __init__(
        self, files: Sequence[DocumentFile], columns: Columns, settings: TextSettings,
        labels: bool, n_jobs: int | None, batch_bytes: int,
        frequencies: InverseDocumentFrequency | None = None,
    ) -> None:  # fmt: skip
        first, *more = files
        name = f"{first.name} and {len(more)} more" if more else first.name
        super().__init__(name, batch_bytes, None)
        self.files, self.columns, self.settings = list(files), columns, settings
        self.format, self.is_stream = first.format, first.is_stream
        sizes = [file.n_bytes for file in files]
        self.n_bytes = None if None in sizes else sum(size or 0 for size in sizes)
        counts = [file.n_rows for file in files]
        self.n_rows = None if None in counts else sum(count or 0 for count in counts)
        self._labels, self._n_jobs, self._frequencies = labels, n_jobs, frequencies

    @property
    def paths(self) -> list[str]:
        """The files that are read."""
        return [file.name for file in self.files]

    def origin(self, first_row: int, n_rows: int) -> Origin:
        """Where some rows came from, and how text became rows."""
        origin = super().origin(first_row, n_rows)
        return replace(origin, text=self.settings.asdict())

    def _batches(self) -> Iterator[Batch]:
        return self.batches_from(0)

    def batches_near(self, first_row: int) -> Iterator[Batch]:
        """Batches from row `first_row` to the end, and some before it."""
        can_skip = len(self.files) == 1 and self.files[0].starts_anywhere
        return self.batches_from(first_row if can_skip else 0)

    def batches_from(self, first_row: int) -> Iterator[Batch]:
        """The batches from that row on, with which one must begin."""
        label, name = self.columns.label if self._labels else None, self.columns.id
        wanted = [*self.columns.text, *(column for column in (label, name) if column is not None)]
        kind = None
        for table, number, bytes_done in self._tables(wanted, first_row):
            y = None
            if label is not None:
                y = table.labels(label)
                kind = _require_same_kind(table, y, kind)
            names = None if name is None else table.strings(name)
            yield Batch(self._rows(table), y, number, bytes_done, names, is_clean=True)

    def _rows(self, table: Table) -> Any:
        pieces = as_texts(table.texts(self.columns.text), table.name)
        rows, first = [], table.first_row
        for piece in pieces:
            options = {"n_jobs": self._n_jobs, "name": table.name, "first_row": first}
            rows.append(text_rows(piece, self.settings, **options))  # type: ignore[arg-type]
            first += len(piece)
        X = rows[0] if len(rows) == 1 else sparse.csr_array(sparse.vstack(rows))
        return X if self._frequencies is None else self._frequencies.transform(X)

    def _tables(
        self, columns: Sequence[str], from_row: int = 0
    ) -> Iterator[tuple[Table, int, int]]:
        """Tables from that row on, the number of their first row in all, and how far we are."""
        first_row = bytes_done = 0
        for file in self.files:
            n_rows = 0
            wanted = list(dict.fromkeys(columns))
            for table in file.tables(wanted, self._batch_bytes, from_row - first_row):
                n_rows = table.first_row + len(table)
                if first_row + table.first_row >= from_row:
                    yield table, first_row + table.first_row, bytes_done + table.bytes_done
            first_row += n_rows
            bytes_done += file.n_bytes or 0

    def texts(self, rows: Array, progress: bool | None = None) -> dict[int, str]:
        """The text of some documents, by their numbers."""
        return self._some(rows, self.columns.text, progress)

    def values(self, column: str, rows: Array, progress: bool | None = None) -> dict[int, str]:
        """A column of some documents as text, by their numbers."""
        return self._some(rows, (column,), progress)

    def names(self, rows: Array, progress: bool | None = None) -> dict[int, str]:
        """What some documents are called, by their numbers; empty if they have no names."""
        if self.columns.id is None:
            return {}
        return self.values(self.columns.id, rows, progress)

    def _some(self, rows: Array, columns: tuple[str, ...], progress: bool | None) -> dict[int, str]:
        wanted = np.unique(rows)
        found: dict[int, str] = {}
        with progress_bar(self.n_bytes, "looking up", "B", progress, unit_scale=True) as bar:
            for table, first_row, bytes_done in self._tables(columns):
                bar.update(bytes_done - bar.n)
                start, stop = np.searchsorted(wanted, [first_row, first_row + len(table)])
                here = wanted[start:stop]
                if len(here):
                    some = table.take(here - first_row)
                    texts = some.joined_strings(columns)
                    found |= dict(zip(here.tolist(), texts, strict=True))
                if stop == len(wanted):
                    break
        return found

    def write_without(self, target: PathLike, dropped: Array, progress: bool | None = None) -> int:
        """Write all documents but some, whose numbers ascend, as they are; how many these are.

        The format is that of the files, and so is their order. Compressed if the name of the
        target says so.
        """
        formats = {file.format for file in self.files}
        if len(formats) > 1:
            raise FileError(f"{self.name}: files of several formats cannot become one.")
        n_rows = first_row = bytes_done = 0
        with (
            self.files[0].create(Path(target)) as out,
            progress_bar(self.n_bytes, "writing", "B", progress, unit_scale=True) as bar,
        ):
            for file in self.files:
                offset, n_seen, n_copied = first_row, 0, 0

                def chosen(first: int, n: int, offset: int = offset) -> Array:
                    nonlocal n_seen
                    n_seen = first + n
                    first += offset
                    start, stop = np.searchsorted(dropped, [first, first + n])
                    wanted = np.ones(n, bool)
                    wanted[dropped[start:stop] - first] = False
                    return wanted

                for step in file.copy(chosen, out, self._batch_bytes):
                    n_copied = step.n_rows
                    bar.update(bytes_done + step.bytes_done - bar.n)
                first_row += n_seen
                n_rows += n_copied
                bytes_done += file.n_bytes or 0
            if len(dropped) and dropped[-1] >= first_row:
                raise DataError(f"{self.name}: changed while it was read; begin again.")
        return n_rows


def _require_same_kind(table: Table, y: Array, kind: str | None) -> str:
    """Whether labels are text or numbers, which must be the same all through."""
    found = "text" if y.dtype.kind == "U" else "numbers"
    if kind is not None and found != kind:
        last = table.first_row + len(table) - 1
        raise DataError(
            f"{table.name}: labels of documents {table.first_row} to {last} are {found}, those "
            f"before are {kind}; make them alike."
        )
    return found
