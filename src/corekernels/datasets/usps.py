"""USPS: 9,298 images of handwritten digits from envelopes, 16 x 16."""

from pathlib import Path

import numpy as np

from .._core.extras import require_extra
from .._core.types import Array
from ..errors import FileError
from ..io import read_rows
from .dataset import Dataset, made
from .download import Remote, fetch
from .places import Places

_PAGE = "LIBSVM Data: Classification (Multi Class), usps"
_URL = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/multiclass/"
_REMOTES = (
    Remote("usps.bz2", _URL + "usps.bz2", "ec16c51db3855ca6c91edd34d0e9b197"),
    Remote("usps.t.bz2", _URL + "usps.t.bz2", "8ea070ee2aca1ac39742fdd1ef5ed118"),
)
_FILES = tuple(remote.file for remote in _REMOTES)
_N_PIXELS = 256


def usps(places: Places, seed: int) -> Dataset:
    """The split of "The Elements of Statistical Learning", values in [0, 1]."""
    source = "USPS in the split 7,291 / 2,007 of The Elements of Statistical Learning, from "
    if folder := places.find("usps", ("usps.h5",)):
        parts = _read_hdf5(folder / "usps.h5")
        return made("usps", parts["train"], parts["test"], source + "HDF5.")
    folder = places.require("usps", _FILES, _PAGE, lambda target: _fetch(target, places.progress))
    train, test = (_read_libsvm(folder / file) for file in _FILES)
    return made("usps", train, test, source + "LIBSVM's collection, scaled back to [0, 1].")


def _fetch(folder: Path, progress: bool | None) -> None:
    for remote in _REMOTES:
        fetch(remote, folder, progress)


def _read_libsvm(path: Path) -> tuple[Array, Array]:
    """Values from [-1, 1] back to [0, 1], so that paper is 0 again; labels 1 to 10 to digits."""
    X, y = read_rows(path, n_columns=_N_PIXELS, one_based=True)
    if y is None or y.dtype.kind != "i" or not (y.min() >= 1 and y.max() <= 10):
        raise FileError(f"{path}: its labels are not 1 to 10; fetch it again.")
    return (X.toarray() + 1) / 2, y - 1


def _read_hdf5(path: Path) -> dict[str, tuple[Array, Array]]:
    h5py = require_extra("h5py", "hdf5", f"{path}: HDF5 files")
    try:
        with h5py.File(path) as file:
            parts = {
                part: (np.asarray(file[part]["data"]), np.asarray(file[part]["target"]))
                for part in ("train", "test")
            }
    except (OSError, KeyError, TypeError, ValueError) as error:
        raise FileError(
            f"{path}: not an HDF5 file with train/data, train/target, test/data and test/target "
            f"({error}); fetch it again."
        ) from error
    return {part: (X.reshape(len(X), -1), y) for part, (X, y) in parts.items()}
