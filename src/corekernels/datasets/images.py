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
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from .._core.types import Array, PathLike
from ..errors import DataError
from .dataset import Dataset, made
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
    train, test = _split(places, _N_TRAIN, _N_TEST, seed, turned=False)
    source = f"A random split 12,000 / 50,000 of MNIST's 70,000 images, made anew from seed {seed}."
    return made("m-basic", train, test, source, regenerated=True)


def m_rotate_set(places: Places, seed: int) -> Dataset:
    """The same images, each turned."""
    (X_train, y_train), (X_test, y_test) = _split(places, _N_TRAIN, _N_TEST, seed, turned=True)
    source = (
        "A random split 12,000 / 50,000 of MNIST's 70,000 images, each turned by an angle "
        f"uniform on the circle (bilinear), made anew from seed {seed}."
    )
    X_train, X_test = sparse.csr_array(X_train), sparse.csr_array(X_test)
    return Dataset("m-rotate", X_train, y_train, X_test, y_test, True, source)


def m_rotate(
    n_train: int = 12_000, n_test: int = 20_000, *, seed: int = 0, folder: PathLike | None = None,
    download: bool = True,
) -> tuple[Array, ...]:  # fmt: skip
    """MNIST digits, each turned by an angle of its own: X_train, y_train, X_test, y_test.

    Rows are float32 of unit length, 784 columns, dense. The well-known data set of that
    name is made like this; this one is made anew, from `seed`. `load("m-rotate")` gives
    the rows of `m_rotate(12_000, 50_000)`.

    Examples
    --------
    >>> from corekernels import datasets
    >>> X, y, X_test, y_test = datasets.m_rotate(1000, 1000)  # doctest: +SKIP
    """
    train, test = _split(Places(folder, download), n_train, n_test, seed, turned=True)
    return *train, *test


def _split(
    places: Places, n_train: int, n_test: int, seed: int, *, turned: bool
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """Images drawn from MNIST's as rows, and their digits; turned images as unit rows."""
    images, labels = read_mnist(places)
    n_wanted = n_train + n_test
    if n_wanted > len(images):
        found = f"{n_wanted} images are wanted and {len(images)} there"
        raise DataError(f"mnist: {found}; ask for fewer.")
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(images))[:n_wanted]
    X, y = images[chosen].reshape(n_wanted, -1), labels[chosen].astype(np.int64)
    if turned:
        images = rotate_images(images[chosen], seed=int(rng.integers(2**32)))
        X = images.reshape(n_wanted, -1)
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    return (X[:n_train], y[:n_train]), (X[n_train:], y[n_train:])


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
