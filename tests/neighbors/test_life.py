"""The life of an index: rows come and go, files are written and read, others look on."""

import subprocess
import sys
import threading
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import corekernels as ck
from corekernels.errors import DataError, FileError, ParameterError
from corekernels.io import load_arrays, save_arrays
from support.clusters import METHODS, clustered
from support.indexes import with_short_tail
from support.kernels import MinMax


@pytest.fixture(scope="module")
def X():
    return clustered(1500, 300, 40)


def answers(index, Q):
    return [*index.kneighbors(Q), *index.kneighbors(Q, 3)]


def assert_same(first, second):
    for a, b in zip(first, second, strict=True):
        np.testing.assert_array_equal(a, b)


def new(method, X, **options):
    index = ck.CoRENeighbors(method=method, recall=0.8, random_state=0)
    return index.fit(X, **options)


@pytest.mark.parametrize("method", METHODS)
def test_add_then_remove_equals_never_added(X, method):
    index = new(method, X[:1000])
    before = answers(index, X[1200:])
    index.add(X[1000:1200])
    found = index.kneighbors(X[1000:1200], 1)
    assert (found[0] == 0).all()
    assert (found[1][:, 0] == np.arange(1000, 1200)).all()
    index.remove(np.arange(1000, 1200))
    assert_same(answers(index, X[1200:]), before)


@pytest.mark.parametrize("method", METHODS)
def test_removed_rows_are_never_found(X, method):
    index = new(method, X[:1000], ids=np.arange(1000) * 7 - 3000)
    gone = index.ids_[::3]
    index.remove(gone[:100]).remove(gone[100:])  # the second time they are cleared away
    distances, found = index.kneighbors(X[1200:])
    assert not np.isin(found, gone).any()
    assert set(index.ids_) == set(np.arange(1000) * 7 - 3000) - set(gone)
    kept = np.arange(1000) % 3 != 0
    exact = new("exact", X[:1000][kept]).kneighbors(X[1200:])[0]
    assert (distances <= exact[:, -1:]).mean() >= 0.8
    assert index.kneighbors_graph(X[:2]).shape == (2, index.n_samples_fit_)


@pytest.mark.parametrize("method", METHODS)
def test_growth_keeps_the_recall(X, method):
    index = with_short_tail(new(method, X[:800]), 50)
    for start in range(800, 1200, 40):
        index.add(X[start : start + 40])
    assert len(index._snapshot.main.store) > 1000
    exact = new("exact", X[:1200]).kneighbors(X[1200:])[0]
    assert (index.kneighbors(X[1200:])[0] <= exact[:, -1:]).mean() >= 0.8
    if method == "exact":
        assert_same(index.kneighbors(X[1200:]), new("exact", X[:1200]).kneighbors(X[1200:]))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("mmap", [True, False])
def test_a_loaded_index_answers_as_the_saved_one(X, method, mmap, tmp_path):
    index = new(method, X[:1000])
    index.add(X[1000:1100], ids=np.arange(5000, 5100))
    index.remove([3, 5007])
    index.save(tmp_path / "index")
    again = ck.CoRENeighbors.load(tmp_path / "index", mmap=mmap)
    assert_same(answers(index, X[1200:]), answers(again, X[1200:]))
    assert again.get_params() == index.get_params()
    for name in ("method_", "reason_", "estimated_recall_", "n_features_in_"):
        assert getattr(again, name) == getattr(index, name)
    again.add(X[1100:1200])
    again.remove([4])
    index.add(X[1100:1200])
    index.remove([4])
    assert_same(answers(index, X[1200:]), answers(again, X[1200:]))
    assert [child.name for child in tmp_path.iterdir()] == ["index"]


