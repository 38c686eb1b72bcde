"""RCV1 (news stories by Reuters) and USPS (digits from envelopes): LIBSVM's collection has both.

No checksums are published for the files of RCV1, so what is read from them is checked instead:
the number of rows, the columns and the labels.
"""

from pathlib import Path

import numpy as np
from scipy import sparse

from corekernels.errors import FileError
from corekernels.io import open_rows, read_rows

from .dataset import Array, Dataset, made, require_classes
from .download import Remote, fetch
from .places import Places

_URL = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/"
_RCV1 = tuple(
    Remote(f"{file}.bz2", f"{_URL}binary/{file}.bz2")
    for file in ("rcv1_train.binary", "rcv1_test.binary")
)
_USPS = (
    Remote("usps.bz2", f"{_URL}multiclass/usps.bz2", "ec16c51db3855ca6c91edd34d0e9b197"),
    Remote("usps.t.bz2", f"{_URL}multiclass/usps.t.bz2", "8ea070ee2aca1ac39742fdd1ef5ed118"),
)
_N_COLUMNS, _N_PIXELS = 47_236, 256
_N_TRAIN, _N_TEST = 20_242, 60_000  # of RCV1


def rcv1(places: Places, seed: int) -> Dataset:
    """All of the training file, the first 60,000 rows of the test file."""
    files = tuple(remote.file.removesuffix(".bz2") for remote in _RCV1)
    if folder := places.find("rcv1", files):
        paths = [folder / file for file in files]
    else:
        paths = _fetched(places, "rcv1", _RCV1, "(Binary Class), rcv1.binary")
    train, test = _first_rows(paths[0], None, _N_TRAIN), _first_rows(paths[1], _N_TEST, _N_TEST)
    source = (
        "RCV1 in LIBSVM's collection: its training file, and the first 60,000 of the 677,399 "
        "rows of its test file."
    )
    return made("rcv1", train, test, source)


def usps(places: Places, seed: int) -> Dataset:
    """The split of "The Elements of Statistical Learning", 16 x 16 pixels, values in [0, 1]."""
    source = "USPS in the split 7,291 / 2,007 of The Elements of Statistical Learning, from "
    if folder := places.find("usps", ("usps.h5",)):
        train, test = _read_hdf5(folder / "usps.h5")
        return made("usps", train, test, source + "HDF5.")
    train, test = map(_read_pixels, _fetched(places, "usps", _USPS, "(Multi Class), usps"))
    return made("usps", train, test, source + "LIBSVM's collection, scaled back to [0, 1].")


def _fetched(places: Places, name: str, remotes: tuple[Remote, ...], page: str) -> list[Path]:
    def fetch_all(folder: Path) -> None:
        for remote in remotes:
            fetch(remote, folder)

    files = tuple(remote.file for remote in remotes)
    folder = places.require(name, files, f"LIBSVM Data: Classification {page}", fetch_all)
    return [folder / file for file in files]


def _first_rows(path: Path, limit: int | None, expected: int) -> tuple[sparse.csr_array, Array]:
    """Rows up to `limit`, none of the rest unpacked."""
    blocks, labels, n_rows = [], [np.empty(0, np.int64)], 0
    for batch in open_rows(path, n_columns=_N_COLUMNS, one_based=True):
        blocks.append(batch.X)
        labels.append(np.asarray(batch.y))
        n_rows += len(batch)
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


def _read_pixels(path: Path) -> tuple[Array, Array]:
    """Values from [-1, 1] back to [0, 1], so that paper is 0 again; labels 1 to 10 to digits."""
    X, y = read_rows(path, n_columns=_N_PIXELS, one_based=True)
    return (X.toarray() + 1) / 2, require_classes(path, y, 10) - 1


def _read_hdf5(path: Path) -> list[tuple[Array, Array]]:
    try:
        import h5py
    except ImportError as error:
        raise FileError(f"{path}: HDF5 is read with h5py; pip install h5py.") from error
    try:
        with h5py.File(path) as file:
            parts = [
                (np.asarray(file[part]["data"]), np.asarray(file[part]["target"]))
                for part in ("train", "test")
            ]
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise FileError(
            f"{path}: not an HDF5 file with train/data, train/target, test/data and test/target "
            f"({error}); fetch it again."
        ) from error
    return [(X.reshape(len(X), -1), y) for X, y in parts]
