"""How settings are chosen: on which queries, and how sparingly."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

import corekernels as ck
from corekernels._core.validation import check_rows
from corekernels.kernel_table import CORE1
from corekernels.neighbors.candidates import METHODS
from corekernels.neighbors.candidates.exact import Exact
from corekernels.neighbors.candidates.graph import WIDTHS
from corekernels.neighbors.store import make_store
from corekernels.neighbors.tuning import Tuning, hold_out
from support.clusters import clustered, topical


def half_empty(n_rows):
    X = clustered(n_rows, 300, 30).toarray()
    X[::2] = 0
    return X


def test_empty_rows_are_no_held_out_queries():
    """Whatever is found for them is right, so that they would make any method look good."""
    store = make_store(check_rows(half_empty(1000)), CORE1)
    held_out = hold_out(store, 0.95, 5, 0, 1)
    assert (store.lengths[held_out.sample] > 0).all()
    assert len(held_out.sample) == 62  # an eighth of the others
    rows = np.concatenate([held_out.rest, held_out.sample])
    np.testing.assert_array_equal(np.sort(rows), np.arange(1000))
    assert held_out.alive.sum() == 938
    empty = make_store(check_rows(np.zeros((100, 3))), CORE1)
    assert len(hold_out(empty, 0.95, 5, 0, 1).sample) == 12


@pytest.mark.parametrize("method", ["lsh", "graph"])
def test_recall_is_kept_where_half_of_the_rows_are_empty(method):
    X = half_empty(4000)
    index = ck.CoRENeighbors(method=method, recall=0.8, random_state=0).fit(X)
    assert index.method_ == method
    queries = X[1::2][:400]
    found = index.check_recall(queries).recall
    assert found >= 0.8
    # both are means over hundreds of queries whose shares differ by less than 1
    assert abs(found - index.estimated_recall_) < 5 * 0.5 / np.sqrt(400)


@dataclass(frozen=True)
class FakeHeldOut:
    """Held-out queries on which a method's recall is a number of its own."""

    def recall(self, method):
        return method.share, method.share


@dataclass(frozen=True)
class FakeMethod:
    share: float
    cost: float


def test_the_cheapest_method_that_reaches_the_recall_is_taken():
    methods = [FakeMethod(share, 1000 * share) for share in np.linspace(0.5, 1, 101)]
    exact = Exact(make_store(check_rows(np.eye(3)), CORE1))
    task = Tuning(exact, FakeHeldOut(), 0.8, 1, 0)
    method, share = task.cheapest(methods)
    assert share == pytest.approx(0.85)  # a quarter of the misses allowed is kept back
    cheap = Tuning(exact, FakeHeldOut(), 0.8, 1, 0, budget=method.cost - 1)
    assert cheap.cheapest(methods) is None


def test_half_of_the_beam_is_followed_and_the_promise_kept_on_dense_rows():
    kinds = np.random.default_rng(0).random((20, 64))
    X = np.random.default_rng(1).normal(kinds[np.arange(3300) % 20], 0.15)
    X = (100 * np.clip(X, 0, 1)).astype(np.uint8)
    index = ck.CoRENeighbors(method="graph", random_state=0).fit(X[:3000])
    graph = index._snapshot.main
    assert graph.followed == -(-graph.width // 2) < graph.width < 300
    assert index.check_recall(X[3000:]).recall >= 0.95


def test_the_fewer_misses_are_allowed_the_more_queries_are_held_out():
    store = make_store(check_rows(np.eye(64)[np.arange(10_000) % 64]), CORE1)
    sizes = [len(hold_out(store, recall, 1, 0, None).sample) for recall in (0.5, 0.95, 0.999)]
    assert sizes == [256, 500, 1024]


def test_widths_are_so_close_that_little_is_given_away():
    assert all(after / before <= 1.1 for before, after in itertools.pairwise(WIDTHS))
    assert (WIDTHS[0], WIDTHS[-1]) == (10, 998)


def test_a_named_method_much_costlier_than_exact_search_is_kept_with_a_warning():
    X = topical(3000)
    with pytest.warns(UserWarning, match=r"^graph .+; about \d+ times as costly as exact search"):
        index = ck.CoRENeighbors("core1", method="graph", random_state=0).fit(X)
    assert index.method_ == "graph"
    assert "so that auto would not take it" in index.reason_
    assert ck.CoRENeighbors("core1", random_state=0).fit(X).method_ != "graph"
    graph = index._snapshot.main
    times = int(index.reason_.split("; about ")[1].split()[0])
    assert abs(times - graph.cost / graph.exact.cost) <= 0.5
    # few rows are searched in no time by any method, and clustered ones gain by a graph
    for rows in (X[:2048], clustered(3000, 300, 40)):
        index = ck.CoRENeighbors("core1", method="graph", random_state=0).fit(rows)
        assert "costly" not in index.reason_


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_index_of_one_row_has_no_row_left_to_tune_by(method):
    X = np.eye(1, 3)
    index = ck.CoRENeighbors(n_neighbors=1, method=method, recall=0.1, random_state=0).fit(X)
    assert index.kneighbors(X)[1] == [[0]]
