"""Where lines and records of tables begin and end in text.

Text is an array of bytes in which 64 more can be read behind the end.
"""

import numpy as np

from ..compilation import loop
from ..simd.bit_sets import WORD, equal_bytes
from ..simd.integers import popcount, trailing_zeros

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
        found = equal_bytes(text, first, _NEWLINE)
        while found != 0:
            end = first + np.int64(trailing_zeros(found))
            found &= found - _ONE
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
def gather_records(text, starts, ends, out):
    """Write records, each with its newline, one after the other."""
    n = 0
    for record in range(starts.shape[0]):
        size = ends[record] - starts[record]
        for i in range(size):
            out[n + i] = text[starts[record] + i]
        out[n + size] = _NEWLINE
        n += size + 1


@loop
def gather_lines(text, starts, ends, out, offsets):
    """Write lines without their ends one after the other, and where each begins."""
    n = 0
    offsets[0] = 0
    for line in range(starts.shape[0]):
        end = ends[line]
        if end > starts[line] and text[end - 1] == _RETURN:
            end -= 1
        for i in range(starts[line], end):
            out[n] = text[i]
            n += 1
        offsets[line + 1] = n
