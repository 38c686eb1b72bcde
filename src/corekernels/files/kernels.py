"""Exact Gram matrices of files."""

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from .._core.arguments import PathLike
from ..io.atomic import atomic_write, require_target
from ..io.containers import parse_json
from ..io.provenance import provenance_entries, require_same_names
from ..io.readers import RowReader, read_all, require_rows
from ..kernel_table import gamma_in_use
from ..kernels import gram_to_file
from ..recipe import DEFAULT_KERNEL


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
