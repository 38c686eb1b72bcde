"""svmlight text: what is read, and what is said about a line that cannot be."""

import gzip
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from corekernels import io
from corekernels._loops.text import svmlight as scan
from corekernels.errors import DataError, FileError
from corekernels.io.streams import ByteStream, line_blocks


@pytest.fixture
def rows(tmp_path):
    """Text to rows, through a file."""

    def read(text, **options):
        path = tmp_path / "rows.svm"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return io.read_rows(path, **options)

    return read


def test_as_scikit_learn_reads_it(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 8)) * (rng.random((50, 8)) < 0.4)
    y = rng.integers(-2, 3, 50)
    for zero_based in (True, False):
        path = tmp_path / "rows"
        dump_svmlight_file(X, y, str(path), zero_based=zero_based, comment="made by hand")
        mine, labels = io.read_rows(path, batch_bytes=300)
        theirs, targets = load_svmlight_file(str(path), zero_based=zero_based)
        np.testing.assert_array_equal(mine.toarray(), theirs.toarray())
        np.testing.assert_array_equal(labels, targets)
        assert labels.dtype == np.int64


@pytest.mark.parametrize("n_jobs", [1, 2, 7])
def test_threads_and_blocks_do_not_matter(tmp_path, n_jobs):
    """Comments, query ids, blank lines and words at every place a block may be cut."""
    rng = np.random.default_rng(0)
    lines, X = [], np.zeros((3000, 50))
    for row in range(3000):
        columns = np.flatnonzero(rng.random(50) < 0.2)
        X[row, columns] = np.round(rng.normal(size=len(columns)), rng.integers(0, 20))
        pairs = " ".join(f"{column}:{float(X[row, column])!r}" for column in columns)
        lines.append(f"{row % 7} {'qid:3 ' * (row % 5 == 0)}{pairs}{' # 1:2' * (row % 11 == 0)}")
        lines += [""] * (row % 13 == 0) + ["# note: 5:6"] * (row % 17 == 0)
    path = tmp_path / "rows.svm"
    path.write_text("\n".join(lines))
    for batch_bytes in (200, 5_000, 150_000, 1 << 23):
        for options in ({}, {"n_columns": 50, "one_based": False}):
            mine, y = io.read_rows(path, batch_bytes=batch_bytes, n_jobs=n_jobs, **options)
            np.testing.assert_array_equal(mine.toarray(), X)
            np.testing.assert_array_equal(y, np.arange(3000) % 7)


@pytest.mark.parametrize("one_based", [True, False])
def test_columns_up_to_the_largest(rows, one_based):
    largest = 2**63 - 1 if one_based else 2**63 - 2
    X, _ = rows(f"1 1:5\n2 3:1 {largest}:2.5\n", one_based=one_based)
    assert X.shape == (2, 2**63 - 1)
    assert X.indices.tolist() == [1 - one_based, 3 - one_based, 2**63 - 2]
    assert X.data.tolist() == [5, 1, 2.5]


def decimals(rng, n):
    """Numbers as text: written by repr, with all kinds of digits and exponents, ties, bounds."""
    bits = rng.integers(0, 2**63, n, dtype=np.uint64).view(np.float64)
    yield from map(repr, bits[np.isfinite(bits)].tolist())
    whole, exponents = rng.integers(0, 2**63, n), rng.integers(-360, 290, n)
    yield from (f"{digits}e{power}" for digits, power in zip(whole, exponents, strict=True))
    for digits, power in zip(whole, exponents, strict=True):
        cut = int(digits) % 19 + 1
        yield f"{'-' * (cut % 2)}{str(digits)[:cut]}.{str(digits)[cut:]}E{power:+d}"
    for mantissa, shift in zip(whole >> 10, rng.integers(1, 30, n), strict=True):
        yield str((2 * (int(mantissa) | 1 << 52) + 1) * 5 ** int(shift)) + f"e-{shift}"  # ties
    yield from map(repr, np.round(rng.random(n), 6).tolist())
    yield from ("0", "-0", "00.50", ".5", "5.", "+7", "1e23", "8.5e22", "9007199254740993")
    yield from ("4.9e-324", "2.47e-324", "2.2250738585072011e-308", "1.7976931348623157e308")
    yield from ("0." + "0" * 400 + "1", "1" * 300, "1" * 300 + "." + "9" * 300, "1e-99999")


