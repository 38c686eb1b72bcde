"""Data sets of handwritten digits.

M-Basic and M-Rotate are Larochelle et al.'s (ICML 2007) 12,000 / 50,000 splits of MNIST,
the second with every image turned by an angle of its own. Their files are not ours to
give, so they are made anew: a permutation of the 70,000 images is drawn from the seed,
the first 12,000 are for training, the next 50,000 for testing. Under one seed M-Rotate
holds M-Basic's images, turned.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage, sparse
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from corekernels.errors import DataError, FileError

from .dataset import Array, Dataset, made
from .mnist_files import read_mnist, read_parts
from .places import Places

_N_TRAIN, _N_TEST = 12_000, 50_000


def digits(places: Places, seed: int) -> Dataset:
    """scikit-learn's digits; needs no files."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, train_size=1000, stratify=y, random_state=seed
    )
    source = (
        "The 1,797 images of 8 x 8 that scikit-learn carries, in a stratified split "
        f"1,000 / 797 of seed {seed}."
    )
    return made("digits", (X_train, y_train), (X_test, y_test), source)


def mnist10k(places: Places, seed: int) -> Dataset:
    """MNIST with its parts swapped: trains on the official 10,000 test images."""
    test, train = ((images.reshape(len(images), -1), y) for images, y in read_parts(places))
    source = "MNIST, trained on its 10,000 official test images, tested on its 60,000 others."
    return made("mnist10k", train, test, source)


def m_basic(places: Places, seed: int) -> Dataset:
    """12,000 / 50,000 images of MNIST as they are."""
    train, test = _split(places, seed, turned=False)
    source = f"A random split 12,000 / 50,000 of MNIST's 70,000 images, made anew from seed {seed}."
    return made("m-basic", train, test, source)


def m_rotate(places: Places, seed: int) -> Dataset:
    """The same images, each turned."""
    (X_train, y_train), (X_test, y_test) = _split(places, seed, turned=True)
    source = (
        "A random split 12,000 / 50,000 of MNIST's 70,000 images, each turned by an angle "
        f"uniform on the circle (bilinear), made anew from seed {seed}."
    )
    X_train, X_test = sparse.csr_array(X_train), sparse.csr_array(X_test)
    return Dataset("m-rotate", X_train, y_train, X_test, y_test, source)


def _split(
    places: Places, seed: int, *, turned: bool
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Images drawn from MNIST's as rows, and their digits; turned images as unit rows."""
    images, labels = read_mnist(places)
    n_images = _N_TRAIN + _N_TEST
    if n_images > len(images):
        found = f"{n_images} images are wanted and {len(images)} there"
        raise FileError(f"mnist: {found}; fetch it again.")
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(images))[:n_images]
    X, y = images[chosen].reshape(n_images, -1), labels[chosen].astype(np.int64)
    if turned:
        images = rotate_images(images[chosen], seed=int(rng.integers(2**32)))
        X = images.reshape(n_images, -1)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    return (X[:_N_TRAIN], y[:_N_TRAIN]), (X[_N_TRAIN:], y[_N_TRAIN:])


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
    """
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
