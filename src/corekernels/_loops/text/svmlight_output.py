"""Rows as svmlight text."""

import numpy as np

from ..compilation import loop
from .shortest import MOST_BYTES, write_integer, write_number

BYTES_PER_VALUE = 2 + 19 + MOST_BYTES  # a space, a column, a colon and a value, at most

_SPACE, _NEWLINE, _COLON = (np.uint8(ord(c)) for c in " \n:")


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