@pytest.mark.parametrize("n", [4000, pytest.param(2_000_000, marks=pytest.mark.slow)])
def test_numbers_are_read_as_python_reads_them(rows, n):
    texts = [text for text in decimals(np.random.default_rng(0), n) if np.isfinite(float(text))]
    X, _ = rows("".join(f"1 1:{text}\n" for text in texts), n_columns=1, one_based=True)
    expected = np.array([float(text) for text in texts])
    np.testing.assert_array_equal(np.diff(X.indptr), expected != 0)
    expected = expected[expected != 0]
    np.testing.assert_array_equal(X.data.view(np.int64), expected.view(np.int64))


def test_zeros_and_numbers_of_too_many_digits_in_one_row(rows):
    long = "0.3333333333333333333333333"
    text = f"1 qid:1 1:0 2:{long} +3:0.0 4:1 5:0.{'0' * 400}1 # 6:7\n2 1:0\n3 1:2\n"
    X, _ = rows(text, n_columns=6)
    assert X.indptr.tolist() == [0, 2, 2, 3]
    assert X.indices.tolist() == [1, 3, 0]
    assert X.data.tolist() == [float(long), 1, 2]
    for wrong in (f"{long}x", f"{long}e", f"{long}_1", f"{long}e999"):
        with pytest.raises(DataError, match=f"line 1 has '2:{wrong}' where column:value"):
            rows(f"1 1:0 2:{wrong} 4:1\n")


def test_where_columns_count_from(rows):
    text = "1 1:5 3:6\n1 2:7\n"
    assert rows(text)[0].shape == (2, 3)
    assert rows(text, one_based=False)[0].shape == (2, 4)
    assert rows(text + "1 0:1\n")[0].shape == (3, 4)
    assert rows(text, n_columns=10)[0].shape == (2, 10)
    np.testing.assert_array_equal(
        rows(text, one_based=True, n_columns=3)[0].toarray(), [[5, 0, 6], [0, 7, 0]]
    )


def test_comments_blank_lines_tabs_and_line_ends(rows):
    text = "\ufeff# heading ¡ 0:1\r\n\n  +1\t1:2  3:4 # 9:9\r\n   \n-1#\n1 2:1e1"
    X, y = rows(text)
    assert X.toarray().tolist() == [[2, 0, 4], [0, 0, 0], [0, 10, 0]]
    assert y.tolist() == [1, -1, 1]


def test_query_ids_are_noted(tmp_path, monkeypatch):
    path = tmp_path / "rows"
    path.write_text("3 qid:1 1:0.5\n2 qid:1 2:7\n")
    for options in ({}, {"n_columns": 2, "one_based": True}):
        reader = io.open_rows(path, **options)
        (batch,) = reader
        assert batch.X.toarray().tolist() == [[0.5, 0], [0, 7]]
        assert reader.notes == ["query ids (qid) were ignored"]
    path.write_text("1 1:1 # qid:3\nqid 1:1\n")
    assert io.open_rows(path).notes == []


@pytest.mark.parametrize(
    ("labels", "kind"),
    [
        (["1", "-3", "+7"], np.int64),
        (["1", "2.5", "3"], np.float64),
        (["1.0", "2.0", "3.0"], np.float64),
        (["spam", "3", "a,b"], np.str_),
        (["größe", "b", "c"], np.str_),
    ],
)
@pytest.mark.parametrize("batch_bytes", [1, 1 << 20])
def test_labels_of_every_kind(rows, labels, kind, batch_bytes):
    _, y = rows("".join(f"{label} 1:1\n" for label in labels), batch_bytes=batch_bytes)
    assert y.dtype.type is kind
    assert y.tolist() == [kind(label) for label in labels]


def test_labels_nobody_wants_may_be_anything(rows):
    X, y = rows("1 1:1\nnan 1:2\n? 1:3\n1,2 1:4\n99999999999999999999 1:5\n", labels=False)
    assert y is None
    assert X.toarray().ravel().tolist() == [1, 2, 3, 4, 5]


