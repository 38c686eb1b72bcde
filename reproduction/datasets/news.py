"""20 Newsgroups: 18,846 messages of 1993, split by date; and counts of a few words in them.

The files of the data set hold term counts, made as scikit-learn's `CountVectorizer` does: words
of two characters or more, in lower case, that occur in at least two training documents; the
headers of the messages dropped.
"""

import zipfile
from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.datasets import fetch_20newsgroups
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from corekernels.errors import FileError
from corekernels.io import atomic_write, read_rows, write_rows

from .dataset import Array, Dataset, made, unrelated
from .places import PathLike, Places

_PAGE = "20 Newsgroups by date; scikit-learn's fetch_20newsgroups gets the messages"
_FILES = ("train_tf.npz", "test_tf.npz", "labels.npz")
_WORD_FILES = ("word_by_document.npz", "words.txt")
_WORDS = (
    "a", "the", "hong", "kong", "of", "and",
    "united", "states", "san", "francisco", "gun", "control",
)  # fmt: skip


def news(places: Places, seed: int) -> Dataset:
    """TF-IDF rows of 20 Newsgroups."""
    folder = places.require("20news", _FILES, f"term counts of {_PAGE}", _fetch_counts)
    counts = [read_rows(folder / f"{part}_tf.npz", labels=False)[0] for part in ("train", "test")]
    labels = _read_labels(folder / "labels.npz")
    source = (
        "20 Newsgroups split by date, headers dropped: (1 + log count) times the IDF of the "
        "training rows."
    )
    weights = TfidfTransformer(sublinear_tf=True, norm=None).fit(counts[0])
    train, test = (weights.transform(X) for X in counts)
    return made("20news", (train, labels["train"]), (test, labels["test"]), source)


def word_counts(folder: PathLike | None = None) -> tuple[sparse.csr_array, list[str]]:
    """How often a few words occur in each training document of 20 Newsgroups, and the words.

    They make the pairs a–the, hong–kong, of–and, united–states, san–francisco and
    gun–control, from frequent to rare and from much to little in common: rows for
    validating estimators.

    Parameters
    ----------
    folder : path, optional
        Its folder `words` holds `word_by_document.npz` (CSR, one row per word) and `words.txt`
        (one word per line); the one that COREKERNELS_DATA names if not given.

    Returns
    -------
    counts : csr_array of shape (n_words, n_documents), float32
    words : list of str
        The names of the rows.
    """
    found = Places(folder).require(
        "words", _WORD_FILES, f"counts of words in {_PAGE}", _fetch_words
    )
    counts, _ = read_rows(found / "word_by_document.npz", labels=False)
    path = found / "words.txt"
    try:
        words = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(f"{path}: cannot be read ({error}); fetch it again.") from error
    if len(words) != counts.shape[0]:
        raise unrelated(path, f"{len(words)} words for {counts.shape[0]} rows")
    return counts.astype(np.float32), words


def _read_labels(path: Path) -> dict[str, Array]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {part: file[part] for part in ("train", "test")}
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise FileError(
            f"{path}: not an npz with the labels train and test ({error}); fetch it again."
        ) from error


def _messages(part: str) -> tuple[list[str], Array, list[str]]:
    """Texts without their headers, classes, and the classes' names; scikit-learn keeps them."""
    found = fetch_20newsgroups(subset=part, remove=("headers",))
    return found.data, np.asarray(found.target), list(found.target_names)


def _fetch_counts(folder: Path) -> None:
    train, y_train, names = _messages("train")
    test, y_test, _ = _messages("test")
    counter = CountVectorizer(min_df=2, dtype=np.float32)
    write_rows(folder / "train_tf.npz", counter.fit_transform(train))
    write_rows(folder / "test_tf.npz", counter.transform(test))
    with atomic_write(folder / "labels.npz") as file:
        np.savez(file, train=y_train, test=y_test, names=np.array(names))


def _fetch_words(folder: Path) -> None:
    texts, _, _ = _messages("train")
    counter = CountVectorizer(vocabulary=_WORDS, token_pattern=r"[a-z]+", dtype=np.float32)
    write_rows(folder / "word_by_document.npz", counter.transform(texts).T.tocsr())
    with atomic_write(folder / "words.txt") as file:
        file.write("\n".join([*_WORDS, ""]).encode())
