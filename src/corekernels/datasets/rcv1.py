"""RCV1: news stories by Reuters, two classes, as LIBSVM's collection has them.

No checksums are published for its files, so what is read from them is checked instead:
the number of rows, the columns and the labels.
"""

from pathlib import Path

import numpy as np
from scipy import sparse

from .._core.types import Array
from ..errors import FileError
from ..io import open_rows
from .dataset import Dataset, made
from .download import Remote, fetch
from .places import Places

_PAGE = "LIBSVM Data: Classification (Binary Class), rcv1.binary"
_URL = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
_FILES = ("rcv1_train.binary.bz2", "rcv1_test.binary.bz2")
_PLAIN = tuple(file.removesuffix(".bz2") for file in _FILES)
_N_COLUMNS = 47_236
_N_TRAIN, _N_TEST = 20_242, 60_000


def rcv1(places: Places, seed: int) -> Dataset:
    """All of the training file, the first 60,000 rows of the test file."""
    files = _PLAIN
    folder = places.find("rcv1", files)
    if folder is None:
        files = _FILES
        folder = places.require("rcv1", files, _PAGE, lambda found: _fetch(found, places.progress))
    train = _first_rows(folder / files[0], None, _N_TRAIN)
    test = _first_rows(folder / files[1], _N_TEST, _N_TEST)
    source = (
        "RCV1 in LIBSVM's collection: its training file, and the first 60,000 of the 677,399 "
        "rows of its test file."
    )
    return made("rcv1", train, test, source)


def _fetch(folder: Path, progress: bool | None) -> None:
    for file in _FILES:
        fetch(Remote(file, _URL + file), folder, progress)


def _first_rows(path: Path, limit: int | None, expected: int) -> tuple[sparse.csr_array, Array]:
    """Rows up to `limit`, none of the rest unpacked."""
    blocks, labels, n_rows = [], [np.empty(0, np.int64)], 0
    for batch in open_rows(path, n_columns=_N_COLUMNS, one_based=True):
        blocks.append(batch.X)
        labels.append(np.asarray(batch.y))
        n_rows += batch.X.shape[0]
        if limit is not None and n_rows >= limit:
            break
    X = sparse.csr_array(sparse.vstack(blocks, format="csr")[:limit])
    y = np.concatenate(labels)[:limit]
    if X.shape[0] != expected or not np.isin(y, (-1, 1)).all():
        raise FileError(
            f"{path}: {X.shape[0]} rows of the classes {np.unique(y)[:5].tolist()} where "
            f"{expected} of -1 and 1 are due; remove it and fetch it again."
        )
    return X, y