@pytest.mark.parametrize("method", ["exact", "graph"])
def test_ids_may_be_strings(X, method, tmp_path):
    def name(number):
        return f"row {number} ü"

    names = np.array([name(i) for i in range(1300)])
    index, numbered = new(method, X[:1000], ids=names[:1000]), new(method, X[:1000])
    for one, ids in ((index, names[1000:1100].tolist()), (numbered, None)):
        one.add(X[1000:1100], ids=ids)
    index.remove("row 3 ü").remove(names[[5, 1007]])
    numbered.remove(3).remove([5, 1007])
    index.save(tmp_path / "index")
    again = ck.CoRENeighbors.load(tmp_path / "index")
    distances, expected = numbered.kneighbors(X[1200:])
    for one in (index, again):
        found = one.kneighbors(X[1200:])
        assert_same(found, (distances, np.vectorize(name)(expected).astype(object)))
        assert type(found[1][0, 0]) is str
        mine, theirs = (i.radius_neighbors(X[1200:1210], 0.5, False) for i in (one, numbered))
        assert [list(row) for row in mine] == [[name(i) for i in row] for row in theirs]
        pairs = one.near_duplicates(0.5).pairs
        assert_same((pairs,), (np.vectorize(name)(numbered.near_duplicates(0.5).pairs),))
        one.add(X[1100:1101], ids=["another"])
        assert one.ids_[-1] == "another"
        with pytest.raises(DataError, match="ids: those of the index are strings; give one for"):
            one.add(X[:1])
        with pytest.raises(DataError, match="ids: those of the index are strings; give strings"):
            one.add(X[:1], ids=[7])
        with pytest.raises(DataError, match="row 8 ü is in the index already"):
            one.add(X[:1], ids=["row 8 ü"])
        with pytest.raises(ParameterError, match="ids: 8 is not in the index"):
            one.remove(8)
    with pytest.raises(DataError, match="give integers, or strings only"):
        new(method, X[:2], ids=["a", 1])


def test_wide_columns_and_names_in_files(tmp_path):
    rng = np.random.default_rng(0)
    X = sparse.csr_array(
        (rng.random(300), rng.integers(0, 2**40, 300), np.arange(0, 301, 3)), shape=(100, 2**40)
    )
    index = ck.CoRENeighbors().fit(X)
    index.save(tmp_path / "wide")
    assert_same(index.kneighbors(X), ck.CoRENeighbors.load(tmp_path / "wide").kneighbors(X))
    frame = pd.DataFrame(rng.random((20, 3)), columns=["a", "b", "c"])
    ck.CoRENeighbors().fit(frame).save(tmp_path / "named")
    assert ck.CoRENeighbors.load(tmp_path / "named").feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("method", ["graph", "lsh"])
def test_damaged_files(X, method, tmp_path):
    path = tmp_path / "index"
    index = new(method, X[:1000])
    index.add(X[:3])
    index.save(path)
    arrays, about = load_arrays(path, "index", 1, mmap=False)

    def refused(changes, message, about=about):
        save_arrays(tmp_path / "bad", "index", 1, {**arrays, **changes}, about)
        with pytest.raises(FileError, match=message):
            ck.CoRENeighbors.load(tmp_path / "bad")

    refused({"ids": arrays["ids"][:5]}, "ids do not fit")
    refused({"main.indptr": arrays["main.indptr"][::-1].copy()}, "row pointers")
    refused({"main.columns": arrays["main.columns"] + np.uint16(300)}, "column is out of range")
    refused({"main.values": arrays["main.values"][:9]}, "values do not fit")
    refused({"main.bits": arrays["main.bits"][:9]}, "bits do not fit")
    refused({"main.bits": ~arrays["main.bits"]}, "not those of its columns")
    refused({"main.squares": arrays["main.squares"] * 2}, "sum of squares is not that of its row")
    refused({"main.values": arrays["main.values"] * np.float32(np.inf)}, "not finite")
    swapped = arrays["main.columns"].copy()
    swapped[:2] = swapped[1::-1]
    refused({"main.columns": swapped}, "out of order")
    refused({"ids": np.zeros_like(arrays["ids"])}, "an id occurs twice")
    refused({"alive": arrays["alive"] * np.uint8(3)}, "marks of removed rows")
    for wrong in (-1, 0, 2**64, float("inf"), "300", None, [300]):
        facts = {**about["facts"], "n_features_in_": wrong}
        refused({}, "the number of columns is no integer", {**about, "facts": facts})
    refused({}, "names of columns do not fit", {**about, "feature_names": ["a"]})
    refused({}, "damaged or unknown", {**about, "parameters": {"kernel": "core1"}})
    refused({}, "damaged or unknown", {})
    if method == "graph":
        refused({"source.links": arrays["source.links"] + np.int32(10**6)}, "out of range")
        refused({"source.order": arrays["source.order"][:9]}, "does not fit")
        refused({"source.order": np.zeros_like(arrays["source.order"])}, "row of the graph is miss")
        refused({"source.links": arrays["source.links"][:, :9].copy()}, "does not fit the rows")
    else:
        refused({"source.rows": arrays["source.rows"] - np.int32(1)}, "each row once")
        refused({"source.rows": np.full_like(arrays["source.rows"], 7)}, "each row once")
        refused({"source.rows": arrays["source.rows"][:, ::-1].copy()}, "in order")
        refused({"source.heads": arrays["source.heads"][:, :-1].copy()}, "power of two")
        refused({"source.heads": arrays["source.heads"][:, ::-1].copy()}, "follow each other")
        refused({"source.heads": arrays["source.heads"][:9]}, "do not fit")
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileError, match="not a whole"):
        ck.CoRENeighbors.load(path)


