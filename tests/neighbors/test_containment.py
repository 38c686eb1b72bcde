"""Containment: pairs as by the definition, across copies, sides of two files, and many rows."""

import numpy as np
import pytest
from scipy import sparse

import corekernels as ck
from corekernels.errors import DataError
from corekernels.neighbors.duplicates.candidates import SAMPLE, missed_share, needed_columns
from support.readers import Rows


def contained_pairs(X, threshold, Y=None):
    """Pairs i < j, or of rows of X and Y, by the definition."""
    A = (X.toarray() != 0).astype(float)
    B = A if Y is None else (Y.toarray() != 0).astype(float)
    least = np.minimum(A.sum(1)[:, None], B.sum(1))
    with np.errstate(invalid="ignore"):
        values = np.nan_to_num(A @ B.T / least)
    near = values >= threshold
    i, j = np.nonzero(np.triu(near, 1) if Y is None else near)
    return np.stack([i, j], 1), values[i, j]


@pytest.fixture(scope="module")
def X():
    """600 rows; parts of some, with noise, are rows too; copies and empty rows."""
    rng = np.random.default_rng(0)
    X = (rng.random((600, 3000)) < 0.03) * rng.random((600, 3000))
    for row in range(400, 500):
        X[row] = X[row - 400] * (rng.random(3000) < rng.uniform(0.1, 0.9))
        X[row, rng.integers(0, 3000, 3)] = 1.0
    X[500:505] = X[:5]
    X[510:514] = X[410:414]
    X[520:560] = X[20:60] * (rng.random((40, 3000)) < 0.5)  # wholly contained
    X[590:] = 0
    return sparse.csr_array(X)


@pytest.mark.parametrize("threshold", [0.6, 0.8, 1.0])
@pytest.mark.parametrize("memory", [100, 0.01])
def test_pairs_are_those_of_the_definition(X, threshold, memory):
    found = ck.files.near_duplicates(
        Rows(X, size=77), threshold, "containment", working_memory=memory, progress=False
    )
    pairs, values = contained_pairs(X, threshold)
    assert len(pairs) > 20
    expected = set(map(tuple, pairs.tolist()))
    mine = set(map(tuple, found.pairs.tolist()))
    assert mine <= expected  # each was compared
    missed = len(expected - mine) / len(expected)
    allowed = found.expected_missed + 4 * np.sqrt(max(found.expected_missed, 1e-3) / len(expected))
    assert missed <= allowed
    by_pair = dict(zip(map(tuple, pairs.tolist()), values, strict=True))
    np.testing.assert_allclose(
        found.similarities, [by_pair[pair] for pair in map(tuple, found.pairs.tolist())], rtol=1e-12
    )
    assert found.copies == 9


def test_against(X):
    test = X[[7, 405, 3, 595]]
    found = ck.files.near_duplicates(
        Rows(X, size=100), 0.8, "containment", against=Rows(test, size=3), progress=False
    )
    pairs, _ = contained_pairs(X, 0.8, test)
    assert found.pairs.tolist() == pairs.tolist()
    assert {3, 7, 503} <= set(found.redundant().tolist())


def test_short_documents_inside_long_ones(tmp_path):
    rng = np.random.default_rng(1)
    words = [f"w{n}" for n in range(5000)]
    texts = [" ".join(rng.choice(words, 400)) for _ in range(50)]
    quotes = [" ".join(text.split()[100:130]) for text in texts[:20]]
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(texts + quotes) + "\n")
    shingles = ck.text.Shingles(ngrams=3, weights="binary")
    reader = ck.files.open_reader(path, text="text", shingles=shingles)
    found = ck.files.near_duplicates(reader, 0.9, "containment", progress=False)
    assert found.pairs.tolist() == [[n, 50 + n] for n in range(20)]
    assert not len(ck.files.near_duplicates(reader, 0.9, "resemblance", progress=False).pairs)


def test_how_many_columns_are_needed():
    for threshold in (0.3, 0.5, 0.8, 0.95, 1.0):
        assert 1 <= needed_columns(threshold) <= SAMPLE
    assert missed_share(0.8) <= 0.0005
    assert missed_share(1.0) == 0
    assert missed_share(0.3) == pytest.approx(0.7**SAMPLE)


def test_no_rows():
    with pytest.raises(DataError, match="holds no rows"):
        ck.files.near_duplicates(Rows(sparse.csr_array((0, 5))), 0.9, "containment")
