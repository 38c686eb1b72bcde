"""Rows from files of any of the formats."""

from collections.abc import Sequence
from typing import Any

from scipy import sparse

from .._core.arguments import require_count
from .._core.types import Array, PathLike
from ..errors import FileError, ParameterError
from .detect import detect, require_row_format
from .format import ReadOptions
from .formats import TEXT
from .readers import RowReader, joined
from .streams import display_name, is_stream

BATCH_BYTES = 8 << 20


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
) -> RowReader:
    """A reader that gives the rows of a file in batches of bounded memory.

    Parameters
    ----------
    path : path
        svmlight text (plain, gz, bz2, xz or zst), SciPy `.npz` (CSR; CSC and COO are read
        whole), dense `.npy` or Parquet. "-" is standard input: svmlight text, plain or packed.
    format : {"svmlight", "npz", "npy", "parquet"}, optional
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
        Column of a Parquet file that holds the labels; "label" if not given, should there be one.

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
    )
    kind = format or (TEXT.name if is_stream(path) else detect(path))
    found = require_row_format(kind, path)
    if is_stream(path) and not found.is_text:
        raise FileError(f"{display_name(path)}: only svmlight text can be read from a pipe.")
    if one_based is not None and not found.is_text:
        raise ParameterError(f"one_based: only svmlight text may count from 1; {path} is {kind}.")
    if label is not None and not found.names_columns:
        raise ParameterError(
            f"label: got {label!r}, but columns of {path}, which is {kind}, have no names; leave "
            "it out, or name the column of text if it holds documents (text='COLUMN')."
        )
    return found.reader(path, options)


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
    return whole.X, whole.y
