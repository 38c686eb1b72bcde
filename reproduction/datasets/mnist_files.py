"""MNIST: 70,000 images of handwritten digits."""

import gzip
import hashlib
import importlib.util
import zlib
from pathlib import Path

import numpy as np
from sklearn.datasets import fetch_openml

from corekernels.errors import FileError
from corekernels.io import atomic_write

from .dataset import Array, unrelated
from .places import PathLike, Places

# the published MD5 sums of the unpacked files
_SUMS = {
    "train-images-idx3-ubyte.gz": "6bbc9ace898e44ae57da46a324031adb",
    "train-labels-idx1-ubyte.gz": "a25bea736e30d166cdddb491f175f624",
    "t10k-images-idx3-ubyte.gz": "2646ac647ad5339dbf082846283269ea",
    "t10k-labels-idx1-ubyte.gz": "27ae3e4e09519cfbb04c329615203637",
}
_N_TRAIN = 60_000
_PAGE = "THE MNIST DATABASE of handwritten digits"


def mnist(folder: PathLike | None = None) -> tuple[Array, Array]:
    """Images (70000, 28, 28) uint8 and digits (70000,) of MNIST: 60,000 for training come first.

    `folder` holds a folder `mnist`; the one that COREKERNELS_DATA names if it is not given.
    """
    return read_mnist(Places(folder))


def read_mnist(places: Places) -> tuple[Array, Array]:
    """Images and digits of both parts together."""
    images, labels = zip(*read_parts(places), strict=True)
    return np.concatenate(images), np.concatenate(labels)


def read_parts(places: Places) -> list[tuple[Array, Array]]:
    """Images and digits of the part for training and of the one for testing."""
    folder = places.require("mnist", tuple(_SUMS), _PAGE, _fetch)
    parts = []
    for part in ("train", "t10k"):
        images = _read_idx(folder / f"{part}-images-idx3-ubyte.gz", 3)
        labels = _read_idx(folder / f"{part}-labels-idx1-ubyte.gz", 1)
        if len(images) != len(labels):
            found = f"{len(images)} images and {len(labels)} labels of part {part!r}"
            raise unrelated(folder, found)
        parts.append((images, labels))
    return parts


def _read_idx(path: Path, n_dimensions: int) -> Array:
    """The array in a gzipped file of the IDX format (unsigned bytes)."""
    try:
        raw = gzip.decompress(path.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"{path}: cannot be read ({error}); fetch it again.") from error
    header = 4 + 4 * n_dimensions
    if len(raw) < header or raw[:4] != bytes([0, 0, 8, n_dimensions]):
        raise FileError(f"{path}: not an IDX file of bytes in {n_dimensions} dimensions.")
    shape = np.frombuffer(raw, ">i4", n_dimensions, offset=4)
    if len(raw) - header != int(np.prod(shape, dtype=np.int64)):
        raise FileError(f"{path}: cut short; fetch it again.")
    return np.frombuffer(raw, np.uint8, offset=header).reshape(shape)


def _fetch(folder: Path) -> None:
    """The four original files, made of OpenML's table: the 60,000 for training come first."""
    parser = "pandas" if importlib.util.find_spec("pandas") else "liac-arff"
    found = fetch_openml("mnist_784", version=1, as_frame=False, parser=parser)
    images = np.asarray(found.data).astype(np.uint8).reshape(-1, 28, 28)
    labels = np.asarray(found.target).astype(np.uint8)
    raw = {}
    for part, rows in (("train", slice(_N_TRAIN)), ("t10k", slice(_N_TRAIN, None))):
        raw[f"{part}-images-idx3-ubyte.gz"] = _idx(images[rows])
        raw[f"{part}-labels-idx1-ubyte.gz"] = _idx(labels[rows])
    for file, content in raw.items():
        if hashlib.md5(content, usedforsecurity=False).hexdigest() != _SUMS[file]:
            raise FileError(f"OpenML's mnist_784: does not hold the bytes of {file}.")
    for file, content in raw.items():
        with atomic_write(folder / file) as target:
            target.write(gzip.compress(content, mtime=0))


def _idx(array: Array) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">i4").tobytes() + array.tobytes()
