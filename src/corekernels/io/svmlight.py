"""Rows from svmlight text: `label [qid:n] column:value column:value ... # comment`.

Blocks of lines are read ahead in a thread of their own, cut into one segment per thread, and
parsed by loops that hold no lock, one block ahead of what is done with the rows. Where the
number of columns is not known, a first pass over the text finds out; if only where they count
from is not, a look at the first block.
"""

import contextlib
import itertools
import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._core.arguments import Array, PathLike
from .._core.progress import read_ahead
from .._core.threads import run_blocks, thread_count
from .._core.validation import Rows, is_number, read_only
from .._loops.text import svmlight as loops
from ..errors import DataError, FileError
from . import svmlight_text as lines
from .formats import FileRows, Format, ReadOptions
from .readers import Batch, BlockStart
from .streams import HEAD_BYTES, ByteStream, is_stream, line_blocks, packing_of_name
from .svmlight_text import BadToken, ParsedBlock, count_block, parse_block, scan_block

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
            n_bytes = (
                n_values * loops.BYTES_PER_VALUE + int(ends[stop] - ends[start]) + stop - start
            )
            out = np.empty(n_bytes, np.uint8)
            block_rows = rows.indptr[start : stop + 1], rows.indices, rows.data
            return out[: loops.write_rows(*block_rows, labels, ends[start : stop + 1], out)]

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
            loops.write_numbers(read_only(y, np.int64), out, ends)
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


class SvmlightReader(FileRows):
    """Rows of an svmlight file, plain or packed, or of standard input.

    A pass over the text, where the number of columns is to be found, also finds `integer_labels`
    and, unless the text is packed, `block_starts`.
    """

    format = "svmlight"

    def __init__(self, path: PathLike, options: ReadOptions) -> None:
        super().__init__(path, options)
        self._labels = options.labels
        self._n_threads = thread_count(options.n_jobs)
        self.is_stream = is_stream(path)
        self._is_used = False
        self._words: bool | None = None  # whether labels are words; the first row's tells
        n_columns, one_based = options.n_columns, options.one_based
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
            with ByteStream(self._source) as stream:
                self.n_bytes = stream.n_bytes
        self.n_columns, self.one_based = n_columns, one_based

    @contextlib.contextmanager
    def _blocks(self, first_byte: int = 0) -> Iterator[tuple[ByteStream, Iterator[Array]]]:
        with ByteStream(self._source) as stream:
            if first_byte:
                stream.seek(first_byte)
            with contextlib.closing(
                line_blocks(stream, self._batch_bytes, self._max_record_bytes)
            ) as blocks:
                yield stream, blocks

    def _scan(self, n_columns: int | None, one_based: bool | None) -> tuple[int, bool]:
        """The number of columns and where they count from, by a pass over the text.

        If the number is given, over the first block only. Reading refuses what does not fit.
        """
        facts = loops.NO_FACTS.copy()
        starts, n_bytes = [], 0
        with self._blocks() as (stream, blocks):
            self.n_bytes = stream.n_bytes
            for block in blocks:
                starts.append(BlockStart(int(facts[loops.ROWS]), int(facts[loops.LINES]), n_bytes))
                n_bytes += len(block)
                for more in scan_block(read_only(block), self._n_threads):
                    facts[loops.LARGEST] = max(facts[loops.LARGEST], more[loops.LARGEST])
                    facts[loops.COUNTS] += more[loops.COUNTS]
                if n_columns is not None:
                    break
        if one_based is None:
            one_based = not facts[loops.ZERO_COLUMNS]
        if n_columns is not None:
            return n_columns, one_based
        if stream.packing is None and n_bytes >= (self.n_bytes or 0):  # no byte order mark
            self.block_starts = [start._replace(line=start.line + 1) for start in starts]
        self.n_rows = int(facts[loops.ROWS])
        self.integer_labels = not facts[loops.OTHER_LABELS]
        self._require_rows(self.n_rows)
        n_columns = int(facts[loops.LARGEST]) + 1 - one_based
        if n_columns < 1:
            raise FileError(
                f"{self.name}: no row has a column:value; pass n_columns if that is right, or "
                "give svmlight text."
            )
        return min(n_columns, lines.MAX_COLUMN), one_based

    def batches(self, first_row: int = 0) -> Iterator[Batch]:
        """As of `RowReader`; text before a known start of a block is not read."""
        batches = self._parsed_batches(first_row)
        return read_ahead(batches) if self._n_threads > 1 else batches

    def _parsed_batches(self, first_row: int) -> Iterator[Batch]:
        if self.is_stream and self._is_used:
            raise FileError(f"{self.name}: was read before and is gone; save it in a file first.")
        self._is_used = True
        starts = [start for start in self.block_starts if start.row <= first_row]
        row, line, byte = starts[-1] if starts else (0, 1, 0)
        with self._blocks(byte) as (stream, blocks):
            for block in blocks:
                text = read_only(block)
                if self.is_stream and line == 1:
                    require_svmlight(self.name, text[:HEAD_BYTES].tobytes())
                try:
                    parsed = self._parse(text, line)
                    y = self._label_array(text, parsed) if self._labels else None
                except BadToken as bad:
                    place = self.name, text, line, int(bool(self.one_based)), self.n_columns
                    raise bad.error(*place) from None
                line += parsed.n_lines
                if len(parsed.rows):
                    yield Batch(parsed.rows, y, row, stream.position)
                    row += len(parsed.rows)
        self._require_rows(row)

    def _parse(self, text: Array, first_line: int) -> ParsedBlock:
        """The rows of whole lines."""
        block = count_block(text, self._n_threads)
        if not block.is_ascii:
            lines.require_text(self.name, text, first_line)
        base = int(bool(self.one_based))
        parsed = parse_block(text, block, base, self.n_columns, self._n_threads)
        if parsed.n_queries:
            self._note("query ids (qid) were ignored")
        return parsed

    def _label_array(self, text: Array, parsed: ParsedBlock) -> Array:
        """Labels as words or numbers: integers where all of the file's (or pipe's block's) are."""
        if self._words is None and len(parsed.labels):
            first = text[parsed.label_starts[0] : parsed.label_ends[0]].tobytes()
            self._words = not is_number(first)
        if self._words:
            return self._word_labels(text, parsed)
        y, integers = parsed.labels, self.integer_labels
        for row in np.flatnonzero(np.isnan(y)):
            token = text[parsed.label_starts[row] : parsed.label_ends[row]].tobytes()
            if not lines.is_finite_number(token):
                raise BadToken(int(parsed.label_starts[row]))
            y[row] = float(token)
        if integers is None:
            integers = not parsed.n_fractions
        if integers:
            for row in np.flatnonzero(np.abs(y) >= lines.MAX_LABEL):
                raise BadToken(int(parsed.label_starts[row]))
        return y.astype(np.int64) if integers else y

    def _word_labels(self, text: Array, parsed: ParsedBlock) -> Array:
        words = parsed.label_words(text)
        distinct = set(words.tolist())
        for word in distinct:
            if not lines.is_word_label(word):
                raise BadToken(int(parsed.label_starts[np.argmax(words == word)]))
        if all(word.isascii() for word in distinct):
            return words.astype(np.str_)
        return np.array([word.decode() for word in words.tolist()])

    def _require_rows(self, n_rows: int) -> None:
        if n_rows == 0:
            raise FileError(f"{self.name}: is empty, it holds no rows; check how it was made.")


