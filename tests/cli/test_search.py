"""index, search and dedup: what the files hold is what Python finds."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import corekernels as ck
from corekernels.files.readers import recipe_for
from support.command_line import as_json, ok, run, shell


@pytest.fixture
def rows(in_digits):
    X, _ = ck.io.read_rows("train.svm")
    Q, _ = ck.io.read_rows("test.svm", n_columns=X.shape[1])
    return X, Q


def test_index_and_search_are_those_of_python(rows):
    X, Q = rows
    report = as_json("index train.svm i --kernel core2 --n-neighbors 4 --seed 1")
    assert (report["rows"], report["columns"], report["method"]) == (400, 64, "exact")
    assert report["reason"] == "exact search: 400 rows are few"
    assert report["estimated_recall"] == 1
    assert report["n_bytes"] == os.path.getsize("i")
    about = as_json("search i test.svm out.tsv")
    assert (about["queries"], about["n_neighbors"]) == (200, 4)
    assert about["queries_per_second"] == pytest.approx(200 / about["seconds"])
    distances, ids = ck.CoRENeighbors("core2", 4).fit(X).kneighbors(Q)
    lines = np.loadtxt("out.tsv", skiprows=1)
    assert Path("out.tsv").read_text().startswith("query\tid\tsimilarity\n")
    np.testing.assert_array_equal(lines[:, 0], np.repeat(np.arange(200), 4))
    np.testing.assert_array_equal(lines[:, 1].reshape(200, 4), ids)
    np.testing.assert_allclose(lines[:, 2].reshape(200, 4), 1 - distances, atol=1e-6)
    assert ok("search i test.svm -").stdout == Path("out.tsv").read_text()
    ok("search i test.svm out.npz -k 4")
    with np.load("out.npz") as arrays:
        np.testing.assert_array_equal(arrays["distances"], distances)
        np.testing.assert_array_equal(arrays["indices"], ids)


def test_radius_search_is_that_of_python(rows):
    X, Q = rows
    ok("index train.svm i -k 4")
    about = as_json("search i test.svm out.tsv --radius 0.2")
    distances, ids = ck.CoRENeighbors("core1", 4).fit(X).radius_neighbors(Q, 0.2)
    lengths = [len(row) for row in ids]
    assert (about["radius"], about["found"], about["queries"]) == (0.2, sum(lengths), 200)
    lines = np.loadtxt("out.tsv", skiprows=1)
    np.testing.assert_array_equal(lines[:, 0], np.repeat(np.arange(200), lengths))
    np.testing.assert_array_equal(lines[:, 1], np.concatenate(ids))
    np.testing.assert_allclose(lines[:, 2], 1 - np.concatenate(distances), atol=1e-6)
    ok("search i test.svm out.npz --radius 0.2")
    with np.load("out.npz") as arrays:
        np.testing.assert_array_equal(np.diff(arrays["indptr"]), lengths)
        np.testing.assert_array_equal(arrays["indices"], np.concatenate(ids))


def test_correlation_is_offered(rows):
    X, Q = rows
    ok("index train.svm i --kernel correlation -k 3")
    ok("search i test.svm out.npz")
    rho = ck.correlation(Q, X)
    with np.load("out.npz") as arrays:
        np.testing.assert_allclose(1 - arrays["distances"], -np.sort(-rho, axis=1)[:, :3])
    assert as_json("dedup train.svm pairs.tsv --kernel correlation --threshold 0.99")["pairs"] == (
        np.count_nonzero(np.triu(ck.correlation(X), 1) >= 0.99)
    )


def test_an_index_with_strings_as_ids(rows):
    X, Q = rows
    names = [f"n{i}" for i in range(X.shape[0])]
    ck.CoRENeighbors(n_neighbors=2).fit(X, ids=names).save("i")
    ok("search i test.svm out.npz")
    ok("search i test.svm out.tsv")
    expected = ck.CoRENeighbors(n_neighbors=2).fit(X).kneighbors(Q, return_distance=False)
    with np.load("out.npz") as arrays:
        assert arrays["indices"].tolist() == [[f"n{i}" for i in row] for row in expected]
    lines = Path("out.tsv").read_text().splitlines()[1:]
    assert [line.split("\t")[1] for line in lines] == [f"n{i}" for i in expected.ravel()]


def test_help_does_not_promise_pipes_to_dedup():
    assert '"-".' not in ok("dedup --help").stdout.split("OUT ")[0]


def test_a_tuned_index_is_explained_and_checked(rows):
    report = as_json("index train.svm i --method lsh --recall 0.8")
    assert report["method"] == "lsh"
    assert "tables of" in report["reason"]
    about = as_json("search i test.svm out.tsv -k 3 --check 50")
    index = ck.CoRENeighbors.load("i")
    assert about["checked"] == 50
    assert about["recall"] == index.check_recall(rows[1][:50], 3).recall >= 0.5
    assert about["times_faster"] > 0
    note = ok("search i test.svm - -k 3 --check 50").stderr
    assert re.fullmatch(r"note: recall \S+ on 50 queries, \S+ times faster than .+\n", note)
    described = as_json("info i")
    assert (described["format"], described["method"], described["rows"]) == ("index", "lsh", 400)


def test_recall_is_counted_against_exact_search(rows):
    X, Q = rows
    index = ck.CoRENeighbors(method="lsh", recall=0.5, random_state=0).fit(X)
    true, mine = ck.CoRENeighbors(method="exact").fit(X).kneighbors(Q)[0], index.kneighbors(Q)[0]
    found = index.check_recall(Q)
    assert found.recall == (mine <= true[:, -1:]).mean()
    assert found.queries == 200
    with pytest.raises(ck.CoREError, match="minimum of 1"):
        index.check_recall(Q[:0])
    with pytest.raises(ck.CoREError, match="n_neighbors: got 0"):
        index.check_recall(Q, 0)


def test_queries_are_read_as_the_rows_were(in_digits):
    """svmlight text without a column 0 could count from 0 or 1; the index knows."""
    Path("zero.svm").write_text("7 0:3 2:1\n7 0:2\n8 1:2\n8 1:3 2:1\n")
    Path("new.svm").write_text("0 1:5\n")
    ok("index zero.svm i")
    first = "query\tid\tsimilarity\n0\t2\t1.000000\n"
    assert ok("search i new.svm - -k 1").stdout == first
    assert ok("search i - - -k 1", input="0 1:5\n").stdout == first
    assert ok("search i new.svm - -k 1 --one-based").stdout != first
    index = ck.CoRENeighbors.load("i")
    index.add([[1.0, 1, 1]])
    index.save("again")
    assert ck.CoRENeighbors.load("again").provenance_ == index.provenance_
    Path("wide.svm").write_text("0 1:5 9:1\n")
    assert "has 10 columns, 3 were known before" in run("search i wide.svm out").stderr
    result = ok("search i wide.svm - -k 1 --ignore-new-columns")
    assert (result.stdout, "were left out" in result.stderr) == (first, True)


def test_dedup_is_that_of_python(rows):
    X, _ = rows
    line = "dedup train.svm pairs.tsv --threshold 0.85 --groups groups.tsv --keep kept.npz"
    about = as_json(line)
    found = ck.CoRENeighbors(method="exact").fit(X).near_duplicates(0.85)
    pairs = np.loadtxt("pairs.tsv", skiprows=1)
    np.testing.assert_array_equal(pairs[:, :2], found.pairs)
    np.testing.assert_allclose(pairs[:, 2], found.similarities, atol=1e-6)
    kept, _ = ck.io.read_rows("kept.npz")
    assert about["pairs"] == len(found.pairs)
    assert about["groups"] == len(found.groups())
    assert about["rows_kept"] == kept.shape[0] == 400 - len(found.redundant())
    assert about["expected_missed"] == 0
    groups = np.loadtxt("groups.tsv", skiprows=1, dtype=int)
    assert len(groups) == sum(map(len, found.groups()))
    assert ok("dedup train.svm - --threshold 0.85").stdout == Path("pairs.tsv").read_text()
    assert "rows kept" in ok("dedup train.svm pairs.tsv").stdout
    assert ok("dedup train.svm pairs.tsv --quiet").output == ""


def test_dedup_keeps_labels_and_lists_copies_once(in_digits):
    Path("rows.svm").write_text("a 1:1\nb 1:1\nc 2:1 3:1\nd 1:1\ne 2:1 3:1.1\n")
    assert ok("dedup rows.svm - --keep kept.svm").stdout.count("\n") == 5
    assert Path("kept.svm").read_text() == "a 1:1\nc 2:1 3:1\n"
    once = ok("dedup rows.svm - --copies-once").stdout.splitlines()
    assert [line.split("\t")[:2] for line in once[1:]] == [["0", "1"], ["0", "3"], ["2", "4"]]
    assert as_json("dedup rows.svm out --copies-once")["copies"] == 2
    assert ok("dedup rows.svm out --groups -").stdout.startswith("row\tgroup\n0\t0\n1\t0\n3\t0\n")


def test_a_disk_that_fills_up_with_keys(in_digits):
    """The system's limit on file size fails a write just as a full disk does."""
    ck.io.write_rows("many.npz", np.random.default_rng(0).random((5000, 3)))
    Path("out").write_bytes(b"old")
    before = sorted(os.listdir())
    result = shell("ulimit -f 100; trap '' XFSZ; corekernels dedup many.npz out --working-memory 1")
    assert result.returncode == 2
    assert re.fullmatch(r"error: \S+rows-00000: cannot be written \(File too .+\n", result.stderr)
    assert Path("out").read_bytes() == b"old"
    assert sorted(os.listdir()) == before  # nothing was finished


def test_progress_says_what_is_being_done(in_digits, capsys):
    """Shown if asked for; here, where standard error is no terminal, not otherwise."""
    reader = ck.files.open_reader("train.svm")
    recipe = recipe_for(reader, n_hashes=16)
    ck.files.hash_to_file(reader, "train.sig", recipe)
    assert capsys.readouterr().err == ""
    ck.files.hash_to_file(reader, "train.sig", recipe, progress=True)
    ck.files.near_duplicates(reader, 0.9, progress=True)
    shown = capsys.readouterr().err
    assert "hashing: " in shown
    assert "reading: " in shown
