"""One pass over svmlight text before it is parsed: how many rows, which columns."""

from numba import njit

# positions of the facts in the output of `scan_lines`
LINES, ROWS, LARGEST, LARGEST_LINE, ZERO_LINE, OTHER_LABELS, QUERIES = range(7)
N_FACTS = 7
TOO_LARGE = 1 << 59  # columns are not counted beyond this; ten times it is still an int64

_NEWLINE, _HASH, _PLUS, _MINUS, _ZERO, _NINE, _COLON, _Q = (ord(c) for c in "\n#+-09:q")


@njit(nogil=True, cache=True)
def _is_space(c):
    return c == 32 or (9 <= c <= 13 and c != _NEWLINE)


@njit(nogil=True, cache=True)
def _token_end(text, i):
    """First position from i on that does not belong to a token: white space, newline or #."""
    while i < len(text) and text[i] > 35:  # 35 is #, and white space lies below
        i += 1
    while i < len(text) and not (_is_space(text[i]) or text[i] == _NEWLINE or text[i] == _HASH):
        i += 1
        while i < len(text) and text[i] > 35:
            i += 1
    return i


@njit(nogil=True, cache=True)
def _digits_end(text, i):
    while i < len(text) and _ZERO <= text[i] <= _NINE:
        i += 1
    return i


@njit(nogil=True, cache=True)
def _scan_columns(text, i, line, out):
    """Note the columns of a line from i on; gives where its tokens end."""
    first = True
    while True:
        while i < len(text) and _is_space(text[i]):
            i += 1
        if i >= len(text) or text[i] == _NEWLINE or text[i] == _HASH:
            return i
        if first and text[i] == _Q:
            out[QUERIES] += 1
        first = False
        if text[i] == _PLUS or text[i] == _MINUS:
            i += 1
        value = 0
        start = i
        while i < len(text) and _ZERO <= text[i] <= _NINE:
            if value < TOO_LARGE:
                value = value * 10 + int(text[i]) - _ZERO
            i += 1
        if i > start and i < len(text) and text[i] == _COLON:
            if value > out[LARGEST]:
                out[LARGEST] = min(value, TOO_LARGE)
                out[LARGEST_LINE] = line
            if value == 0 and out[ZERO_LINE] == 0:
                out[ZERO_LINE] = line
        i = _token_end(text, i)


@njit(nogil=True, cache=True)
def scan_lines(text, out):
    """Facts about whole lines of svmlight text (bytes), added to those of the lines before.

    `out` holds N_FACTS integers, at first 0 and LARGEST -1: lines and rows so far, the
    largest column number and its line, the first line with a column 0 (0: none), labels not
    written as integers, and rows with a query id. Lines count from 1. Whether the text is
    well formed is the parser's question.
    """
    i = 0
    while i < len(text):
        out[LINES] += 1
        while i < len(text) and _is_space(text[i]):
            i += 1
        if i < len(text) and text[i] != _NEWLINE and text[i] != _HASH:
            out[ROWS] += 1
            start = i + 1 if text[i] == _PLUS or text[i] == _MINUS else i
            end = _token_end(text, i)
            if start == end or _digits_end(text, start) != end:
                out[OTHER_LABELS] += 1
            i = _scan_columns(text, end, out[LINES], out)
        while i < len(text) and text[i] != _NEWLINE:
            i += 1
        i += 1
