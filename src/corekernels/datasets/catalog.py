"""Data sets by name."""

from collections.abc import Callable

from .._core.arguments import require_choice, seed_of
from .._core.types import PathLike
from .dataset import Dataset
from .images import digits, m_basic, m_rotate_set, mnist10k
from .libsvm import rcv1, usps
from .news import news
from .places import Places
from .youtube import youtube

_LOADERS: dict[str, Callable[[Places, int], Dataset]] = {
    "digits": digits,
    "mnist10k": mnist10k,
    "m-basic": m_basic,
    "m-rotate": m_rotate_set,
    "usps": usps,
    "rcv1": rcv1,
    "youtube": youtube,
    "20news": news,
}

NAMES = tuple(_LOADERS)


def load(
    name: str, *, folder: PathLike | None = None, download: bool = True, seed: int = 0,
    progress: bool | None = None,
) -> Dataset:  # fmt: skip
    """A data set by its name, as unit-length rows to train and to test on.

    ==========  ===============  =======  ====================================================
    name        train / test     columns  what it is
    ==========  ===============  =======  ====================================================
    "digits"    1,000 / 797      64       scikit-learn's digits; needs no files
    "mnist10k"  10,000 / 60,000  784      MNIST, trained on its official test images
    "m-basic"   12,000 / 50,000  784      a random split of MNIST, made anew from `seed`
    "m-rotate"  12,000 / 50,000  784      the same, each image turned by a random angle
    "usps"      7,291 / 2,007    256      digits from envelopes
    "rcv1"      20,242 / 60,000  47,236   news stories, two classes, TF-IDF
    "youtube"   11,930 / 97,934           videos of games, by what is heard in them
    "20news"    11,314 / 7,532   53,663   20 Newsgroups by date, TF-IDF
    ==========  ===============  =======  ====================================================

    A local folder is looked through first, then the cache of earlier downloads; what is in
    neither is downloaded into the cache, from OpenML, LIBSVM's collection, UCI or through
    scikit-learn. The cache is `~/.cache/corekernels`, or the folder that the environment
    variable COREKERNELS_CACHE names. Where there is no network, the error says which files
    are wanted and where to put them.

    Parameters
    ----------
    name : str
        One of the above.
    folder : path, optional
        Holds one folder per data set: `mnist/*-ubyte.gz`, `usps/usps.h5` (needs the extra
        `hdf5`) or `usps/usps*.bz2`, `rcv1/rcv1_*.binary` or `.binary.bz2`,
        `youtube/*/audio_sai_boxes.txt.gz`, `20news/*.npz`. If not given, the one that the
        environment variable COREKERNELS_DATA names.
    download : bool
        Whether what is not there may be downloaded.
    seed : int
        Of the split of digits, m-basic and m-rotate, and of m-rotate's angles.
    progress : bool, optional
        Whether downloads show a progress bar; None means where there is a terminal.

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
    loader = _LOADERS[require_choice("name", name, NAMES)]
    return loader(Places(folder, download, progress), seed_of(seed, "seed"))
