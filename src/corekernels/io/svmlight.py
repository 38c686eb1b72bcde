"""Rows from svmlight text: `label column:value column:value ... # comment`.

scikit-learn parses, in blocks of lines. A first look over the bytes (a twentieth of
the parser's time) finds the number of rows and columns and whether columns count from
0 or 1. Labels that are words are cut off before the parser, which knows numbers only,
sees the lines.
"""

import contextlib
import io
import re
from collections.abc import Iterator

import numpy as np
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from .._core.types import Array, PathLike
from .._core.validation import read_only
from .._loops.text import svmlight as scan
from ..errors import DataError, FileError
from . import svmlight_lines as lines
from .format import Format, ReadOptions
from .readers import Batch, RowReader
from .streams import HEAD_BYTES, ByteStream, display_name, is_stream, line_blocks
from .svmlight_writer import SvmlightWriter

_SCAN_BYTES = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_QUERY = re.compile(rb"^[^\S\n]*[^\s#]+[^\S\n]+qid", re.MULTILINE)


class SvmlightReader(RowReader):
    """Rows of an svmlight file, plain or packed, or of standard input."""

    format = "svmlight"

    def __init__(self, path: PathLike, options: ReadOptions) -> None:
        super().__init__(display_name(path), options.batch_bytes, options.batch_rows)
        n_columns, one_based = options.n_columns, options.one_based
        self._path = path
        self._labels = options.labels
        self.is_stream = is_stream(path)
        self._is_used = False
        self._integers: bool | None = None  # whether all labels are; unknown before a scan
        self._words: bool | None = None  # whether labels are words; the first row's tells
        if self.is_stream:
            if n_columns is None:
                raise FileError(
                    f"{self.name}: can be read only once, so its number of columns cannot be "
                    "found first; pass n_columns."
                )
            one_based = True if one_based is None else one_based
        elif n_columns is None or one_based is None:
            n_columns, one_based = self._scan(n_columns, one_based)
        else:
            with ByteStream(path) as stream:
                self.n_bytes = stream.n_bytes
        self.n_columns, self.one_based = n_columns, one_based

    def _scan(self, n_columns: int | None, one_based: bool | None) -> tuple[int, bool]:
        """The number of columns and where they count from, by one look over the bytes."""
        facts = np.zeros(scan.N_FACTS, np.int64)
        facts[scan.LARGEST] = -1
        with ByteStream(self._path) as stream:
            self.n_bytes = stream.n_bytes
            for block in line_blocks(stream, _SCAN_BYTES):
                if not facts[scan.LINES]:
                    block = block.removeprefix(_BYTE_ORDER_MARK)
                scan.scan_lines(read_only(np.frombuffer(block, np.uint8)), facts)
        self.n_rows = int(facts[scan.ROWS])
        self._integers = not facts[scan.OTHER_LABELS]
        if facts[scan.QUERIES]:
            self._note_queries()
        self._require_rows(self.n_rows)
        if facts[scan.LARGEST] > lines.MAX_COLUMN:
            raise DataError(
                f"{self.name}: line {facts[scan.LARGEST_LINE]} has a column beyond "
                f"{lines.MAX_COLUMN}, the largest that can be read; number the columns anew or "
                "hash them."
            )
        if one_based and facts[scan.ZERO_LINE]:
            raise DataError(
                f"{self.name}: line {facts[scan.ZERO_LINE]} has a column 0, but columns count "
                "from 1 in this file; pass one_based=False."
            )
        found_base = not facts[scan.ZERO_LINE] if one_based is None else one_based
        found = int(facts[scan.LARGEST]) + 1 - int(found_base)
        if n_columns is None and found < 1:
            raise FileError(
                f"{self.name}: no row has a column:value; pass n_columns if that is right, or "
                "give svmlight text."
            )
        if n_columns is not None and found > n_columns:
            raise DataError(
                f"{self.name}: line {facts[scan.LARGEST_LINE]} has the column "
                f"{facts[scan.LARGEST]}, but there are to be {n_columns} columns counted from "
                f"{int(found_base)}; pass a larger n_columns."
            )
        return (found if n_columns is None else n_columns), bool(found_base)

    def _batches(self) -> Iterator[Batch]:
        if self.is_stream and self._is_used:
            raise FileError(f"{self.name}: was read before and is gone; save it in a file first.")
        self._is_used = True
        line, row = 1, 0
        with ByteStream(self._path) as stream:
            for block in line_blocks(stream, self._batch_bytes):
                if line == 1:
                    block = block.removeprefix(_BYTE_ORDER_MARK)
                X, y = self._parse(block, line)
                line += block.count(b"\n")
                if X.shape[0]:
                    yield Batch(X, y, row, stream.position)
                    row += X.shape[0]
        self._require_rows(row)

    def _parse(self, block: bytes, first_line: int) -> tuple[sparse.csr_array, Array | None]:
        """The rows of whole lines, or an error that names the line."""
        lines.require_text(self.name, block, first_line)
        if self._words is None and (label := _first_label(block)) is not None:
            self._words = not lines.is_number(label)
        if b"qid" in block and _QUERY.search(block):
            self._note_queries()
        cut = bool(self._words)
        try:
            return self._read(block, cut)
        except (ValueError, OverflowError):
            if not (cut or self._labels):
                with contextlib.suppress(ValueError, OverflowError):
                    return self._read(block, cut=True)  # unwanted labels may be anything
        raise self._refusal(block, first_line, cut)

    def _read(self, block: bytes, cut: bool) -> tuple[sparse.csr_array, Array | None]:
        """What the parser makes of lines, their labels cut off or not; ValueError if nothing."""
        words, numbers = _cut_labels(block) if cut else ([], block)
        if any(lines.word_fault(word, self._labels) for word in set(words)):
            raise ValueError("a label")
        if b"_" in numbers and lines.SEPARATED_DIGITS.search(numbers):
            raise ValueError("Python's digit separators")
        X, y = load_svmlight_file(
            io.BytesIO(numbers), n_features=self.n_columns, zero_based=not self.one_based
        )
        if not np.isfinite(X.data).all():
            raise ValueError("a value")
        rows = sparse.csr_array(X)
        if not self._labels:
            return rows, None
        return rows, np.array([w.decode() for w in words]) if cut else self._numbers(block, y)

    def _numbers(self, block: bytes, y: Array) -> Array:
        """Labels as integers where all of the file's are (of the block's, in a pipe)."""
        integers = self._integers
        if integers is None:
            integers = not (y % 1).any() and all(map(lines.WHOLE.fullmatch, _cut_labels(block)[0]))
        if not np.isfinite(y).all() or (integers and np.abs(y).max(initial=0) >= lines.MAX_LABEL):
            raise ValueError("a label")
        return y.astype(np.int64) if integers else y

    def _refusal(self, block: bytes, first_line: int, cut: bool) -> DataError:
        """The error that names the first bad line of a block."""

        def accepts(part: bytes) -> bool:
            try:
                self._read(part, cut or not self._labels)
            except (ValueError, OverflowError):
                return False
            return True

        texts = block.split(b"\n")
        place = lines.first_refused(texts, accepts)
        kind = "words" if cut else "numbers"
        fault = lines.complaint(
            texts[place], bool(self.one_based), self.n_columns, kind if self._labels else "ignored"
        )
        return DataError(f"{self.name}: line {first_line + place} {fault}.")

    def _require_rows(self, n_rows: int) -> None:
        if n_rows == 0:
            raise FileError(f"{self.name}: is empty, it holds no rows; check how it was made.")

    def _note_queries(self) -> None:
        self._note("query ids (qid) were ignored")


