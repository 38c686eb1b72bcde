"""USPS: 9,298 images of handwritten digits from envelopes, 16 x 16."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import FileError, MissingExtra
from .dataset import Dataset, made
from .places import Places

Array = npt.NDArray[Any]

_HDF5 = ("usps.h5",)


def usps(places: Places, seed: int) -> Dataset:
    """The split of "The Elements of Statistical Learning", values in [0, 1]."""
    folder = places.require("usps", _HDF5, "the USPS data set in HDF5")
    parts = _read_hdf5(folder / "usps.h5")
    source = "USPS in the split 7,291 / 2,007 of The Elements of Statistical Learning, from HDF5."
    return made("usps", parts["train"], parts["test"], source)


def _read_hdf5(path: Path) -> dict[str, tuple[Array, Array]]:
    try:
        import h5py
    except ImportError as error:
        raise MissingExtra(
            f"{path}: reading HDF5 needs h5py; install it with: pip install 'corekernels[hdf5]'."
        ) from error
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