def test_a_killed_save_leaves_the_old_index(X, tmp_path):
    path = tmp_path / "index"
    new("exact", X[:50]).save(path)
    old = path.read_bytes()
    code = (
        "import os, sys, corekernels as ck\n"
        "os.replace = lambda *paths: os.kill(os.getpid(), 9)\n"
        "index = ck.CoRENeighbors.load(sys.argv[1])\n"
        "index.add([[1.0] * 300])\n"
        "index.save(sys.argv[1])\n"
    )
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True)
    assert run.returncode == -9, run.stderr
    assert path.read_bytes() == old
    assert ck.CoRENeighbors.load(path).n_samples_fit_ == 50


def test_searches_while_rows_come_and_go(X):
    index = with_short_tail(new("graph", X[:1000]), 30)
    problems, done = [], threading.Event()

    def search():
        while not done.is_set():
            distances, found = index.kneighbors(X[:20])
            if not (distances[:, 0] == 0).all() or found.shape != (20, 10):
                problems.append((distances, found))

    readers = [threading.Thread(target=search) for _ in range(2)]
    for reader in readers:
        reader.start()
    for start in range(1000, 1200, 20):
        index.add(X[start : start + 20])
        index.remove([start])
        time.sleep(0.01)
    done.set()
    for reader in readers:
        reader.join()
    assert not problems
    assert index.n_samples_fit_ == 1190