COLUMN = "has '{}' where column:value should stand, columns ascending from 1"
LABEL = "has '{}' where a label should stand"
LONG = "9" * 40 + "…"
FAULTS = {
    "no label": ("1:5 2:6", LABEL.format("1:5")),
    "an index that goes down": ("1 5:1 3:1", COLUMN.format("3:1")),
    "an index twice": ("1 5:1 5:1", COLUMN.format("5:1")),
    "beyond 2^63": ("1 9223372036854775808:1", COLUMN.format("9223372036854775808:1")),
    "beyond 2^64": ("1 18446744073709551617:1", COLUMN.format("18446744073709551617:1")),
    "beyond all bounds": ("1 " + "9" * 5000 + ":1", COLUMN.format(LONG)),
    "nan": ("1 2:nan", COLUMN.format("2:nan")),
    "infinity": ("1 2:-inf", COLUMN.format("2:-inf")),
    "overflow": ("1 2:1e999", COLUMN.format("2:1e999")),
    "text for a value": ("1 2:abc", COLUMN.format("2:abc")),
    "no value": ("1 2:", COLUMN.format("2:")),
    "text for a column": ("1 x:1", COLUMN.format("x:1")),
    "a fraction for a column": ("1 1.5:1", COLUMN.format("1.5:1")),
    "a negative column": ("1 -4:1", COLUMN.format("-4:1")),
    "no colon": ("1 2", COLUMN.format("2")),
    "text for a label": ("one 2:1", LABEL.format("one")),
    "nan for a label": ("nan 2:1", LABEL.format("nan")),
    "several labels": ("1,2 2:1", LABEL.format("1,2")),
    "a query id without a number": ("1 qid 2:1", COLUMN.format("qid")),
    "digit separators in a column": ("1 1_0:1", COLUMN.format("1_0:1")),
    "digit separators in a value": ("1 2:1_0", COLUMN.format("2:1_0")),
    "a zero byte": ("1 2:1\0", r"holds a zero byte \(byte 6 of the line\)"),
    "not UTF-8": (b"1 2:1 # caf\xe9", r"holds the byte 0xe9, which is not UTF-8 \(byte 12"),
}
WORDS_AT_FIRST = ("text for a label", "nan for a label")


@pytest.mark.parametrize("name", FAULTS)
@pytest.mark.parametrize("place", [1, 2, 1000])
@pytest.mark.parametrize("batch_bytes", [500, 8 << 20])
def test_a_bad_line_is_named(rows, name, place, batch_bytes):
    line, message = FAULTS[name]
    good = b"1 1:1 7:2 # fine"
    lines = [good] * 1000
    lines[place - 1] = line if isinstance(line, bytes) else line.encode()
    if place == 1 and name in WORDS_AT_FIRST:  # the first row decides what labels are
        return
    with pytest.raises((DataError, FileError), match=f"rows.svm: line {place} {message}"):
        rows(b"\n".join(lines) + b"\n", batch_bytes=batch_bytes, format="svmlight")


@pytest.mark.parametrize("name", FAULTS)
def test_a_bad_line_in_a_pipe_is_named(monkeypatch, tmp_path, name):
    line, message = FAULTS[name]
    (tmp_path / "text").write_bytes(
        b"1 1:1\n\n2 1:1\n" + (line if isinstance(line, bytes) else line.encode())
    )
    with open(tmp_path / "text") as file:
        monkeypatch.setattr(sys, "stdin", file)
        with pytest.raises(DataError, match=f"^standard input: line 4 {message}"):
            list(io.open_rows("-", n_columns=10))


