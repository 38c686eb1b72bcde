"""Exact Gram matrices of files."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..io import atomic_write
from ..kernels import gram_to_file
from .readers import require_rows, require_target, source_entry


def kernel_to_file(
    source: Any,
    target: str | os.PathLike[str],
    kernel: str = "core1",
    *,
    against: Any = None,
    gamma: float | None = None,
    working_memory: float | None = None,
    progress: bool | None = None,
    n_jobs: int | None = None,
) -> tuple[int, int]:
    """Exact kernel values of all rows of a source with all rows of another, in an `.npy` file.

    Beside it, `NAME.npy.json` says what it holds: an `.npy` file has no room for that.

    Parameters
    ----------
    source, against : reader of rows
        From `open_source`; the source itself if `against` is None. Of two files of unequal
        width, the narrower one is taken to lack the last columns.
    target : path
        The file to create or replace.
    kernel, gamma, working_memory, progress, n_jobs
        As for `gram_to_file`.

    Returns
    -------
    (n, m) : shape of the matrix
    """
    require_target(target, *(part.name for part in (source, against) if part is not None))
    X = whole(source)
    Y = None if against is None else whole(against)
    if Y is not None:
        n_columns = max(X.shape[1], Y.shape[1])
        X.resize(X.shape[0], n_columns)
        Y.resize(Y.shape[0], n_columns)
    K = gram_to_file(
        target, X, Y, kernel, gamma=gamma, working_memory=working_memory, progress=progress,
        n_jobs=n_jobs,
    )  # fmt: skip
    sides = [(source, X)] if Y is None else [(source, X), (against, Y)]
    description = {
        "format": "corekernels.gram",
        "version": 1,
        "kernel": kernel,
        "gamma": gamma,
        "dtype": str(K.dtype),
        "shape": list(K.shape),
        "last_row": _digest(K),
        "n_columns": X.shape[1],
        "sources": [source_entry(reader, 0, rows.shape[0]) for reader, rows in sides],
    }
    with atomic_write(description_path(target)) as file:
        file.write((json.dumps(description, sort_keys=True) + "\n").encode())
    return K.shape[0], K.shape[1]


def description_path(target: str | os.PathLike[str]) -> Path:
    """Where the description of a Gram file stands."""
    return Path(f"{os.fspath(target)}.json")


def gram_description(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """What a Gram file's description says; None if there is none, or one of another matrix.

    The two files are replaced one after the other; the digest of the last row tells whether
    they belong together.
    """
    try:
        about = json.loads(description_path(path).read_bytes())
        K = np.load(path, mmap_mode="r", allow_pickle=False)
        if about["format"] == "corekernels.gram" and about["last_row"] == _digest(K):
            return dict(about)
    except (OSError, ValueError, KeyError, TypeError):
        pass
    return None


def _digest(K: Any) -> str:
    return hashlib.sha256(np.ascontiguousarray(K[-1:]).tobytes()).hexdigest()


def whole(source: Any) -> sparse.csr_array:
    """All rows of a source; a kernel needs them together."""
    require_rows(source)
    blocks = [batch.X for batch in source]
    return sparse.csr_array(sparse.vstack(blocks, format="csr"))
