"""Columns of n-grams: units found, n-grams hashed, columns made distinct and looked up.

Hashes are version 1 of "Text to columns" in `docs/contract.md`. With `NUMBA_DISABLE_JIT=1` the
products overflow on NumPy scalars, which is their purpose.
"""

import numpy as np

from ..compilation import inlined_loop, inner_loop, loop
from ..mixing import mix
from ..simd.bit_sets import WORD, bytes_between, equal_bytes, pack_marks
from ..simd.integers import load_word, popcount, trailing_zeros

COLUMN_BITS = 62
FREE = np.uint64(0xFFFFFFFFFFFFFFFF)  # a place of the table that holds no column
NOT_THERE = -1

# marks of the bytes of characters outside ASCII that are \w and \s
WORD_MARK, SPACE_MARK = np.uint8(1), np.uint8(2)

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE, _TWO, _EIGHT, _WORD_BITS = (np.uint64(n) for n in (1, 2, 8, 64))
_LAST_BIT, _DROPPED_BITS = np.uint64(63), np.uint64(64 - COLUMN_BITS)
_SPACE = np.uint8(ord(" "))
_ZERO, _NINE, _A, _Z, _CAPITAL_A, _CAPITAL_Z, _UNDERSCORE = (np.uint8(ord(c)) for c in "09azAZ_")
_MOST_BYTES = 4  # of a character
_TOGETHER = 8  # places written without a branch between


@loop(inline="always")
def absorb_bytes(text, start, stop):
    """What `mix` turns into the hash of bytes start to stop; they are some, and 8 more are there.

    The last step is left to a loop of its own, which vectorises.
    """
    start = np.uint64(start)
    n_bytes = np.uint64(stop) - start
    h = n_bytes * _GOLDEN
    while n_bytes > _EIGHT:
        h = mix(h ^ load_word(text, start))
        start += _EIGHT
        n_bytes -= _EIGHT
    rest = _ALL >> (_WORD_BITS - _EIGHT * n_bytes)
    return h ^ (load_word(text, start) & rest)


@inner_loop
def mix_all(n, numbers):
    """Replace the first n numbers by their mixes."""
    for i in range(n):
        numbers[i] = mix(numbers[i])


@loop(inline="always")
def extend_gram(h, word):
    """The hash of a sequence of words followed by another one."""
    return mix(h * _GOLDEN ^ word)


@loop(inline="always")
def column_of(h):
    """The column of an n-gram: the upper 62 bits of its hash."""
    return h >> _DROPPED_BITS


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


@loop(inline="always")
def _table_bits(n):
    """Bits of the number of places that n columns are spread over: half of them stay free."""
    bits = 1
    while (1 << bits) < 2 * n:
        bits += 1
    return bits


@inlined_loop
def table_size(n):
    """Places that a table for n columns must have; columns at its end may need some more."""
    return (1 << _table_bits(n)) + n + WORD


@inlined_loop
def sort_distinct(columns, n, n_bits, keys, counts, start, out, out_counts):
    """Write each of n columns once, in ascending order, with its count; how many they are.

    Columns go to `out` from `start` on, counts to the beginning of `out_counts`.

    Columns are evenly spread hashes of `n_bits` bits. Each has its place in a table that goes
    by its upper bits, or soon after it; columns in the table are always in order. All places
    of the table have the key FREE and the count 0 before and after.
    """
    bits = _table_bits(n)
    shift = np.uint64(n_bits - bits)
    for i in range(np.uint64(n)):  # unsigned: no place is negative
        column = columns[i]
        place = column >> shift
        here = keys[place]
        if (here != column) & (here != FREE):  # one test: which of the two it is is a gamble
            _insert(column, place, keys, counts)
            continue
        keys[place] = column
        counts[place] += 1
    n_found, begin = np.uint64(0), np.uint64(start)
    for first in range(0, (1 << bits) + n, WORD):
        taken = pack_marks(counts, first)
        if (taken == 0) & (first >= 1 << bits):  # what had no room before the end ends here
            break
        while taken != 0:
            place = np.uint64(first) + trailing_zeros(taken)
            taken &= taken - _ONE
            out[begin + n_found], out_counts[n_found] = keys[place], counts[place]
            keys[place], counts[place] = FREE, 0
            n_found += _ONE
    return np.int64(n_found)


@inner_loop
def _insert(column, place, keys, counts):
    """Count a column whose own place is taken by another."""
    while keys[place] < column:
        place += _ONE
    if keys[place] == column:
        counts[place] += 1
        return
    count = np.int32(1)
    while keys[place] != FREE:  # move larger ones on
        column, keys[place] = keys[place], column
        count, counts[place] = counts[place], count
        place += _ONE
    keys[place], counts[place] = column, count


@loop
def fill_directory(numbers, shift, out):
    """Write where the numbers with each value of their upper bits begin; the last is the end."""
    place = 0
    for upper in range(out.shape[0] - 1):
        out[upper] = place
        while place < numbers.shape[0] and numbers[place] >> shift == upper:
            place += 1
    out[out.shape[0] - 1] = place


@loop
def look_up(queries, numbers, shift, directory, out):
    """Write the place of each query among the ascending numbers, or NOT_THERE."""
    for i in range(queries.shape[0]):
        upper = queries[i] >> shift
        low, high = directory[upper], directory[upper + 1]
        while low < high:
            middle = (low + high) >> 1
            if numbers[middle] < queries[i]:
                low = middle + 1
            else:
                high = middle
        is_there = low < directory[upper + 1] and numbers[low] == queries[i]
        out[i] = low if is_there else NOT_THERE
