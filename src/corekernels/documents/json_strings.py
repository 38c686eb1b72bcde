"""Columns of strings from JSON lines, as Arrow arrays."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.threads import run_blocks, thread_count
from .._core.types import Array
from .._core.validation import read_only
from .._loops.text import json_lines as loops
from .file import pyarrow
from .records import Records

_SEGMENT_BYTES = 1 << 20  # that a thread takes at least


def json_strings(
    records: Records, names: Sequence[str], segment_bytes: int = _SEGMENT_BYTES
) -> dict[str, Any] | None:
    """The strings under these keys of all records; None where a record is out of the ordinary."""
    ends = _segments(records, segment_bytes)
    n_rows, room = len(records), len(records.text) + loops.SPARE_BYTES * len(ends)
    buffers = [pyarrow().allocate_buffer(room) for _ in names]  # its pool keeps memory at hand
    out = tuple(np.frombuffer(buffer, np.uint8) for buffer in buffers)
    offsets = np.full((len(names), n_rows + 1), loops.DONE, np.int64)
    filled = np.empty((len(ends) - 1, len(names)), np.int64)
    for segment, row in enumerate(ends[:-1]):  # apart, since bytes behind a string are written too
        filled[segment] = records.starts[row] + loops.SPARE_BYTES * segment
    begins, keys = filled.copy(), _keys(names)

    def work(segment: int) -> bool:
        some = slice(ends[segment], ends[segment + 1])
        found = loops.read_objects(
            records.text, records.starts[some], records.ends[some], keys, filled[segment],
            offsets[:, ends[segment] : ends[segment + 1] + 1], out,
        )  # fmt: skip
        return bool(found == loops.DONE)

    if not all(run_blocks(work, range(len(ends) - 1), None)):
        return None
    for column, text in enumerate(out):
        _close_gaps(text, offsets[column], ends, begins[:, column], filled[:, column])
    return {
        name: pyarrow().LargeStringArray.from_buffers(
            n_rows, pyarrow().py_buffer(offsets[column]), buffers[column]
        )
        for column, name in enumerate(names)
    }


def _segments(records: Records, segment_bytes: int) -> list[int]:
    """Where threads begin, and the end: rows of about as many bytes each."""
    n_bytes = len(records.text)
    n_segments = max(1, min(thread_count(None), n_bytes // segment_bytes))
    wanted = [n_bytes * segment // n_segments for segment in range(1, n_segments)]
    inner = np.searchsorted(records.starts, wanted).tolist()
    return sorted({0, *inner, len(records)})


def _keys(names: Sequence[str]) -> loops.Keys:
    encoded = [name.encode() for name in names]
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
