"""Rows from tables of numbers and words: CSV and TSV, whose first line names the columns.

A column of numbers is a column of the matrix. A column of words makes one for each different word:
"colour=red" is 1 where the colour is red. The table is in memory as a whole.
"""

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from .._core.arguments import Array, PathLike
from .._core.validation import clean_rows, is_number
from ..errors import DataError
from .formats import FileRows, Format, ReadOptions
from .parquet import is_numeric, labels_of_arrow, places_of_nulls, pyarrow
from .provenance import reading
from .readers import Batch, require_columns

_MOST_WORDS = 1000  # different ones in a column
_LINES_BEFORE = 2  # the first row stands in line 2, unless fields hold newlines


class TableReader(FileRows):
    """Rows of a table."""

    def __init__(self, path: PathLike, options: ReadOptions, *, delimiter: str) -> None:
        super().__init__(path, options)
        self.format = "tsv" if delimiter == "\t" else "csv"
        self._fill = options.missing == "zero"
        table = self._parsed(delimiter)
        self.n_rows = table.num_rows
        label = self._label_column(options, table.column_names)
        self._y: Array | None = None
        if label is not None:
            if options.labels:
                column = table.column(label).combine_chunks()
                self._y = labels_of_arrow(column, self.name, 0)
            table = table.drop_columns([label])
        columns = self._columns(table)
        self.column_names = tuple(self._known_first(options, [*columns], table.column_names))
        self._columns_read = [columns.get(name) for name in self.column_names]
        self.n_columns = len(self._columns_read)
        if not self.n_columns:
            raise DataError(f"{self.name}: has no column but that of the labels.")
        require_columns(self, options.n_columns)

    def _parsed(self, delimiter: str) -> Any:
        """The table, each column of numbers or of words; errors name what cannot be read."""
        from pyarrow import csv

        with self.open_file() as file, reading(self.name, self.format.upper()):
            self.n_bytes = os.fstat(file.fileno()).st_size
            table = csv.read_csv(
                file,
                parse_options=csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
                convert_options=csv.ConvertOptions(strings_can_be_null=True, timestamp_parsers=[]),
            )
        names = table.column_names
        if len(set(names)) < len(names):
            raise DataError(f"{self.name}: two columns have the same name; rename one.")
        if all(is_number(name) for name in names):
            raise DataError(
                f"{self.name}: its first line holds numbers; write a line of names of the columns "
                "before it."
            )
        return table

    def _columns(self, table: Any) -> dict[str, Array]:
        """The columns of the matrix by their names."""
        types, columns = pyarrow().types, {}
        for name in table.column_names:
            column = table.column(name).combine_chunks()
            places = places_of_nulls(column)
            if len(places) and not self._fill:
                raise DataError(
                    f"{self.name}: row {places[0]} (line {places[0] + _LINES_BEFORE}) has nothing "
                    f"in column {name!r}; fill it, or take missing values for 0 (missing='zero')."
                )
            kind = column.type
            if types.is_null(kind):
                columns[name] = np.zeros(len(column))
            elif is_numeric(kind):
                numbers = column.cast("float64").fill_null(0)
                columns[name] = numbers.to_numpy(zero_copy_only=False)
            else:
                columns |= self._words(name, column.cast("string"))
        return columns

    def _words(self, name: str, column: Any) -> dict[str, Array]:
        """A column for each different word, in their order."""
        encoded = column.dictionary_encode()
        words = encoded.dictionary.to_pylist()
        if len(words) > _MOST_WORDS:
            raise DataError(
                f"{self.name}: column {name!r} has {len(words):,} different words, more than "
                f"{_MOST_WORDS:,}; leave it out, or name the column of text if these are documents "
                "(text='COLUMN')."
            )
        places = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
        return {f"{name}={words[k]}": places == k for k in np.argsort(words).tolist()}

    def batches(self, first_row: int = 0) -> Iterator[Batch]:
        """As of `RowReader`."""
        assert self.n_rows is not None
        size = max(1, self._batch_bytes // (8 * self.n_columns))
        for start in range(first_row, self.n_rows, size):
            stop = min(start + size, self.n_rows)
            dense = np.zeros((stop - start, self.n_columns))
            for place, column in enumerate(self._columns_read):
                if column is not None:
                    dense[:, place] = column[start:stop]
            rows = clean_rows(dense, self.name, first_row=start)
            y = None if self._y is None else self._y[start:stop]
            yield Batch(rows, y, start, self._share_done(stop))


FORMATS = {
    name: Format(name, suffixes, (), partial(TableReader, delimiter=delimiter), names_columns=True)
    for name, suffixes, delimiter in (("csv", (".csv",), ","), ("tsv", (".tsv", ".tab"), "\t"))
}
