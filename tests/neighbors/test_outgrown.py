"""An index whose rows have become many more or fewer is tuned to the rows it has."""

import itertools

import numpy as np
import pytest

import corekernels as ck
from corekernels.errors import FileError, ParameterError
from corekernels.io import load_arrays, save_arrays
from corekernels.neighbors import estimator
from support.clusters import clustered, topical
from support.indexes import with_short_tail


@pytest.fixture(scope="module")
def X():
    return topical(9000)


def new(X, method="auto", **options):
    options = {"random_state": 0, "method": method, **options}
    return ck.CoRENeighbors("core1", **options).fit(X)


def assert_same_choice(first, second):
    for name in ("method_", "reason_", "estimated_recall_"):
        assert getattr(first, name) == getattr(second, name)
    one, other = first._snapshot.main, second._snapshot.main
    assert (one.settings(), one.n_wanted) == (other.settings(), other.n_wanted)


@pytest.mark.parametrize("n_gone", [3000, 5000])
def test_the_recall_is_kept_when_rows_are_removed(X, n_gone):
    index = new(X[:8000], "inverted")
    assert index.method_ == "inverted"
    index.remove(np.arange(n_gone))
    assert index.check_recall(X[8000:]).recall >= 0.95
    fresh = new(X[n_gone:8000], "inverted")
    assert_same_choice(index, fresh)
    distances, ids = index.kneighbors(X[8000:])
    expected = fresh.kneighbors(X[8000:])
    np.testing.assert_array_equal(distances, expected[0])
    np.testing.assert_array_equal(ids, expected[1] + n_gone)


def test_an_index_that_starts_small_grows_out_of_exact_search(X):
    index = new(X[:1000], recall=0.8)
    assert index.reason_ == "exact search: 1000 rows are few"
    before = index._snapshot
    index.add(X[1000:8000])
    assert index.method_ == "inverted"
    assert_same_choice(index, new(X[:8000], recall=0.8))
    assert (before.main.name, before.n_alive) == ("exact", 1000)  # as searches under way see it
    exact = new(X[:8000], "exact").kneighbors(X[8000:8100])[0]
    assert (index.kneighbors(X[8000:8100], 1)[0][:, 0] >= exact[:, 0]).all()


def test_a_method_that_was_named_stays(X):
    index = new(X[:1000], "exact")
    index.add(X[1000:8000])
    assert (index.method_, index.reason_) == ("exact", "exact search, as asked for")
    C = clustered(3000, 300, 40)
    index = new(C[:1000], "graph", recall=0.8)
    index.add(C[1000:])
    assert_same_choice(index, new(C, "graph", recall=0.8))
    index.remove(np.arange(2000))
    assert_same_choice(index, new(C[2000:], "graph", recall=0.8))
    assert index.method_ == "graph"


def test_batches_are_tuned_to_seldom(X, monkeypatch):
    """Rows double from one choice to the next: all of them together see at most twice the last."""
    tuned = []

    def counted(store, *options):
        tuned.append(len(store))
        return choose(store, *options)

    choose = estimator.choose
    monkeypatch.setattr(estimator, "choose", counted)
    C = clustered(1000, 300, 40)
    index = with_short_tail(new(C[:50]), 20)
    for start in range(50, 1000, 10):
        index.add(C[start : start + 10])
    assert 4 <= len(tuned) <= 1 + np.log2(1000 / 50)
    assert all(after >= 2 * before for before, after in itertools.pairwise(tuned))
    tuned.clear()
    for i in range(900):
        index.remove(i)
    # each of them has at most three quarters of the rows of the one before
    assert 4 <= len(tuned) <= np.log(1000 / 100) / np.log(4 / 3)
    assert index.n_samples_fit_ == 100


def test_the_choice_does_not_depend_on_threads_or_on_a_file_between(X, tmp_path):
    indexes = [new(X[:3000], n_jobs=n_jobs) for n_jobs in (1, 2)]
    for index in indexes:
        index.add(X[3000:5500])
    indexes[0].save(tmp_path / "index")
    indexes.append(ck.CoRENeighbors.load(tmp_path / "index"))
    assert indexes[2]._snapshot.n_tuned == 3000
    for index in indexes:
        index.add(X[5500:8000])
        index.remove(np.arange(10))
        assert index._snapshot.n_tuned == 8000
        assert_same_choice(index, indexes[0])
    answers = [index.kneighbors(X[8000:]) for index in indexes]
    for distances, ids in answers[1:]:
        np.testing.assert_array_equal(distances, answers[0][0])
        np.testing.assert_array_equal(ids, answers[0][1])


def test_files_that_do_not_say_what_they_should(X, tmp_path):
    index = new(X[:100])
    index.add(X[100:150])
    index.save(tmp_path / "index")
    arrays, about = load_arrays(tmp_path / "index", "index", 1, mmap=False)
    assert about["n_tuned"] == 100
    for field, value, message in (
        ("n_tuned", "many", "number of rows tuned to is no integer"),
        ("contract", 2, "hashed by contract 2, this corekernels hashes by contract 1"),
    ):
        save_arrays(tmp_path / "bad", "index", 1, arrays, {**about, field: value})
        with pytest.raises(FileError, match=message):
            ck.CoRENeighbors.load(tmp_path / "bad")


def test_parameters_changed_since_are_checked(X):
    index = new(X[:100]).set_params(method="magic")
    with pytest.raises(ParameterError, match="method: got 'magic'"):
        index.add(X[100:2000])
    assert index.n_samples_fit_ == 100


def test_an_emptied_index_begins_anew(X):
    index = new(X[:3000]).remove(np.arange(3000))
    index.add(X[:5])
    assert index.reason_ == "exact search: 5 rows are few"
    assert len(index._snapshot.ids) == 5  # nothing is left of the rows removed
