"""Documents in UTF-8 to lower case without accents, as far as wanted, and where words are.

What becomes of a character outside ASCII, and what kind of character that is, stands in tables
of pages of 256 characters (see `corekernels.text.unicode_tables`), made when they are first
needed: a loop that comes upon a page that is not there stops and names it.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import inner_loop, loop
from ..simd.bit_sets import bytes_between
from ..simd.integers import load_word, store_word, trailing_zeros
from ..simd.llvm import LINE
from ..simd.vectors import load_line, lower_letters, store

PAGE = 256  # characters
NO_PAGE = -1

# what `normalise` gives where it cannot go on
INVALID = -1  # the text is not UTF-8
NO_ROOM = -2
MISSING_PAGE = -3

# the parts of an entry: up to 4 bytes that replace the character, how many, and these flags
SIZE_SHIFT = 32
WORD_FLAG = 1 << 35  # the replacement is a \w character
SPACE_FLAG = 1 << 36  # or a \s character
CASED_FLAG = 1 << 37  # the character itself has case
IGNORABLE_FLAG = 1 << 38  # or is skipped when looking for characters that have
SIGMA_FLAG = 1 << 39  # it becomes a final sigma at the end of a word
SEVERAL_FLAG = 1 << 40  # the lowest 32 bits tell where several replacements begin,
COUNT_SHIFT = 48  # and these how many there are

# marks of the bytes of characters outside ASCII
WORD_MARK, SPACE_MARK = np.uint8(1), np.uint8(2)
_NO_MARKS, _WORD_MARKS, _SPACE_MARKS = np.uint64(0), np.uint64(0x01010101), np.uint64(0x02020202)

_HIGH_BITS = np.uint64(0x8080808080808080)
_NOT_BELOW_A, _ABOVE_Z = np.uint64(0x3F3F3F3F3F3F3F3F), np.uint64(0x2525252525252525)
_TO_LOWER, _BITS_PER_BYTE, _ONE = np.uint64(2), np.uint64(8), np.uint64(1)
_LOW_HALF, _SIZE_MASK, _COUNT_MASK = np.uint64(0xFFFFFFFF), np.uint64(7), np.uint64(0xFF)
_NOT_ONE_TO_ONE = np.uint64(SIGMA_FLAG | SEVERAL_FLAG)
_FINAL_SIGMA = np.uint64(0x82CF)
_NOT_ASCII, _LAST_BYTE = np.uint8(0x80), np.uint8(0xFF)
SPARE_BYTES = 128  # that must be free behind the text, more than any character grows to


class Characters(NamedTuple):
    """What becomes of characters."""

    lowercase: bool  # of ASCII letters; the tables have it for the others
    page_places: np.ndarray  # place of each page in `entries`, or NO_PAGE
    entries: np.ndarray  # (pages, PAGE)
    replacements: np.ndarray  # entries of characters that several stand for, one after the other


@loop(inline="always")
def decode(word):
    """The character, outside ASCII, that eight bytes begin with, and its size; 0 if it is none."""
    first = np.int64(word & np.uint64(0xFF))
    second = np.int64(word >> np.uint64(8) & np.uint64(0x3F))
    third = np.int64(word >> np.uint64(16) & np.uint64(0x3F))
    fourth = np.int64(word >> np.uint64(24) & np.uint64(0x3F))
    if first < 0xE0:
        is_whole = first >= 0xC2 and word & np.uint64(0xC000) == np.uint64(0x8000)
        return (first & 0x1F) << 6 | second, 2 * is_whole
    if first < 0xF0:
        code = (first & 0xF) << 12 | second << 6 | third
        is_whole = word & np.uint64(0xC0C000) == np.uint64(0x808000)
        return code, 3 * (is_whole and code >= 0x800 and not 0xD800 <= code < 0xE000)
    code = (first & 7) << 18 | second << 12 | third << 6 | fourth
    is_whole = first <= 0xF4 and word & np.uint64(0xC0C0C000) == np.uint64(0x80808000)
    return code, 4 * (is_whole and 0x10000 <= code < 0x110000)


@loop(inline="always")
def _lower_word(word):
    """Eight ASCII bytes in lower case; after a byte above 127 the result is of no use."""
    capital = (word + _NOT_BELOW_A) & ~(word + _ABOVE_Z) & _HIGH_BITS
    return word | capital >> _TO_LOWER


@loop(inline="always")
def _next_bytes(text, i, stop):
    """Up to eight bytes from i on, those from `stop` on as 0."""
    if i + 8 <= stop:
        return load_word(text, i)
    if stop >= 8:  # the array goes back far enough to read eight bytes that end there
        return load_word(text, stop - 8) >> (_BITS_PER_BYTE * np.uint64(i + 8 - stop))
    word = np.uint64(0)
    for place in range(i, stop):
        word |= np.uint64(text[place]) << (_BITS_PER_BYTE * np.uint64(place - i))
    return word


@inner_loop
def normalise(text, start, stop, characters, out, marks, missing):
    """Write the document, its bytes start to stop, into `out`; number of bytes written.

    Characters outside ASCII have marks at their bytes in `marks`, whose other bytes are 0:
    `clear_marks` has to make it so again. Text that is not UTF-8 gives INVALID, a document
    that outgrows `out` NO_ROOM, and a page that is needed and not there MISSING_PAGE, with its
    number in `missing[0]`. The second result tells whether all bytes are ASCII.
    """
    page_places, entries = characters.page_places, characters.entries
    i, n, is_ascii = start, np.int64(0), True
    while i < stop:
        if i + LINE <= stop:
            line = load_line(text, i)
            store(lower_letters(line) if characters.lowercase else line, n, out)
            outside = bytes_between(text, i, _NOT_ASCII, _LAST_BYTE)
            if outside == 0:
                i += LINE
                n += LINE
                continue
            n_ascii = np.int64(trailing_zeros(outside))
        else:
            word = _next_bytes(text, i, stop)
            store_word(_lower_word(word) if characters.lowercase else word, n, out)
            outside = word & _HIGH_BITS
            if outside == 0:
                i += 8
                n += 8
                continue
            n_ascii = np.int64(trailing_zeros(outside) // _BITS_PER_BYTE)
        i += n_ascii
        n += n_ascii
        is_ascii = False
        while i < stop and text[i] >= _NOT_ASCII:
            if n + (stop - i) + SPARE_BYTES > out.shape[0]:
                return _stopped(NO_ROOM, marks, n)
            code, size = decode(_next_bytes(text, i, stop))
            if size == 0:
                return _stopped(INVALID, marks, n)
            page = page_places[code // PAGE]
            if page == NO_PAGE:
                missing[0] = code // PAGE
                return _stopped(MISSING_PAGE, marks, n)
            entry = entries[page, code % PAGE]
            if entry & _NOT_ONE_TO_ONE == 0:
                n = _write(entry, n, out, marks)
            elif entry & np.uint64(SIGMA_FLAG):
                is_final, missing[0] = _is_final_sigma(text, start, stop, i, size, characters)
                if missing[0] != NO_PAGE:
                    return _stopped(MISSING_PAGE, marks, n)
                if is_final:
                    entry = entry & ~_LOW_HALF | _FINAL_SIGMA
                n = _write(entry, n, out, marks)
            else:
                n = _write_several(entry, characters.replacements, n, out, marks)
            i += size
    return n - (i - stop), is_ascii


@inner_loop
def _stopped(status, marks, n_bytes):
    clear_marks(marks, n_bytes)
    return np.int64(status), False


@inner_loop
def clear_marks(marks, n_bytes):
    """Make the marks of that many bytes 0 again, and a few more."""
    for place in range(0, n_bytes, 8):
        store_word(np.uint64(0), place, marks)


@loop(inline="always")
def _write(entry, n, out, marks):
    """Write one character; number of bytes written so far."""
    size = entry >> np.uint64(SIZE_SHIFT) & _SIZE_MASK
    mark = _NO_MARKS
    if entry & np.uint64(WORD_FLAG):
        mark = _WORD_MARKS
    elif entry & np.uint64(SPACE_FLAG):
        mark = _SPACE_MARKS
    store_word(entry & _LOW_HALF, n, out)
    store_word(mark & (_ONE << _BITS_PER_BYTE * size) - _ONE, n, marks)
    return n + np.int64(size)


@inner_loop
def _write_several(entry, replacements, n, out, marks):
    """Write the characters that one becomes; number of bytes written so far."""
    first = np.int64(entry & _LOW_HALF)
    count = np.int64(entry >> np.uint64(COUNT_SHIFT) & _COUNT_MASK)
    for place in range(first, first + count):
        n = _write(replacements[place], n, out, marks)
    return n


@inner_loop
def _is_final_sigma(text, start, stop, i, size, characters):
    """Whether the sigma at i ends a word, and a page that is missing to tell, or NO_PAGE.

    As Unicode has it: a character with case comes before it and none after it, apart from
    characters that are ignored.
    """
    place, is_cased = i, False
    while place > start:
        place -= 1
        while place > start and text[place] & np.uint8(0xC0) == np.uint8(0x80):
            place -= 1
        flags, _, page = _flags(text, place, stop, characters)
        if page != NO_PAGE:
            return False, page
        if not flags & np.uint64(IGNORABLE_FLAG):
            is_cased = flags & np.uint64(CASED_FLAG) != 0
            break
    if not is_cased:
        return False, NO_PAGE
    place = i + size
    while place < stop:
        flags, n_bytes, page = _flags(text, place, stop, characters)
        if page != NO_PAGE:
            return False, page
        if not flags & np.uint64(IGNORABLE_FLAG):
            return flags & np.uint64(CASED_FLAG) == 0, NO_PAGE
        place += n_bytes
    return True, NO_PAGE


@inner_loop
def _flags(text, i, stop, characters):
    """The entry of the character at i, its number of bytes, and its page if that is missing."""
    code, size = np.int64(text[i]), 1
    if code >= 128:
        code, size = decode(_next_bytes(text, i, stop))
        if size == 0:  # not UTF-8: `normalise` finds that when it gets there
            return np.uint64(0), 1, np.int64(NO_PAGE)
    page = characters.page_places[code // PAGE]
    if page == NO_PAGE:
        return np.uint64(0), 1, code // PAGE
    return characters.entries[page, code % PAGE], size, np.int64(NO_PAGE)
