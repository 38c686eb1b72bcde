"""Rows read so that they match others, hashed or learned from before."""

from collections.abc import Sequence
from typing import Any

from .._core.arguments import PathLike
from ..errors import DataError
from ..io.provenance import Origin
from ..io.readers import Selected
from ..io.streams import is_stream
from ..recipe import MAX_COLUMNS
from .readers import AnyReader, open_reader


def open_matching(
    path: PathLike, n_columns: int, *, like: Sequence[Origin] = (),
    ignore_new_columns: bool = False, text: str | Sequence[str] | None = None, **reading: Any,
) -> AnyReader:  # fmt: skip
    """A reader of rows for a model, or for comparison with signatures.

    Parameters
    ----------
    path, text
        As for `open_reader`.
    n_columns : int
        Columns of the rows known before. Narrower rows are taken to lack the last ones.
    like : sequence of io.Origin
        Provenance of the rows known before: says where svmlight columns count from, what columns
        of Parquet are called, and how text became rows.
    ignore_new_columns : bool
        Whether columns beyond `n_columns` are left out, with a note, or an error.
    **reading
        `format`, `one_based`, `labels`, `n_jobs`, `column_names`, `label`, `id`, `shingles` and
        `frequencies` of `open_reader`.

    Examples
    --------
    >>> import corekernels as ck
    >>> ck.io.write_rows("new.svm", [[1.0, 0, 1], [0, 2, 0]])
    >>> reader = ck.files.open_matching("new.svm", 64)  # of a model that knows 64 columns
    >>> reader.n_columns
    64
    """
    options = {"like": like, "text": text, **reading}
    wide = MAX_COLUMNS if ignore_new_columns else n_columns
    unknown = is_stream(path) and text is None
    reader = open_reader(path, n_columns=wide if unknown else None, **options)
    if reader.holds == "signatures" or reader.n_columns == n_columns:
        return reader
    if text is not None:
        raise DataError(f"{reader.name}: is text, what it is to match was not; give rows like it.")
    if reader.n_columns < n_columns:
        return open_reader(path, n_columns=n_columns, **options)
    if ignore_new_columns:
        return Selected(reader, n_columns=n_columns)
    raise new_columns(reader.name, reader.n_columns, n_columns)


def new_columns(name: str, found: int, known: int) -> DataError:
    """The error about rows that have more columns than were known before."""
    return DataError(
        f"{name}: has {found} columns, {known} were known before; leave the new ones out "
        f"(ignore_new_columns=True), or begin again with n_columns={found}."
    )
