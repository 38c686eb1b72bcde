"""Documents in UTF-8 to rows of n-gram counts; several threads share them out by a counter.

A document is brought to lower case without accents, as far as asked for, its words or characters
are found, and its n-grams are hashed and counted (`grams`).

Each thread calls `shingle` again and again. A call goes on with the documents of the thread's
present block, takes further blocks from the counter, and comes back when there are no more or
when something is missing, which the status tells: larger working memory, or room in the
buffer that the thread is filling. Then the caller sees to that and calls again.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import inner_loop, loop
from ..simd.bit_sets import WORD, bytes_between
from ..simd.integers import LINE, fetch_add, load_word, store_word, trailing_zeros
from ..simd.vectors import load_line, lower_letters, store
from .grams import (
    COLUMN_BITS,
    SPACE_MARK,
    WORD_MARK,
    character_grams,
    count_grams,
    find_characters,
    find_words,
    hash_words,
    sort_distinct,
    table_size,
    word_grams,
)

# what `normalise` gives where it cannot go on
INVALID = -1  # the text is not UTF-8
NO_ROOM = -2

# what a character is beside these marks: one with case, or skipped when looking for case
CASED_KIND, IGNORABLE_KIND = np.uint8(4), np.uint8(8)
_MARK_ALL = np.uint64(0x01010101)

_HIGH_BITS = np.uint64(0x8080808080808080)
_NOT_BELOW_A, _ABOVE_Z = np.uint64(0x3F3F3F3F3F3F3F3F), np.uint64(0x2525252525252525)
_TO_LOWER, _BITS_PER_BYTE, _ONE = np.uint64(2), np.uint64(8), np.uint64(1)
_NOT_ASCII, _LAST_BYTE = np.uint8(0x80), np.uint8(0xFF)
N_CHARACTERS = 0x110000
_SIGMA, _FINAL_SIGMA = 0x3A3, 0x3C2
SPARE_BYTES = 128  # that must be free behind the text, more than any character grows to


class Characters(NamedTuple):
    """What becomes of characters: see `corekernels.text.rows`."""

    lowercase: bool
    kinds: np.ndarray  # of each character
    becomes: np.ndarray  # another character or itself, or from N_CHARACTERS on a place in `starts`
    starts: np.ndarray  # at place p, characters[starts[p]:starts[p + 1]]
    characters: np.ndarray


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
def encode(code):
    """The bytes of a character, as a word, and their number."""
    last = 0x80 | code & 0x3F
    if code < 0x80:
        return code, 1
    if code < 0x800:
        return 0xC0 | code >> 6 | last << 8, 2
    middle = 0x80 | code >> 6 & 0x3F
    if code < 0x10000:
        return 0xE0 | code >> 12 | middle << 8 | last << 16, 3
    return 0xF0 | code >> 18 | (0x80 | code >> 12 & 0x3F) << 8 | middle << 16 | last << 24, 4


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
def normalise(text, start, stop, characters, out, marks):
    """Write the document, its bytes start to stop, into `out`; number of bytes written.

    Characters outside ASCII have marks at their bytes in `marks`, whose other bytes are 0:
    `clear_marks` has to make it so again. Text that is not UTF-8 gives INVALID, a document
    that outgrows `out` NO_ROOM. The second result tells whether all bytes are ASCII.
    """
    kinds, becomes = characters.kinds, characters.becomes
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
            other = np.int64(becomes[code])
            may_be_final = code == _SIGMA and characters.lowercase
            if may_be_final and _is_final_sigma(text, start, stop, i, size, kinds):
                other = np.int64(_FINAL_SIGMA)
            if other < N_CHARACTERS:
                n = _write(other, kinds, n, out, marks)
            else:
                n = _write_all(other - N_CHARACTERS, characters, n, out, marks)
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
def _write(code, kinds, n, out, marks):
    """Write a character; number of bytes written so far."""
    word, size = encode(code)
    mark = np.uint64(kinds[code] & (WORD_MARK | SPACE_MARK)) * _MARK_ALL
    store_word(np.uint64(word), n, out)
    store_word(mark & (_ONE << _BITS_PER_BYTE * np.uint64(size)) - _ONE, n, marks)
    return n + size


@inner_loop
def _write_all(place, characters, n, out, marks):
    """Write the characters at a place; number of bytes written so far."""
    for p in range(characters.starts[place], characters.starts[place + 1]):
        n = _write(np.int64(characters.characters[p]), characters.kinds, n, out, marks)
    return n


@inner_loop
def _is_final_sigma(text, start, stop, i, size, kinds):
    """Whether the sigma at i ends a word.

    As Unicode has it: a character with case comes before it and none after it, apart from
    characters that are ignored.
    """
    place, is_cased = i, False
    while place > start:
        place -= 1
        while place > start and text[place] & np.uint8(0xC0) == np.uint8(0x80):
            place -= 1
        kind, _ = _kind(text, place, stop, kinds)
        if not kind & IGNORABLE_KIND:
            is_cased = kind & CASED_KIND != 0
            break
    if not is_cased:
        return False
    place = i + size
    while place < stop:
        kind, n_bytes = _kind(text, place, stop, kinds)
        if not kind & IGNORABLE_KIND:
            return kind & CASED_KIND == 0
        place += n_bytes
    return True


@inner_loop
def _kind(text, i, stop, kinds):
    """The kind of the character at i, and its number of bytes."""
    code, size = np.int64(text[i]), 1
    if code >= 128:
        code, size = decode(_next_bytes(text, i, stop))
        if size == 0:  # not UTF-8: `normalise` finds that when it gets there
            return kinds[0], 1
    return kinds[code], size


# what a call comes back with
FINISHED, NEEDS_SCRATCH, NEEDS_BUFFER, NOT_UTF8 = range(4)

# positions in a thread's state
NEXT, STOP, FILLED, N_RUNS, TEXT_NEEDED, GRAMS_NEEDED = range(6)
N_STATE = 6

BINARY, COUNTS, LOGARITHMS = range(3)  # kinds of weights

_LOGARITHMS = 1 + np.log(np.maximum(1, np.arange(64)))  # of the counts that occur most


class DocumentBlocks(NamedTuple):
    """Documents in blocks: document d is text[offsets[d]:offsets[d + 1]]."""

    counter: np.ndarray  # one number: that of the next block
    cuts: np.ndarray  # block b is documents cuts[b] to cuts[b + 1]
    text: np.ndarray
    offsets: np.ndarray
    lengths: np.ndarray  # columns of each document, written by the loops


class Grams(NamedTuple):
    """Which n-grams are wanted, and what they weigh."""

    of_words: bool
    least: int
    most: int
    least_length: int  # of a word, in characters
    weights: int


class Scratch(NamedTuple):
    """Working memory of a thread."""

    text: np.ndarray  # normalised
    marks: np.ndarray
    places: np.ndarray  # of words or characters in it
    words: np.ndarray  # hashes
    columns: np.ndarray  # of all n-grams
    keys: np.ndarray  # the table of distinct columns
    key_counts: np.ndarray
    counts: np.ndarray


class RowBuffer(NamedTuple):
    """Rows of one thread: runs of consecutive documents."""

    columns: np.ndarray
    values: np.ndarray
    runs: np.ndarray  # first document, the one after the last, where its columns begin


@loop
def shingle(documents, grams, characters, scratch, buffer, state):
    """Go on with the rows of a thread until they are finished or something is missing."""
    while state[N_RUNS] < buffer.runs.shape[0]:
        if state[NEXT] == state[STOP]:
            block = fetch_add(documents.counter, 0, 1)
            if block >= documents.cuts.shape[0] - 1:
                return FINISHED
            state[NEXT], state[STOP] = documents.cuts[block], documents.cuts[block + 1]
        first, filled = state[NEXT], state[FILLED]
        status = _shingle_run(documents, grams, characters, scratch, buffer, state)
        if state[NEXT] > first:
            run = buffer.runs[state[N_RUNS]]
            run[0], run[1], run[2] = first, state[NEXT], filled
            state[N_RUNS] += 1
        if status != FINISHED:
            return status
    return NEEDS_BUFFER


@inner_loop
def _shingle_run(documents, grams, characters, scratch, buffer, state):
    """Write the rows of documents NEXT to STOP, as far as they go."""
    offsets, lengths = documents.offsets, documents.lengths
    text, marks, places, words = scratch.text, scratch.marks, scratch.places, scratch.words
    columns, counts = scratch.columns, scratch.counts
    keys, key_counts = scratch.keys, scratch.key_counts
    out, values = buffer.columns, buffer.values
    least, most = grams.least, grams.most
    is_lower = characters.lowercase
    while state[NEXT] < state[STOP]:
        start, stop = offsets[state[NEXT]], offsets[state[NEXT] + 1]
        if stop - start + SPARE_BYTES > text.shape[0]:
            state[TEXT_NEEDED] = stop - start + SPARE_BYTES
            return NEEDS_SCRATCH
        n_bytes, is_ascii = normalise(documents.text, start, stop, characters, text, marks)
        if n_bytes == INVALID:
            return NOT_UTF8
        if n_bytes == NO_ROOM:
            state[TEXT_NEEDED] = 2 * text.shape[0]
            return NEEDS_SCRATCH
        for place in range(n_bytes, n_bytes + WORD, 8):
            store_word(np.uint64(0), place, text)
        if grams.of_words:
            n_places = find_words(text, marks, n_bytes, is_lower, is_ascii, places)
            n_items = hash_words(text, places, n_places, grams.least_length, is_ascii, words)
        else:
            n_items = find_characters(text, marks, n_bytes, places)
        if not is_ascii:
            clear_marks(marks, n_bytes)
        n_grams = count_grams(n_items, least, most)
        if n_grams > columns.shape[0] or table_size(n_grams) > keys.shape[0]:
            state[GRAMS_NEEDED] = n_grams
            return NEEDS_SCRATCH
        if state[FILLED] + n_grams > out.shape[0]:
            state[GRAMS_NEEDED] = n_grams
            return NEEDS_BUFFER
        if grams.of_words:
            word_grams(words, n_items, least, most, columns)
        else:
            character_grams(text, places, n_items, least, most, columns)
        n_columns = sort_distinct(
            columns, n_grams, COLUMN_BITS, keys, key_counts, state[FILLED], out, counts
        )
        write_weights(counts, n_columns, grams.weights, state[FILLED], values)
        lengths[state[NEXT]] = n_columns
        state[FILLED] += n_columns
        state[NEXT] += 1
    return FINISHED


@inner_loop
def write_weights(counts, n, weights, start, out):
    """Write what n-grams that occur so often weigh, from `start` on."""
    last = _LOGARITHMS.shape[0] - 1
    for i in range(n):
        if weights == BINARY:
            out[start + i] = 1
        elif weights == COUNTS:
            out[start + i] = counts[i]
        else:
            out[start + i] = _LOGARITHMS[min(counts[i], last)]
    if weights == LOGARITHMS:
        for i in range(n):
            if counts[i] > last:
                out[start + i] = 1 + np.log(np.float64(counts[i]))
