"""Rows to svmlight text, exactly: every value has enough digits to be read back unchanged."""

import bz2
import contextlib
import gzip
import itertools
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._core.types import Array
from .._core.validation import Rows
from ..errors import DataError
from .svmlight_lines import is_number

_FORBIDDEN = (":", "#")


class SvmlightWriter:
    """Writes lines, columns counted from 1, packed if the target's name ends in .gz or .bz2.

    Without labels every row is given the label 0, since the format wants one.
    """

    def __init__(self, file: IO[bytes], target: Path) -> None:
        self._name = str(target)
        self._file: Any = file
        self._packed: Any = None
        if target.suffix == ".gz":  # no name and no date: equal rows make equal bytes
            self._packed = self._file = gzip.GzipFile("", "wb", 6, file, mtime=0)
        elif target.suffix == ".bz2":
            self._packed = self._file = bz2.BZ2File(file, "wb")

    def write(self, rows: Rows, y: Array | None) -> None:
        """Add rows."""
        labels = ["0"] * len(rows) if y is None else self._label_texts(y)
        stored = slice(rows.indptr[0], rows.indptr[-1])
        columns = (rows.indices[stored].astype(np.int64) + 1).tolist()
        # float32 is widened first: its own shorter digits would be read as another float64
        values = rows.data[stored].astype(np.float64).tolist()
        pairs = [f" {i}:{v!r}" for i, v in zip(columns, values, strict=True)]
        ends = (rows.indptr - rows.indptr[0]).tolist()
        texts = ("".join(pairs[start:stop]) for start, stop in itertools.pairwise(ends))
        # 3, not 3.0; done before labels come in, which may end in .0 themselves
        columns_of_rows = ("\n".join(texts) + "\n").replace(".0 ", " ").replace(".0\n", "\n")
        for label, columns_of_row in zip(labels, columns_of_rows.split("\n"), strict=False):
            self._file.write(f"{label}{columns_of_row}\n".encode())

    def finish(self) -> None:
        """Write the end of the compressed stream."""
        if self._packed is not None:
            self._packed.close()

    def close(self) -> None:
        """Close the compressor, which may fail again after an error."""
        with contextlib.suppress(OSError, ValueError):
            self.finish()

    def _label_texts(self, y: Array) -> list[str]:
        if y.dtype.kind in "US" or y.dtype == object:
            texts = [str(label) for label in y.tolist()]
            for text in set(texts):
                self._require_word(text)
            return texts
        if y.dtype.kind == "b":
            y = y.astype(np.int64)
        return [repr(label) for label in y.tolist()]

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
