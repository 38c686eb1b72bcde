"""Rows of n-grams of many documents: the loops in threads, and their results put together.

Documents as the loops take them: UTF-8 bytes one after the other, and where each begins.

Arrow arrays pass as they are; anything else becomes one, or is encoded document by document
where pyarrow is not installed.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._core.arguments import Array
from .._core.threads import run_blocks, thread_count
from .._core.validation import Rows, read_only
from .._loops.text import grams
from .._loops.text import shingles as loops
from ..errors import DataError, DataTypeError
from ..io.streams import BadRecords
from .settings import N_COLUMNS, TextSettings

_LONGEST = 2**30  # bytes of a document
_OFFSETS = {"string": np.int32, "large_string": np.int64}


class Texts(NamedTuple):
    """Consecutive documents: document d is text[offsets[d]:offsets[d + 1]]."""

    text: Array
    offsets: Array

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def document(self, place: int) -> bytes:
        """The bytes of a document."""
        return self.text[self.offsets[place] : self.offsets[place + 1]].tobytes()


def as_texts(documents: Any, name: str = "X") -> list[Texts]:
    """The documents of a list, an array, a series or an Arrow array, in as many pieces."""
    if isinstance(documents, Texts):
        return [documents]
    if isinstance(documents, str | bytes):
        raise DataError(
            f"{name}: is a single string, not a collection of documents; put it into a list."
        )
    if getattr(documents, "ndim", 1) != 1:
        shape = " x ".join(map(str, documents.shape))
        raise DataError(f"{name}: is of shape {shape}; give one document after the other.")
    pieces: list[Texts] = []
    row = 0
    for array in _arrow_arrays(documents, name):
        is_list = isinstance(array, list)
        pieces.append(_encoded(array, name) if is_list else _of_arrow(array, name, row))
        row += len(pieces[-1])
    return pieces


def _arrow_arrays(documents: Any, name: str) -> Iterator[Any]:
    """The documents as Arrow arrays of strings, or as a list where there is no pyarrow."""
    if not isinstance(documents, Iterable):
        raise DataTypeError(f"{name}: is a {type(documents).__name__}; give a list of strings.")
    try:
        import pyarrow
    except ImportError:
        yield list(documents)
        return
    if isinstance(documents, pyarrow.Array | pyarrow.ChunkedArray):
        arrow = documents
    elif hasattr(documents, "__arrow_c_stream__"):
        arrow = pyarrow.chunked_array(documents)
    else:
        documents = documents if isinstance(documents, np.ndarray | list) else list(documents)
        try:
            arrow = pyarrow.array(documents, pyarrow.large_string())
        except (pyarrow.ArrowException, UnicodeEncodeError, TypeError, ValueError):
            yield list(documents)  # one by one, so that an error names the document
            return
    if pyarrow.types.is_dictionary(arrow.type):
        arrow = arrow.cast(arrow.type.value_type)
    if str(arrow.type) == "string_view":  # texts that do not lie one after the other
        arrow = arrow.cast(pyarrow.large_string())
    if str(arrow.type) not in _OFFSETS:
        raise DataTypeError(f"{name}: holds values of type {arrow.type}; give strings.")
    yield from arrow.chunks if isinstance(arrow, pyarrow.ChunkedArray) else [arrow]


def _of_arrow(array: Any, name: str, first_row: int) -> Texts:
    """The buffers of an Arrow array, without a copy."""
    if array.null_count:
        row = first_row + int(np.argmax(array.is_null().to_numpy(zero_copy_only=False)))
        raise _missing(name, row)
    dtype = _OFFSETS[str(array.type)]
    _, offsets, text = array.buffers()
    if offsets is None or not len(array):
        return Texts(_bytes(None), read_only(np.zeros(1, np.int64)))
    start = array.offset
    ends = np.frombuffer(offsets, dtype)[start : start + len(array) + 1]
    return _checked(_bytes(text), read_only(ends, np.int64), name, first_row)


def _encoded(documents: list[Any], name: str) -> Texts:
    """A list of strings, encoded one by one."""
    encoded = []
    for row, document in enumerate(documents):
        if document is None or (isinstance(document, float) and np.isnan(document)):
            raise _missing(name, row)
        if not isinstance(document, str | bytes):
            kind = type(document).__name__
            raise DataTypeError(f"{name}: document {row} is of type {kind}; give strings.")
        try:
            encoded.append(document.encode() if isinstance(document, str) else document)
        except UnicodeEncodeError as error:
            raise DataError(
                f"{name}: document {row} cannot be written in UTF-8 ({error.reason} at character "
                f"{error.start}); replace such characters."
            ) from None
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(document) for document in encoded], out=offsets[1:])
    return _checked(_bytes(b"".join(encoded)), read_only(offsets), name, 0)


def _bytes(buffer: Any) -> Array:
    return read_only(np.frombuffer(b"" if buffer is None else buffer, np.uint8))


def _checked(text: Array, offsets: Array, name: str, first_row: int) -> Texts:
    """The documents, unless one is too long for the loops or not within the text."""
    lengths = np.diff(offsets)
    if lengths.min(initial=0) < 0 or offsets[0] < 0 or offsets[-1] > len(text):
        raise DataError(f"{name}: its offsets leave its text; the Arrow array is damaged.")
    if lengths.max(initial=0) > _LONGEST:
        row = first_row + int(np.argmax(lengths))
        raise DataError(
            f"{name}: document {row} has {lengths.max():,} bytes, more than {_LONGEST:,}; cut it."
        )
    return Texts(text, offsets)


def _missing(name: str, row: int) -> DataError:
    return DataError(
        f"{name}: document {row} is missing (null or NaN); make it an empty string, or drop it."
    )


_BLOCK_BYTES = 1 << 16  # of text that a thread takes at a time
_BUFFER_COLUMNS = 1 << 21  # room in a buffer: many, for large pages of memory
_RUNS = 1 << 12
_TEXT_BYTES = 1 << 14  # room for a document, once normalised, to begin with
_GRAMS = 1 << 12
_MOST_KEPT = 64  # for so many threads
_MOST_BYTES = 1 << 24  # larger ones are not kept

_END = np.iinfo(np.int64).max // 2

_kept: list[loops.Scratch] = []  # not in use at the moment; a list's pop and append are atomic


def text_rows(
    texts: Texts,
    settings: TextSettings,
    dtype: Any = np.float32,
    n_jobs: int | None = None,
    buffer_columns: int = _BUFFER_COLUMNS,
) -> Rows:
    """A row for each document: ascending columns of its n-grams and their weights.

    Documents that are not UTF-8 are `BadRecords`: one for each thread that comes upon one.
    """
    n_rows = len(texts)
    task = loops.DocumentBlocks(
        np.zeros(1, np.int64), _cuts(texts.offsets), texts.text, texts.offsets,
        np.zeros(n_rows, np.int64),
    )  # fmt: skip
    characters = characters_for(settings.lowercase, settings.strip_accents)
    n_threads = min(thread_count(n_jobs), max(1, len(task.cuts) - 1))
    workers = [_Worker(task, settings, characters, dtype, buffer_columns) for _ in range(n_threads)]
    bad_rows = [row for row in run_blocks(_Worker.run, workers, n_threads) if row is not None]
    if bad_rows:
        raise BadRecords({row: _not_utf8(texts, row) for row in bad_rows})
    indptr = np.zeros(n_rows + 1, np.int64)
    np.cumsum(task.lengths, out=indptr[1:])
    columns, values = _put_together(workers, indptr, dtype)
    return Rows(read_only(indptr), read_only(columns), read_only(values), N_COLUMNS)


def rows_of_documents(
    documents: Any, settings: TextSettings, dtype: Any = np.float32, n_jobs: int | None = None,
    name: str = "X",
) -> Rows:  # fmt: skip
    """As `text_rows`, of whatever `as_texts` takes."""
    rows: list[Rows] = []
    n_rows = 0
    for texts in as_texts(documents, name):
        try:
            rows.append(text_rows(texts, settings, dtype, n_jobs))
        except BadRecords as bad:
            raise BadRecords({n_rows + row: bad.faults[row] for row in bad.faults}) from None
        n_rows += len(texts)
    if not rows:  # a chunked array of no chunks
        rows.append(text_rows(_encoded([], name), settings, dtype))
    return Rows.concatenate(rows)


def _put_together(workers: "list[_Worker]", indptr: Array, dtype: Any) -> tuple[Array, Array]:
    """The columns and values of all rows."""
    n_values = int(indptr[-1])
    if len(workers) == 1 and len(workers[0].filled) == 1:  # in order, and in one piece
        rows = workers[0].filled[0]
        return rows.columns[:n_values].view(np.int64), rows.values[:n_values]
    columns, values = np.empty(n_values, np.int64), np.empty(n_values, dtype)
    for worker in workers:
        worker.move_rows(indptr, columns, values)
    return columns, values


class _Worker:
    """One thread's working memory, and the buffers that it has filled."""

    def __init__(
        self, task: loops.DocumentBlocks, settings: TextSettings, characters: loops.Characters,
        dtype: Any, buffer_columns: int,
    ) -> None:  # fmt: skip
        self._task, self._grams, self._characters = task, settings.grams(), characters
        self._dtype, self._buffer_columns = dtype, buffer_columns
        self.filled: list[loops.RowBuffer] = []
        self._state = np.zeros(loops.N_STATE, np.int64)

    def run(self) -> int | None:
        """Work until no block is left; the number of a document that is not UTF-8, if any."""
        state, task, status = self._state, self._task, None
        scratch = _borrow_scratch()
        buffer = self._new_buffer()
        try:
            while True:
                status = loops.shingle(task, self._grams, self._characters, scratch, buffer, state)
                if status == loops.NEEDS_SCRATCH:
                    scratch = _larger_scratch(scratch, state)
                elif status == loops.NEEDS_BUFFER:
                    self._keep(buffer)
                    buffer = self._new_buffer()
                else:
                    break
            self._keep(buffer)
            if status == loops.FINISHED:
                _return_scratch(scratch)
            return int(state[loops.NEXT]) if status == loops.NOT_UTF8 else None
        finally:
            if status != loops.FINISHED:  # the other threads stop as well
                task.counter[0] = _END

    def move_rows(self, indptr: Array, columns: Array, values: Array) -> None:
        """Copy the rows to their places in the result, and let go of each buffer."""
        while self.filled:
            buffer = self.filled.pop()
            for first, last, start in buffer.runs.tolist():
                begin, end = indptr[first], indptr[last]
                run = slice(start, start + end - begin)
                columns[begin:end] = buffer.columns[run].view(np.int64)
                values[begin:end] = buffer.values[run]

    def _new_buffer(self) -> loops.RowBuffer:
        state = self._state
        n_bytes = int(self._task.offsets[-1] - self._task.offsets[0])
        size = min(self._buffer_columns, n_bytes + 1)
        size = max(size, int(state[loops.GRAMS_NEEDED]) + 1)
        state[loops.FILLED] = state[loops.N_RUNS] = 0
        return loops.RowBuffer(
            np.empty(size, np.uint64), np.empty(size, self._dtype), np.empty((_RUNS, 3), np.int64)
        )

    def _keep(self, buffer: loops.RowBuffer) -> None:
        if n_runs := self._state[loops.N_RUNS]:
            self.filled.append(buffer._replace(runs=buffer.runs[:n_runs]))


