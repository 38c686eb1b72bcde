"""Data sets by name."""

import os
from collections.abc import Callable

from .._arguments import require_choice, require_seed
from .dataset import Dataset
from .images import digits, m_basic, m_rotate_set, mnist10k
from .places import Places
from .text import news
from .usps import usps

_LOADERS: dict[str, Callable[[Places, int], Dataset]] = {
    "digits": digits,
    "mnist10k": mnist10k,
    "m-basic": m_basic,
    "m-rotate": m_rotate_set,
    "usps": usps,
    "20news": news,
}

NAMES = tuple(_LOADERS)


def load(name: str, *, folder: str | os.PathLike[str] | None = None, seed: int = 0) -> Dataset:
    """A data set by its name, as unit-length rows to train and to test on.

    ==========  ===============  =======  ====================================================
    name        train / test     columns  what it is
    ==========  ===============  =======  ====================================================
    "digits"    1,000 / 797      64       scikit-learn's digits; needs no files
    "mnist10k"  10,000 / 60,000  784      MNIST, trained on its official test images
    "m-basic"   12,000 / 50,000  784      a random split of MNIST, made anew from `seed`
    "m-rotate"  12,000 / 50,000  784      the same, each image turned by a random angle
    "usps"      7,291 / 2,007    256      digits from envelopes
    "20news"    11,314 / 7,532   53,663   20 Newsgroups by date, TF-IDF
    ==========  ===============  =======  ====================================================

    Parameters
    ----------
    name : str
        One of the above.
    folder : path, optional
        Holds the files: `mnist/*-ubyte.gz`, `usps/usps.h5`, `20news/*.npz`. If not given,
        the one that the environment variable COREKERNELS_DATA names.
    seed : int
        Of the split of digits, m-basic and m-rotate, and of m-rotate's angles.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from corekernels import datasets
    >>> digits = datasets.load("digits")
    >>> digits
    Dataset('digits', train (1000, 64), test (797, 64), regenerated=False)
    >>> digits.X_train.format, digits.X_train.dtype.name, digits.y_train.dtype.name
    ('csr', 'float32', 'int64')
    >>> float((digits.X_train[:1] ** 2).sum().round(5))
    1.0
    """
    return _LOADERS[require_choice("name", name, NAMES)](Places(folder), require_seed(seed))