@pytest.mark.parametrize("kernel", ["core1", "inner_product", MinMax()])
def test_update(X, kernel):
    """As an index of the new rows under the old ids: rows of the method and of the tail."""
    index = ck.CoRENeighbors(kernel).fit(X[:1000])
    index.add(X[1000:1100])
    ids = [3, 1050, 700]
    with pytest.raises(ParameterError, match="ids: 5000 is not in the index"):
        index.update([3, 5000], X[1100:1102])
    with pytest.raises(DataError, match="ids: 3 is given twice"):
        index.update([3, 3], X[1100:1102])
    with pytest.raises(DataError, match="ids: 3 were given for 2 rows"):
        index.update(ids, X[1100:1102])
    index.update(ids, X[1100:1103])
    assert index.ids_[-3:].tolist() == ids
    kept = np.delete(np.arange(1100), ids)
    rows = np.concatenate([kept, np.arange(1100, 1103)])
    fresh = ck.CoRENeighbors(kernel).fit(X[rows], ids=np.concatenate([kept, ids]))
    for mine, theirs in zip(index.kneighbors(X[900:]), fresh.kneighbors(X[900:]), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    named = ck.CoRENeighbors(kernel).fit(X[:2], ids=["a", "b"]).update("a", X[5:6])
    assert named.kneighbors(X[5:6], 1)[1][0, 0] == "a"


@pytest.mark.parametrize("method", METHODS)
def test_bytes_are_those_of_the_file_at_least(X, method, tmp_path):
    index = ck.CoRENeighbors(method=method, recall=0.8, random_state=0).fit(X)
    index.save(tmp_path / "index")
    few = ck.CoRENeighbors(method=method, recall=0.8, random_state=0).fit(X[:100])
    assert few.nbytes < index.nbytes
    before = index.nbytes
    index.add(X[:50], ids=range(10**6, 10**6 + 50))
    assert before < index.nbytes < 1.2 * before
    header = 4096  # names, types and places of the arrays, and the settings
    assert (tmp_path / "index").stat().st_size - header <= before


def test_near_duplicates():
    rng = np.random.default_rng(0)
    X = clustered(5000, 400, 60).toarray()
    X[4000:4300] = X[:300] * np.where(rng.random((300, 400)) < 0.03, 0, 1)
    index = ck.CoRENeighbors(random_state=0).fit(X[:4990])
    index.add(X[4990:])
    index.remove([7])
    found = index.near_duplicates(0.9)
    K = np.triu(ck.core1(X.astype(np.float64)), 1)
    K[7] = K[:, 7] = 0
    left, right = np.nonzero(K >= 0.9 + 1e-9)
    true = set(zip(left.tolist(), right.tolist(), strict=True))
    mine = set(map(tuple, found.pairs.tolist()))
    assert mine <= set(zip(*map(list, np.nonzero(K >= 0.9 - 1e-9)), strict=True))
    assert 0 < found.expected_missed < 0.01
    assert len(true - mine) <= max(3, 0.01 * len(true))
    pairs = found.pairs
    np.testing.assert_allclose(found.similarities, K[pairs[:, 0], pairs[:, 1]], atol=1e-9)
    assert all(len(group) >= 2 for group in found.groups())
    assert sum(map(len, found.groups())) == len(np.unique(pairs))
    exact = ck.CoRENeighbors("core2").fit(X[:600]).near_duplicates(0.8)
    assert exact.expected_missed == 0
    K = np.triu(ck.core2(X[:600].astype(np.float64)), 1)
    assert len(exact.pairs) == (K >= 0.8).sum()
    found = ck.CoRENeighbors("core2", random_state=0).fit(X).near_duplicates(0.9)
    K = np.triu(ck.core2(X.astype(np.float64)), 1)
    assert 0 < found.expected_missed < 0.001
    assert 0 <= (K >= 0.9).sum() - len(found.pairs) <= 3  # expected: 0.1 % of a few hundred
    assert index.near_duplicates(1.0).expected_missed == 0
    assert ck.CoRENeighbors().fit([[1.0, 0], [0, 1.0]]).near_duplicates(0.5).groups() == []


def test_errors(X):
    index = ck.CoRENeighbors(n_neighbors=2).fit(X[:5])
    with pytest.raises(ValueError, match="300 features"):
        index.kneighbors(X[:2, :10])
    with pytest.raises(ValueError, match="300 features"):
        index.add(X[:2, :10])
    with pytest.raises(ParameterError, match="ids: 9 is not in the index"):
        index.remove([1, 9])
    assert index.n_samples_fit_ == 5
    with pytest.raises(DataError, match="ids: 3 is in the index already"):
        index.add(X[:1], ids=[3])
    with pytest.raises(DataError, match="ids: 8 is given twice"):
        index.add(X[:2], ids=[8, 8])
    with pytest.raises(DataError, match="2 were given for 1 rows"):
        index.add(X[:1], ids=[8, 9])
    with pytest.raises(DataError, match="ids: those of the index are integers; give integers"):
        index.add(X[:1], ids=["a"])
    with pytest.raises(DataError, match="1-dimensional float64; give integers"):
        index.add(X[:1], ids=[1.5])
    with pytest.raises(ParameterError, match="n_neighbors: got 0"):
        index.kneighbors(X[:1], 0)
    with pytest.raises(ParameterError, match="choose one of connectivity, distance"):
        index.kneighbors_graph(mode="angle")
    with pytest.raises(ParameterError, match="radius"):
        index.radius_neighbors(X[:1], np.nan)
    with pytest.raises(ParameterError, match=r"threshold: got 1\.5"):
        index.near_duplicates(1.5)
    index.remove(range(5))
    with pytest.raises(DataError, match="the index is empty"):
        index.kneighbors(X[:1])
    assert index.add(X[:1]).tolist() == [0]
    assert (index.kneighbors(X[:1])[1] == [[0]]).all()
    assert index.near_duplicates(0.5).groups() == []
    for bad, message in (
        ({"recall": 0}, "recall: got 0"),
        ({"recall": 1.5}, "recall: got 1.5"),
        ({"n_neighbors": -1}, "n_neighbors: got -1"),
        ({"kernel": "linear"}, "kernel: got 'linear'"),
        ({"method": "magic"}, "method: got 'magic'"),
    ):
        with pytest.raises(ParameterError, match=message):
            ck.CoRENeighbors(**bad).fit(X[:5])
