"""Near-duplicates among texts that are in memory."""

from typing import Any

import numpy as np

from ._core.validation import Rows
from .kernel_table import RESEMBLANCE
from .neighbors.duplicates.result import NearDuplicates
from .neighbors.duplicates.search import Criterion, near_duplicate_rows
from .text.rows import rows_of_documents
from .text.settings import TextSettings


def deduplicate(
    texts: Any, threshold: float = 0.8, kernel: str = RESEMBLANCE.name, *, unit: str = "words",
    ngrams: int | tuple[int, int] = 3, seed: int = 0, n_jobs: int | None = None,
) -> NearDuplicates:  # fmt: skip
    """Texts that are nearly the same: which to keep, and which are alike.

    Two texts are alike where their sets of n-grams are: by default, where four of five 3-grams of
    words that one of them has are in both. Texts with fewer words are compared by shorter n-grams,
    those without words by their characters; empty texts are like nothing.

    Parameters
    ----------
    texts : list of str, array, pandas Series or Arrow column
    threshold : float in (0, 1]
        Least similarity of a pair.
    kernel : str
        What similar means: the resemblance of sets of n-grams, or another one of
        `files.near_duplicates`.
    unit, ngrams
        As of `text.Shingles`. For titles and other short texts take characters and 5.
    seed : int
        Seed of the hash tables that find the pairs.
    n_jobs : int, optional
        Threads; None means all cores. Never changes the result.

    Returns
    -------
    neighbors.NearDuplicates
        `kept()` are the places of the texts to keep, the first of each group; `groups()` those of
        texts that are alike, directly or by way of others; `pairs` and `similarities` say how
        much.

    Examples
    --------
    >>> import corekernels as ck
    >>> texts = ["a rose is a rose is a rose", "no thorns", "A rose is a rose: is a rose."]
    >>> found = ck.deduplicate(texts, unit="characters", ngrams=5, threshold=0.5)
    >>> found.kept().tolist(), found.groups()
    ([0, 1], [array([0, 2])])
    >>> [texts[place] for place in found.kept()]
    ['a rose is a rose is a rose', 'no thorns']
    """
    criterion = Criterion.of(kernel, threshold, seed)
    if not hasattr(texts, "__len__"):
        texts = list(texts)
    least = ngrams if isinstance(ngrams, int) else ngrams[0]
    rows = _rows(texts, unit, ngrams, n_jobs)
    shorter = [(unit, n) for n in range(least - 1, 0, -1)]
    for other_unit, n in [*shorter, ("characters", 1)]:
        empty = np.flatnonzero(rows.lengths == 0)
        if not len(empty):
            break
        places = np.arange(len(rows))
        places[empty] += len(rows)
        rows = Rows.concatenate([rows, _rows(texts, other_unit, n, n_jobs)]).take(places)
    return near_duplicate_rows(rows, np.arange(len(rows)), criterion, n_jobs)


def _rows(texts: Any, unit: str, ngrams: int | tuple[int, int], n_jobs: int | None) -> Rows:
    settings = TextSettings.of(unit=unit, ngrams=ngrams, weights="binary", min_length=1)
    return rows_of_documents(texts, settings, n_jobs=n_jobs, name="texts")