def _cuts(offsets: Array) -> Array:
    """Where blocks begin: documents of about _BLOCK_BYTES together."""
    n_rows = len(offsets) - 1
    n_blocks = max(1, int(offsets[-1] - offsets[0]) // _BLOCK_BYTES)
    places = offsets[0] + np.arange(1, n_blocks, dtype=np.int64) * _BLOCK_BYTES
    inner = np.searchsorted(offsets, places)
    return read_only(np.unique(np.concatenate([[0], inner, [n_rows]])).astype(np.int64))


def _not_utf8(texts: Texts, row: int) -> str:
    document = texts.document(row)
    where = ""
    try:
        document.decode()
    except UnicodeDecodeError as error:
        where = f" (byte {error.start}: 0x{document[error.start]:02x})"
    return f"is not valid UTF-8{where}; convert the text to UTF-8"


def _borrow_scratch() -> loops.Scratch:
    """Working memory for a thread, perhaps one that was given back.

    To make it anew for every batch would take a fifth of the time of making rows.
    """
    try:
        return _kept.pop()
    except IndexError:
        return _new_scratch(_TEXT_BYTES, _GRAMS)


def _return_scratch(scratch: loops.Scratch) -> None:
    """Give back what is no longer needed, as a loop that has finished leaves it."""
    if sum(array.nbytes for array in scratch) <= _MOST_BYTES and len(_kept) < _MOST_KEPT:
        _kept.append(scratch)


def _larger_scratch(scratch: loops.Scratch, state: Array) -> loops.Scratch:
    """Working memory that is large enough, and not only just."""
    n_bytes, n_grams = len(scratch.text), len(scratch.columns)
    if state[loops.TEXT_NEEDED] > n_bytes:
        n_bytes = 2 * int(state[loops.TEXT_NEEDED])
    if state[loops.GRAMS_NEEDED] > n_grams:
        n_grams = 2 * int(state[loops.GRAMS_NEEDED])
    return _new_scratch(n_bytes, n_grams)


def _new_scratch(n_bytes: int, n_grams: int) -> loops.Scratch:
    """Working memory for text of so many bytes, of which the loops leave some free.

    A place of words or characters is a byte of its own, and so is the end of the text.
    """
    n_places = int(grams.table_size(n_grams))
    return loops.Scratch(
        text=np.zeros(n_bytes, np.uint8),
        marks=np.zeros(n_bytes, np.uint8),
        places=np.empty(n_bytes, np.int32 if n_bytes < 2**31 else np.int64),
        words=np.empty(n_bytes // 2, np.uint64),
        columns=np.empty(n_grams, np.uint64),
        keys=np.full(n_places, grams.FREE),
        key_counts=np.zeros(n_places, np.int32),
        counts=np.empty(n_grams + 1, np.int32),
    )


# What becomes of each character (lower case, accents) and what is a letter, as of Unicode 14.0,
# which is that of Python 3.11: rows are the same with all versions of Python. Made by
# `tests/support/characters.py`. `str.lower` takes as long for one curly quote as all that loops do.
CHARACTERS = Path(__file__).with_name("characters.npz")
MAPPINGS = {(True, False): "lower", (False, True): "stripped", (True, True): "both"}


@cache
def characters_for(lowercase: bool, strip_accents: bool) -> loops.Characters:
    """What becomes of characters with these settings, for all threads."""
    becomes = np.arange(loops.N_CHARACTERS, dtype=np.uint32)
    starts, characters = np.zeros(1, np.int64), np.empty(0, np.uint32)
    with np.load(CHARACTERS) as tables:
        kinds = np.repeat(tables["kinds"], tables["runs"])
        if name := MAPPINGS.get((lowercase, strip_accents)):
            changed, lengths = np.cumsum(tables[f"{name}_steps"]), tables[f"{name}_lengths"]
            starts = np.append(starts, np.cumsum(lengths, dtype=np.int64))
            characters = tables[f"{name}_characters"]
            becomes[changed] = loops.N_CHARACTERS + np.arange(len(changed))
            becomes[changed[lengths == 1]] = characters[starts[:-1][lengths == 1]]
    return loops.Characters(lowercase, *map(read_only, (kinds, becomes, starts, characters)))
