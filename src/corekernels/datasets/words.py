"""How often a few words occur in the documents of 20 Newsgroups."""

from pathlib import Path

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer

from .._core.types import PathLike
from ..errors import FileError
from ..io import atomic_write, read_rows, write_rows
from .news import PAGE, messages
from .places import Places

_FILES = ("word_by_document.npz", "words.txt")
_WORDS = (
    "a", "the", "hong", "kong", "of", "and",
    "united", "states", "san", "francisco", "gun", "control",
)  # fmt: skip


def word_counts(
    *,
    folder: PathLike | None = None,
    download: bool = True,
) -> tuple[sparse.csr_array, list[str]]:
    """How often a few words occur in each training document of 20 Newsgroups, and the words.

    They make the pairs a–the, hong–kong, of–and, united–states, san–francisco and
    gun–control, from frequent to rare and from much to little in common: rows for
    validating estimators.

    Parameters
    ----------
    folder : path, optional
        Its folder `words` holds `word_by_document.npz` (CSR, one row per word) and `words.txt`
        (one word per line); the one that COREKERNELS_DATA names if not given.
    download : bool
        Whether the counts may be made of what scikit-learn downloads.

    Returns
    -------
    counts : csr_array of shape (n_words, n_documents), float32
    words : list of str
        The names of the rows.
    """
    places = Places(folder, download)
    found = places.require("words", _FILES, f"counts of words in {PAGE}", _fetch)
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


def _fetch(folder: Path) -> None:
    texts, _, _ = messages("train")
    counter = CountVectorizer(vocabulary=_WORDS, token_pattern=r"[a-z]+", dtype=np.float32)
    write_rows(folder / "word_by_document.npz", counter.transform(texts).T.tocsr())
    with atomic_write(folder / "words.txt") as file:
        file.write("".join(f"{word}\n" for word in _WORDS).encode())
