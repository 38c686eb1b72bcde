"""Words of a normalised document, and their n-grams: longest runs of \\w characters."""

import numpy as np

from ..compilation import inner_loop, loop
from ..simd.bit_sets import WORD, bytes_between, equal_bytes
from ..simd.integers import popcount, trailing_zeros
from .gram_hash import absorb_bytes, column_of, extend_gram, mix_all
from .normalisation import WORD_MARK

_ZERO, _NINE, _A, _Z, _CAPITAL_A, _CAPITAL_Z, _UNDERSCORE = (np.uint8(ord(c)) for c in "09azAZ_")
_ONE, _TWO, _LAST_BIT = np.uint64(1), np.uint64(2), np.uint64(63)
_MOST_BYTES = 4  # of a character
_TOGETHER = 8  # places written without a branch between


@loop(inline="always")
def _word_bits(text, marks, i, is_lower, is_ascii):
    """Which of the 64 bytes from i on belong to words."""
    bits = bytes_between(text, i, _A, _Z) | bytes_between(text, i, _ZERO, _NINE)
    bits |= equal_bytes(text, i, _UNDERSCORE)
    if not is_lower:
        bits |= bytes_between(text, i, _CAPITAL_A, _CAPITAL_Z)
    if not is_ascii:
        bits |= equal_bytes(marks, i, WORD_MARK)
    return bits


@inner_loop
def find_words(text, marks, n_bytes, is_lower, is_ascii, out):
    """Write where words begin and end, in turns; number of places written.

    The 64 bytes behind the text are no letters.
    """
    before, n, done = np.uint64(0), np.uint64(0), np.uint64(0)
    for i in range(0, n_bytes + 1, WORD):  # one byte more: there the last word ends
        bits = _word_bits(text, marks, i, is_lower, is_ascii)
        edges = bits ^ (bits << _ONE | before)
        before = bits >> _LAST_BIT
        n += popcount(edges)
        while done < n:  # some too many: fewer branches are guessed wrongly
            for place in range(_TOGETHER):
                out[done + np.uint64(place)] = np.uint64(i) + trailing_zeros(edges)
                edges &= edges - _ONE
            done += np.uint64(_TOGETHER)
        done = n
    return np.int64(n)


@loop(inline="always")
def _is_shorter(text, start, stop, n_characters):
    """Whether a word has fewer characters than that."""
    if np.int64(stop - start) >= n_characters * _MOST_BYTES:
        return False
    for place in range(np.int64(start), np.int64(stop)):
        n_characters -= text[place] & np.uint8(0xC0) != np.uint8(0x80)
    return n_characters > 0


@inner_loop
def hash_words(text, places, n_places, least_length, is_ascii, out):
    """Write the hashes of the words of at least that many characters; number of them."""
    n = np.uint64(0)
    for p in range(np.uint64(0), np.uint64(n_places), _TWO):  # unsigned: no place is negative
        start, stop = np.uint64(places[p]), np.uint64(places[p + _ONE])
        out[n] = absorb_bytes(text, start, stop)
        if is_ascii:  # no branch, which would often be guessed wrongly
            n += np.uint64(stop - start >= np.uint64(least_length))
        else:
            n += np.uint64(not _is_shorter(text, start, stop, least_length))
    mix_all(np.int64(n), out)
    return np.int64(n)


@inner_loop
def _extend_all(n, words, grams):
    """Let each of n runs of words be followed by another word: replaces their hashes."""
    for i in range(n):
        grams[i] = extend_gram(grams[i], words[i])


@inner_loop
def _copy(n, hashes, out):
    """Copy n hashes."""
    for i in range(n):
        out[i] = hashes[i]


@inner_loop
def word_grams(words, n_words, least, most, out):
    """Write the columns of all runs of `least` to `most` words; number of them.

    Runs of one size are made of those of the size before, all at once: such loops vectorise.
    """
    n = max(0, n_words - least + 1)
    _copy(n, words, out)
    for size in range(2, least + 1):
        _extend_all(n, words[size - 1 :], out)
    before = 0  # where the runs of the size before begin
    for size in range(least + 1, most + 1):
        n_longer = max(0, n_words - size + 1)
        longer = out[n : n + n_longer]
        _copy(n_longer, out[before:], longer)
        _extend_all(n_longer, words[size - 1 :], longer)
        before = n
        n += n_longer
    for gram in range(n):
        out[gram] = column_of(out[gram])
    return n


@loop(inline="always")
def count_grams(n_items, least, most):
    """How many runs of `least` to `most` consecutive items there are among n."""
    n = 0
    for size in range(least, most + 1):
        n += max(0, n_items - size + 1)
    return n
