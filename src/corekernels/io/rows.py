"""Rows from files of any of the formats."""

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy import sparse

from .._core.arguments import Array, PathLike, require_choice, require_count
from .._core.validation import Rows, as_matrix, clean_rows
from ..errors import DataError, FileError, ParameterError
from .atomic import atomic_write
from .formats import (
    BATCH_BYTES,
    TEXT,
    ReadOptions,
    Writer,
    detect,
    format_of_name,
    require_row_format,
)
from .readers import RowReader, joined, plain_labels
from .streams import MAX_RECORD_BYTES, STANDARD_INPUT, display_name, is_stream


def open_rows(
    path: PathLike,
    *,
    format: str | None = None,  # noqa: A002
    n_columns: int | None = None,
    one_based: bool | None = None,
    labels: bool = True,
    n_jobs: int | None = None,
    batch_rows: int | None = None,
    batch_bytes: int = BATCH_BYTES,
    column_names: Sequence[str] | None = None,
    label: str | None = None,
    missing: str = "error",
    max_record_bytes: int = MAX_RECORD_BYTES,
) -> RowReader:
    """A reader that gives the rows of a file in batches of bounded memory.

    Parameters
    ----------
    path : path
        svmlight text (plain, gz, bz2, xz or zst), SciPy `.npz` (CSR; CSC and COO are read
        whole), dense `.npy`, Parquet, or a table of numbers and words as CSV or TSV. "-" is
        standard input: svmlight text, plain or packed.
    format : {"svmlight", "npz", "npy", "parquet", "csv", "tsv"}, optional
        Told from the content if not given.
    n_columns : int, optional
        Columns of the matrix. Found if not given, but for pipes, which cannot be read twice.
        May be more than occur in svmlight text and Parquet.
    one_based : bool, optional
        Whether columns of svmlight text count from 1. Found if not given: text in which
        column 0 occurs counts from 0, any other, and a pipe, from 1. With `n_columns`, only the
        first `batch_bytes` are looked at, and the file is read once.
    labels : bool
        Whether labels are wanted; if not, they may be anything and `y` is None.
    n_jobs : int, optional
        Threads that parse svmlight text; None means all cores.
    batch_rows : int, optional
        Rows per batch, whatever they weigh; by `batch_bytes` if not given.
    batch_bytes : int
        About how many bytes of text or arrays make a batch.
    column_names : sequence of str, optional
        Which columns come first, in this order, where columns have names: those of a Parquet
        file with a plain column for each. All must be there; others follow as in the file.
    label : str, optional
        Column of Parquet or a table that holds the labels; "label" if not given, should there be
        one.
    missing : {"error", "zero"}
        What a missing value of a table is.
    max_record_bytes : int
        The longest line of svmlight text, which is refused beyond.

    Returns
    -------
    RowReader. svmlight labels come as integers if all of them are, as strings if the first
    is a word, as floats otherwise.

    Examples
    --------
    >>> from corekernels import io
    >>> path = "rows.svm"
    >>> io.write_rows(path, [[0, 1.5], [2, 0], [0, 0]], ["spam", "ham", "spam"])
    >>> reader = io.open_rows(path, batch_rows=2)
    >>> batches = list(reader)
    >>> reader.n_rows, reader.n_columns
    (3, 2)
    >>> [(batch.first_row, batch.X.nnz, batch.y.tolist()) for batch in batches]
    [(0, 2, ['spam', 'ham']), (2, 0, ['spam'])]
    """
    options = ReadOptions(
        None if n_columns is None else require_count("n_columns", n_columns),
        one_based,
        labels,
        n_jobs,
        require_count("batch_bytes", batch_bytes),
        None if batch_rows is None else require_count("batch_rows", batch_rows),
        column_names,
        label,
        require_choice("missing", missing, ("error", "zero")),
        require_count("max_record_bytes", max_record_bytes),
    )
    kind = format or (TEXT if is_stream(path) else detect(path))
    row_format = require_row_format(kind, path)
    if is_stream(path) and not row_format.is_text:
        raise FileError(
            f"{display_name(path)}: only svmlight text can be read from a pipe; save it in a file "
            "first."
        )
    if one_based is not None and not row_format.is_text:
        raise ParameterError(f"one_based: only svmlight text may count from 1; {path} is {kind}.")
    if missing != "error" and not row_format.names_columns:
        raise ParameterError(f"missing: is for tables (CSV, TSV); {path} is {kind}.")
    if label is not None and not row_format.names_columns:
        raise ParameterError(
            f"label: got {label!r}, but columns of {path}, which is {kind}, have no names; leave "
            "it out, or name the column of text if it holds documents (text='COLUMN')."
        )
    return row_format.reader(path, options)


def read_rows(path: PathLike, **options: Any) -> tuple[sparse.csr_array, Array | None]:
    """All rows of a file and their labels, or None; options as of `open_rows`.

    Examples
    --------
    >>> from corekernels import io
    >>> path = "rows.npz"
    >>> io.write_rows(path, [[0, 1.5], [2, 0]], [1, -1])
    >>> X, y = io.read_rows(path)
    >>> X.toarray().tolist(), y.tolist()
    ([[0.0, 1.5], [2.0, 0.0]], [1, -1])
    """
    reader = open_rows(path, **options)
    batches = list(reader)
    if not batches:
        return sparse.csr_array((0, reader.n_columns)), None
    whole = joined(batches)
    return whole.X.copy(), whole.y  # whose arrays may be written to


