"""Data sets of the experiments: from a local folder, from a download, or made anew.

`load` gives each of them in one form: unit-length float32 rows (CSR) and int64 labels,
split into a part to train on and a part to test on.
"""

from collections.abc import Callable

from corekernels.errors import ParameterError

from . import images, libsvm, news, youtube
from .dataset import Dataset
from .images import rotate_images
from .mnist_files import mnist
from .news import word_counts
from .places import PathLike, Places

__all__ = ["NAMES", "Dataset", "load", "mnist", "rotate_images", "word_counts"]

_LOADERS: dict[str, Callable[[Places, int], Dataset]] = {
    "digits": images.digits,
    "mnist10k": images.mnist10k,
    "m-basic": images.m_basic,
    "m-rotate": images.m_rotate,
    "usps": libsvm.usps,
    "rcv1": libsvm.rcv1,
    "youtube": youtube.youtube,
    "20news": news.news,
}

NAMES = tuple(_LOADERS)


def load(name: str, *, folder: PathLike | None = None, seed: int = 0) -> Dataset:
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
        Holds one folder per data set: `mnist/*-ubyte.gz`, `usps/usps.h5` (needs h5py)
        or `usps/usps*.bz2`, `rcv1/rcv1_*.binary` or `.binary.bz2`,
        `youtube/*/audio_sai_boxes.txt.gz`, `20news/*.npz`. If not given, the one that the
        environment variable COREKERNELS_DATA names.
    seed : int
        Of the split of digits, m-basic and m-rotate, and of m-rotate's angles.
    """
    if name not in _LOADERS:
        raise ParameterError(f"name: got {name!r}; choose one of {', '.join(NAMES)}.")
    return _LOADERS[name](Places(folder), seed)
