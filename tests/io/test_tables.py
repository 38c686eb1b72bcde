"""Tables of numbers and words as rows, beside pandas-like definitions in plain Python."""

import csv

import numpy as np
import pytest

import corekernels as ck
from corekernels import io
from corekernels.errors import DataError, FileError, ParameterError
from support.command_line import as_json, ok, run

HEADER = ["height", "colour", "wide", "class"]
RECORDS = [
    ["1.5", "red", "true", "a"],
    ["-2", "blue", "false", "b"],
    ["0", "red", "true", "a"],
    ["1e-3", "green, dark", "false", "b"],
]
COLUMNS = ("height", "colour=blue", "colour=green, dark", "colour=red", "wide")
MATRIX = [[1.5, 0, 0, 1, 1], [-2, 1, 0, 0, 0], [0, 0, 0, 1, 1], [1e-3, 0, 1, 0, 0]]


def write(path, records, header=HEADER):
    with open(path, "w", newline="") as file:
        delimiter = "," if path.suffix == ".csv" else "\t"
        csv.writer(file, delimiter=delimiter).writerows([header, *records])
    return path


@pytest.fixture(params=["rows.csv", "rows.tsv"])
def table(request, tmp_path):
    return write(tmp_path / request.param, RECORDS)


@pytest.mark.parametrize("batch_bytes", [1, 1 << 20])
def test_numbers_are_columns_and_words_are_a_column_each(table, batch_bytes):
    reader = io.open_rows(table, label="class", batch_bytes=batch_bytes)
    assert (reader.format, reader.n_rows, reader.n_columns) == (table.suffix[1:], 4, 5)
    assert reader.column_names == COLUMNS
    batches = list(reader)
    assert len(batches) == (4 if batch_bytes == 1 else 1)
    assert [row for batch in batches for row in batch.X.toarray().tolist()] == MATRIX
    assert [label for batch in batches for label in batch.y.tolist()] == ["a", "b", "a", "b"]


def test_labels_are_a_column_of_their_own(tmp_path):
    path = write(tmp_path / "a.csv", [["1", "2"], ["3", "4"]], ["x", "label"])
    X, y = io.read_rows(path)
    assert (X.toarray().tolist(), y.tolist()) == ([[1], [3]], [2, 4])
    X, y = io.read_rows(path, label="x", labels=False)
    assert (X.toarray().tolist(), y) == ([[2], [4]], None)
    with pytest.raises(DataError, match="no column 'z' of labels; name one of: x, label"):
        io.open_rows(path, label="z")


def test_missing_values_are_an_error_or_zero(tmp_path):
    records = [["1", "red", "true", "a"], ["", "", "NA", "b"], ["3", "blue", "", "a"]]
    path = write(tmp_path / "a.csv", records)
    with pytest.raises(DataError, match=r"row 1 \(line 3\) has nothing in column 'height'; fill"):
        io.read_rows(path, label="class")
    X, _ = io.read_rows(path, label="class", missing="zero")
    assert X.toarray().tolist() == [[1, 0, 1, 1], [0, 0, 0, 0], [3, 1, 0, 0]]
    with pytest.raises(ParameterError, match="missing: got 'mean'"):
        io.read_rows(path, missing="mean")
    io.write_rows(tmp_path / "a.npy", X)
    with pytest.raises(ParameterError, match="missing: is for tables"):
        io.read_rows(tmp_path / "a.npy", missing="zero")


def test_columns_known_before_come_in_their_order(table):
    known = ("colour=red", "wide", "height", "colour=black")
    reader = io.open_rows(table, label="class", column_names=known)
    assert reader.column_names == (*known, "colour=blue", "colour=green, dark")
    (batch,) = reader
    expected = np.zeros((4, 6))
    expected[:, [0, 1, 2, 4, 5]] = np.array(MATRIX)[:, [3, 4, 0, 1, 2]]
    np.testing.assert_array_equal(batch.X.toarray(), expected)
    with pytest.raises(DataError, match="has no column 'depth', which was known before"):
        io.open_rows(table, column_names=["depth"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,a\n1,2\n", "two columns have the same name"),
        ("1,2\n3,4\n", "its first line holds numbers"),
        ("a,b\n1\n", "not a whole CSV file"),
        ("label\n1\n", "no column but that of the labels"),
        ("", "is empty"),
        ("a\n" + "".join(f"word{n}\n" for n in range(1001)), "has 1,001 different words"),
        ("a,b\nnan,1\ninf,2\n", "row 1 contains infinity|row 0 .line 2. has nothing"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, text, message):
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises((DataError, FileError), match=message):
        io.read_rows(tmp_path / "a.csv")


def test_tables_are_only_read(tmp_path):
    with pytest.raises(ParameterError, match="csv is only read"):
        io.write_rows(tmp_path / "a.csv", [[1.0]])


def test_from_the_shell(tmp_path, monkeypatch):
    """A model learned from a table knows its columns by their names, in any order."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    colours, heights = rng.choice(["red", "blue", "green"], 200), rng.normal(size=200)
    classes = np.where((colours == "red") ^ (heights > 0), "yes", "no")
    records = [[f"{h:.6f}", c, y] for h, c, y in zip(heights, colours, classes, strict=True)]
    write(tmp_path / "train.csv", records, ["height", "colour", "class"])
    flipped = [[c, h] for h, c, _ in records if c != "green"]
    write(tmp_path / "test.tsv", flipped, ["colour", "height"])
    assert as_json("info train.csv --label class")["columns"] == 4
    found = as_json("advise train.csv --label class --size 64 --repeats 1 --time-limit 20")
    assert {"helps", "best", "candidates"} <= found.keys()
    ok("train train.csv m.ck --label class --n-hashes 256")
    ok("predict m.ck test.tsv labels.txt")
    labels = (tmp_path / "labels.txt").read_text().split()
    expected = classes[colours != "green"]
    assert np.mean(labels == expected) > 0.8
    write(tmp_path / "gap.csv", [["", "red"]], ["height", "colour"])
    result = run("predict m.ck gap.csv out.txt")
    assert result.exit_code == 2
    assert "gap.csv: row 0 (line 2) has nothing in column 'height'" in result.stderr
    ok("predict m.ck gap.csv out.txt --missing zero")
    assert ck.CoREClassifier.load("m.ck").n_features_in_ == 4
