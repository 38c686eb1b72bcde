"""A search for near-duplicates that was killed goes on where it was, to the same result."""

import numpy as np
import pytest

from corekernels import documents, files, text
from corekernels.errors import FileError, ParameterError
from corekernels.files import dedup_parts
from support.documents import make_documents, with_duplicates, write_json_lines

SHINGLES = text.Shingles(ngrams=2, weights="binary")
LITTLE = 0.01  # megabytes: keys go to the disk, and pairs are compared in several readings


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    made = with_duplicates(make_documents(400, length=30))
    return write_json_lines(tmp_path_factory.mktemp("corpus") / "corpus.jsonl", made)


def opened(corpus, stop_at=None):
    """A reader that notes where it was begun, and is interrupted at a row."""
    reader = documents.open_documents(corpus, shingles=SHINGLES, batch_bytes=4000)
    every, reader.began = reader.batches_from, []

    def batches_from(first_row):
        reader.began.append(first_row)
        for batch in every(first_row):
            if stop_at is not None and batch.first_row >= stop_at:
                raise KeyboardInterrupt
            yield batch

    reader.batches_from = batches_from
    return reader


def search(reader, **options):
    options = {"working_memory": LITTLE, "progress": False} | options
    return files.near_duplicates(reader, 0.7, "resemblance", **options)


def assert_same(found, expected):
    np.testing.assert_array_equal(found.pairs, expected.pairs)
    np.testing.assert_array_equal(found.similarities, expected.similarities)
    assert (found.rows, found.copies) == (expected.rows, expected.copies)


@pytest.fixture(scope="module")
def expected(corpus):
    found = search(opened(corpus))
    assert len(found.pairs) > 80
    return found


def test_interrupted_while_rows_are_hashed(corpus, expected, tmp_path):
    parts = tmp_path / "parts"
    for stop_at in (100, 300):
        with pytest.raises(KeyboardInterrupt):
            search(opened(corpus, stop_at), parts=parts, resume=True)
    reader = opened(corpus)
    assert_same(search(reader, parts=parts, resume=True), expected)
    assert reader.began[0] >= 250
    reader = opened(corpus)  # all of it is there now
    assert_same(search(reader, parts=parts, resume=True), expected)
    assert not reader.began
    assert_same(search(reader, parts=parts), expected)
    assert reader.began == [0]


def test_interrupted_while_pairs_are_compared(corpus, expected, tmp_path, monkeypatch):
    compare, n_compared = dedup_parts.similar_pairs, []

    def counted(*arguments):
        n_compared.append(1)
        if len(n_compared) == stop_at:
            raise KeyboardInterrupt
        return compare(*arguments)

    monkeypatch.setattr(dedup_parts, "similar_pairs", counted)
    monkeypatch.setattr(dedup_parts, "_PAIRS_PER_TASK", 20)
    stop_at = 3
    with pytest.raises(KeyboardInterrupt):
        search(opened(corpus), parts=tmp_path / "parts")
    stop_at = None
    n_compared.clear()
    assert_same(search(opened(corpus)), expected)
    n_whole = len(n_compared)
    n_compared.clear()
    reader = opened(corpus)
    assert_same(search(reader, parts=tmp_path / "parts", resume=True), expected)
    assert len(n_compared) <= n_whole - 2  # what was running when it broke off is kept too
    assert not reader.began


@pytest.mark.parametrize("kernel", ["resemblance", "containment"])
def test_two_files(corpus, kernel, tmp_path):
    other = write_json_lines(tmp_path / "other.jsonl", make_documents(200, length=30))
    options = {"working_memory": LITTLE, "progress": False}

    def match(stop_at=None, **more):
        against = documents.open_documents(other, shingles=SHINGLES, batch_bytes=4000)
        reader = opened(corpus, stop_at)
        return reader, files.near_duplicates(
            reader, 0.7, kernel, against=against, **options, **more
        )

    whole = match()[1]
    assert len(whole.pairs) > 100
    with pytest.raises(KeyboardInterrupt):
        match(200, parts=tmp_path / "parts")
    reader, found = match(parts=tmp_path / "parts", resume=True)
    assert reader.began[0] >= 150
    for _ in range(2):
        np.testing.assert_array_equal(found.pairs, whole.pairs)
        assert (found.rows, found.rows_against) == (whole.rows, whole.rows_against)
        found = match(parts=tmp_path / "parts", resume=True)[1]


def test_rows_of_two_files_that_waited_in_memory_are_stored_apart(corpus, tmp_path):
    """Memory is full in the middle of the second file; the run goes on after a stop in it."""
    other = write_json_lines(tmp_path / "other.jsonl", make_documents(60, length=30))
    options = {"working_memory": 0.15, "progress": False, "parts": tmp_path / "parts"}

    def match(stop_at, resume):
        against = documents.open_documents(other, shingles=SHINGLES, batch_bytes=4000)
        reader = opened(corpus, stop_at)
        found = files.near_duplicates(
            reader, 0.7, "resemblance", against=against, resume=resume, **options
        )
        return reader, found

    whole = match(None, False)[1]
    with pytest.raises(KeyboardInterrupt):
        match(380, False)
    assert (tmp_path / "parts" / "parts" / "rows-00001").exists()
    reader, resumed = match(None, True)
    assert reader.began[0] > 0
    np.testing.assert_array_equal(resumed.pairs, whole.pairs)
    assert (resumed.rows, resumed.rows_against) == (whole.rows, 60)


def test_another_job_is_refused(corpus, tmp_path):
    parts = tmp_path / "parts"
    with pytest.raises(KeyboardInterrupt):
        search(opened(corpus, 100), parts=parts)
    with pytest.raises(FileError, match="the unfinished run had seed 0; resume it"):
        search(opened(corpus), parts=parts, resume=True, seed=1)
    changed = write_json_lines(tmp_path / corpus.name, make_documents(10))
    with pytest.raises(FileError, match="the unfinished run had other files"):
        search(opened(changed), parts=parts, resume=True)
    with pytest.raises(ParameterError, match="resume: needs the folder"):
        search(opened(corpus), resume=True)


def test_one_bar_for_all_steps(corpus, capsys):
    search(opened(corpus), progress=True)
    shown = capsys.readouterr().err
    assert "hashing" in shown
    assert "comparing" in shown
    assert "left" in shown
