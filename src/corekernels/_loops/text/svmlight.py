"""svmlight text: rows of `label [qid:n] column:value column:value ... # comment`.

Text is an array of bytes whose last one is a newline, so that no loop needs to look for the end.
Lines that hold no more than a comment are no rows. Of a line that cannot be read, the loops tell
the first token at fault.
"""

from typing import NamedTuple

import numpy as np

from ..compilation import inner_loop, loop
from ..simd.bit_sets import WORD, equal_bytes
from ..simd.integers import popcount
from .decimals import (
    MOST_BYTES,
    NO_NUMBER,
    NUMBER,
    TOO_LONG,
    read_decimal,
    read_digits,
    write_integer,
    write_number,
)

# positions of the facts that `scan_lines` gathers
LARGEST, LINES, ROWS, ZERO_COLUMNS, OTHER_LABELS = range(5)
COUNTS = slice(LINES, None)
NO_FACTS = np.array([-1, 0, 0, 0, 0])

# positions of the results of `parse_rows`
N_ROWS, N_VALUES, N_LONG, N_QUERIES, N_FRACTIONS, BAD_TOKEN = range(6)
N_RESULTS = 6
NO_TOKEN = -1

_SPACE, _TAB, _NEWLINE, _RETURN, _HASH, _PLUS, _MINUS, _ZERO, _NINE, _COLON, _Q, _I, _D = (
    np.uint8(ord(c)) for c in " \t\n\r#+-09:qid"
)
_ONE, _TEN = np.uint64(1), np.uint64(10)
_LARGEST_COLUMN = np.uint64((1 << 63) - 1)
_MOST_TIMES_TEN, _BEYOND = _LARGEST_COLUMN // _TEN, np.uint64(1 << 63)


class ParsedRows(NamedTuple):
    """Where parsed rows go; each array has room for as many as the text can hold."""

    labels: np.ndarray
    label_starts: np.ndarray  # where each label stands in the text
    label_ends: np.ndarray
    lengths: np.ndarray  # values of each row
    columns: np.ndarray
    values: np.ndarray


@loop(inline="always")
def _is_blank(c):
    return c == _SPACE or (c <= _RETURN and c >= _TAB and c != _NEWLINE)


@loop(inline="always")
def _ends_token(c):
    return (c == _HASH) | (c == _SPACE) | ((c <= _RETURN) & (c >= _TAB))


@inner_loop
def _token_end(text, i):
    """First position from i on that does not belong to a token: white space, newline or #."""
    while not _ends_token(text[i]):
        i += _ONE
    return i


@inner_loop
def _next_line(text, i):
    """Where the line after the one at i begins."""
    while text[i] != _NEWLINE:
        i += _ONE
    return i + _ONE


@inner_loop
def _is_whole(text, start, end):
    """Whether a token is an integer: digits, after a sign or none."""
    i = start
    if text[i] == _PLUS or text[i] == _MINUS:
        i += _ONE
    if i == end:
        return False
    while i < end:
        if text[i] < _ZERO or text[i] > _NINE:
            return False
        i += _ONE
    return True


@loop
def count_marks(text, start, stop):
    """Number of newlines and of colons: at least as many as there are rows and values.

    The third result tells whether all bytes are ASCII characters other than zero.
    """
    lines, colons, bits = np.uint64(0), np.uint64(0), np.uint8(0)
    part = text[start:stop]
    for i in range(part.shape[0]):
        bits |= part[i] | np.uint8(part[i] - np.uint8(1))  # sets the highest bit for the others
    whole = start + (stop - start) // WORD * WORD
    for i in range(start, whole, WORD):
        lines += popcount(equal_bytes(text, i, _NEWLINE))
        colons += popcount(equal_bytes(text, i, _COLON))
    for i in range(whole, stop):
        lines += np.uint64(text[i] == _NEWLINE)
        colons += np.uint64(text[i] == _COLON)
    return np.int64(lines), np.int64(colons), bits < 128


@loop
def scan_lines(text, start, stop, out):
    """Facts about the whole lines from start to stop.

    `out`, NO_FACTS on entry, gets the largest column, up to 2^63 - 1, and the number of lines,
    rows, columns 0, and labels not written as integers. Whether the text is well formed is not
    asked.
    """
    i, end = np.uint64(start), np.uint64(stop)
    while i < end:
        out[LINES] += 1
        while _is_blank(text[i]):
            i += _ONE
        if text[i] != _NEWLINE and text[i] != _HASH:
            out[ROWS] += 1
            label_end = _token_end(text, i)
            out[OTHER_LABELS] += not _is_whole(text, i, label_end)
            i = _scan_columns(text, label_end, out)
        i = _next_line(text, i)


@inner_loop
def _scan_columns(text, i, out):
    """Note the columns of a line from i on; gives where its tokens end."""
    while True:
        while _is_blank(text[i]):
            i += _ONE
        if text[i] == _NEWLINE or text[i] == _HASH:
            return i
        if text[i] == _PLUS or text[i] == _MINUS:
            i += _ONE
        start, column = i, np.uint64(0)
        while text[i] >= _ZERO and text[i] <= _NINE:
            if column > _MOST_TIMES_TEN:
                column = _BEYOND
            else:
                column = column * _TEN + np.uint64(text[i] - _ZERO)
            i += _ONE
        if i > start and text[i] == _COLON:
            number = np.int64(min(column, _LARGEST_COLUMN))
            if number > out[LARGEST]:
                out[LARGEST] = number
            if number == 0:
                out[ZERO_COLUMNS] += 1
        i = _token_end(text, i)


