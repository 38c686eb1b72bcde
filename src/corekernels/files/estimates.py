"""Kernel values of hashed rows, with their errors: given pairs, or the nearest of queries."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import DataError, ParameterError
from ..io.provenance import require_same_columns
from ..signatures import Signatures
from .readers import AnyReader, SignatureReader, hashed_batches


@dataclass(frozen=True)
class Estimates:
    """Estimated kernel values of pairs: row `i` of one side with row `j` of the other."""

    i: npt.NDArray[np.int64]
    j: npt.NDArray[np.int64]
    value: npt.NDArray[np.float64]
    standard_error: npt.NDArray[np.float64]


def estimate_pairs(
    reader: SignatureReader, pairs: Any, against: SignatureReader | None = None
) -> Estimates:
    """Estimates for pairs of rows of a signature file, or of two.

    Parameters
    ----------
    reader : SignatureReader
        From `open_reader`.
    pairs : array-like of shape (n, 2)
        Row of `reader`, and row of `against` (of `reader` too if None), counted from 0.
    against : SignatureReader, optional

    Examples
    --------
    >>> import corekernels as ck
    >>> from sklearn.datasets import load_digits
    >>> X = load_digits().data[:10]
    >>> S = ck.CoREHasher("core1", 1024, random_state=0).fit(X).sketch(X)
    >>> S.save("rows.sig")
    >>> reader = ck.files.open_reader("rows.sig")
    >>> found = ck.files.estimate_pairs(reader, [[0, 1], [0, 5]])
    >>> found.value.round(2), found.standard_error.round(2)
    (array([0.28, 0.43]), array([0.03, 0.03]))
    """
    _require_signatures(reader)
    rows = np.asarray(pairs)
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise ParameterError("pairs: give two row numbers for each pair.")
    other = reader if against is None else _require_signatures(against)
    require_same_columns(other.name, other.provenance, reader.provenance)
    S, T = reader.take(rows[:, 0]), other.take(rows[:, 1])
    places = np.arange(len(rows))
    values, errors = S.estimate_pairs(places, places, T)
    return Estimates(rows[:, 0], rows[:, 1], values, errors)


def nearest(
    reader: SignatureReader, queries: AnyReader, n_nearest: int = 10, *,
    progress: bool | None = None, n_jobs: int | None = None,
) -> Iterator[Estimates]:  # fmt: skip
    """For each batch of query rows, the rows of a signature file with the largest estimates.

    Every query is compared with every row; memory is that of a batch on either side.

    Parameters
    ----------
    reader : SignatureReader
        The rows to find, from `open_reader`.
    queries : reader
        Rows or signatures; raw rows are hashed as the reader's were.
    n_nearest : int
        Rows for each query, nearest first; ties go to the lower row number.
    progress, n_jobs
        As for `hash_to_file`.

    Examples
    --------
    >>> import corekernels as ck
    >>> X = [[1.0, 2, 0], [0, 0, 3], [1, 2.5, 0]]
    >>> ck.CoREHasher(n_hashes=1024, random_state=0).fit(X).sketch(X).save("rows.sig")
    >>> reader = ck.files.open_reader("rows.sig")
    >>> found = next(ck.files.nearest(reader, reader, n_nearest=2))
    >>> list(zip(found.i[:2].tolist(), found.j[:2].tolist(), found.value[:2].round(1).tolist()))
    [(0, 0, 1.0), (0, 2, 1.0)]
    """
    _require_signatures(reader)
    if n_nearest < 1:
        raise ParameterError(f"n_nearest: got {n_nearest!r}; give 1 or more.")
    if reader.n_rows < 1:
        raise DataError(f"{reader.name}: holds no rows; nothing can be near.")
    for batch in hashed_batches(
        queries, reader.recipe, "estimating", progress=progress, n_jobs=n_jobs
    ):
        yield _nearest_of_batch(reader, batch.signatures, batch.first_row, n_nearest, n_jobs)


def _nearest_of_batch(
    reader: SignatureReader, Q: Signatures, first_row: int, n_nearest: int, n_jobs: int | None
) -> Estimates:
    best_values = np.empty((len(Q), 0), np.float32)
    best_rows = np.empty((len(Q), 0), np.int64)
    for batch in reader:
        found = Q.estimate(batch.signatures, n_jobs=n_jobs)
        rows = np.arange(batch.first_row, batch.first_row + found.shape[1])
        values = np.concatenate([best_values, found], axis=1)
        numbers = np.concatenate([best_rows, np.broadcast_to(rows, found.shape)], axis=1)
        order = np.argsort(-values, axis=1, kind="stable")[:, :n_nearest]
        best_values = np.take_along_axis(values, order, axis=1)
        best_rows = np.take_along_axis(numbers, order, axis=1)
    i = np.repeat(np.arange(len(Q)), best_rows.shape[1])
    j = best_rows.reshape(-1)
    values, errors = Q.estimate_pairs(i, np.arange(len(j)), reader.take(j))
    return Estimates(i + first_row, j, values, errors)


def _require_signatures(reader: AnyReader) -> SignatureReader:
    if reader.holds != "signatures":
        raise DataError(f"{reader.name}: holds raw rows; hash them first.")
    return reader
