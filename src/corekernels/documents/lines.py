"""Plain text with one document per line, and JSON lines: one object per line.

JSON is read by loops of our own, and by Python where these refuse it.
"""

import itertools
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._core.arguments import Array
from .._core.threads import run_blocks, thread_count
from .._core.validation import read_only
from .._loops.text import records as loops
from ..errors import DataError
from ..io.parquet import numbers_of_text, strings_of, text_labels
from ..io.streams import BadRecords
from ..text.rows import Texts
from .files import DocumentTable, RecordFile, Records, no_column, others, pyarrow, without

_LINE = "text"  # the column of plain text
_SEGMENT_BYTES = 1 << 20  # that a thread takes at least
_REMEDY = "write one JSON object per line (jq -c does), or name the format: csv, tsv or lines"
_QUOTE, _NULL, _TRUE, _RETURN = b'"nt\r'

# what a value is, by its first byte
_NESTED, _TEXT, _NUMBER, _BOOLEAN, _NOTHING = range(5)
_KINDS = np.full(256, _NESTED, np.uint8)
for _first, _kind in ((b'"', _TEXT), (b"-0123456789NI", _NUMBER), (b"tf", _BOOLEAN),
                      (b"n", _NOTHING)):  # fmt: skip
    _KINDS[list(_first)] = _kind


class Values(NamedTuple):
    """Values under a key: strings decoded, numbers and words as they stand; their first bytes."""

    texts: Texts
    first_bytes: Array

    @property
    def text(self) -> Any:
        """The strings as an Arrow array."""
        arrow = pyarrow()
        buffers = arrow.py_buffer(self.texts.offsets), arrow.py_buffer(self.texts.text)
        return arrow.LargeStringArray.from_buffers(len(self.texts), *buffers)


class JsonLines(RecordFile):
    """A file of JSON objects, one per line; columns are their keys."""

    format = "jsonl"
    kind = "JSON lines"

    def table(self, records: Records, columns: Sequence[str]) -> "ValueTable":
        """The values under these keys."""
        return ValueTable(self.name, read_values(records, columns))


class TextLines(RecordFile):
    """A file whose only column, "text", has one document per line, be it empty."""

    format = "lines"
    kind = "text with one document per line"
    skips_blank = False

    def table(self, records: Records, columns: Sequence[str]) -> "ValueTable":
        """The lines."""
        for name in columns:
            if name != _LINE:
                fault = no_column(name, [_LINE])
                raise DataError(f"{self.name}: text with a document per line {fault}.")
        starts, ends = records.starts, records.ends
        ends = ends - ((ends > starts) & (records.text[ends - 1] == _RETURN))
        offsets = np.concatenate([[0], np.cumsum(ends - starts)])
        out = np.empty(offsets[-1], np.uint8)
        loops.gather(records.text, starts, read_only(ends), False, out)
        texts = Texts(read_only(out), read_only(offsets))
        return ValueTable(self.name, {_LINE: Values(texts, np.full(len(texts), _QUOTE, np.uint8))})


@dataclass(frozen=True)
class ValueTable(DocumentTable):
    """Values under keys, whose types may differ from document to document."""

    columns: dict[str, Values]

    def labels(self, name: str, is_text: bool | None = None) -> Array:
        """As of `DocumentTable`; of values of several types the most frequent one counts."""
        values, kinds = self.columns[name].text, self._kinds(name)
        counts = np.bincount(kinds, minlength=_NOTHING + 1)
        counts[[_NESTED, _NOTHING]] = 0
        if is_text is not None:
            counts[[_NUMBER, _BOOLEAN] if is_text else _TEXT] = -1
        kind = int(counts.argmax()) or (_NUMBER if is_text is False else _TEXT)
        is_text = kind == _TEXT if is_text is None else is_text
        self._refuse(name, kinds != kind, "has no label; fill or drop it", others(is_text), "label")
        if kind == _TEXT:
            return text_labels(values)
        if kind == _BOOLEAN:
            return self.columns[name].first_bytes == _TRUE
        return numbers_of_text(values)

    def strings(self, name: str) -> list[str]:
        """As of `DocumentTable`; numbers as they stand in the file."""
        kinds = self._kinds(name)
        self._refuse(name, kinds == _NESTED, "", "which is neither text nor a number", repr(name))
        values = strings_of(self.columns[name].text, repr(name))
        nothing = np.flatnonzero(kinds == _NOTHING).tolist()
        for place in nothing:
            values[place] = ""
        return values

    def texts(self, names: Sequence[str]) -> Any:
        """As of `DocumentTable`; of one column without Arrow."""
        if len(names) > 1:
            return super().texts(names)
        self._require_text(names[0])
        return self.columns[names[0]].texts

    def _text(self, name: str) -> Any:
        self._require_text(name)
        return self.columns[name].text

    def _require_text(self, name: str) -> None:
        wrong = self.columns[name].first_bytes != _QUOTE
        end = "which is no text; give a column of text"
        self._refuse(name, wrong, without(name), end, repr(name))

    def _kinds(self, name: str) -> Array:
        return _KINDS[self.columns[name].first_bytes]

    def _refuse(self, name: str, wrong: Array, if_null: str, end: str, what: str) -> None:
        """Refuse values, if there are any."""
        if not wrong.any():
            return
        values, faults = self.columns[name], {}
        for place in np.flatnonzero(wrong)[: BadRecords.TOGETHER].tolist():
            first = int(values.first_bytes[place])
            value = {ord("{"): "an object", ord("["): "a list"}.get(first)
            value = value or _shown(values.texts.document(place))
            is_null = first == _NULL
            faults[place] = if_null if is_null else f"has {value} as {what}, {end}"
        raise BadRecords(faults)


