"""20 Newsgroups: as rows to classify, and as counts of a few words."""

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer

from ..errors import FileError
from ..io import read_rows
from .dataset import Dataset, made
from .places import Places

Array = npt.NDArray[Any]

_NEWS = ("train_tf.npz", "test_tf.npz", "labels.npz")
_WORDS = ("word_by_document.npz", "words.txt")


def news(places: Places, seed: int) -> Dataset:
    """TF-IDF rows of 20 Newsgroups, split by date."""
    folder = places.require("20news", _NEWS, "term counts of 20 Newsgroups by date")
    counts = [read_rows(folder / f"{part}_tf.npz", labels=False)[0] for part in ("train", "test")]
    labels = _read_labels(folder / "labels.npz")
    source = (
        "20 Newsgroups split by date, headers dropped: (1 + log count) times the IDF of the "
        "training rows."
    )
    weights = TfidfTransformer(sublinear_tf=True, norm=None).fit(counts[0])
    train, test = (weights.transform(X) for X in counts)
    return made("20news", (train, labels["train"]), (test, labels["test"]), source)


def word_counts(
    *, folder: str | os.PathLike[str] | None = None
) -> tuple[sparse.csr_array, list[str]]:
    """How often a few words occur in each document of 20 Newsgroups: counts, and the words.

    The words make the pairs a–the, hong–kong, of–and, united–states, san–francisco and
    gun–control, from very alike to hardly so: rows for validating estimators.

    Parameters
    ----------
    folder : path, optional
        Its folder `words` holds `word_by_document.npz` (CSR, a row a word) and `words.txt`
        (a word a line); the one that COREKERNELS_DATA names if not given.

    Returns
    -------
    counts : csr_array of shape (n_words, n_documents), float32
    words : list of str
        The names of the rows.
    """
    places = Places(folder)
    found = places.require("words", _WORDS, "counts of words a document of 20 Newsgroups")
    counts, _ = read_rows(found / "word_by_document.npz", labels=False)
    path = found / "words.txt"
    try:
        words = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: cannot be read ({error}); fetch it again.") from error
    if len(words) != counts.shape[0]:
        raise FileError(
            f"{path}: {len(words)} words for {counts.shape[0]} rows; "
            "the files do not belong together, fetch them again."
        )
    return counts.astype(np.float32), words


def _read_labels(path: Path) -> dict[str, Array]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {part: file[part] for part in ("train", "test")}
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise FileError(
            f"{path}: not an npz with the labels train and test ({error}); fetch it again."
        ) from error