def require_svmlight(path: PathLike, head: bytes) -> None:
    """Refuse what is plainly no svmlight text; finer faults are for the reader to name."""
    text = head
    if len(head) == HEAD_BYTES:  # the last character may be cut
        text = re.sub(rb"[\xc0-\xff][\x80-\xbf]{0,2}\Z", b"", head)
    lines.require_text(str(path), np.frombuffer(text, np.uint8), 1)
    complete = len(head) < HEAD_BYTES or b"\n" in head
    for number, line in enumerate(head.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        tokens = lines.content(line).split()
        if not tokens:
            continue
        if tokens[0].startswith(b'{"'):
            raise FileError(
                f"{path}: line {number} begins as JSON does, which holds documents, not rows; name "
                "their column of text (text='COLUMN'), or give rows as svmlight text, .npz, .npy "
                "or Parquet."
            )
        if b":" not in line and re.search(rb"[,;\t]", line.strip()) and complete:
            raise FileError(
                f"{path}: line {number} holds values with commas, semicolons or tabs between; name "
                "the format, csv (commas) or tsv (tabs), with names of columns in the first line. "
                "If it holds documents, name their column of text (text='COLUMN')."
            )
        return


FORMATS = {
    "svmlight": Format(
        "svmlight",
        (".svm", ".svmlight", ".libsvm", ".txt", ".dat"),
        (),
        SvmlightReader,
        SvmlightWriter,
        require_svmlight,
        is_text=True,
    )
}
