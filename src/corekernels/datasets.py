"""Data sets: read from a local folder, or generated."""

import gzip
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .errors import DataError, FileError

Array = npt.NDArray[Any]

_FOLDER_VARIABLE = "COREKERNELS_DATA"


def data_folder(name: str) -> Path:
    """The folder of one data set, inside the one that COREKERNELS_DATA names."""
    root = os.environ.get(_FOLDER_VARIABLE)
    if not root:
        raise FileError(f"{_FOLDER_VARIABLE}: not set; let it name the folder that holds {name!r}.")
    folder = Path(root) / name
    if not folder.is_dir():
        raise FileError(f"{folder}: is not a folder; put the files of {name!r} there.")
    return folder


def mnist() -> tuple[Array, Array]:
    """Images (70000, 28, 28) uint8 and digits (70000,) of MNIST: 60,000 for training come first.

    Read from the four original `.gz` files in the folder `mnist` of COREKERNELS_DATA.
    """
    folder = data_folder("mnist")
    parts = ("train", "t10k")
    images = [_read_idx(folder / f"{part}-images-idx3-ubyte.gz", 3) for part in parts]
    labels = [_read_idx(folder / f"{part}-labels-idx1-ubyte.gz", 1) for part in parts]
    return np.concatenate(images), np.concatenate(labels)


def m_rotate(n_train: int = 12_000, n_test: int = 20_000, *, seed: int = 0) -> tuple[Array, ...]:
    """MNIST digits, each turned by an angle of its own: X_train, y_train, X_test, y_test.

    Rows are float32 of unit length, 784 columns. The well-known data set of that name
    is made like this; this one is made anew, from `seed`.
    """
    images, labels = mnist()
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(images))[: n_train + n_test]
    X = rotate_images(images[chosen], seed=int(rng.integers(2**32))).reshape(len(chosen), -1)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = labels[chosen].astype(np.int64)
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def rotate_images(images: Any, *, seed: int = 0) -> npt.NDArray[np.float32]:
    """Images turned about their centres by angles uniform on the circle.

    Values between pixels are bilinear; what comes from outside the image is 0.

    Parameters
    ----------
    images : array-like of shape (n, height, width)
    seed : int
        The angles depend on the seed and n alone.

    Returns
    -------
    ndarray of the same shape, float32

    Examples
    --------
    >>> import numpy as np
    >>> from corekernels import datasets
    >>> images = np.zeros((1, 5, 5)); images[0, 2, 2] = 1
    >>> float(datasets.rotate_images(images, seed=3)[0, 2, 2])   # the centre stays
    1.0
    """
    from scipy import ndimage  # a third of a second that `import corekernels` does without

    images = np.asarray(images)
    if images.ndim != 3:
        raise DataError(f"images: has {images.ndim} dimensions; give (n, height, width).")
    angles = np.random.default_rng(seed).uniform(0, 2 * np.pi, len(images))
    centre = (np.array(images.shape[1:]) - 1) / 2
    out = np.empty(images.shape, np.float32)
    for image, angle, target in zip(images, angles, out, strict=True):
        turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
        source = image.astype(np.float32)
        ndimage.affine_transform(source, turn, centre - turn @ centre, order=1, output=target)
    return out


def _read_idx(path: Path, n_dimensions: int) -> Array:
    """The array in a gzipped file of the IDX format (unsigned bytes)."""
    try:
        raw = gzip.decompress(path.read_bytes())
    except (OSError, EOFError) as error:
        raise FileError(f"{path}: cannot be read ({error}).") from error
    header = 4 + 4 * n_dimensions
    if len(raw) < header or raw[:4] != bytes([0, 0, 8, n_dimensions]):
        raise FileError(f"{path}: not an IDX file of bytes in {n_dimensions} dimensions.")
    shape = np.frombuffer(raw, ">i4", n_dimensions, offset=4)
    if len(raw) - header != int(np.prod(shape, dtype=np.int64)):
        raise FileError(f"{path}: cut short; fetch it again.")
    return np.frombuffer(raw, np.uint8, offset=header).reshape(shape)
