"""Documents as rows: what every job on files of rows can take."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.arguments import Array, PathLike
from .._core.progress import Progress, progress_bar
from ..errors import DataError, FileError
from ..io.provenance import Origin
from ..io.readers import Batch, RowReader, kept_places
from ..io.streams import BadRecords
from ..text.rows import rows_of_documents
from ..text.settings import N_COLUMNS, TextSettings
from .files import DocumentFile, Documents, LeftOut

if TYPE_CHECKING:
    from ..text.frequencies import InverseDocumentFrequency


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
    frequencies : text.InverseDocumentFrequency or None
        What weighs n-grams by their rarity.
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
    unit = "document"

    def __init__(
        self, files: Sequence[DocumentFile], columns: Columns, settings: TextSettings,
        labels: bool, n_jobs: int | None, batch_bytes: int,
        frequencies: "InverseDocumentFrequency | None" = None, skip_bad: int = 0,
    ) -> None:  # fmt: skip
        first, *more = files
        name = f"{first.name} and {len(more)} more" if more else first.name
        super().__init__(name)
        self._batch_bytes = batch_bytes
        self.files, self.columns, self.settings = list(files), columns, settings
        self.has_names = columns.id is not None
        self.format, self.is_stream = first.format, first.is_stream
        sizes = [file.n_bytes for file in files]
        self.n_bytes = None if None in sizes else sum(size or 0 for size in sizes)
        counts = [file.n_rows for file in files]
        if not skip_bad and None not in counts:
            self.n_rows = sum(count or 0 for count in counts)
        self._labels, self._n_jobs, self.frequencies = labels, n_jobs, frequencies
        self._left_out, self._is_read = LeftOut(skip_bad), False

    @property
    def skip_bad(self) -> int:
        """How many bad documents may be left out."""
        return self._left_out.most

    @property
    def notes(self) -> Sequence[str]:
        """Which files and documents were left out."""
        return [*(note for file in self.files for note in file.notes), *self._left_out.notes]

    @property
    def paths(self) -> list[str]:
        """The files that are read."""
        return [file.name for file in self.files]

    def about(self) -> dict[str, Any]:
        """How rows are read, as JSON holds it."""
        text = {"text": list(self.columns.text), "settings": asdict(self.settings)}
        return super().about() | text

    def origin(self, first_row: int, n_rows: int) -> Origin:
        """Where some rows came from, and how text became rows."""
        origin = super().origin(first_row, n_rows)
        return replace(origin, text=self.settings.asdict(), text_columns=self.columns.text)

    @property
    def _starts_anywhere(self) -> bool:
        return len(self.files) == 1 and self.files[0].starts_anywhere and not self.skip_bad

    def batches(self, first_row: int = 0) -> Iterator[Batch]:
        """As of `RowReader`; documents before are not looked at, unless bad ones are left out."""
        is_text = None
        start = first_row if self._starts_anywhere else 0
        for documents, first, bytes_done in self._documents(self._columns_read, start):
            row = first - int(np.searchsorted(self._numbers_left_out(), first))
            if not self.skip_bad and row + len(documents) <= first_row:
                continue
            batch = self._batch(documents, first, bytes_done, is_text)
            if batch is not None:
                yield replace(batch, first_row=row)
            if batch is not None and batch.y is not None:
                is_text = batch.y.dtype.kind == "U"
        self._is_read = True

    @property
    def _columns_read(self) -> list[str]:
        """The columns that rows, their labels and names come from, each once."""
        label = self.columns.label if self._labels else None
        columns = [*self.columns.text, label, self.columns.id]
        return [*dict.fromkeys(column for column in columns if column is not None)]

    def _batch(
        self, documents: Documents, first: int, bytes_done: int, is_text: bool | None
    ) -> Batch | None:
        """The rows of documents, less those that are bad; the first is document `first` of all."""
        before = first - int(documents.numbers[0])
        while len(documents):
            try:
                table = documents.table(self._columns_read)
                y = names = None
                if self._labels and self.columns.label is not None:
                    y = table.labels(self.columns.label, is_text)
                if self.columns.id is not None:
                    names = table.strings(self.columns.id)
                rows = rows_of_documents(
                    table.texts(self.columns.text), self.settings, n_jobs=self._n_jobs,
                    name=table.name,
                )  # fmt: skip
            except BadRecords as bad:
                documents = self._leave_out(documents, before, bad)
                continue
            if self.frequencies is not None:
                rows = self.frequencies.weighted_queries(rows)  # BM25 weighs no others as it reads
            return Batch(rows, y, first, bytes_done, names)
        return None

    def _leave_out(self, documents: Documents, before: int, bad: BadRecords) -> Documents:
        """The documents but for those that are bad; the error, if these may not be left out.

        `before` is the number of documents in the files before.
        """
        for place in sorted(bad.faults):
            number = before + int(documents.numbers[place])
            self._left_out.add(number, bad.error(documents.where, place))
        return documents.take(np.delete(np.arange(len(documents)), [*bad.faults]))

    def _documents(
        self, columns: Sequence[str] | None, start: int = 0
    ) -> Iterator[tuple[Documents, int, int]]:
        """Documents from number `start` on, the number of the first in all, and how far we are."""
        before = bytes_before = 0
        for file in self.files:
            n = 0
            for documents in file.documents(columns, self._batch_bytes, start):
                first, n = (int(number) for number in documents.numbers[[0, -1]] + [0, 1])
                yield documents, before + first, bytes_before + documents.bytes_done
            before += n
            bytes_before += file.n_bytes or 0

    def _numbers_left_out(self) -> Array:
        return np.array(sorted(self._left_out.errors), np.int64)

    def _numbers(self, rows: Array) -> Array:
        """The numbers of the documents that are these rows."""
        if self.skip_bad and not self._is_read:
            for _ in self:
                pass
        bad = self._numbers_left_out()
        return rows + np.searchsorted(bad - np.arange(len(bad)), rows, "right")

    def texts(self, rows: Array, progress: Progress = None) -> dict[int, str]:
        """The text of some documents, by their numbers."""
        return self._some(rows, self.columns.text, progress)

    def values(self, column: str, rows: Array, progress: Progress = None) -> dict[int, str]:
        """A column of some documents as text, by their numbers."""
        return self._some(rows, (column,), progress)

    def names(self, rows: Array, progress: Progress = None) -> dict[int, str]:
        """What some documents are called, by their numbers; empty if they have no names."""
        if self.columns.id is None:
            return {}
        return self.values(self.columns.id, rows, progress)

    def _some(self, rows: Array, columns: tuple[str, ...], progress: Progress) -> dict[int, str]:
        rows = np.unique(rows)
        numbers = self._numbers(rows)
        strings: dict[int, str] = {}
        with progress_bar(self.n_bytes, "looking up", "B", progress, unit_scale=True) as bar:
            for documents, first, bytes_done in self._documents(columns):
                bar.update(bytes_done - bar.n)
                start, stop = np.searchsorted(numbers, [first, first + len(documents)])
                if start < stop:
                    documents_here = documents.take(numbers[start:stop] - first)
                    try:
                        texts = documents_here.table(columns).joined_strings(columns)
                    except BadRecords as bad:
                        raise bad.error(documents_here.where) from None
                    strings |= dict(zip(rows[start:stop].tolist(), texts, strict=True))
                if stop == len(numbers):
                    break
        return strings

    def write_without(self, target: PathLike, dropped: Array, progress: Progress = False) -> int:
        """Write all documents but some, whose numbers ascend, as they are; how many these are.

        The format is that of the files, and so is their order. Compressed if the name of the
        target says so. Documents that were left out as rows are left out here.
        """
        if len({file.format for file in self.files}) > 1:
            raise FileError(f"{self.name}: files of several formats cannot become one.")
        dropped = np.union1d(self._numbers(dropped), self._numbers_left_out())
        n_seen = n_written = 0
        with (
            self.files[0].create(Path(target)) as out,
            progress_bar(self.n_bytes, "writing", "B", progress, unit_scale=True) as bar,
        ):
            for documents, first, bytes_done in self._documents(None):
                places = kept_places(first, len(documents), dropped)
                if len(places):
                    documents.take(places).write_to(out)
                n_seen, n_written = first + len(documents), n_written + len(places)
                bar.update(bytes_done - bar.n)
            if len(dropped) and dropped[-1] >= n_seen:
                raise DataError(f"{self.name}: changed while it was read; begin again.")
        return n_written