def _first_label(block: bytes) -> bytes | None:
    for line in io.BytesIO(block):
        if tokens := lines.content(line).split(None, 1):
            return tokens[0]
    return None


def _cut_labels(block: bytes) -> tuple[list[bytes], bytes]:
    """The labels of lines, and the lines with 0 in their place."""
    labels, rest = [], []
    for line in block.split(b"\n"):
        tokens = lines.content(line).split(None, 1)
        if tokens:
            labels.append(tokens[0])
            tokens[0] = b"0"
        rest.append(b" ".join(tokens))
    return labels, b"\n".join(rest)


def require_svmlight(path: PathLike, head: bytes) -> None:
    """Refuse what is plainly no svmlight text; finer faults are for the reader to name."""
    text = head
    if len(head) == HEAD_BYTES:  # the last character may be cut
        text = re.sub(rb"[\xc0-\xff][\x80-\xbf]{0,2}\Z", b"", head)
    lines.require_text(str(path), text, 1)
    complete = len(head) < HEAD_BYTES or b"\n" in head
    for number, line in enumerate(head.removeprefix(_BYTE_ORDER_MARK).split(b"\n"), 1):
        tokens = lines.content(line).split()
        if not tokens:
            continue
        strange = next((token for token in tokens[1:] if b":" not in token), None)
        if strange is not None and complete:
            raise FileError(
                f"{path}: line {number} has {lines.shown(strange)} where column:value should "
                "stand; give rows as svmlight text, .npz, .npy or Parquet."
            )
        return


FORMAT = Format(
    "svmlight",
    (".svm", ".svmlight", ".libsvm", ".txt", ".dat"),
    (),
    SvmlightReader,
    SvmlightWriter,
    require_svmlight,
    is_text=True,
)