@loop
def parse_rows(text, start, stop, base, n_columns, rows, first_row, first_value, results):
    """Read the whole lines from start to stop into `rows`, from a row and a value on.

    Columns count from `base` in the text and from 0 in the result; `n_columns` bounds them.
    Zeros are left out. Labels that are no numbers are left to the caller, as NaN, and so are values
    of too many digits. `results` tells how many rows, values, too long values, query ids and labels
    that are no integers there were, and where the first token that cannot be read begins.
    """
    i, end = np.uint64(start), np.uint64(stop)
    row, value_place, n_long = first_row, first_value, 0
    results[:] = 0
    results[BAD_TOKEN] = NO_TOKEN
    while i < end:
        while _is_blank(text[i]):
            i += _ONE
        if text[i] == _NEWLINE or text[i] == _HASH:
            i = _next_line(text, i)
            continue
        rows.label_starts[row] = i
        status, label, after = read_decimal(text, i)
        if status == NUMBER and _ends_token(text[after]) and np.isfinite(label):
            results[N_FRACTIONS] += not _is_whole(text, i, after)
        else:
            label, after = np.nan, _token_end(text, i)
            for p in range(i, after):
                if text[p] == _COLON:
                    results[BAD_TOKEN] = i
                    return
        rows.labels[row] = label
        rows.label_ends[row] = after
        i, previous, first, first_of_row = after, np.int64(-1), True, value_place
        while True:
            while _is_blank(text[i]):
                i += _ONE
            if text[i] == _NEWLINE or text[i] == _HASH:
                break
            token = i
            if first and text[i] == _Q:
                i = _query_end(text, i)
                if i == 0:
                    results[BAD_TOKEN] = token
                    return
                results[N_QUERIES] += 1
                first = False
                continue
            first = False
            if text[i] == _PLUS:
                i += _ONE
            digits = i
            column, i, fits = read_digits(text, digits, np.uint64(0))
            number = np.int64(column) - base  # below 0 from 2^63 on
            if i == digits or not fits or text[i] != _COLON or not previous < number < n_columns:
                results[BAD_TOKEN] = token
                return
            status, value, after = read_decimal(text, i + _ONE)
            if status == TOO_LONG:
                value, after = np.nan, _token_end(text, after)
                n_long += 1
            if status == NO_NUMBER or not _ends_token(text[after]) or np.isinf(value):
                results[BAD_TOKEN] = token
                return
            rows.columns[value_place] = number
            rows.values[value_place] = value
            value_place += value != 0
            i, previous = after, number
        rows.lengths[row] = value_place - first_of_row
        row += 1
        i = _next_line(text, i)
    results[N_ROWS] = row - first_row
    results[N_VALUES] = value_place - first_value
    results[N_LONG] = n_long


@inner_loop
def _query_end(text, i):
    """Where the query id at i ends, which must be qid:something; 0 if it is none."""
    end = _token_end(text, i)
    if end - i >= np.uint64(4) and text[i + _ONE] == _I and text[i + np.uint64(2)] == _D:
        for p in range(i + np.uint64(3), end):
            if text[p] == _COLON:
                return end
    return np.uint64(0)


@loop
def gather_labels(text, starts, ends, out):
    """The labels of rows, one per row of `out`, which is zero on entry and wide enough."""
    for row in range(starts.shape[0]):
        for p in range(ends[row] - starts[row]):
            out[row, p] = text[starts[row] + p]


BYTES_PER_VALUE = 2 + 19 + MOST_BYTES  # a space, a column, a colon and a value, at most


@loop
def write_rows(indptr, columns, values, labels, label_ends, out):
    """Lines of rows, columns counted from 1; gives the number of bytes.

    The label of row i is labels[label_ends[i]:label_ends[i + 1]].
    """
    i = 0
    for row in range(indptr.shape[0] - 1):
        for p in range(label_ends[row], label_ends[row + 1]):
            out[i] = labels[p]
            i += 1
        for p in range(indptr[row], indptr[row + 1]):
            out[i] = _SPACE
            i = write_integer(np.uint64(columns[p]) + np.uint64(1), out, i + 1)
            out[i] = _COLON
            i = write_number(np.float64(values[p]), out, i + 1)
        out[i] = _NEWLINE
        i += 1
    return i


@loop
def write_numbers(numbers, out, out_ends):
    """Integers one after the other; number i is out[out_ends[i]:out_ends[i + 1]]."""
    i = 0
    out_ends[0] = 0
    for p in range(numbers.shape[0]):
        number = numbers[p]
        if number < 0:
            out[i] = np.uint8(ord("-"))
            i += 1
        i = write_integer(np.uint64(abs(number)), out, i)
        out_ends[p + 1] = i
    return i
