"""CSV and TSV: records of fields, read by pyarrow, with column names in the first record."""

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._core.arguments import Array, PathLike
from .._core.validation import read_only
from .._loops.text import records as loops
from ..errors import DataError
from ..io.parquet import text_labels
from ..io.streams import BadRecords
from .files import DocumentTable, RecordFile, Records, no_column, others, pyarrow


class Delimited(RecordFile):
    """A file of records whose fields are separated by one character, and quoted where needed."""

    kind = "a table of records"

    def __init__(self, path: PathLike, delimiter: str) -> None:
        super().__init__(path)
        self.format = "tsv" if delimiter == "\t" else "csv"
        self._delimiter = delimiter
        self._header = b""
        self._names: list[str] = []

    @contextlib.contextmanager
    def create(self, target: Path) -> Iterator[IO[bytes]]:
        """A file that has the column names of this one."""
        for _ in self.documents((), 1 << 16):
            break
        with super().create(target) as file:
            file.write(self._header + b"\n")
            yield file

    def table(self, records: Records, columns: Sequence[str]) -> "UntypedTable":
        """These columns, all of them text."""
        for name in columns:
            if name not in self._names:
                raise DataError(f"{self.name}: {no_column(name, self._names)}.")
        options = {
            "column_names": self._names,
            "column_types": {name: pyarrow().string() for name in columns},
        }
        try:
            parsed = self._parsed(records.whole(), **options)
        except pyarrow().ArrowInvalid as error:
            raise self._unreadable(records, options, error) from None
        if parsed.num_rows != len(records):
            raise DataError(
                f"{self.name}: {len(records)} records from {records.where(0)} on read as "
                f"{parsed.num_rows}; look for quotes within fields."
            )
        return UntypedTable(self.name, {name: parsed.column(name).chunk(0) for name in columns})

    def _unreadable(self, records: Records, options: dict[str, Any], error: Exception) -> Exception:
        """The error about records that pyarrow does not read."""
        faults = {}
        for place in range(len(records)):
            record = records.record(place)
            try:
                record.decode()
            except UnicodeDecodeError as wrong:  # of which pyarrow would not tell the fault
                with contextlib.suppress(pyarrow().ArrowInvalid):
                    self._parsed(np.frombuffer(record + b"\n", np.uint8), **options)
                    continue
                fault = f"has too few or many fields, and is not valid UTF-8 (byte {wrong.start})"
                faults[place] = f"{fault}; mend it"

        def refuse(row: Any) -> str:
            faults[row.number - 1] = (
                f"has {row.actual_columns} fields, the header {len(self._names)}; quote fields "
                "that hold the separator or newlines"
            )
            return "skip"

        if not faults:
            self._parsed(records.whole(), refuse, **options)
        reason = str(error).splitlines()[0]
        unknown = f"{self.name}: cannot be read from {records.where(0)} on ({reason})."
        return BadRecords(faults) if faults else DataError(unknown)

    def _parsed(
        self, text: Array, refuse: Any = None, column_names: Any = None, column_types: Any = None
    ) -> Any:
        """The fields of some records; those of the first one are names unless these are given."""
        arrow, module = pyarrow(), pyarrow("csv")
        return module.read_csv(
            arrow.BufferReader(arrow.py_buffer(text)),
            read_options=module.ReadOptions(
                column_names=column_names, use_threads=False, block_size=len(text) + 1
            ),
            parse_options=module.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=refuse
            ),
            convert_options=module.ConvertOptions(
                include_columns=column_types and list(column_types), column_types=column_types,
                strings_can_be_null=False, check_utf8=False,
            ),
        )  # fmt: skip

    def _find(self, text: Array, starts: Array, ends: Array) -> int:
        n, rest = loops.find_records(text, len(text), ord(self._delimiter), starts, ends)
        if rest < len(text):
            raise DataError(f"{self.name}: its last record has a quote that is not closed.")
        return int(n)

    def _find_cut(self) -> Any:
        def cut(buffer: Array, end: int) -> int:
            text = read_only(buffer)
            places = np.empty((2, int(loops.count_lines(text, end))), np.int64)
            return int(loops.find_records(text, end, ord(self._delimiter), *places)[1])

        return cut

    def _read_titles(self, text: Array, starts: Array, ends: Array) -> int:
        """Remember the column names, which are in the first record."""
        if not len(starts):
            raise DataError(f"{self.name}: is empty; its first line should name the columns.")
        self._header = text[starts[0] : ends[0]].tobytes()
        try:
            self._names = self._parsed(np.frombuffer(self._header + b"\n", np.uint8)).column_names
        except UnicodeDecodeError:
            raise DataError(f"{self.name}: its header is not UTF-8; convert the file.") from None
        if len(set(self._names)) < len(self._names):
            raise DataError(f"{self.name}: two columns have the same name; rename one.")
        return 1


class UntypedTable(DocumentTable):
    """Columns of text, which may stand for numbers."""

    def labels(self, name: str, is_text: bool | None = None) -> Array:
        """As of `DocumentTable`; numbers if all of the first documents look like them."""
        labels = text_labels(self.columns[name])
        if is_text or (numbers := _numbers_if_all(labels)) is None:
            if is_text is False:
                places = [
                    row for row in range(len(labels)) if _numbers_if_all(labels[[row]]) is None
                ]
                fault = f"has the label {str(labels[places[0]])!r}, {others(is_text)}"
                raise BadRecords.at(places, fault)
            return labels
        return numbers


def _numbers_if_all(labels: Array) -> Array | None:
    """Labels as whole numbers, or as numbers, if all of them look like it."""
    for kind in (np.int64, np.float64):
        try:
            numbers: Array = labels.astype(kind)
        except (ValueError, OverflowError):
            continue
        if np.isfinite(numbers).all():
            return numbers
    return None
