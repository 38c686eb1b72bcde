"""Kernel values: exact Gram matrices of files, and estimates for rows that are hashed."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import io
from .._core.arguments import PathLike
from ..errors import DataError, ParameterError
from ..io.atomic import atomic_write, require_target
from ..io.containers import parse_json
from ..io.provenance import provenance_entries, require_same_columns, require_same_names
from ..io.readers import RowReader, read_all, require_rows
from ..kernel_table import gamma_in_use
from ..kernels import gram_to_file
from ..recipe import DEFAULT_KERNEL
from ..signatures import Signatures
from .readers import AnyReader, SignatureReader, hashed_batches, is_shard_folder
from .sources import is_several, source_files


def kernel_to_file(
    reader: RowReader, target: PathLike, kernel: str = DEFAULT_KERNEL, *,
    against: RowReader | None = None, gamma: float | None = None,
    working_memory: float | None = None, progress: bool | None = None, n_jobs: int | None = None,
) -> tuple[int, int]:  # fmt: skip
    """Exact kernel values of all rows of a reader with all rows of another, in an `.npy` file.

    Beside it, `NAME.npy.json` says what it holds: an `.npy` file has no room for that.

    Parameters
    ----------
    reader, against : RowReader
        From `open_reader`; the same rows if `against` is None. Of two files of unequal
        width, the narrower one is taken to lack the last columns.
    target : path
        The file to create or replace.
    kernel, gamma, working_memory, progress, n_jobs
        As for `gram_to_file`.

    Returns
    -------
    (n, m) : shape of the matrix

    Examples
    --------
    >>> import corekernels as ck
    >>> import numpy as np
    >>> ck.io.write_rows("rows.svm", [[1.0, 0, 1], [0, 2, 1]])
    >>> ck.files.kernel_to_file(ck.files.open_reader("rows.svm"), "K.npy", "resemblance")
    (2, 2)
    >>> np.load("K.npy").round(2)
    array([[1.  , 0.33],
           [0.33, 1.  ]])
    """
    readers = [reader] if against is None else [reader, against]
    names = [side.name for side in readers]
    require_target(target, *names)
    require_target(description_path(target), *names)
    if against is not None:
        require_same_names(against.name, against.provenance, reader.provenance)
    X = read_all(require_rows(reader), progress).X
    Y = None if against is None else read_all(require_rows(against), progress).X
    if Y is not None:
        n_columns = max(X.shape[1], Y.shape[1])
        X.resize(X.shape[0], n_columns)
        Y.resize(Y.shape[0], n_columns)
    K = gram_to_file(
        target, X, Y, kernel, gamma=gamma, working_memory=working_memory, progress=progress,
        n_jobs=n_jobs,
    )  # fmt: skip
    sides = zip(readers, K.shape, strict=False)  # one side, if both are one
    sources = provenance_entries(
        origin for side, n_rows in sides for origin in side.origins(0, n_rows)
    )
    description = {
        "format": "corekernels.gram", "version": 1, "kernel": kernel,
        "gamma": gamma_in_use(kernel, gamma),
        "dtype": str(K.dtype), "shape": list(K.shape), "last_row": _digest(K),
        "n_columns": X.shape[1], "sources": sources,
    }  # fmt: skip
    with atomic_write(description_path(target)) as file:
        file.write((json.dumps(description, sort_keys=True) + "\n").encode())
    return K.shape[0], K.shape[1]


def description_path(target: PathLike) -> Path:
    """Where the description of a Gram file stands."""
    return Path(f"{os.fspath(target)}.json")


def gram_description(path: PathLike) -> dict[str, Any] | None:
    """What a Gram file's description says; None if there is none, or one of another matrix.

    The two files are replaced one after the other; the digest of the last row tells whether
    they belong together.
    """
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        about = parse_json(description_path(path).read_bytes())
        K = np.load(path, mmap_mode="r", allow_pickle=False)
        if about["format"] == "corekernels.gram" and about["last_row"] == _digest(K):
            return dict(about)
    return None


def _digest(K: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(K[-1:]).tobytes()).hexdigest()


def file_kind(path: PathLike, format: str | None = None) -> str:  # noqa: A002
    """What a file is: "rows", "signatures" (also a shard folder), "model", "index" or "gram".

    Of a folder, or a pattern, the first file tells.
    """
    if format is not None or os.fspath(path) == "-":
        return "signatures" if format == "signatures" else "rows"
    if is_shard_folder(path):
        return "signatures"
    if is_several(path, False):
        path = source_files(path)[0]
    format_ = io.detect(path)
    if format_ == "npy" and gram_description(path) is not None:
        return "gram"
    return format_ if format_ in io.CONTAINER_KINDS.values() else "rows"


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
        estimates = Q.estimate(batch.signatures, n_jobs=n_jobs)
        rows = np.arange(batch.first_row, batch.first_row + estimates.shape[1])
        values = np.concatenate([best_values, estimates], axis=1)
        numbers = np.concatenate([best_rows, np.broadcast_to(rows, estimates.shape)], axis=1)
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
