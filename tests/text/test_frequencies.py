"""Document frequencies beside scikit-learn's TfidfTransformer, whole, in batches, forgetful."""

from collections import Counter

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

import corekernels as ck
from corekernels.errors import DataError, FileError, ParameterError
from corekernels.text.frequencies import DocumentCounts


def words_of(seed, n_documents=200, n_words=500):
    rng = np.random.default_rng(seed)
    words = [f"word{i}" for i in range(n_words)]
    chances = 1 / np.arange(1, n_words + 1)
    chances /= chances.sum()
    return [" ".join(rng.choice(words, 30, p=chances)) for _ in range(n_documents)]


def renumbered(X, columns):
    """The same values in as many columns as are known."""
    few = np.searchsorted(columns, X.indices)
    return sparse.csr_array((X.data, few, X.indptr), shape=(X.shape[0], len(columns)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_weights_are_those_of_tfidf_transformer(dtype):
    X = ck.text.Shingles(dtype=dtype).transform(words_of(0))
    model = ck.text.InverseDocumentFrequency().fit(X)
    found = model.transform(X)
    assert found.dtype == dtype
    assert found.shape == X.shape
    small = renumbered(X, model.columns_)
    expected = TfidfTransformer(norm=None).fit_transform(small).toarray()
    rtol = 4 * np.finfo(dtype).eps  # one product, one rounded weight
    np.testing.assert_allclose(renumbered(found, model.columns_).toarray(), expected, rtol=rtol)


def test_batches_count_as_the_whole_does():
    X = ck.text.Shingles().transform(words_of(1))
    whole = ck.text.InverseDocumentFrequency().fit(X)
    parts = ck.text.InverseDocumentFrequency()
    for start in range(0, X.shape[0], 7):
        parts.partial_fit(X[start : start + 7])
    assert parts.n_documents_ == X.shape[0]
    np.testing.assert_array_equal(parts.columns_, whole.columns_)
    np.testing.assert_array_equal(parts.document_frequencies_, whole.document_frequencies_)
    assert parts.error_ == whole.error_ == 0
    assert parts.digest() == whole.digest()
    assert whole.fit(X[:10]).n_documents_ == 10  # fit begins anew


def test_new_columns_count_as_in_no_document():
    model = make_pipeline(ck.text.Shingles(), ck.text.InverseDocumentFrequency())
    model.fit(["one", "two", "two"])
    assert model.transform(["three"]).data == pytest.approx([np.log(4) + 1])


@pytest.mark.parametrize("max_columns", [1, 2, 40, 100])
def test_what_is_forgotten_is_within_the_error_told(max_columns):
    rng = np.random.default_rng(max_columns)
    counts, truth = DocumentCounts(max_columns, together=50), Counter()
    for _ in range(60):
        columns = np.unique(rng.zipf(1.3, 30) % 1000)
        counts.add(columns, 1)
        truth.update(columns.tolist())
    columns, found = counts.table()
    assert len(columns) <= max_columns
    assert counts.error > 0
    known = dict(zip(columns.tolist(), found.tolist(), strict=True))
    for column, count in truth.items():
        assert count - counts.error <= known.get(column, 0) <= count


def test_file(tmp_path):
    X = ck.text.Shingles().transform(words_of(2, 50))
    model = ck.text.InverseDocumentFrequency(max_columns=1000).fit(X)
    model.save(tmp_path / "corpus.idf")
    again = ck.text.InverseDocumentFrequency.load(tmp_path / "corpus.idf")
    assert again.digest() == model.digest()
    assert (again.transform(X) != model.transform(X)).nnz == 0
    assert again.partial_fit(X).n_documents_ == 100
    (tmp_path / "cut").write_bytes((tmp_path / "corpus.idf").read_bytes()[:-20])
    with pytest.raises(FileError):
        ck.text.InverseDocumentFrequency.load(tmp_path / "cut")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bm25_is_the_formula(dtype, tmp_path):
    documents = [*words_of(3), "", "one"]
    X = ck.text.Shingles(weights="counts", dtype=dtype).transform(documents)
    model = ck.text.InverseDocumentFrequency(weights="bm25").fit(X)
    model.save(tmp_path / "corpus.idf")
    counts = renumbered(X, model.columns_).toarray()
    df, lengths = (counts > 0).sum(axis=0), counts.sum(axis=1)
    idf = np.log1p((len(documents) - df + 0.5) / (df + 0.5))
    length = (0.25 + 0.75 * lengths / lengths.mean())[:, None]
    expected = idf * counts * 2.2 / (counts + 1.2 * length)
    rtol = 8 * np.finfo(dtype).eps  # of as many rounded operations
    for table in (model, ck.text.InverseDocumentFrequency.load(tmp_path / "corpus.idf")):
        found = renumbered(table.transform(X), model.columns_).toarray()
        asked = renumbered(table.transform_queries(X), model.columns_).toarray()
        assert found.dtype == asked.dtype == dtype
        np.testing.assert_allclose(found * np.sqrt(idf), expected, rtol=rtol)
        np.testing.assert_allclose(asked, np.sqrt(idf) * counts, rtol=rtol)


def test_refusals():
    X = ck.text.Shingles().transform(["a text"])
    with pytest.raises(ParameterError, match="max_columns"):
        ck.text.InverseDocumentFrequency(0).fit(X)
    with pytest.raises(ParameterError, match="weights: got 'log'"):
        ck.text.InverseDocumentFrequency(weights="log").fit(X)
    with pytest.raises(ParameterError, match="bm25 is for an index of documents"):
        ck.text.Shingles(weights="bm25").transform(["a text"])
    with pytest.raises(DataError, match="0 sample"):
        ck.text.InverseDocumentFrequency().fit(X[:0])


@parametrize_with_checks([ck.text.InverseDocumentFrequency()])
def test_estimator_checks(estimator, check):
    check(estimator)