def read_values(
    records: Records, names: Sequence[str], segment_bytes: int = _SEGMENT_BYTES
) -> dict[str, Values]:
    """The values under these keys of all records."""
    ends = _segments(records, segment_bytes)
    n_rows, room = len(records), len(records.text) + loops.SPARE_BYTES * len(ends)
    out = tuple(np.empty(room, np.uint8) for _ in names)
    offsets = np.full((len(names), n_rows + 1), loops.DONE, np.int64)
    kinds = np.empty((len(names), n_rows), np.uint8)
    filled = np.empty((len(ends) - 1, len(names)), np.int64)
    for segment, row in enumerate(ends[:-1]):  # apart, since bytes behind a value are written too
        filled[segment] = records.starts[row] + loops.SPARE_BYTES * segment
    begins, keys = filled.copy(), _keys(names)

    def work(segment: int) -> dict[int, str]:
        first, stop = ends[segment], ends[segment + 1]
        lines = records.starts[first:stop], records.ends[first:stop]
        columns = offsets[:, first : stop + 1], kinds[:, first:stop]
        faults: dict[int, str] = {}
        row = 0
        while len(faults) < BadRecords.TOGETHER:
            row = loops.read_objects(
                records.text, *lines, row, keys, filled[segment], *columns, out
            )
            if row == loops.DONE:
                break
            values: list[tuple[int, bytes]] = [(_NULL, b"")] * len(names)
            try:
                values = _values(records.record(first + row), names)
            except _Fault as fault:
                faults[first + row] = str(fault)
            filled[segment] = columns[0][:, row] if row else begins[segment]
            for column, (kind, value) in enumerate(values):
                start = filled[segment, column]
                out[column][start : start + len(value)] = np.frombuffer(value, np.uint8)
                filled[segment, column] += len(value)
                columns[0][column, row + 1] = filled[segment, column]
                columns[1][column, row] = kind
            row += 1
        return faults

    faults = {
        k: fault
        for part in run_blocks(work, range(len(ends) - 1), None)
        for k, fault in part.items()
    }
    if faults:
        raise BadRecords(faults)
    for column, text in enumerate(out):
        _close_gaps(text, offsets[column], ends, begins[:, column], filled[:, column])
    return {
        name: Values(Texts(read_only(text), read_only(ends)), first_bytes)
        for name, text, ends, first_bytes in zip(names, out, offsets, kinds, strict=True)
    }


def _segments(records: Records, segment_bytes: int) -> list[int]:
    """Where threads begin, and the end: rows of about as many bytes each."""
    n_bytes = len(records.text)
    n_segments = max(1, min(thread_count(None), n_bytes // segment_bytes))
    places = [n_bytes * segment // n_segments for segment in range(1, n_segments)]
    inner = np.searchsorted(records.starts, places).tolist()
    return sorted({0, *inner, len(records)})


def _keys(names: Sequence[str]) -> loops.Keys:
    encoded = [name.encode(errors="surrogatepass") for name in names]
    ends = [0, *itertools.accumulate(map(len, encoded))]
    text = np.frombuffer(b"".join(encoded), np.uint8)
    return loops.Keys(read_only(text), read_only(np.array(ends, np.int64)))


def _close_gaps(text: Array, offsets: Array, rows: list[int], begins: Array, ends: Array) -> None:
    """Move what threads have written together, and let offsets say where it lies then."""
    offsets[0] = n_bytes = 0
    for row, next_row, begin, end in zip(rows[:-1], rows[1:], begins, ends, strict=True):
        gap = begin - n_bytes
        if gap:
            text[n_bytes : end - gap] = text[begin:end]
            offsets[row + 1 : next_row + 1] -= gap
        n_bytes = end - gap


class _Fault(Exception):
    """What is wrong with a line."""


class _Number(str):
    """A number as it stands."""

    __slots__ = ()


def _values(line: bytes, names: Sequence[str]) -> list[tuple[int, bytes]]:
    """The values under these keys of an object, as the loops write them: first byte and text."""
    try:
        fields = json.loads(
            line.decode(), parse_int=_Number, parse_float=_Number, parse_constant=_Number
        )
    except UnicodeDecodeError as error:
        raise _Fault(
            f"is not valid UTF-8 (byte {error.start} of its line); convert the text to UTF-8"
        ) from None
    except json.JSONDecodeError as error:
        raise _Fault(
            f"is not JSON ({error.msg}, character {error.pos} of {_shown(line)}); {_REMEDY}"
        ) from None
    except RecursionError:
        raise _Fault("is nested too deeply; leave out what is not needed of it") from None
    if not isinstance(fields, dict):
        raise _Fault(f"is no JSON object but {_shown(line)}; {_REMEDY}")
    for name in names:
        if name not in fields:
            raise _Fault(no_column(name, list(fields)))
    return [_value(fields[name], name) for name in names]


def _value(value: Any, name: str) -> tuple[int, bytes]:
    if isinstance(value, _Number):
        return ord(value[0]), value.encode()
    if isinstance(value, str):
        try:
            return _QUOTE, value.encode()
        except UnicodeEncodeError as error:
            raise _Fault(
                f"has half of a character (a surrogate) in {name!r}, at character {error.start}; "
                "write whole characters"
            ) from None
    if isinstance(value, dict | list):
        return ord("{" if isinstance(value, dict) else "["), b""
    return (_NULL, b"null") if value is None else (b"ft"[value], json.dumps(value).encode())


def _shown(line: bytes) -> str:
    text = line.decode(errors="replace").strip()
    return repr(text if len(text) <= 40 else f"{text[:40]}...")
