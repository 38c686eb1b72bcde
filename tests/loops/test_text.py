"""The loops from text to rows, also run as plain Python: NUMBA_DISABLE_JIT=1."""

import re

import numpy as np
import pytest
from numba import njit

from corekernels._core.validation import read_only
from corekernels._loops.simd.bit_sets import bytes_between
from corekernels._loops.simd.integers import store_word
from corekernels._loops.simd.vectors import load_line, lower_letters, store
from corekernels._loops.text import records
from corekernels._loops.text.grams import FREE, sort_distinct, table_size
from corekernels.text.rows import as_texts, text_rows
from corekernels.text.settings import TextSettings
from support.text import SCRIPTS, column_counts


@pytest.mark.parametrize("strip_accents", [False, True])
@pytest.mark.parametrize(("unit", "ngrams"), [("words", (1, 2)), ("characters", (3, 3))])
def test_documents(unit, ngrams, strip_accents):
    [texts] = as_texts(list(SCRIPTS.values()))
    settings = TextSettings.of(
        unit=unit, ngrams=ngrams, strip_accents=strip_accents, weights="counts"
    )
    with np.errstate(over="ignore"):
        X = text_rows(texts, settings, n_jobs=1, buffer_columns=100)
    for row, document in enumerate(SCRIPTS.values()):
        mine = slice(X.indptr[row], X.indptr[row + 1])
        found = dict(zip(X.indices[mine].tolist(), X.data[mine].tolist(), strict=True))
        assert found == column_counts(document, unit, ngrams, strip_accents=strip_accents)


@pytest.mark.parametrize("n", [0, 1, 7, 100])
@pytest.mark.parametrize("spread", ["even", "high", "equal"])
def test_distinct_columns_in_order(n, spread):
    """Also where all columns begin with the same bits and fill the end of the table."""
    rng = np.random.default_rng(n)
    columns = rng.integers(0, 2**62, n, dtype=np.uint64)
    if spread == "high":
        columns = np.uint64(2**62 - 1) - rng.integers(0, n + 1, n, dtype=np.uint64)
    elif spread == "equal":
        columns[:] = 5
    keys, counts = np.full(table_size(n), FREE), np.zeros(table_size(n), np.int32)
    out, out_counts = np.zeros(n + 3, np.uint64), np.zeros(n, np.int32)
    n_found = sort_distinct(columns, n, 62, keys, counts, 3, out, out_counts)
    expected, expected_counts = np.unique(columns, return_counts=True)
    np.testing.assert_array_equal(out[3 : 3 + n_found], expected)
    np.testing.assert_array_equal(out_counts[:n_found], expected_counts)
    assert (keys == FREE).all()
    assert not counts.any()


@njit
def _in_lower_case(text, out):
    store(lower_letters(load_line(text, 0)), 0, out)


@njit
def _bits_and_word(text, out):
    store_word(bytes_between(text, 0, np.uint8(48), np.uint8(57)), 0, out)


def test_vector_operations():
    text = np.frombuffer(bytes(range(40, 104)), np.uint8)
    out = np.zeros(64, np.uint8)
    _in_lower_case(text, out)
    assert out.tobytes() == text.tobytes().lower()
    _bits_and_word(text, out)
    is_digit = [48 <= byte <= 57 for byte in text]
    np.testing.assert_array_equal(np.unpackbits(out[:8], bitorder="little"), is_digit)


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 128])
def test_lines_are_counted_without_a_look_behind_the_text(size):
    """With bounds checks a byte that is read behind the last one is an error."""
    rng = np.random.default_rng(size)
    for last in b"\r\na":
        text = rng.choice(np.frombuffer(b"\r\na", np.uint8), size)
        text[-1:] = last
        assert records.count_lines(read_only(text), size) == len(
            re.findall(rb"\r\n|\r|\n", text.tobytes())
        )
