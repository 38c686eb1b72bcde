"""Rows read so that they match others, hashed or learned from before."""

import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..errors import DataError
from ..io.streams import is_stream
from .readers import SignatureReader, open_source

_MOST_COLUMNS = 2**31 - 1


class Narrowed:
    """The rows of a reader without their last columns."""

    def __init__(self, source: Any, n_columns: int) -> None:
        self._source, self.n_columns = source, n_columns
        self._dropped = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    @property
    def notes(self) -> list[str]:
        """What the reader noted, and how much was left out."""
        left = f"{self._dropped:,} values in columns that were not known before were left out"
        return [*self._source.notes, *([left] if self._dropped else [])]

    def __iter__(self) -> Iterator[Any]:
        for batch in self._source:
            X = batch.X[:, : self.n_columns]
            self._dropped += batch.X.nnz - X.nnz
            yield replace(batch, X=X)


def open_matching(
    path: str | os.PathLike[str],
    n_columns: int,
    *,
    like: list[dict[str, Any]] | None = None,
    format: str | None = None,  # noqa: A002
    one_based: bool | None = None,
    labels: bool = True,
    ignore_new_columns: bool = False,
) -> Any:
    """A reader of rows for a model, or for comparison with signatures.

    Parameters
    ----------
    path, format, one_based, labels
        As for `open_source`.
    n_columns : int
        Columns of the rows known before. Narrower rows are taken to lack the last ones.
    like : list of dict, optional
        Sources of the rows known before: says where svmlight columns count from.
    ignore_new_columns : bool
        Whether columns beyond `n_columns` are left out, with a note, or an error.
    """
    options: dict[str, Any] = {
        "format": format, "one_based": one_based, "labels": labels, "like": like,
    }  # fmt: skip
    if is_stream(path):
        if not ignore_new_columns:
            return open_source(path, n_columns=n_columns, **options)
        return Narrowed(open_source(path, n_columns=_MOST_COLUMNS, **options), n_columns)
    source = open_source(path, **options)
    if isinstance(source, SignatureReader) or source.n_columns == n_columns:
        return source
    if source.n_columns < n_columns:
        return open_source(path, n_columns=n_columns, **options)
    if ignore_new_columns:
        return Narrowed(source, n_columns)
    raise DataError(
        f"{source.name}: has {source.n_columns} columns, {n_columns} were known before; ignore new "
        f"columns, or begin again with n_columns={source.n_columns}."
    )
