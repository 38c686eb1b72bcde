"""MNIST: 70,000 images of handwritten digits."""

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from ..errors import FileError
from .places import Places

Array = npt.NDArray[Any]

_PARTS = ("train", "t10k")
_FILES = tuple(
    f"{part}-{kind}-ubyte.gz" for part in _PARTS for kind in ("images-idx3", "labels-idx1")
)
_PAGE = "THE MNIST DATABASE of handwritten digits"


def mnist(*, folder: str | os.PathLike[str] | None = None) -> tuple[Array, Array]:
    """Images (70000, 28, 28) uint8 and digits (70000,) of MNIST: 60,000 for training come first.

    Parameters
    ----------
    folder : path, optional
        Its folder `mnist` holds the four original `.gz` files; the one that
        COREKERNELS_DATA names if not given.
    """
    return read_mnist(Places(folder))


def read_mnist(places: Places) -> tuple[Array, Array]:
    """Images and digits of both parts together."""
    images, labels = zip(*read_parts(places), strict=True)
    return np.concatenate(images), np.concatenate(labels)


def read_parts(places: Places) -> list[tuple[Array, Array]]:
    """Images and digits of the part for training and of the one for testing."""
    folder = places.require("mnist", _FILES, _PAGE)
    return [_read_part(folder, part) for part in _PARTS]


def _read_part(folder: Path, part: str) -> tuple[Array, Array]:
    images = _read_idx(folder / f"{part}-images-idx3-ubyte.gz", 3)
    labels = _read_idx(folder / f"{part}-labels-idx1-ubyte.gz", 1)
    if len(images) != len(labels):
        raise FileError(
            f"{folder}: {len(images)} images and {len(labels)} labels of part {part!r} do not "
            "belong together; fetch them again."
        )
    return images, labels


def _read_idx(path: Path, n_dimensions: int) -> Array:
    """The array in a gzipped file of the IDX format (unsigned bytes)."""
    try:
        raw = gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise FileError(f"{path}: cannot be read ({error}); fetch it again.") from error
    header = 4 + 4 * n_dimensions
    if len(raw) < header or raw[:4] != bytes([0, 0, 8, n_dimensions]):
        raise FileError(f"{path}: not an IDX file of bytes in {n_dimensions} dimensions.")
    shape = np.frombuffer(raw, ">i4", n_dimensions, offset=4)
    if len(raw) - header != int(np.prod(shape, dtype=np.int64)):
        raise FileError(f"{path}: cut short; fetch it again.")
    return np.frombuffer(raw, np.uint8, offset=header).reshape(shape)
