"""Working memory of the loops over text: grows with the longest document, and is used again."""

import numpy as np

from .._core.types import Array
from .._loops.text import distinct, normalisation
from .._loops.text import shingles as loops
from .._loops.text.words import SPARE_PLACES

_TEXT_BYTES = 1 << 14  # room for a document to begin with
_GRAMS = 1 << 12
_MOST_KEPT = 64  # for so many threads
_MOST_BYTES = 1 << 24  # larger ones are not kept

_kept: list[loops.Scratch] = []  # not in use at the moment; a list's pop and append are atomic


def borrow_scratch() -> loops.Scratch:
    """Working memory for a thread, perhaps one that was given back.

    To make it anew for every batch would take a fifth of the time of making rows.
    """
    try:
        return _kept.pop()
    except IndexError:
        return _new_scratch(_TEXT_BYTES, _GRAMS)


def return_scratch(scratch: loops.Scratch) -> None:
    """Give back what is no longer needed, as a loop that has finished leaves it."""
    if sum(array.nbytes for array in scratch) <= _MOST_BYTES and len(_kept) < _MOST_KEPT:
        _kept.append(scratch)


def larger_scratch(scratch: loops.Scratch, state: Array) -> loops.Scratch:
    """Working memory that is large enough, and not only just."""
    n_bytes, n_grams = len(scratch.places) - SPARE_PLACES, len(scratch.columns)
    if state[loops.TEXT_NEEDED] > len(scratch.text):
        n_bytes = 2 * int(state[loops.TEXT_NEEDED])
    if state[loops.GRAMS_NEEDED] > n_grams:
        n_grams = 2 * int(state[loops.GRAMS_NEEDED])
    return _new_scratch(n_bytes, n_grams)


def _new_scratch(n_bytes: int, n_grams: int) -> loops.Scratch:
    n_places = int(distinct.table_size(n_grams))
    return loops.Scratch(
        text=np.zeros(n_bytes + normalisation.SPARE_BYTES, np.uint8),
        marks=np.zeros(n_bytes + normalisation.SPARE_BYTES, np.uint8),
        places=np.empty(n_bytes + SPARE_PLACES, np.int32),
        words=np.empty(n_bytes // 2 + 1, np.uint64),
        columns=np.empty(n_grams, np.uint64),
        keys=np.full(n_places, distinct.FREE),
        key_counts=np.zeros(n_places, np.int32),
        counts=np.empty(n_grams + 1, np.int32),
        missing=np.empty(1, np.int64),
    )