_BLOCK_ROWS = 1 << 16
_BLOCK_VALUES = 1 << 20


def write_rows(path: PathLike, X: Any, y: Any = None, *, format: str | None = None) -> None:  # noqa: A002
    """Write rows and labels to a file, whole or not at all.

    The format is told from the name if not given: `.svm`, `.svmlight`, `.libsvm`, `.txt` or
    `.dat` (and `.gz`, `.bz2`, `.xz`, `.zst` of these), `.npz`, `.npy` (no labels), `.parquet` or
    `.pq`.
    Zeros are not stored and columns are sorted; values are kept exactly. svmlight text
    counts columns from 1, keeps no number of columns, and shows labels that are missing as 0.

    Examples
    --------
    >>> from pathlib import Path
    >>> import corekernels as ck
    >>> ck.io.write_rows("rows.svm", [[0, 1.5], [2, 0]], [1, -1])
    >>> print(Path("rows.svm").read_text(), end="")
    1 2:1.5
    -1 1:2
    """
    with RowWriter(path, format) as writer:
        writer.write(X, y)


class RowWriter:
    """Writes rows batch by batch; the file takes its name when the block ends well.

    Formats as of `write_rows`. "-" writes svmlight text to standard output.

    Examples
    --------
    >>> from corekernels import io
    >>> source, target = "rows.svm", "rows.npz"
    >>> io.write_rows(source, [[0, 1.5], [2, 0]], [1, -1])
    >>> with io.RowWriter(target) as writer:
    ...     for batch in io.open_rows(source, batch_rows=1):
    ...         writer.write(batch.X, batch.y)
    >>> io.open_rows(target).n_rows
    2
    """

    def __init__(self, path: PathLike, format: str | None = None) -> None:  # noqa: A002
        self._path = path
        self._to_output = os.fspath(path) == STANDARD_INPUT
        kind = format or (TEXT if self._to_output else format_of_name(path))
        if kind is None:
            raise ParameterError(
                f"{path}: its name does not tell a format; end it in .svm, .svm.gz, .svm.bz2, "
                ".npz, .npy or .parquet, or name the format."
            )
        self._format = require_row_format(kind, path)
        if self._format.writer is None:
            raise ParameterError(f"format: {kind} is only read; write another format.")
        if self._to_output and not self._format.is_text:
            raise FileError("standard output: only svmlight text can be written there.")
        self.format = kind
        self._opened: contextlib.AbstractContextManager[Writer] | None = None
        self._writer: Writer | None = None
        self._form: tuple[int, np.dtype[Any], str | None] | None = None

    @contextlib.contextmanager
    def _open(self) -> Iterator[Writer]:
        assert self._format.writer is not None
        with (
            _standard_output() if self._to_output else atomic_write(self._path) as file,
            contextlib.closing(self._format.writer(file, Path(self._path))) as writer,
        ):
            yield writer
            writer.finish()

    def __enter__(self) -> "RowWriter":
        self._opened = self._open()
        self._writer = self._opened.__enter__()
        return self

    def write(self, X: Any, y: Any = None) -> None:
        """Add rows and their labels; every batch must be of the form of the first.

        Rows of a `Batch` are written as they are.
        """
        if self._writer is None:
            raise ParameterError("RowWriter: not open; use it in a `with` block.")
        if isinstance(X, Rows):
            self._write(X, None if y is None else plain_labels(y, len(X)))
            return
        matrix = as_matrix(X)
        labels = None if y is None else plain_labels(y, matrix.shape[0])
        n_rows = max(1, matrix.shape[0])
        n_values = matrix.nnz if sparse.issparse(matrix) else matrix.size
        size = max(1, min(_BLOCK_ROWS, _BLOCK_VALUES * n_rows // max(1, n_values)))
        for start in range(0, n_rows, size):
            stop = min(start + size, matrix.shape[0])
            rows = clean_rows(matrix, "X", start, stop)
            self._write(rows, None if labels is None else labels[start:stop])

    def _write(self, rows: Rows, y: Array | None) -> None:
        assert self._writer is not None
        self._require_form(rows, y)
        self._writer.write(rows, y)

    def __exit__(self, *error: Any) -> bool | None:
        assert self._opened is not None
        self._writer = None
        return self._opened.__exit__(*error)

    def _require_form(self, rows: Rows, y: Array | None) -> None:
        form = rows.n_columns, rows.data.dtype, None if y is None else y.dtype.kind
        self._form = self._form or form
        for what, form_here, form_before in zip(
            ("columns", "values", "labels"), form, self._form, strict=True
        ):
            if form_here != form_before:
                raise DataError(
                    f"{self._path}: {what} of a batch are {form_here}, those before were "
                    f"{form_before}; give all batches alike."
                )


@contextlib.contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    try:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    except OSError as error:
        if isinstance(error, FileError):
            raise
        reason = error.strerror or error
        raise FileError(f"standard output: cannot be written ({reason}).") from error
