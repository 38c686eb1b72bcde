"""Columns that have names are matched by them, whatever order a Parquet file has them in."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import corekernels as ck
from corekernels.files.sources import reader_of
from support.command_line import as_json, ok, run

pytest.importorskip("pyarrow")
HASHING = "--n-hashes 64 --seed 3"


def write(path, X, y, names):
    """Rows with a plain column per name, in that order; column c of X is called by its letter."""
    import pyarrow
    from pyarrow import parquet

    columns = {name: X[:, ord(name) - ord("a")] for name in names}
    parquet.write_table(pyarrow.table({**columns, "label": y}), path)


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """Files of the same rows: columns in order, reversed, one too few, one too many."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    X = random.random((60, 6)) * (random.random((60, 6)) < 0.7)
    y = (X[:, 0] > X[:, 1]).astype(int)
    for name, columns in {
        "rows": "abcde", "reversed": "edcba", "less": "abde", "more": "edfcba", "other": "abcdf",
    }.items():  # fmt: skip
        write(f"{name}.parquet", X, y, columns)
    return X, y


def both_orders():
    return ("rows", "reversed")


def assert_refused(line, *words):
    result = run(line)
    assert result.exit_code == 2, result.output
    assert all(word in result.stderr for word in words), result.stderr


def predicted(line):
    ok(line)
    return Path("out").read_bytes()


def test_a_model_and_rows_in_another_order(rows):
    ok(f"train rows.parquet m.ck {HASHING}")
    expected = predicted("predict m.ck rows.parquet out --scores")
    assert predicted("predict m.ck reversed.parquet out --scores") == expected
    assert as_json("evaluate m.ck reversed.parquet") == as_json("evaluate m.ck rows.parquet")
    assert_refused("predict m.ck less.parquet out", "no column 'c'", "name it had")
    assert_refused("predict m.ck other.parquet out", "no column 'e'")
    assert_refused("predict m.ck more.parquet out", "has 6 columns, 5 were known before")
    line = "predict m.ck more.parquet out --scores --ignore-new-columns"
    assert predicted(line) == expected
    path = f"path rows.parquet {HASHING} --Cs 1 --validation"
    assert as_json(f"{path} reversed.parquet") == as_json(f"{path} rows.parquet")


def test_a_model_of_a_frame(rows):
    """A model learned in Python knows the names of the frame's columns."""
    pandas = pytest.importorskip("pandas")
    X, y = rows
    frame = pandas.DataFrame(X[:, :5], columns=list("abcde"))
    ck.CoREClassifier(n_hashes=64, random_state=3).fit(frame, y).save("m.ck")
    expected = predicted("predict m.ck rows.parquet out --scores")
    assert predicted("predict m.ck reversed.parquet out --scores") == expected
    assert_refused("predict m.ck other.parquet out", "no column 'e'")
    ok(f"hash reversed.parquet reversed.sig {HASHING}")
    assert_refused("predict m.ck reversed.sig out", "column 0 was 'e'", "'a'")


def test_an_index_and_queries_in_another_order(rows):
    ok("index rows.parquet rows.index --kernel core1 --n-neighbors 3")
    expected = predicted("search rows.index rows.parquet out")
    assert predicted("search rows.index reversed.parquet out") == expected


@pytest.mark.parametrize("shards", ["", "--shard-rows 20"])
def test_rows_in_another_order_are_appended(rows, shards):
    for name in both_orders():
        ok(f"hash rows.parquet {name}.sig {HASHING} {shards}")
        ok(f"hash {name}.parquet {name}.sig {HASHING} --append {shards}")
    both = [ck.files.load_signatures(f"{name}.sig")[0] for name in both_orders()]
    arrays = [S.arrays() for S in both]
    assert all(np.array_equal(arrays[0][name], arrays[1][name]) for name in arrays[0])
    reader = ck.files.open_reader("reversed.parquet")
    with pytest.raises(ck.errors.DataError, match="column 0 was 'e'"):
        ck.files.hash_to_file(reader, "rows.sig", both[0].recipe, append=True)


def test_signatures_of_another_order_are_refused(rows):
    for name in both_orders():
        ok(f"hash {name}.parquet {name}.sig {HASHING}")
    ok("train rows.sig m.ck")
    assert_refused("evaluate m.ck reversed.sig", "reversed.sig", "column 0 was 'e'", "'a'", "order")
    assert_refused("estimate rows.sig --pair 0,0 --against reversed.sig", "column 0 was 'e'")
    found = [ok(f"estimate rows.sig --queries {name}.parquet").stdout for name in both_orders()]
    assert found[0] == found[1]


