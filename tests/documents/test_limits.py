"""Records that cannot be used are left out where wanted; what is too large is refused early."""

import gzip
import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import corekernels as ck
from corekernels.documents import open_documents
from corekernels.errors import CoREError, DataError, FileError
from corekernels.io.streams import MAX_RECORD_BYTES
from support.command_line import as_json, ok, run

GOOD = ["a rose is a rose", "no rose without a thorn", "a rose by any other name"]
LINES = [json.dumps({"text": text}) for text in GOOD]
BAD = ['{"text": 5}', "nonsense", '{"other": "a rose"}', '{"text": "\\ud800"}']


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """Four bad documents among three good ones, one of them after a blank line."""
    monkeypatch.chdir(tmp_path)
    lines = [LINES[0], BAD[0], "", BAD[1], LINES[1], BAD[2], BAD[3], LINES[2]]
    Path("corpus.jsonl").write_text("\n".join(lines) + "\n")
    Path("good.jsonl").write_text("\n".join(LINES) + "\n")
    return "corpus.jsonl"


def test_bad_documents_are_left_out_and_named(corpus):
    reader = open_documents(corpus, skip_bad=4)
    X = ck.text.Shingles().transform(GOOD)
    assert abs(ck.io.readers.read_all(reader).X - X).nnz == 0
    first, *named = reader.notes
    assert first == "4 bad records were left out"
    for note, (number, line) in zip(named, [(2, 2), (3, 4), (5, 6), (6, 7)], strict=True):
        assert note.startswith(f"corpus.jsonl: document {number} (line {line}) ")
    assert reader.texts(np.array([1, 2])) == {1: GOOD[1], 2: GOOD[2]}


def test_no_more_are_left_out_than_allowed(corpus):
    with pytest.raises(DataError, match="More than skip_bad=3 records are bad"):
        list(open_documents(corpus, skip_bad=3))
    with pytest.raises(DataError, match=r"corpus\.jsonl: document \d \(line \d\)"):
        list(open_documents(corpus))


@pytest.mark.parametrize(
    ("command", "target"),
    [
        ("hash {} out --text text --n-hashes 16", "out"),
        ("index {} out --text text", "out"),
        ("dedup {} out --text text --ngrams 1 --keep kept.jsonl", "kept.jsonl"),
    ],
)
def test_commands_leave_bad_documents_out(corpus, command, target):
    ok(command.format("good.jsonl"))
    expected = Path(target).read_bytes()
    result = run(command.format(corpus) + " --skip-bad 4")
    assert result.exit_code == 0
    assert "4 bad records were left out" in result.stderr
    found = Path(target).read_bytes().replace(b"corpus.jsonl", b"good.jsonl")
    assert len(found) == len(expected) or target == "out"
    if target == "kept.jsonl":
        assert found == expected
    assert run(command.format(corpus) + " --skip-bad 3").exit_code == 2
    assert run(command.format(corpus)).exit_code == 2


def test_reports_and_predictions_leave_bad_documents_out(corpus):
    assert as_json(f"info {corpus} --text text --skip-bad 4")["rows"] == 3
    labelled = [json.dumps({"text": text, "y": row % 2}) for row, text in enumerate(GOOD)]
    Path("train.jsonl").write_text("\n".join(labelled) + "\n")
    ok("train train.jsonl m.ck --text text --label y --n-hashes 16")
    ok("predict m.ck good.jsonl expected.txt --text text")
    ok(f"predict m.ck {corpus} found.txt --text text --skip-bad 4")
    assert Path("found.txt").read_text() == Path("expected.txt").read_text()
    ck.io.write_rows("rows.npz", [[1.0]])
    assert "needs" in run("info rows.npz --skip-bad 1").stderr
    assert "in one process" in run(f"hash {corpus} o --text text --skip-bad 1 --engine dask").stderr


def test_only_files_of_a_folder_are_documents(tmp_path):
    (tmp_path / "a.txt").write_text(GOOD[0])
    (tmp_path / "link.txt").symlink_to(tmp_path / "a.txt")
    os.mkfifo(tmp_path / "pipe")
    reader = open_documents(tmp_path)
    assert [len(batch) for batch in reader] == [2]
    assert list(reader.notes) == ["what is no file was left out: pipe"]
    with pytest.raises(FileError, match=r"a\.txt: is longer than 15 bytes; cut it"):
        list(open_documents(tmp_path, max_record_bytes=len(GOOD[0]) - 1))


def test_text_that_parquet_stores_once_is_decoded_in_slices(tmp_path):
    texts = ["word " * 20_000, "rose " * 20_000]
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, None] * 100, pa.int32()), texts)
    pq.write_table(pa.table({"text": column, "n": range(300)}), tmp_path / "a.parquet")
    file = open_documents(tmp_path / "a.parquet").files[0]
    batches = [some.table(["text", "n"]) for some in file.documents(["text", "n"], 1 << 20)]
    sizes = [table.columns["text"].nbytes for table in batches]
    assert 15 < len(sizes) < 30
    assert max(sizes) < 1_300_000
    found = {
        name: [value for table in batches for value in table.columns[name].to_pylist()]
        for name in ("text", "n")
    }
    assert found == {"text": [*texts, None] * 100, "n": [*range(300)]}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.csv.gz", "a.txt.gz", "a.svm.gz"])
def test_a_record_of_any_length_is_refused(tmp_path, name):
    start = {"jsonl": b'{"text": "', "csv": b'text\n"', "txt": b"", "svm": b"1 1:"}
    with gzip.open(tmp_path / name, "wb", 1) as file:
        file.write(start[name.split(".")[1]])
        for _ in range(1 + MAX_RECORD_BYTES // (1 << 20)):
            file.write(b"1" * (1 << 20))
    path, text = tmp_path / name, {} if "svm" in name else {"text": "text"}
    with pytest.raises(FileError, match="is longer than 256,000,000 bytes"):
        for _ in ck.files.open_reader(path, **text):
            pass


def test_the_longest_record_is_an_option(corpus):
    ck.io.write_rows("rows.svm", [[1.0] * 100])
    pq.write_table(pa.table({"text": GOOD}), "good.parquet")
    for name in ("good.jsonl", "good.parquet"):
        with pytest.raises(CoREError, match="longer than 17 bytes; cut it"):
            list(open_documents(name, max_record_bytes=17))
    for command in ("info good.jsonl --text text", "info rows.svm"):
        ok(f"{command} --max-record-bytes 1000")
        result = run(f"{command} --max-record-bytes 30")
        assert result.exit_code == 2
        assert "longer than 30 bytes" in result.stderr
        assert "raise --max-record-bytes." in result.stderr
