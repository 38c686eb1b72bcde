"""The loops of near-duplicates on small inputs: also run with NUMBA_DISABLE_JIT=1."""

import numpy as np
import pytest
from scipy import sparse

from corekernels._core.validation import check_rows, read_only
from corekernels._loops.search import duplicates as loops
from corekernels.kernel_table import DUPLICATES_KERNELS
from corekernels.neighbors.duplicates.candidates import repeated_keys
from corekernels.neighbors.duplicates.rows import (
    RowStore,
    row_digests,
    rows_to_keep,
    sorted_rows,
)
from support import oracles

THRESHOLD = 0.2987  # which no pair has


@pytest.fixture
def X():
    X = np.random.default_rng(0).poisson(0.4, (30, 24)).astype(float)
    X[5] = 0
    return X


def test_digests_tell_rows_apart(X):
    with np.errstate(over="ignore"):
        out = row_digests(check_rows(np.vstack([X, X[3], -X[4]])))
    assert (out[30] == out[3]).all()
    assert len(np.unique(out[:, 0])) == len(np.unique(out[:, 1])) == 31


def test_keys_are_made_of_the_codes_of_their_table():
    codes = read_only(np.random.default_rng(0).integers(0, 9, (4, 6)).astype(np.uint16))
    out = np.empty((3, 4), np.uint64)
    changed = codes.copy()
    changed[2, 3] += 1  # of the second table
    again = np.empty((3, 4), np.uint64)
    with np.errstate(over="ignore"):
        loops.write_table_keys(codes, 2, out)
        loops.write_table_keys(read_only(changed), 2, again)
    assert np.argwhere(out != again).tolist() == [[1, 2]]


def test_pairs_of_linked_rows():
    """Places 0, 2 and 3 share a key in the first table, 1, 2 and 3 in the second."""
    links = np.array([[2, -1, 3, -1], [-1, 2, 3, -1]])
    rows, seen = np.array([1, 4, 6, 9]), np.zeros(4, np.uint8)
    for boundary, expected in ((-1, [16, 19, 46, 49, 69]), (5, [61, 91, 64, 94])):
        for room in (2, 3, 10):
            state, out, found = np.zeros(2, np.int64), np.empty(room, np.int64), []
            while state[0] < 4:
                loops.write_linked_pairs(links, rows, 10, boundary, state, seen, out)
                found += out[: state[1]].tolist()
            assert found == expected
            assert not seen.any()
    links[0, 2] = -2 - 3  # place 2 makes no pairs in the first table; place 0 goes on past it
    state, out = np.zeros(2, np.int64), np.empty(10, np.int64)
    loops.write_linked_pairs(links[:1], rows, 10, -1, state, seen, out)
    assert out[: state[1]].tolist() == [16, 19]


def test_keys_that_occur_twice_are_taken():
    keys, rows = repeated_keys(np.array([9, 1, 9, 5, 1, 1], np.uint64), np.arange(6)[::-1])
    assert (keys.tolist(), rows.tolist()) == ([1, 1, 1, 9, 9], [0, 1, 4, 3, 5])


@pytest.mark.parametrize("kernel", DUPLICATES_KERNELS)
@pytest.mark.parametrize("kind", ["values", "ones", "some ones", "wide", "large"])
def test_rows_of_several_parts_are_compared(X, kernel, kind):
    entry = DUPLICATES_KERNELS[kernel]
    X = (X != 0).astype(np.float32) if kind == "ones" else X
    if kind == "some ones":
        X[:10] = X[:10] != 0
    scale = 1e200 if kind == "large" else 1.0
    matrix = sparse.csr_array(X * scale)
    if kind == "wide":
        columns = matrix.indices.astype(np.int64) << 35
        matrix = sparse.csr_array((matrix.data, columns, matrix.indptr), shape=(30, 1 << 41))
    rows = [check_rows(matrix[:10]), check_rows(matrix[10:])]
    parts = [rows_to_keep(part, entry.uses_values) for part in rows]
    assert (len(parts[0].data) == 0) == ("ones" in kind or not entry.uses_values)
    store = RowStore.in_memory(parts)
    np.testing.assert_array_equal(store.lengths(np.arange(30)), (X != 0).sum(axis=1))
    gathered = sorted_rows(store.take(np.arange(30)), entry.uses_values)
    columns = np.concatenate([part.indices for part in parts])
    np.testing.assert_array_equal(gathered.columns, columns)
    if any(len(part.data) for part in parts):
        values = [part.data if len(part.data) else np.ones(part.nnz) for part in parts]
        np.testing.assert_array_equal(gathered.values, np.concatenate(values))
    else:
        assert not len(gathered.values)
    left, right = (read_only(side) for side in np.triu_indices(30, 1))
    out = np.empty(len(left))
    loops.compare_pairs(THRESHOLD, entry.for_loops, gathered, left, right, out)
    if kernel == "containment":
        A = (X != 0).astype(float)
        with np.errstate(invalid="ignore"):
            K = np.nan_to_num(A @ A.T / np.minimum.outer(A.sum(1), A.sum(1)))
    else:
        K = oracles.kernel(kernel, X, X)
    expected = np.where(K[left, right] >= THRESHOLD, K[left, right], loops.BELOW)
    np.testing.assert_allclose(out, expected, atol=1e-12)


def test_samples_and_rows_that_contain_them():
    indptr, columns = np.array([0, 2, 5, 5]), np.array([4, 9, 4, 7, 9])
    out = np.empty((3, 2), np.int64)
    with np.errstate(over="ignore"):
        loops.sample_columns(indptr, columns, np.uint64(1), out)
    assert sorted(out[0].tolist()) == [4, 9]
    assert set(out[1].tolist()) < {4, 7, 9}
    assert (out[2] == loops.NO_COLUMN).all()
    sampled = loops.SampledRows(  # columns 4 and 9, both of row 0
        np.array([0, 1, 2]), np.array([0, 0]), np.array([2, 3, 0]), np.array([2, 2, 1])
    )
    counts, touched, found = np.zeros(3, np.int32), np.empty(3, np.int64), np.empty((2, 4), int)
    places = np.array([0, 1, 0, -1, 1])
    assert loops.containing_rows(indptr, places, 0, sampled, counts, touched, found) == 1
    assert found[:, 0].tolist() == [0, 1]
    assert not counts.any()
