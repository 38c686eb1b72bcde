"""Data sets of handwritten digits.

M-Basic and M-Rotate are Larochelle et al.'s (ICML 2007) 12,000 / 50,000 splits of MNIST,
the second with every image turned by an angle of its own. Their files are not ours to
give, so they are made anew: a permutation of the 70,000 images is drawn from the seed,
the first 12,000 are for training, the next 50,000 for testing. Under one seed M-Rotate
holds M-Basic's images, turned.
"""

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from .._core.types import Array, PathLike
from ..errors import DataError
from .dataset import Dataset, made
from .mnist_files import mnist, read_mnist, read_parts
from .places import Places
from .rotation import rotate_images

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
    images, labels = read_mnist(places)
    chosen, _ = _drawn(len(images), _N_TRAIN + _N_TEST, seed)
    rows, y = images[chosen].reshape(len(chosen), -1), labels[chosen]
    train, test = slice(_N_TRAIN), slice(_N_TRAIN, None)
    source = f"A random split 12,000 / 50,000 of MNIST's 70,000 images, made anew from seed {seed}."
    parts = (rows[train], y[train]), (rows[test], y[test])
    return made("m-basic", *parts, source, regenerated=True)


def m_rotate_set(places: Places, seed: int) -> Dataset:
    """The same images, each turned."""
    X_train, y_train, X_test, y_test = _m_rotate(read_mnist(places), _N_TRAIN, _N_TEST, seed)
    source = (
        "A random split 12,000 / 50,000 of MNIST's 70,000 images, each turned by an angle "
        f"uniform on the circle (bilinear), made anew from seed {seed}."
    )
    X_train, X_test = sparse.csr_array(X_train), sparse.csr_array(X_test)
    return Dataset("m-rotate", X_train, y_train, X_test, y_test, True, source)


def m_rotate(
    n_train: int = 12_000,
    n_test: int = 20_000,
    *,
    seed: int = 0,
    folder: PathLike | None = None,
    download: bool = True,
) -> tuple[Array, ...]:
    """MNIST digits, each turned by an angle of its own: X_train, y_train, X_test, y_test.

    Rows are float32 of unit length, 784 columns, dense. The well-known data set of that
    name is made like this; this one is made anew, from `seed`. `load("m-rotate")` gives
    the rows of `m_rotate(12_000, 50_000)`.
    """
    return _m_rotate(mnist(folder=folder, download=download), n_train, n_test, seed)


def _m_rotate(
    pictures: tuple[Array, Array], n_train: int, n_test: int, seed: int
) -> tuple[Array, ...]:
    images, labels = pictures
    chosen, angle_seed = _drawn(len(images), n_train + n_test, seed)
    X = rotate_images(images[chosen], seed=angle_seed).reshape(len(chosen), -1)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = labels[chosen].astype(np.int64)
    return X[:n_train], y[:n_train], X[n_train:], y[n_train:]


def _drawn(n_images: int, n_wanted: int, seed: int) -> tuple[Array, int]:
    """Which images are taken, in their new order, and the seed of their angles."""
    if n_wanted > n_images:
        raise DataError(f"mnist: {n_wanted} images are wanted and {n_images} there; ask for fewer.")
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(n_images)[:n_wanted]
    return chosen, int(rng.integers(2**32))
