"""20 Newsgroups: 18,846 messages of 1993, split by date.

The files hold term counts, made as scikit-learn's `CountVectorizer` does: words of two
characters or more, in lower case, that occur in at least two training documents; the
headers of the messages dropped.
"""

import zipfile
from pathlib import Path

import numpy as np
from sklearn.datasets import fetch_20newsgroups
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from .._core.types import Array
from ..errors import FileError
from ..io import atomic_write, read_rows, write_rows
from .dataset import Dataset, made
from .places import Places

PAGE = "20 Newsgroups by date; scikit-learn's fetch_20newsgroups gets the messages"

_FILES = ("train_tf.npz", "test_tf.npz", "labels.npz")


def news(places: Places, seed: int) -> Dataset:
    """TF-IDF rows of 20 Newsgroups."""
    folder = places.require("20news", _FILES, f"term counts of {PAGE}", _fetch)
    counts = [read_rows(folder / f"{part}_tf.npz", labels=False)[0] for part in ("train", "test")]
    labels = _read_labels(folder / "labels.npz")
    source = (
        "20 Newsgroups split by date, headers dropped: (1 + log count) times the IDF of the "
        "training rows."
    )
    weights = TfidfTransformer(sublinear_tf=True, norm=None).fit(counts[0])
    train, test = (weights.transform(X) for X in counts)
    return made("20news", (train, labels["train"]), (test, labels["test"]), source)


def _read_labels(path: Path) -> dict[str, Array]:
    try:
        with np.load(path, allow_pickle=False) as file:
            return {part: file[part] for part in ("train", "test")}
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise FileError(
            f"{path}: not an npz with the labels train and test ({error}); fetch it again."
        ) from error


def messages(part: str) -> tuple[list[str], Array, list[str]]:
    """Texts without their headers, classes, and the classes' names; scikit-learn keeps them."""
    found = fetch_20newsgroups(subset=part, remove=("headers",))
    return found.data, np.asarray(found.target), list(found.target_names)


def _fetch(folder: Path) -> None:
    train, y_train, names = messages("train")
    test, y_test, _ = messages("test")
    counter = CountVectorizer(min_df=2, dtype=np.float32)
    write_rows(folder / "train_tf.npz", counter.fit_transform(train))
    write_rows(folder / "test_tf.npz", counter.transform(test))
    with atomic_write(folder / "labels.npz") as file:
        np.savez(file, train=y_train, test=y_test, names=np.array(names))