def test_standard_input_that_is_closed(monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(FileError, match="standard input: is closed"):
        list(io.open_rows("-", n_columns=10))


def test_column_0_where_columns_count_from_1(rows, monkeypatch, tmp_path):
    message = "line 2 has a column 0, but columns count from 1 in this file; pass one_based=False"
    for options in ({"one_based": True}, {"one_based": True, "n_columns": 5}):
        with pytest.raises(DataError, match=message):
            rows("1 1:1\n1 0:1\n", **options)


def test_a_column_beyond_those_announced(rows):
    for options in ({}, {"one_based": True}):
        with pytest.raises(DataError, match=r"line 2 has '6:1' .* from 1 to 5 "):
            rows("1 1:1\n1 6:1\n", n_columns=5, **options)
    with pytest.raises(DataError, match=r"line 2 has '5:1' .* from 0 to 4 "):
        rows("1 0:1\n1 5:1\n", n_columns=5)


def test_labels_too_large_for_a_float(rows):
    with pytest.raises(DataError, match="line 2 has '9007199254740993' where a label"):
        rows("1 1:1\n9007199254740993 1:1\n")
    assert rows("1e300 1:1\n")[1].tolist() == [1e300]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_no_rows(rows, text):
    with pytest.raises(FileError, match=r"rows.svm: is empty"):
        rows(text)
    with pytest.raises(FileError, match="is empty"):
        rows(text, format="svmlight", n_columns=3, one_based=True)


def test_no_columns(rows):
    with pytest.raises(FileError, match="no row has a column:value; pass n_columns"):
        rows("1\n2\n")
    assert rows("1\n2\n", n_columns=4)[0].shape == (2, 4)


@pytest.mark.parametrize("text", ["a,b,c\n1,2,3\n", '{"a": 1}', "once upon a time", "1 2 3\n"])
def test_other_text_is_not_taken_for_rows(rows, text):
    with pytest.raises(
        (FileError, DataError), match=r"line 1 (has|holds|begins)|no row has a column:value"
    ):
        rows(text)


def test_a_line_without_end(tmp_path):
    (tmp_path / "rows.gz").write_bytes(gzip.compress(b"1 1:" + b"1" * 1_000_000))
    with (
        ByteStream(tmp_path / "rows.gz") as stream,
        pytest.raises(FileError, match=r"line before byte .* is longer than 10,000 bytes"),
    ):
        list(line_blocks(stream, 100, most_bytes=10_000))


tokens = st.lists(
    st.sampled_from(["0:1", "3:2.5", "12:-1", "+4:1", "qid:7", "#", "# 9:9", "x", ":", "7", "\t"]),
    max_size=5,
)
labels = st.sampled_from(["1", "-1", "+2", "0.5", "a", "", "#", "1:2"])


@given(st.lists(st.tuples(labels, tokens), max_size=8))
@settings(max_examples=200, deadline=None)
def test_the_scan_finds_what_a_plain_search_finds(table):
    text = "\n".join(" ".join([label, *rest]) for label, rest in table)
    text = text if text.endswith("\n") else text + "\n"
    facts = scan.NO_FACTS.copy()
    scan.scan_lines(np.frombuffer(text.encode(), np.uint8), 0, len(text), facts)
    parts = [line.partition("#")[0].split() for line in text.split("\n")]
    rows = [part for part in parts if part]
    columns = [
        int(token.split(":")[0])
        for part in parts
        for token in part[1:]
        if token.split(":")[0].lstrip("+").isdigit() and ":" in token
    ]
    assert facts[scan.ROWS] == len(rows)
    assert facts[scan.LINES] == len(parts) - 1
    assert facts[scan.LARGEST] == max(columns, default=-1)
    assert facts[scan.ZERO_COLUMNS] == columns.count(0)
    assert facts[scan.OTHER_LABELS] == sum(part[0] not in ("1", "-1", "+2", "7") for part in rows)


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("labels", [("1", "2"), ("spam", "ham")])
def test_the_first_line_with_a_column_too_many_is_named(tmp_path, labels, n_jobs):
    first, second = labels
    text = f"{first} 1:1\n# {second} 99:1\n{second} 20:1\n{first} 30:1\n{second} 3:x\n"
    (tmp_path / "rows").write_text(text)
    with pytest.raises(DataError, match=r"line 3 has '20:1' where .* from 1 to 10 "):
        io.read_rows(tmp_path / "rows", n_columns=10, n_jobs=n_jobs)
    with pytest.raises(DataError, match="line 5 has '3:x' where column:value"):
        io.read_rows(tmp_path / "rows", n_jobs=n_jobs)


def test_the_largest_column_that_can_be(tmp_path):
    largest = 2**63 - 1
    (tmp_path / "rows").write_text(f"1 1:1\n1 {largest}:1\n")
    assert io.open_rows(tmp_path / "rows").n_columns == largest
    for text in (f"1 0:1\n1 {largest}:1\n", f"1 0:1\n1 {largest}:1\n1 2:1\n"):
        (tmp_path / "rows").write_text(text)
        with pytest.raises(DataError, match=f"line 2 has '{largest}:1' where .* from 0 to"):
            io.read_rows(tmp_path / "rows")
    (tmp_path / "rows").write_text(f"1 1:1\n1 2:1\n1 {largest + 1}:1\n")
    with pytest.raises(DataError, match=f"line 3 has '{largest + 1}:1' where"):
        io.read_rows(tmp_path / "rows")


@pytest.mark.parametrize(
    "text", ["a,b,label\n1,2,x\n", "1,2,3\n4,5,6\n", "1;2;3\n", "1\t2\t3\n4\t5\t6\n", "1, 2\n"]
)
def test_other_tables_are_called_by_their_name(tmp_path, text):
    (tmp_path / "rows.data").write_text(text)
    with pytest.raises(FileError, match=r"rows.data: line 1 holds values .*; name the format, csv"):
        io.read_rows(tmp_path / "rows.data")
