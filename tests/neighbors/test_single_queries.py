"""One query at a time: the same answers as in a batch, without the checks that a batch pays for."""

import numpy as np
import pytest
from scipy import sparse

import corekernels as ck
from corekernels._core.validation import check_rows, one_clean_row
from corekernels.errors import DataError
from support.clusters import METHODS, clustered


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_columns", [300, 70_000])
def test_one_row_is_answered_as_in_a_batch(method, n_columns):
    X = clustered(1300, 300, 40)
    X = sparse.csr_array((X.data, X.indices * (n_columns // 300), X.indptr), (1300, n_columns))
    index = ck.CoRENeighbors(method=method, recall=0.8, random_state=0).fit(X[:1000])
    index.add(X[1000:1100])
    index.remove(np.arange(0, 1100, 11))
    Q = X[1100:1130]
    distances, ids = index.kneighbors(Q)
    for q in range(Q.shape[0]):
        row = sparse.csr_array(Q[[q]])
        for one in (row, row.toarray(), row.astype(np.float64), sparse.csr_matrix(row)):
            found = index.kneighbors(one)
            np.testing.assert_array_equal(found[0][0], distances[q])
            np.testing.assert_array_equal(found[1][0], ids[q])


ROW = np.array([[0.0, 2.5, 0.0, -1.0, 3.0]])


@pytest.mark.parametrize(
    "X",
    [
        ROW, ROW.astype(np.float32), ROW.astype(np.int64), ROW > 0, ROW[:, ::-1], np.zeros((1, 5)),
        sparse.csr_array(ROW), sparse.csr_matrix(ROW.astype(np.float32)), sparse.csr_array((1, 5)),
        sparse.csr_array(([1.0, 2.0], [2, 1], [0, 2]), (1, 5)),
    ],
)  # fmt: skip
def test_a_clean_row_is_taken_as_it_is(X):
    rows, expected = one_clean_row(X, 5), check_rows(X)
    assert rows is not None
    assert rows.n_columns == expected.n_columns
    for name in ("indptr", "indices", "data"):
        one, other = getattr(rows, name), getattr(expected, name)
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
        assert not one.flags.writeable


def test_wide_rows_have_wide_column_numbers():
    X = sparse.csr_array(([1.0], np.array([2**40]), [0, 1]), shape=(1, 2**62))
    assert one_clean_row(X, 2**62).indices.dtype == np.int64


def parts(data, indices, indptr=(0, 2)):
    X = sparse.csr_array((1, 5))
    X.data, X.indices, X.indptr = np.array(data), np.array(indices), np.array(indptr)
    return X


@pytest.mark.parametrize(
    "X",
    [
        np.where(ROW > 0, np.nan, ROW), np.vstack([ROW, ROW]), ROW[0], ROW[:, :4],
        ROW.astype(">f8"), ROW.astype(object), ROW.tolist(), sparse.csc_array(ROW),
        parts([1.0, 0.0], [1, 2]),
        parts([1.0, 2.0], [1, 1]), parts([1.0, 2.0], [1, 5]),
        parts([1.0, 2.0], [-1, 1]), parts([1.0, np.inf], [0, 1]), parts([1.0, 2.0], [0, 1], (0, 3)),
        parts([1.0, 2.0], [0, 1], (1, 2)), parts([1, 2], [0, 1]),
    ],
)  # fmt: skip
def test_any_other_is_left_to_the_checks_of_a_batch(X):
    assert one_clean_row(X, 5) is None


def test_a_bad_row_is_refused_in_the_same_words():
    index = ck.CoRENeighbors(random_state=0).fit(np.eye(5))
    with pytest.raises(DataError, match="row 0 contains NaN"):
        index.kneighbors(np.where(ROW > 0, np.nan, ROW))
    with pytest.raises(ValueError, match="features"):
        index.kneighbors(ROW[:, :4])


def test_names_of_columns_are_still_compared():
    pd = pytest.importorskip("pandas")
    index = ck.CoRENeighbors(random_state=0).fit(pd.DataFrame(np.eye(5), columns=list("abcde")))
    with pytest.warns(UserWarning, match="valid feature names"):
        index.kneighbors(ROW)
