"""JSON lines: one object per line.

Strings are read by loops of our own. Where a line is not quite what these expect, and for
numbers, pyarrow reads the lines and, where that fails too, Python.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import DataError
from .file import missing_column, pyarrow
from .json_strings import json_strings
from .records import RecordFile, Records

_BLOCK_BYTES = 1 << 20  # that a thread of pyarrow takes at a time
_REMEDY = "write one JSON object per line (jq -c does)"


class JsonLines(RecordFile):
    """A file of JSON objects, one per line; columns are their keys."""

    format = "jsonl"
    kind = "JSON lines"

    def _columns(self, records: Records, names: Sequence[str]) -> dict[str, Any]:
        arrow = pyarrow()
        found = json_strings(records, names)
        if found is not None:
            return found
        first = self._object(records, records.first_row)
        kinds = {bool: arrow.bool_(), int: arrow.int64(), float: arrow.float64()}
        schema = arrow.schema(
            [(name, kinds.get(type(first.get(name)), arrow.string())) for name in names]
        )
        found = self._parsed(records, schema)
        if found is None:
            values = self._values(records, names)
            return {name: self._array(name, values[name], records) for name in names}
        for name in names:
            self._require_key(found[name], name, records)
        return found

    def _parsed(self, records: Records, schema: Any) -> dict[str, Any] | None:
        """Columns of these types; None where pyarrow cannot make them."""
        arrow, module = pyarrow(), pyarrow("json")
        longest = int((records.ends - records.starts).max()) + 2
        try:
            found = module.read_json(
                arrow.BufferReader(arrow.py_buffer(records.text)),
                read_options=module.ReadOptions(block_size=max(_BLOCK_BYTES, longest)),
                parse_options=module.ParseOptions(
                    explicit_schema=schema, unexpected_field_behavior="ignore"
                ),
            )
        except arrow.ArrowException:
            return None
        if found.num_rows != len(records):
            return None
        return {name: found.column(name) for name in schema.names}

    def _require_key(self, array: Any, name: str, records: Records) -> None:
        """Refuse a document without this key; one with null is another matter."""
        if array.null_count:
            nulls = np.flatnonzero(array.is_null().to_numpy())
            row = records.first_row + int(nulls[0])
            keys = self._object(records, row)
            if name not in keys:
                raise missing_column(self.name, name, list(keys), f"document {row} ")

    def _values(self, records: Records, names: Sequence[str]) -> dict[str, list[Any]]:
        """The values under these keys, read one line after the other."""
        values: dict[str, list[Any]] = {name: [] for name in names}
        for row in range(records.first_row, records.first_row + len(records)):
            found = self._object(records, row)
            for name in names:
                if name not in found:
                    raise missing_column(self.name, name, list(found), f"document {row} ")
                values[name].append(found[name])
        return values

    def _array(self, name: str, values: list[Any], records: Records) -> Any:
        arrow = pyarrow()
        try:
            return arrow.array(values)
        except arrow.ArrowException:
            kind = next(type(value) for value in values if value is not None)
            row = next(
                row
                for row, value in enumerate(values, records.first_row)
                if value is not None and not isinstance(value, kind)
            )
            value = values[row - records.first_row]
            raise DataError(
                f"{self.name}: document {row} has {value!r} as {name!r}, others there are of "
                f"type {kind.__name__}; make them alike."
            ) from None

    def _object(self, records: Records, row: int) -> dict[str, Any]:
        """The object in one line."""
        line = records.record(row)
        try:
            found = json.loads(line)
        except UnicodeDecodeError as error:
            raise DataError(
                f"{self.name}: document {row} is not valid UTF-8 (byte {error.start} of its line); "
                "convert the text to UTF-8."
            ) from None
        except json.JSONDecodeError as error:
            raise DataError(
                f"{self.name}: document {row} is not JSON ({error.msg}, character {error.pos} of "
                f"{_shown(line)}); {_REMEDY}."
            ) from None
        if not isinstance(found, dict):
            raise DataError(
                f"{self.name}: document {row} is no JSON object but {_shown(line)}; {_REMEDY}."
            )
        return found


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
