"""Character n-grams of a normalised document; white space is one character, however long."""

import numpy as np

from ..compilation import inner_loop, loop
from .gram_hash import absorb_bytes, column_of, mix_all
from .normalisation import SPACE_MARK

_SPACE = np.uint8(ord(" "))


@loop(inline="always")
def _is_space(byte, mark):
    """Whether a byte is, or belongs to, a \\s character."""
    is_control = (byte >= np.uint8(9)) & (byte <= np.uint8(13))
    is_separator = (byte >= np.uint8(28)) & (byte <= np.uint8(31))
    return (byte == _SPACE) | is_control | is_separator | (mark == SPACE_MARK)


@loop(inline="always")
def _character_end(text, i, n_bytes):
    i += 1
    while i < n_bytes and text[i] & np.uint8(0xC0) == np.uint8(0x80):
        i += 1
    return i


@inner_loop
def find_characters(text, marks, n_bytes, out):
    """Write where characters begin, and the end of the last one; number of characters.

    Two white space characters and more become one blank; `text` is changed so.
    """
    i, n, end = 0, 0, 0
    while i < n_bytes:
        stop = _character_end(text, i, n_bytes)
        out[n] = end
        n += 1
        if _is_space(text[i], marks[i]) and stop < n_bytes and _is_space(text[stop], marks[stop]):
            while stop < n_bytes and _is_space(text[stop], marks[stop]):
                stop = _character_end(text, stop, n_bytes)
            text[end] = _SPACE
            end += 1
            i = stop
        else:
            while i < stop:
                text[end] = text[i]
                i += 1
                end += 1
    out[n] = end
    return n


@inner_loop
def character_grams(text, places, n_characters, least, most, out):
    """Write the columns of all runs of `least` to `most` characters; number of them."""
    n = 0
    for size in range(least, most + 1):
        for first in range(n_characters - size + 1):
            out[n] = absorb_bytes(text, places[first], places[first + size])
            n += 1
    mix_all(n, out)
    for i in range(n):
        out[i] = column_of(out[i])
    return n