def test_two_files_are_compared_by_names(rows):
    for name in both_orders():
        ok(f"kernel rows.parquet {name}.npy --against {name}.parquet")
    assert np.array_equal(np.load("rows.npy"), np.load("reversed.npy"))
    found = [
        predicted(f"dedup rows.parquet out --against {name}.parquet --threshold 0.99")
        for name in both_orders()
    ]
    assert found[0] == found[1]


def test_files_of_a_folder_are_read_by_the_names_of_the_first(rows):
    X, _ = rows
    for folder, second in (("same", "rows"), ("mixed", "reversed"), ("unlike", "other")):
        Path(folder).mkdir()
        shutil.copy("rows.parquet", f"{folder}/a.parquet")
        shutil.copy(f"{second}.parquet", f"{folder}/b.parquet")
    with ck.files.open_engine("local") as engine:
        plan = ck.files.plan_parts(engine, "mixed")
        found = np.vstack([batch.X.toarray() for batch in reader_of(plan)])
        assert np.array_equal(found, np.vstack([X[:, :5]] * 2))
        lacking = r"b\.parquet: has no column 'e', which .*a\.parquet has"
        with pytest.raises(ck.errors.DataError, match=lacking):
            ck.files.plan_parts(engine, "unlike")


def test_in_python_columns_in_another_order_are_refused(rows):
    ok(f"train rows.parquet m.ck {HASHING}")
    ok("index rows.parquet rows.index --kernel core1 --n-neighbors 3")
    model, index = ck.load_model("m.ck"), ck.CoRENeighbors.load("rows.index")
    reader = ck.files.open_reader("reversed.parquet")
    for call in (
        lambda: ck.files.predict(model, reader, "out"),
        lambda: ck.files.evaluate(model, reader),
        lambda: ck.files.search(index, reader, "out"),
    ):
        with pytest.raises(ck.errors.DataError, match="column 0 was 'e'"):
            call()
    reader = ck.files.open_reader("reversed.parquet", match_columns=5, like=model.provenance_)
    assert ck.files.predict(model, reader, "out") == 60


def test_labels_of_another_name(rows):
    import pyarrow
    from pyarrow import parquet

    X, y = rows
    columns = dict(zip("abcde", X.T, strict=False))
    parquet.write_table(pyarrow.table({"target": y, **columns}), "target.parquet")
    ok(f"train rows.parquet m.ck {HASHING}")
    assert_refused("evaluate m.ck target.parquet --ignore-new-columns", "--label 'COLUMN'")
    expected = as_json("evaluate m.ck rows.parquet")
    assert as_json("evaluate m.ck target.parquet --label target") == expected
    ok(f"train target.parquet t.ck {HASHING} --label target")
    scores = predicted("predict m.ck rows.parquet out --scores")
    assert predicted("predict t.ck rows.parquet out --scores") == scores
    assert predicted("predict t.ck target.parquet out --scores --label target") == scores


def test_names_are_written_once(rows):
    ok(f"hash rows.parquet rows.sig {HASHING}")
    shutil.copy("rows.parquet", "second.parquet")
    ok(f"hash second.parquet rows.sig {HASHING} --append")
    found = ck.files.open_reader("rows.sig").provenance
    assert found == [
        ck.io.Origin("rows.parquet", 0, 60, column_names=tuple("abcde")),
        ck.io.Origin("second.parquet", 0, 60),
    ]


def test_two_readers_of_different_order_are_refused(rows):
    """Where both were opened without looking at each other."""
    mine, theirs = (ck.files.open_reader(f"{name}.parquet") for name in both_orders())
    for job in (
        lambda: ck.files.kernel_to_file(mine, "K.npy", against=theirs),
        lambda: ck.files.near_duplicates(mine, 0.9, against=theirs),
    ):
        with pytest.raises(ck.errors.DataError, match="its column 0 was"):
            job()
    theirs = ck.files.open_reader("reversed.parquet", like=mine.provenance)
    assert len(ck.files.near_duplicates(mine, 0.999, against=theirs, progress=False).pairs) >= 60
