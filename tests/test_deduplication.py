"""Near-duplicates among texts in memory are those of files, whatever holds the texts."""

import json

import numpy as np
import pytest

import corekernels as ck
from corekernels.errors import DataError, ParameterError
from support.documents import make_documents, with_duplicates


@pytest.fixture(scope="module")
def texts():
    return [document["text"] for document in with_duplicates(make_documents(60))]


def test_pairs_are_those_of_a_file(texts, tmp_path):
    lines = [json.dumps({"text": text}) for text in texts]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines))
    shingles = ck.text.Shingles(ngrams=2, weights="binary", min_length=1)
    reader = ck.files.open_reader(tmp_path / "corpus.jsonl", text="text", shingles=shingles)
    expected = ck.files.near_duplicates(reader, 0.7, progress=False)
    found = ck.deduplicate(texts, 0.7, ngrams=2)
    assert len(found.pairs) > 10
    np.testing.assert_array_equal(found.pairs, expected.pairs)
    np.testing.assert_array_equal(found.kept(), expected.kept())
    everything = np.sort(np.concatenate([found.kept(), found.redundant()]))
    np.testing.assert_array_equal(everything, np.arange(len(texts)))


@pytest.mark.parametrize("holder", ["tuple", "generator", "array", "pandas", "arrow"])
def test_texts_may_be_in_any_column(texts, holder):
    made = {"tuple": tuple, "generator": lambda texts: (text for text in texts), "array": np.array}
    if holder == "pandas":
        made["pandas"] = pytest.importorskip("pandas").Series
    if holder == "arrow":
        pyarrow = pytest.importorskip("pyarrow")
        made["arrow"] = lambda texts: pyarrow.chunked_array([texts[:20], texts[20:]])
    found = ck.deduplicate(made[holder](texts))
    np.testing.assert_array_equal(found.pairs, ck.deduplicate(texts).pairs)


def test_short_texts_are_compared_by_what_they_have():
    texts = ["a rose", "a rose is a rose", "A rose", "rose", "?!", "rose", "?!", "", ""]
    assert [group.tolist() for group in ck.deduplicate(texts).groups()] == [[0, 2], [3, 5], [4, 6]]
    assert ck.deduplicate([]).kept().tolist() == []


def test_what_is_refused():
    with pytest.raises(ParameterError, match="threshold: got 2"):
        ck.deduplicate(["a"], 2)
    with pytest.raises(DataError, match="texts: document 1 is missing"):
        ck.deduplicate(["a", None])
    with pytest.raises(DataError, match="texts: is a single string"):
        ck.deduplicate("a rose")
