"""The loops of the search on small inputs: also run with NUMBA_DISABLE_JIT=1."""

import numpy as np
import pytest
from scipy import sparse

from corekernels._core.validation import check_rows
from corekernels._loops.search import buckets, heaps, pairs, postings
from corekernels._loops.search import graph as beam
from corekernels.kernel_table import CORE1, HASHED_KERNELS
from corekernels.neighbors.candidates.exact import inverted_lists
from corekernels.neighbors.store import make_queries, make_store
from support import oracles
from support.indexes import exact_index


@pytest.fixture
def X():
    X = np.random.default_rng(0).poisson(0.4, (30, 24)).astype(float)
    X[5] = 0
    return X


@pytest.mark.parametrize("scans", [True, False])
@pytest.mark.parametrize("kernel", tuple(HASHED_KERNELS))
def test_scan_and_lists(X, scans, kernel):
    distances, found = exact_index(X, kernel, 4, scans=scans).kneighbors(X[:6])
    K = oracles.kernel(kernel, X[:6], X).round(12)
    np.testing.assert_array_equal(found, np.argsort(-K, axis=1, kind="stable")[:, :4])
    np.testing.assert_allclose(1 - distances, -np.sort(-K, axis=1)[:, :4], atol=1e-9)


def test_heaps():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 6, 50).astype(float)
    best = heaps.Heaps.empty(1, 8)
    for row in rng.permutation(50):
        size = heaps.push(values[row], row, best.sizes[0], best.keys[0], best.rows[0])
        best.sizes[0] = size
    best.sort()
    np.testing.assert_array_equal(best.rows[0], np.argsort(-values, kind="stable")[:8])
    assert heaps.push(1.0, 1, 0, best.keys[0, :0], best.rows[0, :0]) == 0


def test_lists_and_candidates(X):
    store = make_store(check_rows(X), CORE1)
    heads, rows, values = inverted_lists(store, store.values)
    back = sparse.csc_array((values.astype(float), rows, heads), shape=X.shape)
    np.testing.assert_array_equal(back.toarray(), X)
    queries = make_queries(check_rows(X[:3]), store)
    for kernel, entry in HASHED_KERNELS.items():
        units = (X / np.maximum(np.linalg.norm(X, axis=1), 1)[:, None]).astype(np.float32)
        lists = inverted_lists(store, units[X != 0])
        out = np.empty((3, 5), np.int32)
        postings.best_by_lists(
            entry.for_loops, 10**6, queries, store.lengths.astype(np.int32), lists,
            np.zeros((30, 2), np.float32), np.empty(31, np.int32), out,
        )  # fmt: skip
        K = oracles.kernel(kernel, X[:3], X)
        best = np.take_along_axis(K, out.astype(int), axis=1)
        np.testing.assert_allclose(np.sort(best)[:, ::-1], -np.sort(-K)[:, :5], atol=1e-6)


def test_graph_links_and_walks():
    rng = np.random.default_rng(0)
    sketches = rng.integers(0, 2**63, (40, 8), dtype=np.uint64)
    links, degrees = np.zeros((40, 6), np.int32), np.zeros(40, np.int32)
    order, visited = rng.permutation(40).astype(np.int32), np.empty(1, np.uint64)
    beam.insert(0, 40, order, sketches, 8, 4, visited, links, degrees)
    assert degrees.max() <= 6
    assert degrees[order[0]] > 0
    out = np.empty((40, 5), np.int32)
    beam.walk_all(sketches, order, sketches, links, degrees, visited, out)
    np.testing.assert_array_equal(out[:, 0], np.arange(40))
    assert beam.distance(sketches[0], ~sketches[0]) == 512
    words = np.zeros((1, 8), np.uint64)
    beam.pack_bits(np.array([[1, 2, 3]], np.uint8), 62, words)
    beam.pack_signs(np.array([[0.5, -0.5]], np.float16).view(np.uint16), 128, words)
    assert words[0, :3].tolist() == [1 << 62, 1, 1]


def test_tables():
    codes = np.repeat(np.arange(10, dtype=np.uint16), 2)[:, None] * np.ones((1, 6), np.uint16)
    numbers = np.empty((20, 3), np.uint32)
    with np.errstate(over="ignore"):
        buckets.write_keys(codes, np.empty((0, 0), np.uint16), 2, 60, numbers)
        signed = np.empty((20, 3), np.uint32)
        buckets.write_keys(codes, np.ones((20, 6), np.float16).view(np.uint16), 2, 60, signed)
    assert (numbers != signed).any()
    tables = buckets.Tables(np.zeros((3, 17), np.int32), np.empty((3, 20), np.int32))
    buckets.fill_tables(numbers, tables)
    out, lengths = np.empty((20, 2), np.int32), np.ones(20, np.int64)
    lengths[4] = 0
    counts, touched = np.zeros(20, np.int32), np.empty(21, np.int32)
    buckets.most_collisions(numbers, lengths, tables, counts, touched, out)
    assert all(row in mine for row, mine in enumerate(out) if row != 4)
    assert (out[4] == -1).all()
    assert not counts.any()
    ends, later = np.zeros(21, np.int64), np.empty(400, np.int32)
    seen = np.zeros(20, np.int64)
    needed = buckets.later_collisions(0, numbers, lengths, tables, seen, ends, later)
    assert needed == ends[-1]
    assert 1 in later[: ends[1]]
    assert (later[ends[2] : ends[3]] > 2).all()
    assert len(set(later[: ends[1]])) == ends[1]


def test_pairs_of_equal_keys():
    keys, rows = np.array([3, 5, 5, 5, 8, 9, 9], np.uint64), np.array([0, 2, 4, 6, 1, 3, 5])
    counts = np.zeros(7, np.int64)
    assert buckets.count_pairs(keys, rows, 0, 7, counts) == 4
    assert counts.tolist() == [0, 0, 2, 1, 1, 0, 0]
    assert buckets.count_pairs(keys[:0], rows[:0], 0, 7, counts) == 0
    out = np.empty(4, np.int64)
    buckets.write_pairs(keys, rows, 0, 7, 7, out)
    assert sorted(map(divmod, out.tolist(), [7] * 4)) == [(4, 2), (5, 3), (6, 2), (6, 4)]
    some = np.empty(buckets.count_pairs(keys, rows, 3, 5, counts[:2]), np.int64)
    buckets.write_pairs(keys, rows, 3, 5, 7, some)
    assert sorted(map(divmod, some.tolist(), [7] * 2)) == [(5, 3), (6, 4)]


def test_digests_tell_rows_apart(X):
    rows = check_rows(np.vstack([X, X[3], -X[4]]))
    out = np.empty((32, 2), np.uint64)
    with np.errstate(over="ignore"):
        buckets.row_digests(rows.indptr, rows.indices, rows.data.view(np.uint64), out)
    assert (out[30] == out[3]).all()
    assert len(np.unique(out[:, 0])) == len(np.unique(out[:, 1])) == 31


def test_pairs(X):
    store = make_store(check_rows(X), CORE1)
    queries = make_queries(check_rows(X[:2]), store)
    out = np.empty(4)
    pairs.pairs_at_least(
        0.3, store.kernel.for_loops, queries, store.stored_rows, np.array([0, 2, 4]),
        np.array([0, 5, 1, 7]), np.zeros(24), out,
    )  # fmt: skip
    K = oracles.core1(X, X)
    assert out[0] == out[2] == 1
    assert out[1] == pairs.BELOW
    assert out[3] in (pairs.BELOW, pytest.approx(K[1, 7]))
