"""CSV and TSV: records of fields, read by pyarrow, with column names in the first record."""

import contextlib
import csv
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._core.types import Array, PathLike
from .._core.validation import read_only
from .._loops.text import records as loops
from ..errors import DataError
from .file import missing_column, pyarrow
from .records import RecordFile, Records


class Delimited(RecordFile):
    """A file of records whose fields are separated by one character, and quoted where needed."""

    kind = "a table of records"
    is_typed = False

    def __init__(self, path: PathLike, delimiter: str) -> None:
        super().__init__(path)
        self.format = "tsv" if delimiter == "\t" else "csv"
        self._delimiter = delimiter
        self._header = b""
        self._names: list[str] = []

    @contextlib.contextmanager
    def create(self, target: Path) -> Iterator[IO[bytes]]:
        """A file that has the column names of this one."""
        for _ in self._records(1 << 16):
            break
        with super().create(target) as file:
            file.write(self._header + b"\n")
            yield file

    def _columns(self, records: Records, names: Sequence[str]) -> dict[str, Any]:
        arrow, module = pyarrow(), pyarrow("csv")
        for name in names:
            if name not in self._names:
                raise missing_column(self.name, name, self._names)
        invalid: list[tuple[int | None, int]] = []

        def refuse(row: Any) -> str:
            invalid.append((row.number, row.actual_columns))
            return "error"

        text = records.text[records.starts[0] : records.ends[-1] + 1]
        try:
            found = module.read_csv(
                arrow.BufferReader(arrow.py_buffer(text)),
                read_options=module.ReadOptions(
                    column_names=self._names, use_threads=False, block_size=len(text) + 1
                ),
                parse_options=module.ParseOptions(
                    delimiter=self._delimiter, newlines_in_values=True,
                    invalid_row_handler=refuse,
                ),
                convert_options=module.ConvertOptions(
                    include_columns=list(names), strings_can_be_null=False, check_utf8=False,
                    column_types={name: arrow.string() for name in names},
                ),
            )  # fmt: skip
        except arrow.ArrowException as error:
            raise self._invalid(records, invalid, error) from None
        if found.num_rows != len(records):
            raise DataError(
                f"{self.name}: {len(records)} records from document {records.first_row} on read "
                f"as {found.num_rows}; a quote there is opened and not closed."
            )
        return {name: found.column(name) for name in names}

    def _invalid(self, records: Records, invalid: list[Any], error: Exception) -> DataError:
        if not invalid:
            return DataError(
                f"{self.name}: cannot be read from document {records.first_row} on ({error}); "
                "look for quotes that are not closed."
            )
        number, n_fields = invalid[0]
        where = "a document" if number is None else f"document {records.first_row + number - 1}"
        return DataError(
            f"{self.name}: {where} has {n_fields} fields, the header {len(self._names)}; quote "
            "fields that hold the separator or newlines."
        )

    def _find(self, text: Array, starts: Array, ends: Array) -> int:
        n, rest = loops.find_records(text, len(text), ord(self._delimiter), starts, ends)
        if rest < len(text):
            raise DataError(f"{self.name}: its last record has a quote that is not closed.")
        return int(n)

    def _find_cut(self) -> Any:
        def cut(buffer: Array, end: int) -> int:
            text = read_only(buffer)
            room = int(loops.count_newlines(text, end))
            places = np.empty((2, room), np.int64)
            return int(loops.find_records(text, end, ord(self._delimiter), *places)[1])

        return cut

    def _after_header(self, records: Records) -> Records:
        """Remember the column names, which are in the first record."""
        if not len(records):
            raise DataError(f"{self.name}: is empty; its first line should name the columns.")
        self._header = records.record(0)
        try:
            header = self._header.decode()
        except UnicodeDecodeError:
            raise DataError(f"{self.name}: its header is not UTF-8; convert the file.") from None
        self._names = next(csv.reader([header.rstrip("\r")], delimiter=self._delimiter))
        if len(set(self._names)) < len(self._names):
            raise DataError(f"{self.name}: two columns have the same name; rename one.")
        return records.without_first()
