"""Where lines and records of tables begin and end; values under some keys of JSON objects.

Text is an array of bytes in which 64 more can be read behind the end. A line of JSON is read to its
end, so that one which is not JSON is not taken for it; but whatever is out of the ordinary is left
to a reader that is slower and explains what it finds.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import inner_loop, loop
from ..simd.bit_sets import WORD, bytes_between, equal_bytes
from ..simd.integers import popcount, store_word, trailing_zeros
from ..simd.vectors import load_line, store
from .shingles import encode

_NEWLINE, _RETURN, _QUOTE, _SPACE = (np.uint8(ord(c)) for c in '\n\r" ')
_ONE, _LAST = np.uint64(1), np.uint64(WORD - 1)


@loop
def count_lines(text, stop):
    """Number of line ends before `stop`: newlines, and carriage returns without one behind."""
    n = np.uint64(0)
    whole = stop // WORD * WORD
    for i in range(0, whole, WORD):
        newlines, returns = equal_bytes(text, i, _NEWLINE), equal_bytes(text, i, _RETURN)
        behind = newlines >> _ONE | np.uint64(_is_newline(text, i + WORD)) << _LAST
        n += popcount(newlines | returns & ~behind)
    for i in range(whole, stop):
        is_return = text[i] == _RETURN and not _is_newline(text, i + 1)
        n += np.uint64(text[i] == _NEWLINE or is_return)
    return np.int64(n)


@loop(inline="always")
def _is_newline(text, i):
    return i < text.shape[0] and text[i] == _NEWLINE


@loop(inline="always")
def _is_blank(text, start, stop):
    for i in range(start, stop):  # noqa: SIM110
        if text[i] > _SPACE:
            return False
    return True


@loop
def find_lines(text, stop, skip_blank, starts, ends):
    """Write where each line begins, and ends before its newline; number of lines.

    Blank ones may be left out. The byte before `stop` is a newline.
    """
    n, start = 0, np.int64(0)
    for first in range(0, stop, WORD):
        newlines = equal_bytes(text, first, _NEWLINE)
        while newlines != 0:
            end = first + np.int64(trailing_zeros(newlines))
            newlines &= newlines - _ONE
            if end >= stop:
                break
            if not (skip_blank and _is_blank(text, start, end)):
                starts[n], ends[n] = start, end
                n += 1
            start = end + 1
    return n


@loop
def find_records(text, stop, delimiter, starts, ends):
    """Write where each record begins, and ends before its newline; number of records.

    Fields are separated by the delimiter; one that begins with a quote goes on, newlines
    included, to the next quote that is not doubled. A record may also end with a carriage return.
    Empty records are left out. What follows the last whole record is not looked at: the second
    result is where it begins.
    """
    n, start, i = 0, 0, 0
    while i < stop:
        special = equal_bytes(text, i, _NEWLINE) | equal_bytes(text, i, _RETURN)
        special |= equal_bytes(text, i, _QUOTE)
        i += np.int64(trailing_zeros(special))  # type: ignore[assignment]
        if special == 0 or i >= stop:
            continue
        if text[i] == _QUOTE:
            if i == start or text[i - 1] == delimiter:
                i = _quote_end(text, i + 1, stop)
        else:
            end = i
            if text[i] == _RETURN:
                if i + 1 >= stop:  # a newline may follow, which belongs to it
                    break
                i += np.int64(text[i + 1] == _NEWLINE)  # type: ignore[assignment]
            if end > start:
                starts[n], ends[n] = start, i
                n += 1
            start = i + 1
        i += 1
    return n, start


@loop(inline="always")
def _quote_end(text, i, stop):
    """Where the quote stands that closes one; `stop` if none does."""
    while i < stop:
        quotes = equal_bytes(text, i, _QUOTE)
        i += np.int64(trailing_zeros(quotes))
        if quotes == 0 or i >= stop:
            continue
        if i + 1 >= stop or text[i + 1] != _QUOTE:
            return i
        i += 2
    return stop


@loop
def gather(text, starts, ends, with_newlines, out):
    """Write parts of the text one after the other, each with a newline behind it or none."""
    n = 0
    for part in range(starts.shape[0]):
        for i in range(starts[part], ends[part]):
            out[n] = text[i]
            n += 1
        if with_newlines:
            out[n] = _NEWLINE
            n += 1


DONE = -1  # no line was out of the ordinary
SPARE_BYTES = 64  # behind each output
MOST_DEPTH = 60  # of objects and arrays within each other

_FAILED = -1  # a place where something else was expected

_BACKSLASH, _COLON, _COMMA = (np.uint8(ord(c)) for c in "\\:,")
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = (np.uint8(ord(c)) for c in "{}[]")
_MINUS, _PLUS, _POINT, _ZERO, _NINE = (np.uint8(ord(c)) for c in "-+.09")
_NUL, _LAST_CONTROL, _LETTER_U, _LETTER_E = np.uint8(0), np.uint8(31), np.uint8(117), np.uint8(101)
_LOWER = np.uint8(0x20)
_TRUE, _FALSE, _NULL = (np.frombuffer(word, np.uint8) for word in (b"true", b"false", b"null"))

_ESCAPES = np.zeros(256, np.uint8)  # what a letter behind a backslash stands for
for _letter, _meaning in zip('"\\/bfnrt', '"\\/\b\f\n\r\t', strict=True):
    _ESCAPES[ord(_letter)] = ord(_meaning)

_HEX = np.full(256, 255, np.uint8)
for _letter in "0123456789abcdefABCDEF":
    _HEX[ord(_letter)] = int(_letter, 16)


class Keys(NamedTuple):
    """Keys whose values are wanted: key k is names[ends[k]:ends[k + 1]]."""

    names: np.ndarray
    ends: np.ndarray


@loop(inline="always")
def _skip_blanks(text, i):
    """The place of the next byte that is no white space; a newline ends the line."""
    while text[i] == 32 or text[i] == 9 or text[i] == 13:
        i += 1
    return i


@inner_loop
def _hex_number(text, i):
    """The number of four hexadecimal digits; negative if they are none."""
    number = np.int64(0)
    for place in range(i, i + 4):
        digit = _HEX[text[place]]
        if digit == 255:
            return -1
        number = number << 4 | np.int64(digit)
    return number


@inner_loop
def _decode_escape(text, i, n, out):
    """Decode what begins with a backslash at i; where that ends, and where the next goes."""
    letter = text[i + 1]
    if _ESCAPES[letter]:
        out[n] = _ESCAPES[letter]
        return i + 2, n + 1
    code = _hex_number(text, i + 2) if letter == _LETTER_U else -1
    i += 6
    if 0xD800 <= code < 0xDC00 and text[i] == _BACKSLASH and text[i + 1] == _LETTER_U:
        second = _hex_number(text, i + 2)
        code = 0x10000 + (code - 0xD800 << 10) + second - 0xDC00
        i = i + 6 if 0xDC00 <= second < 0xE000 else _FAILED
    elif code < 0 or 0xD800 <= code < 0xE000:
        i = _FAILED
    if i == _FAILED:
        return i, n
    word, size = encode(code)
    store_word(np.uint64(word), n, out)
    return i, n + size


@inner_loop
def decode_string(text, i, n, out):
    """Decode the string that begins behind a quote, at i; where it ends, and its last byte is.

    The first is _FAILED if it is no JSON string. Up to 64 bytes behind the string are written.
    """
    while True:
        special = equal_bytes(text, i, _QUOTE) | equal_bytes(text, i, _BACKSLASH)
        special |= bytes_between(text, i, _NUL, _LAST_CONTROL)
        store(load_line(text, i), n, out)
        n_plain = np.int64(trailing_zeros(special))
        i += n_plain
        n += n_plain
        if special == 0:
            continue
        if text[i] == _QUOTE:
            return i + 1, n
        if text[i] != _BACKSLASH:
            return _FAILED, n
        i, n = _decode_escape(text, i, n, out)
        if i == _FAILED:
            return i, n


@inner_loop
def _skip_digits(text, i):
    """The place behind one digit or more; _FAILED if there is none."""
    start = i
    while _ZERO <= text[i] <= _NINE:
        i += 1
    return i if i > start else _FAILED


@inner_loop
def _skip_number(text, i):
    """The place behind a number; _FAILED if it is none."""
    if text[i] == _MINUS:
        i += 1
    i = i + 1 if text[i] == _ZERO else _skip_digits(text, i)
    if i != _FAILED and text[i] == _POINT:
        i = _skip_digits(text, i + 1)
    if i != _FAILED and text[i] | _LOWER == _LETTER_E:
        i += 1
        i = _skip_digits(text, i + 1 if text[i] == _PLUS or text[i] == _MINUS else i)
    return i


@inner_loop
def _skip_word(text, i):
    """The place behind true, false or null; _FAILED if it is none of them."""
    word = _TRUE if text[i] == _TRUE[0] else _FALSE if text[i] == _FALSE[0] else _NULL
    for letter in word:
        if text[i] != letter:
            return _FAILED
        i += 1
    return i


@inner_loop
def _skip_scalar(text, i, n, out):
    """The place behind a string, a number or a word; `out` from n on is written over."""
    if text[i] == _QUOTE:
        return decode_string(text, i + 1, n, out)[0]
    if text[i] == _MINUS or _ZERO <= text[i] <= _NINE:
        return _skip_number(text, i)
    return _skip_word(text, i)


@inner_loop
def _skip_key(text, i, n, out):
    """The place of the value behind a key and its colon; _FAILED if there is none."""
    if text[i] != _QUOTE:
        return _FAILED
    i = decode_string(text, i + 1, n, out)[0]
    if i == _FAILED:
        return i
    i = _skip_blanks(text, i)
    return _skip_blanks(text, i + 1) if text[i] == _COLON else _FAILED


@inner_loop
def _skip_value(text, i, n, out):
    """The place behind any value; _FAILED if it is none. `out` from n on is written over."""
    depth, objects = 0, np.uint64(0)  # bit d tells whether level d is an object or an array
    while True:
        if text[i] == _OPEN or text[i] == _OPEN_LIST:
            is_object = text[i] == _OPEN
            i = _skip_blanks(text, i + 1)
            if depth == MOST_DEPTH:
                return _FAILED
            if text[i] != (_CLOSE if is_object else _CLOSE_LIST):
                depth += 1
                objects = objects << np.uint64(1) | np.uint64(is_object)
                if is_object:
                    i = _skip_key(text, i, n, out)
                    if i == _FAILED:
                        return i
                continue
            i += 1
        else:
            i = _skip_scalar(text, i, n, out)
            if i == _FAILED:
                return i
        while depth > 0:  # behind a value: another one, or the end of what it is in
            i = _skip_blanks(text, i)
            is_object = objects & np.uint64(1)
            if text[i] == _COMMA:
                i = _skip_blanks(text, i + 1)
                if is_object:
                    i = _skip_key(text, i, n, out)
                    if i == _FAILED:
                        return i
                break
            if text[i] != (_CLOSE if is_object else _CLOSE_LIST):
                return _FAILED
            i += 1
            depth -= 1
            objects >>= np.uint64(1)
        else:
            return i


@inner_loop
def _which_key(keys, out, start, stop):
    """The number of the key that these bytes are; -1 if it is not wanted."""
    for k in range(keys.ends.shape[0] - 1):
        begin, end = keys.ends[k], keys.ends[k + 1]
        if end - begin == stop - start:
            same = True
            for place in range(stop - start):
                same &= keys.names[begin + place] == out[start + place]
            if same:
                return k
    return -1


@inner_loop
def _read_object(text, i, keys, row, filled, offsets, kinds, out):
    """Read an object that has each wanted key once; where it ends, or _FAILED.

    `filled` has the end of each column's values so far.
    """
    if text[i] != _OPEN:
        return _FAILED
    n_found = 0
    i = _skip_blanks(text, i + 1)
    while True:
        if text[i] != _QUOTE:
            return _FAILED
        start = filled[0]  # a key is decoded where the next value of the first column goes
        i, stop = decode_string(text, i + 1, start, out[0])
        if i == _FAILED:
            return i
        k = _which_key(keys, out[0], start, stop)
        i = _skip_blanks(text, i)
        if text[i] != _COLON:
            return _FAILED
        i = _skip_blanks(text, i + 1)
        if k < 0:
            i = _skip_value(text, i, start, out[0])
        elif offsets[k, row + 1] != DONE:  # a second time
            return _FAILED
        else:
            kinds[k, row] = text[i]
            if text[i] == _QUOTE:
                i, filled[k] = decode_string(text, i + 1, filled[k], out[k])
            else:
                begin = i
                i = _skip_scalar(text, i, filled[k], out[k])
                for place in range(begin, i):
                    out[k][filled[k] + place - begin] = text[place]
                filled[k] += max(i - begin, 0)
            offsets[k, row + 1] = filled[k]
            n_found += 1
        if i == _FAILED:
            return i
        i = _skip_blanks(text, i)
        if text[i] == _CLOSE:
            return i + 1 if n_found == keys.ends.shape[0] - 1 else _FAILED
        if text[i] != _COMMA:
            return _FAILED
        i = _skip_blanks(text, i + 1)


@loop
def read_objects(text, starts, ends, row, keys, filled, offsets, kinds, out):
    """Write the values under the keys of all lines from `row` on; the first line that is out of
    the ordinary.

    Column k gets its values in out[k] from filled[k] on, and the end of that of row r in
    offsets[k, r + 1], which is DONE on entry: strings decoded, numbers and words as they stand.
    The first byte of each value is its kind. 64 bytes behind the text can be read.
    """
    for r in range(row, starts.shape[0]):
        i = _skip_blanks(text, starts[r])
        i = _read_object(text, i, keys, r, filled, offsets, kinds, out)
        if i == _FAILED or _skip_blanks(text, i) < ends[r]:
            return r
    return DONE
