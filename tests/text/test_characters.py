"""All of Unicode: lower case, accents and words as Python and CountVectorizer have them."""

import unicodedata

import numpy as np
import pytest

import corekernels as ck
from corekernels.text.rows import CHARACTERS as FILE
from support.characters import UNICODE, later_characters, tables
from support.text import count_vectorizer

_PAGE = 1 << 12  # characters of a document


@pytest.mark.skipif(unicodedata.unidata_version != UNICODE, reason="another version of Unicode")
def test_the_file_has_what_python_says_of_every_character():
    expected = tables()
    with np.load(FILE) as stored:
        assert set(stored) == set(expected)
        for name in expected:
            np.testing.assert_array_equal(stored[name], expected[name], name)


@pytest.mark.parametrize("strip_accents", [False, True])
def test_every_character_becomes_what_count_vectorizer_makes_of_it(strip_accents):
    """Alone and after a letter; words that its analyzer finds stand for themselves."""
    how = {"strip_accents": strip_accents, "min_length": 1}
    later = set(later_characters())
    every = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    pages = [
        "".join(f"{c} a{c} " for c in every[first : first + _PAGE] if c not in later)
        for first in range(0, len(every), _PAGE)
    ]
    analyzer = count_vectorizer("words", (1, 1), **how).build_analyzer()
    words = [analyzer(page) for page in pages]
    X = ck.text.Shingles(weights="counts", **how).transform(pages)
    as_they_are = ck.text.Shingles(weights="counts", lowercase=False, min_length=1)
    expected = as_they_are.transform([" ".join(found) for found in words])
    assert X.sum(axis=1).tolist() == [len(found) for found in words]
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(X, part), getattr(expected, part))
