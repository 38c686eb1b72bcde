"""The loops of the search on small inputs: also run with NUMBA_DISABLE_JIT=1."""

import numpy as np
import pytest
from scipy import sparse

from corekernels._core.team import Team
from corekernels._core.validation import check_rows, read_only
from corekernels._loops.search import buckets, pairs, postings
from corekernels._loops.search import graph as beam
from corekernels.kernel_table import CORE1, HASHED_KERNELS
from corekernels.neighbors.candidates.exact import WAYS, inverted_lists
from corekernels.neighbors.store import make_queries, make_store
from support import oracles
from support.indexes import exact_index


@pytest.fixture
def X():
    X = np.random.default_rng(0).poisson(0.4, (30, 24)).astype(float)
    X[5] = 0
    return X


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kernel", tuple(HASHED_KERNELS))
def test_scan_and_lists(X, way, kernel):
    distances, found = exact_index(X, kernel, 4, way=way).kneighbors(X[:6])
    K = oracles.kernel(kernel, X[:6], X).round(12)
    np.testing.assert_array_equal(found, np.argsort(-K, axis=1, kind="stable")[:, :4])
    np.testing.assert_allclose(1 - distances, -np.sort(-K, axis=1)[:, :4], atol=1e-9)


def test_heaps():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 6, 50).astype(float)
    best = pairs.Heaps.empty(1, 8)
    for row in rng.permutation(50):
        size = pairs.push(values[row], row, best.sizes[0], best.keys[0], best.rows[0])
        best.sizes[0] = size
    team = Team(1)
    team.run(pairs.sort_heaps, (best,), 1, 1)
    np.testing.assert_array_equal(best.rows[0], np.argsort(-values, kind="stable")[:8])
    assert pairs.push(1.0, 1, 0, best.keys[0, :0], best.rows[0, :0]) == 0


def test_lists_and_candidates(X):
    store = make_store(check_rows(X), CORE1)
    heads, rows, values = inverted_lists(store, store.values)
    back = sparse.csc_array((values.astype(float), rows, heads), shape=X.shape)
    np.testing.assert_array_equal(back.toarray(), X)
    team = Team(1)
    queries = make_queries(check_rows(X[:3]), store, team)
    for kernel, entry in HASHED_KERNELS.items():
        units = (X / np.maximum(np.linalg.norm(X, axis=1), 1)[:, None]).astype(np.float32)
        lists = inverted_lists(store, units[X != 0])
        out = np.empty((3, 5), np.int32)
        lengths, ranking = read_only(store.lengths, np.int32), postings.Ranking.new(30, 5, 50)
        alive = read_only(np.ones(len(X), np.uint8))
        arguments = entry.for_loops, 10**6, queries, lengths, lists, alive, ranking, out
        team = Team(1)
        team.run(postings.best_by_lists, arguments, 3, 2)
        K = oracles.kernel(kernel, X[:3], X)
        best = np.take_along_axis(K, out.astype(int), axis=1)
        np.testing.assert_allclose(np.sort(best)[:, ::-1], -np.sort(-K)[:, :5], atol=1e-6)


def test_graph_links_and_walks():
    rng = np.random.default_rng(0)
    words = read_only(rng.integers(0, 2**63, (40, 8), dtype=np.uint64))
    links, degrees = np.zeros((40, 6), np.int32), np.zeros(40, np.int32)
    order, counts = read_only(rng.permutation(40), np.int32), np.zeros(40, np.int64)
    scratch, found = beam.GraphScratch.new(40, 6, 8), beam.BatchLinks.new(16 * 4)
    out, closer = np.empty((40, 5), np.int32), np.empty((40, 5))
    team = Team(1)
    for start in range(0, 40, 16):
        stop = min(start + 16, 40)
        arguments = start, order[:stop], words, 8, 4, scratch, links, degrees
        team.run(beam.choose_links, arguments, stop - start, 4)
        n = beam.group_links(order[start:stop], links, degrees, counts, found)
        assert not counts.any()
        team.run(beam.link_back, (found, words, scratch, links, degrees), n, 4)
    graph = order, words, read_only(links), read_only(degrees)
    lengths = read_only(np.ones(40, np.int64))
    team.run(beam.walk_all, (words, lengths, *graph, scratch, 10, out), 40, 8)
    neighbors = read_only(words[out.reshape(-1)])
    team.run(beam.closer_sketches, (words, neighbors, words, closer), 40, 8)
    assert degrees.max() <= 6
    assert degrees[order[0]] > 0
    np.testing.assert_array_equal(out[:, 0], np.arange(40))
    distances = np.bitwise_count(words[:, None] ^ words).sum(axis=2, dtype=int)
    to_neighbors = np.take_along_axis(distances, out.astype(int), axis=1)[:, :, None]
    expected = np.sum(distances[:, None] < to_neighbors, axis=2, dtype=float)
    expected += np.sum(distances[:, None] == to_neighbors, axis=2) / 2
    np.testing.assert_array_equal(closer, expected)


def test_sketches():
    words = np.zeros((1, 8), np.uint64)
    codes = read_only(np.arange(510, dtype=np.uint8)[None] % 2)
    signs = read_only(np.array([[0.5, -0.5]], np.float16)).view(np.uint16)
    Team(1).run(beam.pack_bits, (codes, signs, 2, words), 1, 1)
    assert beam.distance(words[0], ~words[0]) == 512
    assert set(words[0, :7].tolist()) == {0xAAAAAAAAAAAAAAAA}
    assert words[0, 7] == 0x6AAAAAAAAAAAAAAA  # the last two bits are those of 0.5 and -0.5


def test_tables():
    codes = np.repeat(np.arange(10, dtype=np.uint16), 2)[:, None] * np.ones((1, 6), np.uint16)
    codes = read_only(codes)
    numbers = np.empty((20, 3), np.uint32)
    signed = np.empty((20, 3), np.uint32)
    signs = read_only(np.ones((20, 6), np.float16)).view(np.uint16)
    tables = buckets.Buckets(np.zeros((3, 17), np.int32), np.empty((3, 20), np.int32))
    out, lengths = np.empty((20, 2), np.int32), np.ones(20, np.int64)
    lengths[4] = 0
    counts, touched = np.zeros(20, np.int32), np.empty(21, np.int32)
    team = Team(1)
    with np.errstate(over="ignore"):
        none = read_only(np.empty((0, 0), np.uint16))
        team.run(buckets.write_keys, (codes, none, 2, 60, numbers), 20, 8)
        team.run(buckets.write_keys, (codes, signs, 2, 60, signed), 20, 8)
        numbers = read_only(numbers)
        team.run(buckets.fill_tables, (numbers, tables), 3, 1)
        filled = buckets.Buckets(*map(read_only, tables))
        alive = read_only((np.arange(20) != 7).astype(np.uint8))
        arguments = numbers, read_only(lengths), filled, alive, counts, touched, out
        team.run(buckets.most_collisions, arguments, 20, 8)
    assert (numbers != signed).any()
    assert all(row in rows for row, rows in enumerate(out) if row not in (4, 7))
    assert 7 not in out
    assert (out[4] == -1).all()
    assert not counts.any()


def test_pairs(X):
    store = make_store(check_rows(X), CORE1)
    team = Team(1)
    queries = make_queries(check_rows(X[:2]), store, team)
    out = store.kernel_values(team, queries, np.array([0, 2, 4]), np.array([0, 5, 1, 7]), 0.3)
    K = oracles.core1(X, X)
    assert out[0] == out[2] == 1
    assert out[1] == pairs.BELOW
    assert out[3] in (pairs.BELOW, pytest.approx(K[1, 7]))
