"""Shingles beside scikit-learn's CountVectorizer, in many scripts and forms of input."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

import corekernels as ck
from corekernels.errors import DataError, DataTypeError, ParameterError
from corekernels.text import rows
from corekernels.text.rows import as_texts, text_rows
from support.characters import later_characters
from support.text import SCRIPTS, column_counts, gram_column

DOCUMENTS = list(SCRIPTS.values())
KNOWN_CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters=later_characters())


def rows_of(X):
    """Each row as a dictionary; columns must ascend."""
    for row in range(X.shape[0]):
        mine = slice(X.indptr[row], X.indptr[row + 1])
        assert (np.diff(X.indices[mine]) > 0).all()
        yield dict(zip(X.indices[mine].tolist(), X.data[mine].tolist(), strict=True))


@pytest.mark.parametrize("strip_accents", [False, True])
@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize(
    ("unit", "ngrams", "min_length"),
    [("words", (1, 1), 2), ("words", (1, 3), 1), ("words", (2, 2), 3),
     ("characters", (1, 4), 1), ("characters", (9, 9), 1)],
)  # fmt: skip
def test_columns_and_counts_are_those_of_count_vectorizer(
    unit, ngrams, min_length, lowercase, strip_accents
):
    how = {"lowercase": lowercase, "strip_accents": strip_accents, "min_length": min_length}
    X = ck.text.Shingles(unit, ngrams, weights="counts", **how).transform(DOCUMENTS)
    for name, document, row in zip(SCRIPTS, DOCUMENTS, rows_of(X), strict=True):
        assert row == column_counts(document, unit, ngrams, **how), name


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.text(KNOWN_CHARACTERS, max_size=60), max_size=4),
    st.sampled_from(["words", "characters"]), st.integers(1, 3), st.integers(0, 2),
    st.booleans(), st.booleans(), st.integers(1, 3),
)  # fmt: skip
def test_any_text(documents, unit, least, more, lowercase, strip_accents, min_length):
    ngrams = (least, least + more)
    how = {"lowercase": lowercase, "strip_accents": strip_accents, "min_length": min_length}
    X = ck.text.Shingles(unit, ngrams, weights="counts", **how).transform(documents)
    assert X.shape == (len(documents), 2**62)
    for document, row in zip(documents, rows_of(X), strict=True):
        assert row == column_counts(document, unit, ngrams, **how)


@settings(max_examples=200, deadline=None)
@given(st.text("ΣσςΑα.':\u0301 \u00ad1ʰ", max_size=12))
def test_final_sigma(document):
    X = ck.text.Shingles("characters", 2, weights="counts").transform([document])
    assert next(rows_of(X)) == column_counts(document, "characters", (2, 2))


def test_golden_columns():
    """Version 1 of the contract: these numbers must never change."""
    documents = ["a", "the", "rose", "abcdefgh", "abcdefghi", "Größe", "人生", "x" * 40]
    found = ck.text.Shingles(min_length=1).transform(documents).indices
    assert found.tolist() == GOLDEN_WORDS
    assert [gram_column([d.lower()]) for d in documents] == GOLDEN_WORDS
    found = ck.text.Shingles(ngrams=2).transform(["the rose", "rose the", "in the end"]).indices
    assert found.tolist() == GOLDEN_PAIRS
    found = ck.text.Shingles("characters", 5).transform(["a rose", "Größe"]).indices
    assert found.tolist() == GOLDEN_CHARACTERS


GOLDEN_WORDS = [
    4529922271694301667,
    4498603844496357674,
    1371071692648151889,
    3834640651986911977,
    3819359757455999150,
    2709207522194381561,
    1432690867369725632,
    2552273992402832615,
]
GOLDEN_PAIRS = [4512822339164149502, 1585982707539719462, 1101982208196050213, 1470686696592016381]
GOLDEN_CHARACTERS = [1262428532197388582, 4142066934620122828, 2709207522194381561]


def test_weights():
    document = ["b a b c b b c"]
    by_weights = {
        weights: ck.text.Shingles(min_length=1, weights=weights, dtype=dtype).transform(document)
        for weights, dtype in [("binary", np.float32), ("counts", "float32"), ("log", np.float64)]
    }
    counts = by_weights["counts"].data
    assert sorted(counts.tolist()) == [1, 2, 4]
    assert (by_weights["binary"].data == 1).all()
    np.testing.assert_array_equal(by_weights["log"].data, 1 + np.log(counts.astype(float)))
    assert [X.data.dtype for X in by_weights.values()] == [np.float32, np.float32, np.float64]
    assert all(X.indices.dtype == np.int64 for X in by_weights.values())


def inputs():
    arrow = pa.array(DOCUMENTS)
    yield "array of objects", np.array(DOCUMENTS, object)
    yield "tuple", tuple(DOCUMENTS)
    yield "generator", (document for document in DOCUMENTS)
    yield "bytes", [document.encode() for document in DOCUMENTS]
    yield "series", pd.Series(DOCUMENTS)
    yield "series of objects", pd.Series(DOCUMENTS, dtype=object)
    yield "arrow series", pd.Series(DOCUMENTS, dtype=pd.ArrowDtype(pa.string()))
    yield "string", arrow
    yield "large string", arrow.cast(pa.large_string())
    yield "string view", pa.array(DOCUMENTS, pa.string_view())
    yield "dictionary", arrow.dictionary_encode()
    yield "chunks", pa.chunked_array([DOCUMENTS[:3], [], DOCUMENTS[3:]])
    yield "slice", pa.array(["x", *DOCUMENTS, "y"])[1:-1]


@pytest.mark.parametrize(("name", "documents"), list(inputs()), ids=[n for n, _ in inputs()])
def test_forms_of_input(name, documents):
    shingles = ck.text.Shingles("characters", (1, 2))
    expected, found = shingles.transform(DOCUMENTS), shingles.transform(documents)
    assert found.shape == expected.shape, name
    for part in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


def test_array_of_strings():
    documents = np.array(["one", "two words", "", "größer"])
    expected = ck.text.Shingles().transform(documents.tolist())
    assert (ck.text.Shingles().transform(documents) != expected).nnz == 0


def test_without_pyarrow(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    X = ck.text.Shingles().transform(DOCUMENTS)
    monkeypatch.undo()
    assert (ck.text.Shingles().transform(DOCUMENTS) != X).nnz == 0


def test_threads_and_sizes_of_parts_change_nothing():
    rng = np.random.default_rng(0)
    words = [f"word{i}" for i in range(300)] + [word for d in DOCUMENTS for word in d.split()]
    documents = [
        " ".join(rng.choice(words, int(size)))
        for size in [*rng.integers(0, 200, 1500), 30_000, 0, 10]
    ]
    expected = ck.text.Shingles(ngrams=(1, 2), n_jobs=1).transform(documents)
    [texts] = as_texts(documents)
    how = ck.text.Shingles(ngrams=(1, 2)).settings
    for n_jobs, size in [(3, 1), (8, 1000), (4, 1 << 18)]:
        found = text_rows(texts, how, n_jobs=n_jobs, buffer_columns=size)
        for part in ("indptr", "indices", "data"):
            np.testing.assert_array_equal(getattr(found, part), getattr(expected, part))


@pytest.mark.parametrize(
    ("documents", "error", "message"),
    [
        ("a string", DataError, "put it into a list"),
        (["a", None], DataError, "document 1 is missing"),
        (pd.Series(["a", "b", np.nan]), DataError, "document 2 is missing"),
        (pa.array(["a", "b", None]), DataError, "document 2 is missing"),
        (["a", 3], DataTypeError, "document 1 is of type int"),
        ([["a"], ["b"]], DataTypeError, "document 0 is of type list"),
        (np.array([["a", "b"]]), DataError, "1 x 2"),
        (np.arange(3), DataTypeError, "document 0 is of type"),
        (pa.array([1, 2]), DataTypeError, "type int64"),
        (7, DataTypeError, "give a list of strings"),
        (["fine", "a\ud800b"], DataError, "document 1 cannot be written in UTF-8"),
        (["ok", b"caf\xe9"], DataError, "document 1 is not valid UTF-8 \\(byte 3: 0xe9\\)"),
    ],
)
def test_what_is_no_text_is_refused(documents, error, message):
    with pytest.raises(error, match=message):
        ck.text.Shingles().transform(documents)


@pytest.mark.parametrize(
    "damage",
    [b"\x80", b"\xc3", b"\xc0\xaf", b"\xe2\x82", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xff",
     b"\xe0\x80\x80", b"\xf0\x80\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xe2\x28\xa1", b"\xc3A"],
)  # fmt: skip
@pytest.mark.parametrize("before", [0, 3, 9])
@pytest.mark.parametrize("after", [0, 2, 20])
def test_damaged_utf8_is_told(damage, before, after):
    data = b"x" * before + damage + b"y" * after
    texts = pa.Array.from_buffers(
        pa.binary(), 2, [None, pa.array([0, 2, 2 + len(data)], pa.int32()).buffers()[1],
                         pa.py_buffer(b"ab" + data)],
    ).view(pa.string())  # fmt: skip
    with pytest.raises(DataError, match=f"document 1 is not valid UTF-8 .byte {before}:"):
        ck.text.Shingles().transform(texts)


@pytest.mark.parametrize("before", ["", "x" * 20])
@pytest.mark.parametrize("damage", [b"\xf7\xbf\xbf\xbf", b"\xf4\x90\x80\x80", b"\xbf"])
def test_damage_behind_a_sigma(before, damage):
    """Whether a sigma ends its word is told by characters that were not looked at yet."""
    document = f"{before}aΣ".encode()
    with pytest.raises(DataError, match=f"document 0 is not valid UTF-8 .byte {len(document)}:"):
        ck.text.Shingles().transform([document + damage])


@pytest.mark.parametrize("offsets", [[0, 2, 1], [0, 9, 3]])
def test_arrow_arrays_that_leave_their_text(offsets):
    buffers = [None, pa.array(offsets, pa.int32()).buffers()[1], pa.py_buffer(b"abc")]
    texts = pa.Array.from_buffers(pa.string(), 2, buffers)
    with pytest.raises(DataError, match="offsets leave its text"):
        ck.text.Shingles().transform(texts)


@pytest.mark.parametrize("unit", ["words", "characters"])
@pytest.mark.parametrize("n_free", [0, 128])  # of the room that a thread begins with
@pytest.mark.parametrize("n_more", range(-1, 3))
def test_room_for_a_last_character_that_grows(unit, n_free, n_more, monkeypatch):
    """It takes three bytes, and is eighteen characters and four words once normalised."""
    monkeypatch.setattr(rows, "_kept", [])
    n_bytes = (1 << 14) - n_free + n_more
    document = ("a " * n_bytes)[: n_bytes - 3] + "\ufdfa"
    settings = {"strip_accents": True, "min_length": 1}
    X = ck.text.Shingles(unit, weights="counts", **settings).transform([document])
    assert next(rows_of(X)) == column_counts(document, unit, (1, 1), **settings)


@pytest.mark.parametrize(
    ("name", "value"),
    [("unit", "letters"), ("ngrams", 0), ("ngrams", (3, 1)), ("ngrams", "2"), ("ngrams", (1, 2, 3)),
     ("lowercase", 1), ("strip_accents", "unicode"), ("min_length", 0), ("weights", "tfidf"),
     ("dtype", int), ("n_jobs", 0)],
)  # fmt: skip
def test_parameters_are_checked(name, value):
    shingles = ck.text.Shingles(**{name: value})
    with pytest.raises(ParameterError, match=name):
        shingles.fit_transform(["a text"])


def test_is_a_transformer_like_others():
    shingles = clone(ck.text.Shingles(ngrams=(1, 2)))
    assert shingles.get_params()["ngrams"] == (1, 2)
    assert not hasattr(shingles, "get_feature_names_out")
    assert not hasattr(shingles, "set_output")
    model = make_pipeline(shingles, ck.CoREClassifier(n_hashes=256, random_state=0))
    documents = [f"{a} {b} {c}" for a in ("red", "blue") for b in "abcd" for c in "wxyz"]
    labels = [document.split()[0] for document in documents]
    assert model.fit(documents, labels).score(documents, labels) == 1


@pytest.mark.parametrize(
    "check",
    ["check_estimator_cloneable", "check_estimator_repr", "check_estimator_tags_renamed",
     "check_get_params_invariance", "check_no_attributes_set_in_init",
     "check_parameters_default_constructible", "check_set_params", "check_valid_tag_types",
     "check_mixin_order"],
)  # fmt: skip
def test_estimator_checks(check):
    """Those of scikit-learn that do not need numbers as input: it skips the others itself."""
    getattr(estimator_checks, check)("Shingles", ck.text.Shingles())


def test_kernels_of_rows_are_those_of_count_vectorizer():
    """2**62 columns behave as the few that occur."""
    how = {"unit": "characters", "ngrams": (2, 3)}
    X = ck.text.Shingles(**how, weights="counts", dtype=np.float64).transform(DOCUMENTS)
    few = CountVectorizer(analyzer="char", ngram_range=(2, 3)).fit_transform(DOCUMENTS)
    for kernel in (ck.correlation, ck.resemblance, ck.core1, ck.core2):
        np.testing.assert_allclose(kernel(X), kernel(few.astype(np.float64)), rtol=1e-12)
