"""Rows to svmlight text, exactly: every value has enough digits to be read back unchanged."""

import contextlib
import itertools
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._core.threads import run_blocks
from .._core.types import Array
from .._core.validation import Rows, read_only
from .._loops.text.svmlight_output import BYTES_PER_VALUE, write_numbers, write_rows
from ..errors import DataError
from .packing import packing_of_name
from .svmlight_lines import is_number

_FORBIDDEN = (":", "#")
_BLOCK_VALUES = 1 << 17  # written together
_BYTES_PER_INTEGER = 20


class SvmlightWriter:
    """Writes lines, columns counted from 1, packed if the target's name says so.

    Without labels every row is given the label 0, since the format wants one.
    """

    def __init__(self, file: IO[bytes], target: Path) -> None:
        self._name = str(target)
        self._file: Any = file
        self._packed: Any = None
        packing = packing_of_name(target)
        if packing is not None:
            self._packed = self._file = packing.pack(file)

    def write(self, rows: Rows, y: Array | None) -> None:
        """Add rows."""
        labels, ends = self._label_text(np.zeros(len(rows), np.int64) if y is None else y)
        cuts = np.searchsorted(rows.indptr - rows.indptr[0], np.arange(0, rows.nnz, _BLOCK_VALUES))
        cuts = np.unique(np.concatenate([[0], cuts, [len(rows)]])).tolist()

        def work(block: tuple[int, int]) -> Array:
            start, stop = block
            n_values = int(rows.indptr[stop] - rows.indptr[start])
            n_bytes = n_values * BYTES_PER_VALUE + int(ends[stop] - ends[start]) + stop - start
            out = np.empty(n_bytes, np.uint8)
            mine = rows.indptr[start : stop + 1], rows.indices, rows.data
            return out[: write_rows(*mine, labels, ends[start : stop + 1], out)]

        for text in run_blocks(work, itertools.pairwise(cuts), None):
            self._file.write(text.data)

    def finish(self) -> None:
        """Write the end of the compressed stream."""
        if self._packed is not None:
            self._packed.close()

    def close(self) -> None:
        """Close the compressor, which may fail again after an error."""
        with contextlib.suppress(OSError, ValueError):
            self.finish()

    def _label_text(self, y: Array) -> tuple[Array, Array]:
        """The labels as bytes, one after the other, and where each ends."""
        ends = np.zeros(len(y) + 1, np.int64)
        if y.dtype.kind in "biu" and y.dtype != np.uint64:
            out = np.empty(len(y) * _BYTES_PER_INTEGER, np.uint8)
            write_numbers(read_only(y, np.int64), out, ends)
        else:
            texts = [str(label).encode() for label in y.tolist()]
            if y.dtype.kind not in "fu":
                for text in set(texts):
                    self._require_word(text.decode())
            out = np.frombuffer(b"".join(texts), np.uint8)
            np.cumsum([len(text) for text in texts], out=ends[1:])
        return read_only(out), read_only(ends)

    def _require_word(self, text: str) -> None:
        """Refuse a label that the reader would take for something else."""
        is_word = len(text.split()) == 1 and text == text.strip() and "\0" not in text
        if not is_word or any(sign in text for sign in _FORBIDDEN) or "," in text:
            raise DataError(
                f"{self._name}: the label {text!r} cannot stand in svmlight text; use words "
                "without spaces, commas, colons and #, or write .npz or Parquet."
            )
        if is_number(text.encode()):
            raise DataError(
                f"{self._name}: the label {text!r} is text but would be read as a number; "
                "make the labels numbers, or write .npz or Parquet."
            )
