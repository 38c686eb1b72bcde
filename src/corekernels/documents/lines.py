"""Plain text: one document per line, an empty line being an empty document."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.types import Array
from .._loops.text import records as loops
from .file import missing_column
from .records import RecordFile, Records
from .table import pyarrow

COLUMN = "text"


class Lines(RecordFile):
    """A file whose only column, "text", has one document per line."""

    format = "lines"
    kind = "text with one document per line"

    def _find(self, text: Array, starts: Array, ends: Array) -> int:
        return int(loops.find_lines(text, len(text), False, starts, ends))

    def _columns(self, records: Records, names: Sequence[str]) -> dict[str, Any]:
        for name in names:
            if name != COLUMN:
                raise missing_column(self.name, name, [COLUMN], "text with a document per line ")
        out = np.empty(int((records.ends - records.starts).sum()), np.uint8)
        offsets = np.empty(len(records) + 1, np.int64)
        loops.gather_lines(records.text, records.starts, records.ends, out, offsets)
        arrow = pyarrow()
        buffers = arrow.py_buffer(offsets), arrow.py_buffer(out)
        return {COLUMN: arrow.LargeStringArray.from_buffers(len(records), *buffers)}
